"""Names of exported arrays, leading axes of length 1, and companion arrays, as other programs want them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pecli.errors import BadParameter, UnknownName
from pecli.numbers.decimals import parse_count
from pecli.spec.declaration import Family
from pecli.spec.plans import Plan, Waves
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

FREQUENCIES = "inv_freq"
COMPANIONS = (FREQUENCIES,)
"""Companion arrays that a table may have."""
MOST_AXES = 4
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")


@dataclass(frozen=True)
class ArrayNaming:
    """How a table's arrays are called and shaped, where that is not as pecli does.

    Parameters
    ----------
    names : tuple of str
        One for each array; empty for pecli's own.
    lead : int
        Axes of length 1 before all others.
    companion : str, optional
        A further array, one of `COMPANIONS`.
    """

    names: tuple[str, ...] = ()
    lead: int = 0
    companion: str | None = None

    @classmethod
    def of(cls, name: str | None, lead: object, companion: str | None) -> ArrayNaming:
        """Return the guise that these words make, None for what was not said.

        Raises
        ------
        UnknownName, BadParameter
            For a word that is none.
        """
        names = tuple(re.split(r"[+,]", name)) if name is not None else ()
        for word in names:
            if not _NAME.fullmatch(word):
                rule = "must be words of letters, digits, _ and -, joined with dots; several names are joined with +"
                raise BadParameter("name", name, rule)
        if len(set(names)) < len(names):
            raise BadParameter("name", name, "gives two arrays one name")
        count = 0 if lead is None or str(lead) == "0" else parse_count("lead", lead)
        if not 0 <= count <= MOST_AXES:
            raise BadParameter("lead", count, f"must be from 0 to {MOST_AXES}")
        if companion is not None and companion not in COMPANIONS:
            raise UnknownName("companion array", companion, COMPANIONS)
        return cls(names, count, companion)

    def keys(self) -> dict[str, str]:
        """Return what a recipe's text holds of it."""
        found = {"name": "+".join(self.names), "lead": str(self.lead or ""), "with": self.companion or ""}
        return {key: text for key, text in found.items() if text}

    def arrays(self, own: Sequence[Array], recipe: Recipe, dtype: str) -> tuple[Array, ...]:
        """Return the arrays of a table in this guise.

        Raises
        ------
        BadParameter
            For more or fewer names than arrays, or frequencies of what has none.
        """
        names = self.names or tuple(array.name for array in own)
        if len(names) != len(own):
            have = " and ".join(array.name for array in own)
            rule = f"must be {len(own)} names, for {have}, joined with +"
            raise BadParameter("name", "+".join(names), rule)
        axes = tuple(f"lead{k}" for k in range(self.lead)) if self.lead > 1 else ("lead",) * self.lead
        found = [
            replace(a, name=name, shape=(1,) * self.lead + a.shape, axes=axes + a.axes, lead=self.lead + a.lead)
            for name, a in zip(names, own, strict=True)
        ]
        if self.companion is not None:
            count = len(_frequencies(recipe.plan, recipe))
            found.append(
                Array(
                    companion_name(names[0], self.companion),
                    (count,),
                    "float64" if dtype == "float64" else "float32",
                    ("pair",),
                )
            )
        return tuple(found)


OWN_NAMES = ArrayNaming()
"""Pecli's own names, no leading axes."""


def companion_name(name: str, other: str) -> str:
    """Return what an companion array is called: it lies where the table's first does.

    Examples
    --------
    >>> companion_name("layers.0.rotary.cos_cached", "inv_freq")
    'layers.0.rotary.inv_freq'
    """
    return name[: name.rfind(".") + 1] + other


def frequencies(recipe: Recipe, arithmetic: str, dtype: str) -> NDArray[Any]:
    """Return the frequencies of a rotary table, radians per position, (pairs,), rounded once to float32 or float64.

    With another arithmetic than the exact one, those that a framework computes.
    """
    import numpy as np

    from pecli.numbers.rounding import narrow

    plan = recipe.plan
    exact = _frequencies(plan, recipe)
    if arithmetic != "exact" and dtype == "float32":
        made: NDArray[Any] = recipe.encoding.hook("emulate")(plan, recipe.values, arithmetic).frequencies
        return made
    hi = np.array([float(w) for w in exact])
    if dtype == "float64":
        return hi
    return narrow(hi, np.array([float(w - Decimal(h)) for w, h in zip(exact, hi.tolist(), strict=True)]), dtype)


def _frequencies(plan: Plan, recipe: Recipe) -> tuple[Decimal, ...]:
    name = recipe.encoding.name
    if recipe.encoding.family is not Family.ROTARY:
        raise BadParameter("with", FREQUENCIES, f"is for rotary tables: {name} is {recipe.encoding.family.word}")
    if not isinstance(plan, Waves) or plan.axes or not plan.bands:
        raise BadParameter("with", FREQUENCIES, f"is for tables with one frequency for each pair: {name} has others")
    return plan.frequencies
