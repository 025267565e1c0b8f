"""How far two tables are apart, streamed in blocks with constant memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pecli.analysis.inspection import floats
from pecli.tabular import BLOCK_BYTES, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Tolerance:
    """What counts as equal: abs(a - b) <= atol + rtol abs(b), or at most `ulp` units in the last place."""

    atol: float = 0.0
    rtol: float = 0.0
    ulp: int = 0


@dataclass
class Comparison:
    """What was found."""

    equal: bool = True
    max_abs: float = 0.0
    mean_abs: float = 0.0
    max_ulp: int | None = 0
    worst: dict[str, Any] | None = None
    findings: list[str] = field(default_factory=list)


def compare_tables(a: Tabular, b: Tabular, tolerance: Tolerance) -> Comparison:
    """Compare two tables array by array, names matched; a sole array on both sides needs no name."""
    found = Comparison()
    total, count = 0.0, 0
    for left, right in _matched(a, b, found):
        if left.shape != right.shape:
            found.equal = False
            found.findings.append(f"{left.name}: shape {left.shape} against {right.shape}")
            continue
        rows = max(1, BLOCK_BYTES // max(1, left.row_bytes))
        for start in range(0, left.rows, rows):
            stop = min(start + rows, left.rows)
            x = floats(a.rows([left.name], start, stop)[left.name], left.dtype)
            y = floats(b.rows([right.name], start, stop)[right.name], right.dtype)
            block_total = _compare_block(left.name, start, x, y, tolerance, found)
            total, count = total + block_total, count + x.size
    found.mean_abs = total / count if count else 0.0
    return found


def _matched(a: Tabular, b: Tabular, found: Comparison) -> list[tuple[Any, Any]]:
    if len(a.arrays) == len(b.arrays) == 1:
        return [(a.arrays[0], b.arrays[0])]
    names = {array.name: array for array in b.arrays}
    pairs = [(array, names[array.name]) for array in a.arrays if array.name in names]
    if len(pairs) < max(len(a.arrays), len(b.arrays)):
        found.equal = False
        mine, theirs = (", ".join(x.name for x in t.arrays) for t in (a, b))
        found.findings.append(f"arrays {mine} against {theirs}")
    return pairs


def _compare_block(
    name: str, start: int, x: NDArray[Any], y: NDArray[Any], tolerance: Tolerance, found: Comparison
) -> float:
    import numpy as np

    if np.array_equal(x, y):
        return 0.0
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(invalid="ignore"):
        difference = np.abs(wide_x - wide_y)
    same = (wide_x == wide_y) | (np.isnan(wide_x) & np.isnan(wide_y))
    difference[same] = 0.0
    difference[np.isnan(difference)] = np.inf
    allowed = tolerance.atol + tolerance.rtol * np.abs(wide_y)
    if (difference > allowed).any():
        found.equal = False
    worst = float(difference.max())
    if worst > found.max_abs:
        found.max_abs = worst
        index = np.unravel_index(int(difference.argmax()), difference.shape)
        found.worst = {"array": name, "row": start + int(index[0]), "index": [int(i) for i in index[1:]]}
    finite = np.isfinite(difference)
    return float(difference[finite].sum())
