"""Two parts of the expected values that belong together: cosines and sines, in two arrays or in one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pecli.diagnosis.case import Case
from pecli.diagnosis.reworked import Work, reworked
from pecli.measures.lanes import Lane
from pecli.measures.samples import Floats
from pecli.numbers.types import COMPLEX
from pecli.records import dataclass


@dataclass(frozen=True)
class Half:
    """What may have been treated on its own.

    Attributes
    ----------
    lane : int
        The array that holds it.
    columns : (start, step)
        Where it stands in that array's rows.
    count : int
        Its columns.
    name : str
        What it is called.
    where : str
        Where it stands, to be said after it; empty where the name says so.
    """

    lane: int
    columns: tuple[int, int]
    count: int
    name: str
    where: str = ""

    @property
    def place(self) -> slice:
        """Its columns."""
        start, step = self.columns
        return slice(start, start + step * self.count, step)

    def of(self, planes: list[Floats]) -> Floats:
        """Return its values."""
        return planes[self.lane][:, self.place]


def halves(case: Case) -> Iterator[tuple[Half, Half]]:
    """Yield the two arrays that are cosines and sines, or the two ways in which one array may hold both."""
    names, widths = case.names, [p.shape[1] for p in case.there]
    if len(widths) > 1:
        some = [k for k, name in enumerate(names) if "cos" in name or "sin" in name]
        some = some if len(some) == 2 else list(range(len(widths)))
        if len(some) == 2 and widths[some[0]] == widths[some[1]]:
            one, other = (Half(k, (0, 1), widths[k], names[k]) for k in some)
            yield one, other
        return
    m = widths[0] // 2
    if widths[0] % 2 or not m:
        return
    if case.mine[0].dtype in COMPLEX.values():
        one, other = (Half(0, (k, 2), m, name) for k, name in enumerate(("the real part", "the imaginary part")))
        yield one, other
        return
    for columns, words in (
        (((0, 1), (m, 1)), ("the first half", "the second half")),
        (((0, 2), (1, 2)), ("every second column from the first", "every second column")),
    ):
        one, other = (Half(0, at, m, "", f": {word}") for at, word in zip(columns, words, strict=True))
        named = _words(one.of(case.there), other.of(case.there))
        yield Half(0, one.columns, m, named[0], one.where), Half(0, other.columns, m, named[1], other.where)


def _words(p: Floats, q: Floats) -> tuple[str, str]:
    """Say which are sines: those that grow where the others, their cosines, are positive."""
    if len(p) > 2:
        signs = np.sign(((p[2:] - p[:-2]) * q[1:-1]).sum(axis=0))
        for sign, words in ((1, ("sin", "cos")), (-1, ("cos", "sin"))):
            if (sign * signs >= 0).all() and signs.any():
                return words
    return ("these values",) * 2


def moved(case: Case, to: Mapping[Half, Half]) -> list[Lane]:
    """Return the expected lanes with some halves in the places of others."""
    lanes, works = list(case.expected), []
    for target, source in to.items():
        if target.lane != source.lane:
            lanes[target.lane] = case.expected[source.lane]
        else:
            works.append((target.place, source.place))

    def work(_name: str, values: Floats, _start: int) -> Floats:
        found = values.copy()
        for target, source in works:
            found[:, target] = values[:, source]
        return found

    return reworked(lanes, case.grain, work if works else None)


def multiplied(case: Case, half: Half, factor: float) -> Work:
    """Return the work that multiplies one half."""
    array = case.expected[half.lane].name

    def work(name: str, values: Floats, _start: int) -> Floats:
        if name == array:
            values[:, half.place] *= factor
        return values

    return work


def squared(case: Case, half: Half) -> Work:
    """Return the work that squares one half."""
    array = case.expected[half.lane].name

    def work(name: str, values: Floats, _start: int) -> Floats:
        if name == array:
            values[:, half.place] *= values[:, half.place]
        return values

    return work


def alone(case: Case) -> Iterator[Half]:
    """Yield what may have been treated on its own: every array, or the halves of a sole one."""
    if len(case.there) > 1:
        yield from (Half(k, (0, 1), p.shape[1], case.names[k]) for k, p in enumerate(case.there))
    else:
        yield from (half for pair in halves(case) for half in reversed(pair))
