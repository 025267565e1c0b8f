"""Types of the hooks' results: effects on tensors, reach past the training length, rescalings, mistakes, lesson steps.

A rotary table rotates queries and keys, an absolute one is added to embeddings, a bias to logits.  The hook `apply`, of
a recipe, gives an `Effect` with everything beyond that; `extend` gives a `Reach`, `scale` gives `Rescaling`s by name.
A `Change` is a common mistake, in a form that can be applied to the expected table.  A lesson is
made of `Step`: lines of text, small tables and matrices, whose numbers are written as this module says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pecli.numbers.decimals import CONTEXT, PI, TAU, decimal_of, number_text, power
from pecli.numbers.deferred import NDArray, np
from pecli.numbers.printing import DECIMALS, figure, padded
from pecli.settings import settings

if TYPE_CHECKING:
    from pecli.spec.plans import Band, Waves

    Integers = NDArray[np.int64]


Map = Callable[["Integers"], "Integers"]


@dataclass(frozen=True)
class Term:
    """Inner product in a score.

    Attributes
    ----------
    content : str
        "query" or "key", or an array (heads, d) of the table, whose row is the head.
    against : str
        "key", or an array of vectors of the table, (rows, d) or (rows, heads d).
    index : str
        The array (q, k) that says which vector belongs to a query and a key.
    rows : callable, optional
        Of its integers, gives the rows of the vectors.
    queries, keys : callable, optional
        Of queries and keys, numbered, give its rows and columns: those of one axis of a grid.
    scaled : bool
        Whether the term is divided as the product of query and key is.
    projection : str, optional
        The array (rows, d) of the table that projects the vectors first; one named NAME_bias is added.
    opposite : bool
        Whether the index is that of the key as query and the query as key.
    """

    content: str
    against: str
    index: str = "index"
    rows: Map | None = None
    queries: Map | None = None
    keys: Map | None = None
    scaled: bool = True
    projection: str | None = None
    opposite: bool = False


PLAIN = (Term("query", "key"),)


class Effect(NamedTuple):
    """Effect of a table on attention beyond the usual effect of its family.

    Attributes
    ----------
    factor : str, optional
        Array of the table, (n, 1) or (n, pairs), that multiplies queries.
    opposed : bool
        Whether keys are divided by it; otherwise they stay as they are.
    logits : {"add", "multiply"}
        What a bias does to logits.
    decay : str, optional
        Array of a rotary table that weighs scores: (heads, n) by distance, or (heads, n, n).
    decay_added : bool
        Whether it is a logarithm, which is added.
    terms : tuple of Term
        What a score is the sum of.
    divisor : int
        Scores are divided by sqrt(divisor d).
    scale : float, optional
        Factor of the products instead: 1 for T5, which does not divide.
    unscored : str
        Why queries and keys alone do not give its scores; nothing where they do.
    values : str, optional
        The array of vectors that are added to the values, by the same index.
    content : {"replaces", "adds"}, optional
        Of a table that needs content: whether its rows, made of the input, take the input's place or are added to it.
    note : str
        What to say of it.
    """

    factor: str | None = None
    opposed: bool = False
    logits: Literal["add", "multiply"] = "add"
    decay: str | None = None
    decay_added: bool = False
    terms: tuple[Term, ...] = PLAIN
    divisor: int = 1
    scale: float | None = None
    unscored: str = ""
    values: str | None = None
    content: Literal["replaces", "adds"] | None = None
    note: str = ""

    def factor_of(self, width: int) -> float:
        """Return the factor of products of vectors of this width."""
        return 1 / math.sqrt(self.divisor * width) if self.scale is None else self.scale


New = Literal["phases", "biases", "vectors", "values", "rows", "grid", "content", "nothing"]


class Reach(NamedTuple):
    """New values at positions past the training length, as an encoding's declaration states them.

    Parameters
    ----------
    new : str
        Kind of the values at new positions, which are compared with training.
    longer : str
        Content of a longer table, as text.
    remedy : str
        Advice on reaching further where values end.
    multiplies : bool
        Whether a bias is a factor of the weight itself; else a key weighs its exponential.
    measured : str
        Recipe whose values are measured in place of its own.
    """

    new: New
    longer: str
    remedy: str = ""
    multiplies: bool = False
    measured: str = ""


# Content of a longer table, by the kind of the new values.
LONGER: Mapping[New, str] = {
    "phases": "sines and cosines of the new positions, by the same formula",
    "values": "the same formula at the new positions",
    "biases": "the bias of each new distance, by the same formula",
    "vectors": "the trained rows as they are: far distances share the last",
    "grid": "nothing: another grid is another table",
    "content": "the content of the new positions",
    "nothing": "nothing: the causal mask alone carries order",
}


# Function from the training length, the length to reach and a factor (default: their ratio) to the recipe's parameters
# and the resulting factor, None for no scaling.  It raises BadParameter where these make no scaling.
Rescaling = Callable[[int, int, Decimal | None], tuple[Mapping[str, object], Decimal | None]]


# Function from an array's name, some rows (n, *row shape) float64 and the first row's number to the changed rows.
Values = Callable[[str, "NDArray[Any]", int], "NDArray[Any]"]


@dataclass(frozen=True)
class Change:
    """A known change of a table, or a recipe that is confused with the right one.

    Attributes
    ----------
    kind : str
        A word for programs.
    text : str
        Message, in the words of whoever made the mistake.
    keys : mapping of str to str or None
        Parameters of the recipe to replace; None takes one away, back to its default.
    shift : int or Fraction
        Offset added to every position.
    step : Fraction
        Factor of every position, before that.
    waves : callable, optional
        Changes the encoding's plan, where it is one of sines and cosines.
    values : callable, optional
        Changes the expected values, rows by rows.

    Notes
    -----
    A change that the recipe does not allow (a parameter out of range, or
    without effect) is skipped: the hook need not check it.
    """

    kind: str
    text: str
    keys: Mapping[str, str | None] = field(default_factory=dict)
    shift: int | Fraction = 0
    step: Fraction = Fraction(1)
    waves: Callable[[Waves], Waves] | None = None
    values: Values | None = None


# Function that yields the common mistakes of an encoding or a scaling: from the recipe's keys, defaults filled in, the
# most usual first.
Mistakes = Callable[[Mapping[str, str]], Iterable[Change]]


def instead(option: str, other: str, value: str, *, kind: str | None = None) -> Change:
    """Return the change of one parameter to another value."""
    return Change(kind or option, f"{option} {other} where {value} was expected", {option: other})


def parameter_text(key: str, have: str, wanted: str, off: str | None = None) -> str:
    """Return a parameter that differs from the expected text in words; "" where there is none.

    `off` is what a flag is called that is not set.
    """
    if key == "include-input":
        if have in ("", "none") or wanted in ("", "none"):
            return f"the input columns {'are missing' if have in ('', 'none') else 'were not expected'}"
        return f"the input columns come {have} where they were expected {wanted}"
    if {have, wanted} <= {"true", "false", ""}:
        if off:
            return f"{key} where {off} was expected" if have == "true" else f"{off} where {key} was expected"
        return "{0}={1} where {0}={2} was expected".format(key, *("true", "false")[:: 1 if have == "true" else -1])
    if "none" in (have, wanted):
        return f"{wanted} {key} missing" if have == "none" else f"a {have} {key} where none was expected"
    if not have or not wanted:
        return f"{key} {wanted} is missing" if wanted else f"{key} {have} where none was expected"
    were = "were" if key in ("heads", "buckets") else ""
    return f"{have} {key} where {wanted} were expected" if were else f"{key} {have} where {wanted} was expected"


def other_values(keys: Mapping[str, str], option: str, *usual: str) -> Iterator[Change]:
    """Yield each of these values instead of a parameter's own."""
    return (instead(option, other, keys[option]) for other in usual if other != keys[option])


def other_bases(keys: Mapping[str, str], *usual: str) -> Iterator[Change]:
    """Yield other exponents, expressed as other bases, and each of these bases; nothing where there is no base.

    The exponent is likelier than any other base where the commonest base is expected, the first one, and elsewhere
    than all but the common ones.
    """
    option, value = "base", keys.get("base", "")
    if not value:
        return
    bases = list(other_values(keys, option, *usual))
    exponents = (other_exponent(option, value, times, phrase) for phrase, times in EXPONENTS.items())
    first = 0 if value == usual[0] else COMMON_BASES
    yield from chain(bases[:first], exponents, bases[first:])


def other_exponent(option: str, base: str, times: Fraction, phrase: str) -> Change:
    """Return the change of a base that multiplies all exponents by `times`."""
    other = power(Decimal(base), times)
    same = ", or" if other == int(other) and times > 0 else ": as"  # the values do not tell which
    text = f"{phrase}{same} {option} {float(other):.6g} where {base} was expected"
    return Change("exponent", text, {option: number_text(other)})


# Bases that are likelier than an exponent by which they could be explained.
COMMON_BASES = 12
# Wrong exponents, and wrong logarithms and powers in exp(-i log(base) / d): what they multiply all exponents by.
EXPONENTS = {
    "exponent i/d where 2i/d was expected": Fraction(1, 2),
    "exponent 4i/d where 2i/d was expected": Fraction(2),
    "exponent 2i/d where -2i/d was expected": Fraction(-1),
    "log10 taken of the base where its natural logarithm was expected": 1 / Fraction(CONTEXT.ln(10)),
    "log2 taken of the base where its natural logarithm was expected": 1 / Fraction(CONTEXT.ln(2)),
    "powers of 2 taken where powers of e were expected": Fraction(CONTEXT.ln(2)),
}

# Other units of an angle: the text of each and the factor of the angle.
UNITS = (
    ("degrees instead of radians: every angle is 180/pi times the expected one", CONTEXT.divide(Decimal(180), PI)),
    (
        "radians converted as if they were degrees: every angle is pi/180 times the expected one",
        CONTEXT.divide(PI, Decimal(180)),
    ),
    ("a factor of 2 pi too many: every angle is 2 pi times the expected one", TAU),
    ("turns instead of radians: every angle is the expected one over 2 pi", CONTEXT.divide(Decimal(1), TAU)),
    ("a factor of pi too many: every angle is pi times the expected one", PI),
    ("half turns instead of radians: every angle is the expected one over pi", CONTEXT.divide(Decimal(1), PI)),
)


def other_units() -> Iterator[Change]:
    """Yield the other units of angles."""
    for phrase, factor in UNITS:
        yield Change("unit", phrase, waves=partial(_multiplied, factor))
    phrase = "pairs are counted from 1 where 0 was expected: every frequency is the next one of the series"
    yield Change("exponent", phrase, waves=partial(_multiplied, _ratio))
    phrase = "exponent (2i + 1)/d where 2i/d was expected: every frequency lies half a pair further in the series"
    yield Change("exponent", phrase, waves=partial(_multiplied, lambda w: CONTEXT.sqrt(_ratio(w))))
    for sine, which in ((False, "cosines"), (True, "sines")):
        phrase = f"the {which} have the exponents of the next pair: 2 (i + 1)/d where 2i/d was expected"
        yield Change("exponent", phrase, waves=partial(_next_pair, sine))
    for phrase, formula in PRECEDENCE.items():
        yield Change("exponent", f"{phrase} where base^(-2i/d) was expected", waves=partial(_renumbered, formula))
    for decimals in range(2, 8):
        phrase = f"frequencies are rounded to {decimals} decimals"
        yield Change("frequency", phrase, waves=partial(_rounded_frequencies, decimals))


def _ratio(frequencies: Sequence[Decimal | Fraction]) -> Decimal:
    """Return the ratio of neighbours in a geometric series of frequencies; 1 where the first two are not positive."""
    first = [*map(decimal_of, frequencies[1::-1])]
    return CONTEXT.divide(*first) if len(first) > 1 and min(first) > 0 else Decimal(1)


def _next_pair(sine: bool, waves: Waves) -> Waves:
    """Return waves whose cosines, or sines, have the frequencies of the next pair."""
    bands = []
    for band in waves.bands:
        cos, sin = band._replace(sin=None), band._replace(cos=None)
        moved = replace(waves, bands=(sin if sine else cos,))
        bands += [*_multiplied(_ratio, moved).bands, cos if sine else sin]
    return replace(waves, bands=tuple(bands))


# Exponents without parentheses: what they compute of base, width and pair.
PRECEDENCE: dict[str, Callable[[Decimal, Decimal, int], Decimal]] = {
    "the power is taken before the division: d base^(-2i)": lambda b, d, i: d * b ** (-2 * i),
    "the power is taken before the division: base^(-2i)/d": lambda b, d, i: b ** (-2 * i) / d,
    "the exponent is not divided by d: base^(-2i)": lambda b, d, i: b ** (-2 * i),
    "base and exponent are exchanged: (2i/d)^(1/base)": lambda b, d, i: (2 * i / d) ** (1 / b),
    "the base is squared before the product: i/(d base^2)": lambda b, d, i: i / (d * b * b),
}


def _renumbered(formula: Callable[[Decimal, Decimal, int], Decimal], waves: Waves) -> Waves:
    """Return waves with a formula of base, width and pair; as they are where the frequencies are no series."""
    bands = []
    for band in waves.bands:
        count = len(band.frequencies)
        base = CONTEXT.power(_ratio(band.frequencies), -count)
        with localcontext(CONTEXT):
            bands.append(band._replace(frequencies=tuple(formula(base, Decimal(2 * count), i) for i in range(count))))
    return replace(waves, bands=tuple(bands))


def _multiplied(factor: Decimal | Callable[[Sequence[Decimal | Fraction]], Decimal], waves: Waves) -> Waves:
    """Return waves whose frequencies are multiplied by a number that may depend on them, band by band."""

    def band_of(band: Band) -> Band:
        times = factor if isinstance(factor, Decimal) else factor(band.frequencies)
        return band._replace(frequencies=tuple(CONTEXT.multiply(decimal_of(w), times) for w in band.frequencies))

    return replace(waves, bands=tuple(map(band_of, waves.bands)))


def _rounded_frequencies(decimals: int, waves: Waves) -> Waves:
    """Return waves whose frequencies have some decimals."""
    bands = ([decimal_of(w) for w in band.frequencies] for band in waves.bands)  # which may have 300 digits
    made = (tuple(round(w, decimals) if w < 1 << 40 else w for w in band) for band in bands)
    return replace(waves, bands=tuple(b._replace(frequencies=w) for b, w in zip(waves.bands, made, strict=True)))


NOISE = 1e-15  # what is smaller is the 0 that exact arithmetic would have given


class Matrix(NamedTuple):
    """A small matrix with a name; a vector is one with a single column."""

    name: str
    rows: Sequence[Sequence[float]]

    def lines(self, height: int) -> list[str]:
        """Return its name and its rows as lines of one width, with blank ones up to a height."""
        cells = [list(map(decimal_text, row)) for row in self.rows]
        wide = max(len(cell) for row in cells for cell in row)
        found = [self.name, *("[ " + "  ".join(cell.rjust(wide) for cell in row) + " ]" for row in cells)]
        across = max(map(len, found))
        return [line.ljust(across) for line in found] + [" " * across] * (height - len(found))


class Equation(NamedTuple):
    """Matrices side by side, with the signs between them."""

    terms: Sequence[Matrix | str]

    def as_dict(self) -> dict[str, object]:
        """Return the mapping that --json prints."""
        return {"equation": [t if isinstance(t, str) else t._asdict() for t in self.terms]}

    def lines(self, width: int) -> list[str]:
        """Return the matrices next to each other, signs at the middle; below each other if that is too wide."""
        height = 1 + max((len(t.rows) for t in self.terms if not isinstance(t, str)), default=1)
        middle = (height + 1) // 2
        blocks = [
            [t if row == middle else " " * len(t) for row in range(height)] if isinstance(t, str) else t.lines(height)
            for t in self.terms
        ]
        found = ["  ".join(parts).rstrip() for parts in zip(*blocks, strict=True)]
        if max(map(len, found)) <= width:
            return found
        return [line.rstrip() for block in blocks for line in block if line.strip()]


class SmallTable(NamedTuple):
    """A small table.

    Attributes
    ----------
    columns : sequence of str
        Headings.
    rows : sequence of sequences
        Text, whole numbers, or numbers, of which a column has one precision.
    decimals : int or None
        Of numbers that are not short; None for six digits instead.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    decimals: int | None = DECIMALS

    def as_dict(self) -> dict[str, object]:
        """Return the mapping that --json prints."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows]}


Item = str | Equation | SmallTable


class Step(NamedTuple):
    """Step of a worked example: a title, and the lines, tables and matrices that carry it out."""

    title: str
    items: Sequence[Item]

    def as_dict(self) -> dict[str, object]:
        """Return the mapping that --json prints."""
        items = [{"text": item} if isinstance(item, str) else item.as_dict() for item in self.items]
        return {"title": self.title, "items": items}


def decimal_text(value: float) -> str:
    """Return a value of a worked example: with four decimals, or as many as the user asked for."""
    return padded(value, DECIMALS, NOISE)


def short(value: float) -> str:
    """Return a number in full where that is short, or with six digits."""
    return figure(value)


def off_by(value: float) -> str:
    """Return a largest difference."""
    return f"{value:.0e}" if value else "0"


def joined(values: Sequence[float]) -> str:
    """Return a row in brackets."""
    return "[" + ", ".join(map(decimal_text, values)) + "]"


def exact_text(value: Fraction | float) -> str:
    """Return a number in full digits, without needless zeros."""
    text = repr(float(value) + 0.0)
    return figure(float(value)) if settings().decimals is not None else text.removesuffix(".0")
