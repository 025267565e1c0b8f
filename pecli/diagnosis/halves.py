"""Two parts of the expected values that belong together: cosines and sines, in two arrays or in one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from pecli.declare.plan import Waves
from pecli.diagnosis.case import Case, read_rows
from pecli.diagnosis.reworked import Work, reworked
from pecli.measures.lanes import Lane
from pecli.measures.samples import Floats
from pecli.numbers.types import COMPLEX
from pecli.records import dataclass
from pecli.tables.table import Table


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
    for columns, places in (
        (((0, 1), (m, 1)), ("the first half", "the second half")),
        (((0, 2), (1, 2)), ("every second column from the first", "every second column from the second")),
    ):
        one, other = (Half(0, at, m, place) for at, place in zip(columns, places, strict=True))
        named = _words(case, one, other)
        if named is not None:
            one, other = (replace(h, name=n, where=f": {h.name}") for h, n in zip((one, other), named, strict=True))
        yield one, other


def _words(case: Case, one: Half, other: Half) -> tuple[str, str] | None:
    """Say which are sines, as far as is known: where position 0 has 0 and 1, or the pairs turn forwards, by less.

    Forwards sines grow where the others, their cosines, are positive; backwards, and by half a turn or more from a row
    to the one after the next, the cosines would seem to be the sines.
    """
    p, q = one.of(case.there), other.of(case.there)
    if len(p) < 3:
        return None
    signs = np.sign(((p[2:] - p[:-2]) * q[1:-1]).sum(axis=0))
    if not signs.any() or not ((signs >= 0).all() or (signs <= 0).all()):
        return None
    (first,) = [read_rows(lane, 0, 1) for lane in case.expected]
    zero = [not half.of([first]).any() for half in (one, other)]
    if zero[0] != zero[1]:
        return ("sin", "cos") if zero[0] else ("cos", "sin")
    if not _forwards(case.expected[0], case.known):
        return None
    return ("sin", "cos") if signs.max() > 0 else ("cos", "sin")


def _forwards(lane: Lane, known: Table | None) -> bool:
    """Whether the pairs of a computed table turn forwards, the slowest by less than a quarter from row to row."""
    table = known or lane.table
    if not isinstance(table, Table) or not isinstance(table.plan, Waves) or table.part.step is None:
        return False
    slowest = min((float(w) for w in table.plan.frequencies if w > 0), default=0.0)
    return 0 < slowest * float(table.part.step) * getattr(lane, "step", 1) < np.pi / 2


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
