"""When an encoding is the right choice, in words that stand with its declaration."""

from __future__ import annotations

from pecli.records import dataclass


@dataclass(frozen=True)
class Guidance:
    """Advice to whoever chooses an encoding.

    Parameters
    ----------
    when : str
        What it is a good choice for, as the end of "use it".
    unless : str
        What it is no good choice for, as the end of "not".
    """

    when: str
    unless: str
