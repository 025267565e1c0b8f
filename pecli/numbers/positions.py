"""Exact positions: a range, or a list as written.

A position is a multiple of a unit, both exact: ``0.1`` is 1 times 1/10, the
binary value in an npy file a whole number times a power of two.  The engine
multiplies integers, so nothing is rounded before the phase is known.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from functools import cached_property
from math import ceil, lcm
from typing import Any, NamedTuple

from pecli.errors import BadFile, BadParameter
from pecli.numbers.bounds import LARGEST_POSITIONS
from pecli.numbers.decimals import number_text, parse_integer, parse_position, shorten, split_list
from pecli.numbers.deferred import NDArray, np

LIMIT = 1 << 53  # below it every integer is a float64, so an index survives any format
LARGEST_MULTIPLE = 1 << 63
BLOCK = 1 << 16  # values of an array that are looked at together
EXACT_DIGITS = 18  # of a position in a file; one of more is a double that was printed
_EXACT = Context(prec=1200, Emin=-999_999, Emax=999_999, traps=[Inexact])  # the digits of any double
LISTED = 1000  # positions; a longer list is stored as a position array, not in the recipe


class Segment(NamedTuple):
    """Rows (of the requested slice) whose positions are multiples of one unit."""

    rows: slice | NDArray[np.int64]
    unit: Fraction
    multiples: range | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Positions:
    """n exact positions, each below 2^53 in size.

    Made by :meth:`arange`, :meth:`listed` or :meth:`parse`.

    Attributes
    ----------
    count : int
        How many.
    start, step : Fraction or None
        Of a range; None for a list.
    """

    count: int
    _segments: tuple[Segment, ...]
    start: Fraction | None = None
    step: Fraction | None = None

    @classmethod
    def arange(cls, count: int, start: Decimal | Fraction | int = 0, step: Decimal | Fraction | int = 1) -> Positions:
        """Return start, start + step, ... (count of them).

        Raises
        ------
        BadParameter
            If count is below 1, step is 0, or a position reaches 2^53 in size.
        """
        if count < 1:
            raise BadParameter("len", count, "must be at least 1")
        first, by = Fraction(start), Fraction(step)
        if by == 0:
            raise BadParameter("step", step, "must not be 0: every row would be the same")
        last = first + by * (count - 1)
        if abs(first) >= LIMIT:
            raise BadParameter("start", start, "must lie below 2^53 in size")
        if abs(last) >= LIMIT:
            rule = f"from {fraction_text(first)} by {fraction_text(by)} reaches beyond 2^53: use fewer rows"
            raise BadParameter("len", count, rule)
        unit = Fraction(1, lcm(first.denominator, by.denominator))
        if max(abs(first), abs(last)) / unit >= LARGEST_MULTIPLE:
            raise BadParameter("step", step, "has too many decimals for positions of this size: use fewer digits")
        low, gap = int(first / unit), int(by / unit)
        return cls(count, (Segment(slice(0, count), unit, range(low, low + count * gap, gap)),), first, by)

    @classmethod
    def listed(cls, values: Sequence[Any] | NDArray[Any]) -> Positions:
        """Return the positions of a list: exact numbers, or an array's binary values, (n,)."""
        segments = _segments_of(values)
        made = cls(sum(len(s.multiples) for s in segments), segments)
        for end in (made.lowest, made.highest):
            if abs(end) >= LIMIT:
                raise BadParameter("positions", fraction_text(end), "must lie below 2^53 in size")
        return made

    @classmethod
    def parse(cls, text: str) -> Positions:
        """Return the positions of a list ``0,5,9.5`` (or ``0+5+9.5``), of a range ``1000:2000:2``, or of ``@FILE``.

        A range ends before its second number, as in Python.

        Examples
        --------
        >>> Positions.parse("1k:2k").count, Positions.parse("0:1:0.25").step
        (1024, Fraction(1, 4))
        """
        if text.startswith("@"):
            return cls.listed(read_positions(type(text)(text[1:])))  # which keeps that a file states it
        if not text[:1].isdigit() and os.path.isfile(text):
            raise BadParameter("positions", text, f"is a file: write @{text}")
        if other := re.fullmatch(r"(\d+)(?:-|\.\.+)(\d+)", text):
            rule = f"is no range: write {other[1]}:{int(other[2]) + 1}, which ends before its second number"
            raise BadParameter("positions", text, rule)
        ends = [parse_position("positions", part or "0") for part in text.split(":")] if ":" in text else []
        if ends and (len(ends) > 3 or not text.split(":")[1]):
            raise BadParameter("positions", text, "must be FIRST:END or FIRST:END:STEP, such as 1000:2000")
        if ends:
            first, end, step = (Fraction(part) for part in (*ends, Decimal(1))[:3])
            if step == 0 or (end - first) / step <= 0:
                raise BadParameter("positions", text, "is an empty range: its end comes before its first position")
            return cls.arange(ceil((end - first) / step), first, step)
        return cls.listed([parse_position("positions", item) for item in split_list(text, "+")])

    @property
    def unit(self) -> Fraction:
        """The unit of a range: all its positions are whole multiples of it."""
        return self._segments[0].unit

    @property
    def is_range(self) -> bool:
        """Whether they are evenly spaced by construction."""
        return self.step is not None

    @property
    def lowest(self) -> Fraction:
        """The smallest position."""
        return min(self._ends)

    @property
    def highest(self) -> Fraction:
        """The largest position."""
        return max(self._ends)

    @cached_property
    def _ends(self) -> list[Fraction]:
        found = []
        for s in self._segments:
            m = s.multiples
            ends = (m[0], m[-1]) if isinstance(m, range) else (m.min(), m.max())
            found += [int(end) * s.unit for end in ends]
        return found

    @cached_property
    def integral(self) -> bool:
        """Whether all are whole numbers."""
        return all(s.unit.denominator == 1 for s in self._segments)

    def part(self, start: int, stop: int) -> Positions:
        """Return rows `start` to `stop` of them."""
        if self.start is not None and self.step is not None:  # which may go on beyond the last
            return Positions.arange(stop - start, self.start + start * self.step, self.step)
        return Positions(stop - start, tuple(self.segments(start, stop)))

    def segments(self, start: int, stop: int) -> Iterator[Segment]:
        """Yield rows `start` to `stop` in parts that share a unit; their rows count from `start`."""
        for segment in self._segments:
            if isinstance(segment.rows, slice):  # all in one unit
                yield Segment(slice(0, stop - start), segment.unit, segment.multiples[start:stop])
                continue
            low, high = segment.rows.searchsorted((start, stop))
            if low < high:
                yield Segment(segment.rows[low:high] - start, segment.unit, segment.multiples[low:high])

    def numbers(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows `start` to `stop` as int64, or as the nearest float64 where fractional."""
        out = np.empty(stop - start, np.int64 if self.integral else np.float64)
        for segment in self.segments(start, stop):
            multiples = as_array(segment.multiples)
            if segment.unit.denominator == 1:
                out[segment.rows] = multiples * int(segment.unit)
            elif segment.unit.denominator < LIMIT and np.abs(multiples).max(initial=0) < LIMIT:
                out[segment.rows] = multiples / segment.unit.denominator  # one correctly rounded division
            else:
                out[segment.rows] = [float(int(m) * segment.unit) for m in multiples]
        return out

    def keys(self) -> dict[str, str]:
        """Return the keys of these positions in a recipe: len, start and step, or positions."""
        if self.start is not None and self.step is not None:
            keys = {"len": str(self.count)}
            if self.start != 0:
                keys["start"] = fraction_text(self.start)
            if self.step != 1:
                keys["step"] = fraction_text(self.step)
            return keys
        if self.count > LISTED:
            return {"positions": "@position"}
        return {"positions": "+".join(fraction_text(p) for p in self)}

    def __iter__(self) -> Iterator[Fraction]:
        """Yield every position exactly; for short tables."""
        found: list[tuple[int, Fraction]] = []
        for s in self.segments(0, self.count):
            rows = range(self.count) if isinstance(s.rows, slice) else s.rows
            found += [(int(r), int(m) * s.unit) for r, m in zip(rows, s.multiples, strict=True)]
        return iter([p for _, p in sorted(found, key=lambda pair: pair[0])])


def as_array(multiples: range | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return whole numbers as an int64 array."""
    if isinstance(multiples, range):
        return np.arange(multiples.start, multiples.stop, multiples.step, dtype=np.int64)
    return multiples


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction with the smallest denominator between two positive numbers."""
    whole = math.ceil(low)
    return Fraction(whole) if whole <= high else whole - 1 + 1 / simplest(1 / (high - whole + 1), 1 / (low - whole + 1))


def fraction_text(value: Fraction) -> str:
    """Return the decimal that `value` is exactly; every position is one.

    Examples
    --------
    >>> fraction_text(Fraction(19, 2)), fraction_text(Fraction(-1, 8))
    ('9.5', '-0.125')
    """
    try:
        return number_text(_EXACT.divide(Decimal(value.numerator), Decimal(value.denominator)))
    except Inexact:
        return str(value)


def read_positions(path: str) -> Sequence[Decimal] | NDArray[Any]:
    """Return the positions of a file of any format (a text has one a line), or of standard input ("-").

    In a text with numbers of more than 18 digits, as `numpy.savetxt` writes them, all are read as doubles.

    Raises
    ------
    BadFile
        If it cannot be read, or holds something other than positions.
    """
    from pecli.numbers.reader import read_exact

    found = read_exact(path, most=LARGEST_POSITIONS)
    if not isinstance(found, list) and max(abs(float(np.min(found))), abs(float(np.max(found)))) >= LIMIT:
        raise BadFile(path, "holds a position of 2^53 or more")
    if isinstance(found, list) and max(len(number.as_tuple().digits) for number in found) > EXACT_DIGITS:
        return np.array(found, np.float64)
    return found


def _segments_of(values: Sequence[Any] | NDArray[Any]) -> tuple[Segment, ...]:
    """Split a list by the finest unit its items need, only where one unit for all would overflow."""
    if len(values) == 0:
        raise BadParameter("positions", "''", "must list at least one position")
    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        if max(abs(int(values.min())), abs(int(values.max()))) >= LIMIT:
            rule = "must lie below 2^53 in size"
            raise BadParameter("positions", max(int(values.min()), int(values.max()), key=abs), rule)
        return (Segment(slice(0, len(values)), Fraction(1), values.astype(np.int64)),)
    if isinstance(values, np.ndarray) and values.dtype in (np.float16, np.float32, np.float64):
        return _binary_segments(values)
    exact = []
    for v in values:
        try:
            exact.append(Fraction(v.item() if isinstance(v, np.generic) else v))
        except (TypeError, ValueError, OverflowError):  # what a Fraction says to None, to NaN, to infinity
            raise BadParameter("positions", v, "must be finite numbers") from None
    units = [Fraction(1, p.denominator) for p in exact]
    distinct = set(units)
    finest = Fraction(1, lcm(*(unit.denominator for unit in distinct)))
    largest = max(abs(p) for p in exact)
    if largest / finest < LARGEST_MULTIPLE:
        return (Segment(slice(0, len(exact)), finest, np.array([int(p / finest) for p in exact], np.int64)),)
    out = []
    for unit in sorted(distinct):
        rows = np.array([i for i, u in enumerate(units) if u == unit], np.int64)
        multiples = [int(exact[i] / unit) for i in rows]
        if max(map(abs, multiples)) >= LARGEST_MULTIPLE:
            worst = shorten(fraction_text(max((exact[i] for i in rows), key=abs)))
            raise BadParameter("positions", worst, "has too many digits: a position has at most 18")
        out.append(Segment(rows, unit, np.array(multiples, np.int64)))
    return tuple(out)


def _binary_segments(values: NDArray[Any]) -> tuple[Segment, ...]:
    """Split an array of binary values, each a whole number times a power of two, as `_segments_of` splits a list."""
    places = np.empty(len(values), np.int16)  # binary places after the point that each value needs
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK].astype(np.float64)
        wrong = block[~(np.abs(block) < LIMIT)]
        if len(wrong):
            rule = "must lie below 2^53 in size" if np.isfinite(wrong[0]) else "must be finite numbers"
            raise BadParameter("positions", wrong[0].item(), rule)
        fractions, exponents = np.frexp(block)
        digits = np.ldexp(fractions, 53).astype(np.int64)
        last = np.frexp((digits & -digits).astype(np.float64))[1] - 1  # place of the lowest bit that is set
        places[start : start + BLOCK] = np.where(digits == 0, 0, np.maximum(0, 53 - exponents - last))
    finest = int(places.max())
    if finest < 63 and max(abs(int(values.min())), abs(int(values.max()))) + 1 < LARGEST_MULTIPLE >> finest:
        return (Segment(slice(0, len(values)), Fraction(1, 1 << finest), _multiples(values, finest)),)
    found = []
    for count in reversed(np.unique(places).tolist()):
        rows = np.flatnonzero(places == count)
        found.append(Segment(rows, Fraction(1, 1 << count), _multiples(values[rows], count)))
    return tuple(found)


def _multiples(values: NDArray[Any], places: int) -> NDArray[np.int64]:
    out = np.empty(len(values), np.int64)
    for start in range(0, len(values), BLOCK):
        out[start : start + BLOCK] = np.ldexp(values[start : start + BLOCK].astype(np.float64), places)
    return out


def parse_shard(text: str, length: int) -> tuple[int, int]:
    """Return the rows (start, stop) that ``K/N`` takes of a table of `length` rows.

    Raises
    ------
    BadParameter
        If it is not K/N with 0 <= K < N, or the part has no rows.

    Examples
    --------
    >>> parse_shard("1/4", 10)
    (2, 5)
    """
    index, _, parts = str(text).partition("/")
    try:
        k, n = parse_integer("shard", index), parse_integer("shard", parts)
    except BadParameter:
        loop = "for k in $(seq 0 7); do pecli generate ... --shard $k/8 -o parts/; done"
        raise BadParameter("shard", text, f"must be K/N, which writes one part of N: {loop}") from None
    if n < 1 or not 0 <= k < n:
        raise BadParameter("shard", text, "must be K/N with K from 0 to N - 1")
    start, stop = k * length // n, (k + 1) * length // n
    if start == stop:
        raise BadParameter("shard", text, f"has no rows: a table of {length} rows makes at most {length} parts")
    return start, stop
