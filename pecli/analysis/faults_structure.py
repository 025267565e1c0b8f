"""What may have been done to a table: each fault as a change of the expected values.

A case holds the first rows of what somebody has and of what was expected.  A
fault that makes the expected values equal to the others explains them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pecli.analysis.samples import RESOLUTION, Floats, holds, rounded

Planes = list[Floats]
NEARLY = 0.95  # share of values that rounding must explain where angles were coarser
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

    def residual(self, planes: Planes | None, columns: slice = slice(None)) -> float:
        """Return the largest difference of other values from those somebody has; infinite for other shapes."""
        expected = self.expected if planes is None else planes
        worst = 0.0
        for p, q in zip(self.mine, expected, strict=True):
            if p.shape != q.shape:
                return float("inf")
            with np.errstate(invalid="ignore"):
                gap = np.abs(p - q)[:, columns]
            same = (np.isnan(p) & np.isnan(q) | (p == q))[:, columns]
            gap = np.where(same, 0.0, gap)
            worst = max(worst, float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0)))
        return worst


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
        From the expected values to those it makes; None where it does not apply.
    rows : slice
        Rows that it can speak of.
    columns : slice
        Columns that it can speak of.
    """

    kind: str
    text: str
    change: Callable[[], Planes | None]
    rows: slice = field(default_factory=lambda: slice(None))
    columns: slice = field(default_factory=lambda: slice(None))


def structural(case: Case) -> Iterator[Fault]:
    """Yield changes of order, sign and size, the simplest first."""
    yield from _exchanges(case)
    yield from _orders(case)
    yield from _signs(case)
    yield from _sizes(case)
    yield from _column_shifts(case)
    yield from _row_changes(case)


def _all(case: Case, change: Callable[[Floats], Floats]) -> Callable[[], Planes]:
    return lambda: [change(p) for p in case.expected]


def _exchanges(case: Case) -> Iterator[Fault]:
    if len(case.expected) == 2:
        yield Fault("exchanged", f"{case.names[0]} and {case.names[1]} are exchanged", lambda: case.expected[::-1])
    if len(case.expected) == 1 and case.expected[0].shape[1] % 2 == 0:
        half = case.expected[0].shape[1] // 2
        yield Fault("exchanged", "cos and sin are exchanged: the two halves are swapped", _all(case, lambda p: np.roll(p, half, axis=1)))
        yield Fault("exchanged", "cos and sin are exchanged: neighbouring columns are swapped", _all(case, _swap_neighbours))


def _swap_neighbours(p: Floats) -> Floats:
    return p.reshape(len(p), -1, 2)[:, :, ::-1].reshape(p.shape)


def _orders(case: Case) -> Iterator[Fault]:
    if any(p.shape[1] % 2 or p.shape[1] < 4 for p in case.expected):
        return
    swap = "equal after swapping interleaved for halves"
    yield Fault("layout", f"{swap}: two halves stand where neighbours were expected", _all(case, to_halves))
    yield Fault("layout", f"{swap}: neighbours stand where two halves were expected", _all(case, to_neighbours))
    yield Fault("reversed", "the columns run backwards", _all(case, lambda p: p[:, ::-1]))
    if len({p.shape for p in case.expected}) == 1 and case.expected[0].shape[0] == case.expected[0].shape[1]:
        yield Fault("transposed", "rows and columns are exchanged", _all(case, lambda p: p.T))


def to_halves(p: Floats) -> Floats:
    """Return columns 0, 2, 4 .. 1, 3, 5 ..."""
    return np.concatenate([p[:, 0::2], p[:, 1::2]], axis=1)


def to_neighbours(p: Floats) -> Floats:
    """Return columns 0, m/2, 1, m/2 + 1 ..."""
    half = p.shape[1] // 2
    return np.stack([p[:, :half], p[:, half:]], axis=2).reshape(p.shape)


def _signs(case: Case) -> Iterator[Fault]:
    """Yield changed signs: of an array, of a half, of every second column."""
    for k, name in enumerate(case.names):
        planes = [-p if i == k else p for i, p in enumerate(case.expected)]
        yield Fault("sign", f"the sign of {name} is changed", lambda planes=planes: planes)  # type: ignore[misc]
    if len(case.expected) == 1:
        (p,) = case.expected
        half = p.shape[1] // 2
        for text, columns in (
            ("the second half", slice(half, None)), ("the first half", slice(0, half)),
            ("every second column", slice(1, None, 2)), ("every second column from the first", slice(0, None, 2)),
        ):  # fmt: skip
            changed = p.copy()
            changed[:, columns] *= -1
            which = _part_of(p[:, columns])
            yield Fault("sign", f"the sign of {which} is changed: {text}", lambda changed=changed: [changed])  # type: ignore[misc]


def _part_of(values: Floats) -> str:
    """Say whether columns are sines or cosines, from the row where angles are smallest."""
    sizes = np.abs(values).mean(axis=1)
    return "sin" if sizes.min() < 0.5 * sizes.max() and sizes[0] == sizes.min() else "cos" if sizes[0] == sizes.max() else "values"


def _sizes(case: Case) -> Iterator[Fault]:
    """Yield one factor on all values."""
    above = sum(float((p * q)[np.isfinite(p * q)].sum()) for p, q in zip(case.mine, case.expected, strict=True) if p.shape == q.shape)
    below = sum(float((q * q)[np.isfinite(q * q)].sum()) for q in case.expected)
    if below <= 0 or above == 0 or not np.isfinite(above):
        return
    factor = above / below
    if abs(factor - 1) > 16 * RESOLUTION[case.grain]:
        yield Fault("size", f"every value is {factor:.6g} times what was expected", _all(case, lambda p: p * factor))


def _column_shifts(case: Case) -> Iterator[Fault]:
    for k in SHIFTS:
        if abs(k) >= min(p.shape[1] for p in case.expected):
            continue
        columns = slice(k, None) if k > 0 else slice(0, k)
        word = "one column" if abs(k) == 1 else f"{abs(k)} columns"
        where = "right" if k > 0 else "left"
        yield Fault(
            "columns", f"shifted by {word} to the {where}", _all(case, lambda p, k=k: np.roll(p, k, axis=1)), columns=columns
        )  # type: ignore[misc]


def _row_changes(case: Case) -> Iterator[Fault]:
    yield Fault("reversed", "the rows run backwards", _all(case, lambda p: p[::-1]))
    n = len(case.expected[0])
    for k in SHIFTS:
        if abs(k) < n - 1:
            rows = slice(0, n - k) if k > 0 else slice(-k, None)
            yield Fault("rows", _row_text(k), _all(case, lambda p, k=k: np.roll(p, -k, axis=0)), rows=rows)  # type: ignore[misc]


def _row_text(k: int) -> str:
    word = "one row" if abs(k) == 1 else f"{abs(k)} rows"
    return f"shifted by {word}: row 0 holds what was expected at row {k}" if k > 0 else f"shifted down by {word}"


def rounding_fault(case: Case) -> str | None:
    """Return how rounding the expected values gives the others; None if it does not."""
    from pecli.analysis.finders.arithmetics import spacing

    for kind in ("float32", "float16", "bfloat16"):
        if not all(holds(p, kind) for p in case.mine):
            continue
        made = [rounded(q, kind) for q in case.expected]
        with np.errstate(invalid="ignore"):
            gaps = [np.where((p == q) | (np.isnan(p) & np.isnan(q)), 0.0, np.abs(p - q)) for p, q in zip(case.mine, made, strict=True)]
        equal = min(float((gap == 0).mean()) for gap in gaps)
        if equal == 1.0:
            return f"the expected values rounded to {kind}: nothing else differs"
        near = all((gap <= 1.01 * spacing(q, kind) + 2.0**-13 * case.scale).all() for gap, q in zip(gaps, made, strict=True))
        if near and equal > NEARLY and kind != "float32":
            return f"the expected values rounded to {kind}, {1 - equal:.2g} of them one unit off as a coarser angle leaves"
    return None


def columns_of(gap: Floats, limit: float) -> NDArray[np.intp]:
    """Return the columns with a difference beyond a limit."""
    return np.flatnonzero(gap.max(axis=0) > limit)
