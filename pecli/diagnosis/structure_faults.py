"""What may have been done to a table: each fault as a change of the expected values.

A case holds the first rows of what somebody has and of what was expected.  A
fault that makes the expected values equal to the others explains them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pecli.measures.samples import RESOLUTION, Floats, holds, rounded

Planes = list[Floats]
Change = Callable[[Floats], Floats]
NEARLY = 0.95  # share of values that rounding must explain where angles were coarser
COARSE_ANGLE = 2.0**-13  # what a coarser angle may move a value by where it is near zero
SHIFTS = (1, -1, 2, -2, 3, -3, 4, -4, 8, -8)


@dataclass(frozen=True)
class Case:
    """Rows of two tables that should be alike.

    Attributes
    ----------
    names : list of str
        Of the arrays.
    mine, expected : list of (n, m) float64
        Their values.
    grain : str
        The coarser of the two types to which values are rounded.
    """

    names: list[str]
    mine: Planes
    expected: Planes
    grain: str

    @property
    def scale(self) -> float:
        """Size of the values."""
        finite = [np.abs(p[np.isfinite(p)]).max(initial=0.0) for p in self.expected]
        return float(max(finite, default=0.0)) or 1.0

    @property
    def rounding(self) -> float:
        """What two roundings may make."""
        return 4 * RESOLUTION[self.grain] * self.scale

    def residual(self, planes: Planes | None = None, columns: slice = slice(None)) -> float:
        """Return the largest difference of other values from those at hand; infinite for other shapes."""
        expected = self.expected if planes is None else planes
        worst = 0.0
        for p, q in zip(self.mine, expected, strict=True):
            if p.shape != q.shape:
                return float("inf")
            worst = max(worst, float(np.nan_to_num(gaps(p, q)[:, columns], nan=np.inf).max(initial=0.0)))
        return worst


def gaps(p: Floats, q: Floats) -> Floats:
    """Return absolute differences; 0 where both are NaN or the same infinity, NaN where one is NaN."""
    with np.errstate(invalid="ignore"):
        return np.where((p == q) | (np.isnan(p) & np.isnan(q)), 0.0, np.abs(p - q))


@dataclass(frozen=True)
class Fault:
    """One thing that may have been done.

    Attributes
    ----------
    kind : str
        A word for it, for programs.
    text : str
        What to say.
    change : callable
        Gives the values that it makes; None where it does not apply.
    rows, columns : slice
        Rows and columns that it can speak of.
    factor : float
        For a change of size, the factor.
    """

    kind: str
    text: str
    change: Callable[[], Planes | None]
    rows: slice = field(default_factory=lambda: slice(None))
    columns: slice = field(default_factory=lambda: slice(None))
    factor: float = 1.0


def applied(case: Case, change: Change) -> Planes:
    """Return the expected values, each array changed alike."""
    return [change(p) for p in case.expected]


def structural(case: Case) -> Iterator[Fault]:
    """Yield changes of order, sign and size, the simplest first."""
    yield from _exchanges(case)
    yield from _orders(case)
    yield from _signs(case)
    yield from _sizes(case)
    yield from _column_shifts(case)
    yield from _row_changes(case)


def _exchanges(case: Case) -> Iterator[Fault]:
    if len(case.expected) == 2:
        yield Fault("exchanged", f"{case.names[0]} and {case.names[1]} are exchanged", lambda: case.expected[::-1])
    if len(case.expected) == 1 and case.expected[0].shape[1] % 2 == 0:
        said = "cos and sin are exchanged"
        yield Fault("exchanged", f"{said}: the two halves are swapped", partial(applied, case, _swap_halves))
        yield Fault("exchanged", f"{said}: neighbouring columns are swapped", partial(applied, case, _swap_neighbours))


def _swap_halves(p: Floats) -> Floats:
    return np.roll(p, p.shape[1] // 2, axis=1)


def _swap_neighbours(p: Floats) -> Floats:
    return p.reshape(len(p), -1, 2)[:, :, ::-1].reshape(p.shape)


def _orders(case: Case) -> Iterator[Fault]:
    if any(p.shape[1] % 2 or p.shape[1] < 4 for p in case.expected):
        return
    swap = "equal after swapping interleaved for halves"
    halves, neighbours = (
        "two halves stand where neighbours were expected",
        "neighbours stand where two halves were expected",
    )
    yield Fault("layout", f"{swap}: {halves}", partial(applied, case, to_halves))
    yield Fault("layout", f"{swap}: {neighbours}", partial(applied, case, to_neighbours))
    yield Fault("reversed", "the columns run backwards", partial(applied, case, lambda p: p[:, ::-1]))
    if len({p.shape for p in case.expected}) == 1 and case.expected[0].shape[0] == case.expected[0].shape[1]:
        yield Fault("transposed", "rows and columns are exchanged", partial(applied, case, lambda p: p.T))


def to_halves(p: Floats) -> Floats:
    """Return columns 0, 2, 4 .. 1, 3, 5 ..: [a0 b0 a1 b1] -> [a0 a1 | b0 b1]."""
    return np.concatenate([p[:, 0::2], p[:, 1::2]], axis=1)


def to_neighbours(p: Floats) -> Floats:
    """Return columns 0, m/2, 1, m/2 + 1 ..: [a0 a1 | b0 b1] -> [a0 b0 a1 b1]."""
    half = p.shape[1] // 2
    return np.stack([p[:, :half], p[:, half:]], axis=2).reshape(p.shape)


def _signs(case: Case) -> Iterator[Fault]:
    """Yield changed signs: of an array, of a half, of every second column."""
    for k, name in enumerate(case.names):
        planes = [-p if i == k else p for i, p in enumerate(case.expected)]
        yield Fault("sign", f"the sign of {name} is changed", partial(_given, planes))
    if len(case.expected) != 1:
        return
    (p,) = case.expected
    half = p.shape[1] // 2
    for text, columns in (
        ("the second half", slice(half, None)),
        ("the first half", slice(0, half)),
        ("every second column", slice(1, None, 2)),
        ("every second column from the first", slice(0, None, 2)),
    ):
        changed = p.copy()
        changed[:, columns] *= -1
        yield Fault("sign", f"the sign of {_part_of(p[:, columns])} is changed: {text}", partial(_given, [changed]))


def _given(planes: Planes) -> Planes:
    return planes


def _part_of(values: Floats) -> str:
    """Say whether columns are sines or cosines: in the row of the smallest angles sines are small, cosines large."""
    sizes = np.abs(values).mean(axis=1)
    if sizes[0] == sizes.min() and sizes[0] < 0.5 * sizes.max():
        return "sin"
    return "cos" if sizes[0] == sizes.max() else "these values"


def _sizes(case: Case) -> Iterator[Fault]:
    """Yield one factor on all values: the one of least squares."""
    above = below = 0.0
    for p, q in zip(case.mine, case.expected, strict=True):
        known = np.isfinite(p) & np.isfinite(q)
        above += float((p[known] * q[known]).sum())
        below += float((q[known] * q[known]).sum())
    if below <= 0 or above == 0 or not np.isfinite(above):
        return
    factor = above / below
    if abs(factor - 1) > 16 * RESOLUTION[case.grain]:
        text = f"every value is {factor:.6g} times what was expected"
        yield Fault("size", text, partial(applied, case, lambda p: p * factor), factor=factor)


def _column_shifts(case: Case) -> Iterator[Fault]:
    for k in SHIFTS:
        if abs(k) >= min(p.shape[1] for p in case.expected):
            continue
        word = "one column" if abs(k) == 1 else f"{abs(k)} columns"
        text = f"shifted by {word} to the {'right' if k > 0 else 'left'}"
        columns = slice(k, None) if k > 0 else slice(0, k)
        yield Fault("columns", text, partial(applied, case, partial(np.roll, shift=k, axis=1)), columns=columns)


def _row_changes(case: Case) -> Iterator[Fault]:
    yield Fault("reversed", "the rows run backwards", partial(applied, case, lambda p: p[::-1]))
    n = len(case.expected[0])
    for k in SHIFTS:
        if abs(k) < n - 1:
            rows = slice(0, n - k) if k > 0 else slice(-k, None)
            yield Fault("rows", _row_text(k), partial(applied, case, partial(np.roll, shift=-k, axis=0)), rows=rows)


def _row_text(k: int) -> str:
    word = "one row" if abs(k) == 1 else f"{abs(k)} rows"
    return f"shifted by {word}: row 0 holds what was expected at row {k}" if k > 0 else f"shifted down by {word}"


def rounding_fault(case: Case) -> str | None:
    """Return how rounding the expected values gives the others; None if it does not."""
    from pecli.measures.arithmetics import spacing

    for kind in ("float32", "float16", "bfloat16"):
        if not all(holds(p, kind) for p in case.mine):
            continue
        made = [rounded(q, kind) for q in case.expected]
        off = [gaps(p, q) for p, q in zip(case.mine, made, strict=True)]
        equal = min(float((gap == 0).mean()) for gap in off)
        said = f"the expected values rounded to {kind}"
        if equal == 1.0:
            return f"{said}: nothing else differs"
        limits = [1.01 * spacing(q, kind) + COARSE_ANGLE * case.scale for q in made]
        near = all((gap <= limit).all() for gap, limit in zip(off, limits, strict=True))
        if near and equal > NEARLY and kind != "float32":
            return f"{said}, {1 - equal:.2g} of them one unit off as a coarser angle leaves"
    return None
