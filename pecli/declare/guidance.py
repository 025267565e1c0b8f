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


@dataclass(frozen=True)
class Reason:
    """A question that people ask of an encoding, and its answer.

    Parameters
    ----------
    question, answer : str
        One sentence, and a few; what numbers they hold are computed.
    see : str
        A command that shows it, without the program's name; "" for none.
    """

    question: str
    answer: str
    see: str = ""
