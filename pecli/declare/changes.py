"""Changes: what people get instead of what was meant, each as something that can be done to the expected table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from pecli.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

Values = Callable[[str, "NDArray[Any]", int], "NDArray[Any]"]
"""Of an array's name, some of its rows (n, *row shape) float64 and the first one's number, the changed rows."""


@dataclass(frozen=True)
class Change:
    """What may have been done to a table, or meant instead of its recipe.

    Attributes
    ----------
    kind : str
        A word for programs.
    text : str
        What to say, in the words of whoever made the mistake.
    keys : mapping of str to str or None
        Parameters of the recipe to replace; None takes one away, back to its default.
    shift : int
        What is added to every position.
    values : callable, optional
        Changes the expected values, rows by rows.

    Notes
    -----
    What the recipe does not allow (a parameter out of range, or without
    effect) does not apply: whoever names changes need not check it.
    """

    kind: str
    text: str
    keys: Mapping[str, str | None] = field(default_factory=dict)
    shift: int = 0
    values: Values | None = None


Mistakes = Callable[[Mapping[str, str]], Iterable[Change]]
"""What an encoding or a scaling is mistaken for: of the recipe's keys, defaults filled in, the most usual first."""

Mistaken = Callable[[str, str, tuple[str, ...]], Iterator[Change]]
"""What a parameter is mistaken for: of its option, its value as text, and its choices (empty for no choice)."""


def instead(option: str, other: str, value: str, *, kind: str | None = None, said: str = "") -> Change:
    """Return the change of one parameter to another value; `said` is what that amounts to."""
    text = f"{option} {other} where {value} was expected"
    return Change(kind or option, f"{said}: {text}" if said else text, {option: other})


def other_choices(option: str, value: str, choices: tuple[str, ...]) -> Iterator[Change]:
    """Yield the other words of a choice, the other state of a flag."""
    for other in choices or ("true", "false"):
        if other != value:
            yield instead(option, other, value, kind=option.replace("-", "_"))


def other_orders(option: str, value: str, choices: tuple[str, ...]) -> Iterator[Change]:
    """Yield the other orders of columns: sines and cosines exchanged, or in turn instead of in halves."""
    for other in choices:
        if {other, value} == {"sin-cos", "cos-sin"}:
            yield instead(option, other, value, kind="exchanged", said="cos and sin are exchanged")
        elif other != value:
            yield instead(option, other, value, kind="layout", said="equal after swapping interleaved for halves")


def other_values(*usual: str) -> Mistaken:
    """Return what yields each of these values instead of the parameter's own."""

    def others(option: str, value: str, _choices: tuple[str, ...]) -> Iterator[Change]:
        return (instead(option, other, value) for other in usual if other != value)

    return others
