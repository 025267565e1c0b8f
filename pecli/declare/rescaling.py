"""Scalings of a trained model: other parameters with which the same encoding reaches further."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from pecli.records import dataclass

Made = Callable[[int, int, Decimal | None], tuple[Mapping[str, object], Decimal | None]]
"""Of the trained length, the length to reach and a factor (default: their ratio), the recipe's parameters and the
factor that they amount to, None for no scaling.  It raises BadParameter where that does not make one."""


@dataclass(frozen=True)
class Slowed:
    """What a scaling did to the frequencies of a model.

    Attributes
    ----------
    frequencies : sequence of Decimal
        Unscaled, radians per position.
    ratios : sequence of float
        Scaled over unscaled.
    binding : sequence of int
        Indices of pairs that made no whole turn in training: they must slow down by `growth`.
    factor, growth : float
        The scaling's, and the length to reach over the trained one.
    """

    frequencies: Sequence[Decimal]
    ratios: Sequence[float]
    binding: Sequence[int]
    factor: float
    growth: float


Least = Callable[[Slowed], float | None]
"""The least factor with which a scaling leaves no pair a phase that training did not show; None where none does."""


@dataclass(frozen=True)
class Rescaling:
    """One way to scale an encoding with its parameters.

    Attributes
    ----------
    made : callable
        Gives the parameters, from lengths.
    least : callable, optional
        Gives the least factor that suffices; None where it is not known.
    by_base : bool
        Whether it stands for a larger base.
    """

    made: Made
    least: Least | None = None
    by_base: bool = False
