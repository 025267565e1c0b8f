"""The request for a table (dtype, layout, form, names of arrays) and the positions that it holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from pecli.errors import BadParameter, MissingParameter, UnknownName
from pecli.numbers.decimals import parse_count, parse_number, parse_position, shorten
from pecli.numbers.deferred import NDArray, np
from pecli.numbers.dtypes import COMPLEX, dtype_of, known_dtype
from pecli.numbers.positions import Positions, parse_shard
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import TABLE_KEYS, Encoding, Family
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Array
from pecli.tables.layouts import check_layout

FORMS = ("dense", "bias", "index", "x", "vector", "distance", "slopes", "parameters")
ALIGNMENTS = ("last", "first")
ARITHMETICS = ("exact", "float32", "bfloat16")


def known_arithmetic(word: object) -> str:
    """Return the name of an arithmetic, which other programs may call otherwise (bf16); UnknownName where none is."""
    if dtype_of(word) not in ARITHMETICS:
        raise UnknownName("arithmetic", str(word), ARITHMETICS)
    return dtype_of(word)


FREQUENCIES = "inv_freq"
# Companion arrays that a table may have.
COMPANIONS = (FREQUENCIES,)
MAX_AXES = 4
NAME = re.compile(r"[\w-]+(\.[\w-]+)*")


class ArrayNaming(NamedTuple):
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
        """Return the naming from the given words; None is the default.

        Raises
        ------
        UnknownName, BadParameter
            For a word that is none.
        """
        names = tuple(re.split(r"[+,]", name)) if name is not None else ()
        for word in names:
            if not NAME.fullmatch(word):
                rule = "must be words of letters, digits, _ and -, joined with dots; several names are joined with +"
                raise BadParameter("name", name, rule)
        if len(set(names)) < len(names):
            raise BadParameter("name", name, "gives two arrays one name")
        count = 0 if lead is None or str(lead) == "0" else parse_count("lead", lead)
        if not 0 <= count <= MAX_AXES:
            raise BadParameter("lead", count, f"must be from 0 to {MAX_AXES}")
        if companion is not None and companion not in COMPANIONS:
            raise UnknownName("companion array", companion, COMPANIONS)
        return cls(names, count, companion)

    def keys(self) -> dict[str, str]:
        """Return the naming as keys of a recipe's text."""
        found = {"name": "+".join(self.names), "lead": str(self.lead or ""), "with": self.companion or ""}
        return {key: text for key, text in found.items() if text}

    def arrays(self, own: Sequence[Array], recipe: Recipe, dtype: str) -> tuple[Array, ...]:
        """Return the arrays of a table so named.

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
            word, kind = companion_name(names[0], self.companion), "float64" if dtype == "float64" else "float32"
            found.append(Array(word, (len(_frequencies(recipe)),), kind, ("pair",)))
        return tuple(found)


class Request(NamedTuple):
    """A request for a table apart from its recipe, in the words of the command line.

    Parameters
    ----------
    dtype : str
        Type of the values, one of `DTYPES`.
    layout : str
        Of a rotary table, one of `LAYOUTS`.
    form : str
        Of a bias or relative vectors, one of `FORMS`.
    shard : str, optional
        ``"K/N"``.
    queries : int, optional
        Of a bias, where they are not as many as the keys.
    align : {"last", "first"}
        Which of the keys' positions the queries have.
    arithmetic : str
        One of `ARITHMETICS`.
    naming : ArrayNaming
        Names and shapes of the arrays as others have them.
    """

    dtype: str = "float32"
    layout: str = "split"
    form: str = "dense"
    shard: str | None = None
    queries: int | None = None
    align: str = "last"
    arithmetic: str = "exact"
    naming: ArrayNaming = ArrayNaming()

    @classmethod
    def of(
        cls, encoding: Encoding, dtype: str, layout: str | None, form: str | None, shard: str | None, arithmetic: str,
        queries: object, keys: object, align: str | None,
    ) -> Request:  # fmt: skip
        """Return the request from the given words; None is the default.

        Raises
        ------
        UnknownName, BadParameter
            For a word that is none, or does not fit the family of the encoding.
        """
        name, family = encoding.name, encoding.family
        dtype = known_dtype(dtype)
        if layout is not None:
            check_layout("layout", str(layout))
        if layout is not None and family is not Family.ROTARY:
            raise BadParameter("layout", layout, f"is for rotary tables: {name} is {family.word}")
        for option, given in (("form", form), ("queries", queries), ("keys", keys), ("align", align)):
            if given is not None and not family.pairs:
                raise BadParameter(option, given, f"is for biases: {name} is {family.word}")
        if layout == "complex" and dtype not in COMPLEX:
            raise BadParameter("dtype", dtype, "has no complex type: use float32 or float64 with layout=complex")
        if align is not None and align not in ALIGNMENTS:
            raise UnknownName("align", align, ALIGNMENTS)
        count = None if queries is None else parse_count("queries", queries)
        if count is not None and count < 1:
            raise BadParameter("queries", count, "must be at least 1")
        arithmetic = known_arithmetic(arithmetic)
        return cls(dtype, layout or "split", form or "dense", shard, count, align or "last", arithmetic)

    def keys(self) -> dict[str, str]:
        """Return the keys of a recipe's text that differ from the defaults; the type always."""
        found = {"dtype": self.dtype}
        for name in ("layout", "form", "shard", "queries", "align", "arithmetic"):
            value = getattr(self, name)
            if value != self._field_defaults[name]:
                found[name] = str(value)
        return found | self.naming.keys()

    def extent(self, positions: Positions) -> Extent:
        """Return which of these positions the table has rows of.

        Raises
        ------
        BadParameter
            For more queries than keys, or a shard that has no rows.
        """
        queries = self.queries or positions.count
        offset = positions.count - queries if self.align == "last" else 0
        if offset < 0:
            rule = (
                f"must be at most keys={positions.count}: the queries are the last of the keys' positions; "
                "or use align=first"
            )
            raise BadParameter("queries", queries, rule)
        start, stop = parse_shard(self.shard, queries) if self.shard else (0, queries)
        return Extent(positions, offset + start, offset + stop)


@dataclass(frozen=True)
class Extent:
    """Positions of the whole table, and the range with rows, smaller for a shard or with few queries.

    Parameters
    ----------
    positions : Positions
        Those of the whole table; of a bias, the keys.
    first, last : int
        First and last (exclusive) of them that has a row.
    """

    positions: Positions
    first: int
    last: int

    @cached_property
    def part(self) -> Positions:
        """The positions of the rows; of a bias, the queries."""
        whole = (self.first, self.last) == (0, self.positions.count)
        return self.positions if whole else self.positions.part(self.first, self.last)


def positions_of(
    recipe: Recipe, rows: int | None, length: object, start: object, step: object,
    positions: Positions | str | list[Any] | None,
) -> Positions:  # fmt: skip
    """Return the positions asked for; `rows` is the fixed number of rows of a grid, None where a length decides."""
    if positions is not None:
        for name, given in (("len", length), ("start", start), ("step", step)):
            if given is not None:
                raise BadParameter(name, given, "cannot go with positions=: give one of them")
        if isinstance(positions, str):
            return Positions.parse(positions)
        return positions if isinstance(positions, Positions) else Positions.listed(positions)
    first = parse_position("start", start) if start is not None else 0
    by = parse_number("step", step) if step is not None else 1
    if length is not None:
        count = parse_count("len", length)
        if rows is not None and start is None and step is None and count != rows:
            raise BadParameter("len", count, f"must be {rows}, the rows that {shorten(recipe.short)} has: leave it out")
        return Positions.arange(count, first, by)
    if rows is None and recipe.encoding.facts.longest == "max_len":
        rows = recipe.values["max_len"]  # a trained matrix has rows enough for these positions
    if rows is None:
        raise MissingParameter(f"{recipe.encoding.name} needs a length: give len=N, or positions=")
    end = rows - 1 if by > 0 else 0
    return Positions.arange(max(1, 1 + int((end - Fraction(first)) // Fraction(by or 1))), first, by)


def take_table_keys(name: str, keys: dict[str, str]) -> dict[str, str]:
    """Remove the table's keys from a recipe's keys and return them; an encoding's parameter of that name stays.

    ``with``, which is no name in Python, is returned as ``companion``.
    """
    encoding = CATALOGUE.get(name)
    own = {p.option for p in encoding.options} if encoding else set()
    taken = [key for key in TABLE_KEYS if key in keys and key not in own]
    return {"companion" if key == "with" else key: keys.pop(key) for key in taken}


def companion_name(name: str, other: str) -> str:
    """Return the name of a companion array: it lies where the table's first does.

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
    from pecli.numbers.rounding import narrow

    exact = _frequencies(recipe)
    if arithmetic != "exact" and dtype == "float32":
        made: NDArray[Any] = recipe.encoding.hook("emulate")(recipe.plan, recipe.values, arithmetic).frequencies
        return made
    hi = np.array([float(w) for w in exact])
    if dtype == "float64":
        return hi
    return narrow(hi, np.array([float(w - Decimal(h)) for w, h in zip(exact, hi.tolist(), strict=True)]), dtype)


def _frequencies(recipe: Recipe) -> tuple[Decimal, ...]:
    plan, name = recipe.plan, recipe.encoding.name
    if recipe.encoding.family is not Family.ROTARY:
        raise BadParameter("with", FREQUENCIES, f"is for rotary tables: {name} is {recipe.encoding.family.word}")
    if not isinstance(plan, Waves) or plan.axes or not plan.bands:
        raise BadParameter("with", FREQUENCIES, f"is for tables with one frequency for each pair: {name} has others")
    return plan.frequencies
