"""One measured property of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Property:
    """One measured property.

    Attributes
    ----------
    name : str
        What it is called.
    holds : bool or None
        Whether it does; None where it is a number without a verdict.
    text : str
        The measurement in words.
    figures : dict
        The numbers.
    """

    name: str
    holds: bool | None
    text: str
    figures: Mapping[str, Any] = field(default_factory=dict)


def as_dicts(found: Sequence[Property]) -> list[dict[str, Any]]:
    """Return what --json prints."""
    return [{"name": p.name, "holds": p.holds, "text": p.text, **p.figures} for p in found]
