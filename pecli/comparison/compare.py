"""How far two tables are apart, streamed at reading speed with constant memory.

Equality is that of values: both zeros are equal, NaN equals NaN in the same
place, infinity equals infinity.  A block of equal bytes costs no more than
reading it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from pecli.comparison.blocks import Pairing, compare_block
from pecli.comparison.figures import Figures
from pecli.comparison.results import ArrayComparison, Comparison, Tolerance
from pecli.comparison.ulps import coarser
from pecli.engine.threads import default_threads, ordered_map
from pecli.numbers.dtypes import ITEM_BYTES
from pecli.spec.tabular import Tabular
from pecli.tables.table import Table
from pecli.tables.views import ArrayView, RowOverlap, overlapping_rows, pair_views, same_layout

READ_BYTES = 1 << 20  # of each side at a time: fits the caches, and large enough that Python's share is small
COMPUTED_BYTES = 16 << 20  # of all threads' blocks, where a side is computed: the engine works once for each block

Progress = Callable[[int], None] | None


def compare_tables(a: Tabular, b: Tabular, tolerance: Tolerance | None = None, progress: Progress = None) -> Comparison:
    """Compare all values of two tables.

    Arrays are matched by name; a sole array on both sides needs none.  What
    has another shape is compared as far as both reach.

    Parameters
    ----------
    a, b : Tabular
    tolerance : Tolerance, optional
        What counts as the same; left out, only equal values do.
    progress : callable, optional
        Is told of the bytes read, block by block.
    """
    found = Comparison(tolerance=tolerance or Tolerance())
    pairs, left_only, right_only = pair_views(a, b)
    for names, side in ((left_only, "first"), (right_only, "second")):
        if names:
            found.remark("arrays", f"only the {side} has {', '.join(map(repr, names))}")
    if not pairs:
        both = f"{_listing(a)} against {_listing(b)}"
        found.remark("arrays", f"no array of one name: {both}; compare one with path::name")
    for left, right in pairs:
        one = _compare_pair(*same_layout(left, right), found.tolerance, found, progress)
        found.arrays.extend([one] if one is not None else [])
    return found


def _compare_pair(
    left: ArrayView, right: ArrayView, tolerance: Tolerance, found: Comparison, progress: Progress
) -> ArrayComparison | None:
    """Compare two views as far as they reach; None where their values have nothing in common."""
    name = left.name if left.name == right.name else f"{left.name} and {right.name}"
    if left.plain_shape != right.plain_shape:
        further = _further(left, right)
        shapes = f"shape {_shape(left.shape)} against {_shape(right.shape)}"
        found.remark("shape", f"{name}: {further} ({shapes})" if further else f"{name}: {shapes}")
    if left.dtype != right.dtype:
        both = f"type {left.dtype} against {right.dtype}, compared as numbers"
        found.remark("dtype", f"{name}: {both}", complete=True)
    if left.dtype.startswith("complex") != right.dtype.startswith("complex"):
        found.complete = False
        return None
    parts = overlapping_rows(left, right)
    if parts is None:
        found.remark("shape", f"{name}: these shapes have nothing in common to compare")
        return None
    return compare_lanes(left, right, list(parts), tolerance, progress)


def compare_lanes(
    left: ArrayView, right: ArrayView, parts: list[RowOverlap], tolerance: Tolerance, progress: Progress = None,
    enough: Callable[[Figures], bool] | None = None,
) -> ArrayComparison:  # fmt: skip
    """Compare the rows that two views have in common, on all cores; no further than until the figures are enough."""
    pairing = Pairing(left, right, parts[0].cut if parts else (), tolerance)
    total = Figures()
    for figures, size in ordered_map(partial(compare_block, pairing), _blocks(left, right, parts)):
        total += figures
        if progress is not None:
            progress(size)
        if enough is not None and enough(total):
            break
    ulp_dtype = coarser(left.dtype, right.dtype)
    return ArrayComparison(
        left.name, left.shape, right.shape, left.dtype, right.dtype, ulp_dtype, pairing.stretch, total, right.name,
        left.lead,
    )  # fmt: skip


def _blocks(left: ArrayView, right: ArrayView, parts: list[RowOverlap]) -> Iterator[RowOverlap]:
    """Cut overlapping_rows into blocks of about READ_BYTES, of a computed table in larger ones."""
    computed = isinstance(left.table, Table) or isinstance(right.table, Table)
    width = max(left.row_size * ITEM_BYTES[left.dtype], right.row_size * ITEM_BYTES[right.dtype], 1)
    step = max(1, (COMPUTED_BYTES // default_threads() if computed else READ_BYTES) // width)
    step = 1 << (step.bit_length() - 1)  # the engine's anchors stand at powers of two
    for part in parts:
        for start in range(0, part.rows, step):
            yield RowOverlap(part.left + start, part.right + start, min(step, part.rows - start), part.cut)


def _further(left: ArrayView, right: ArrayView) -> str:
    """Say which rows or heads one side alone has, where that is all in which shapes differ; empty where it is not."""
    if len(left.shape) != len(right.shape) or left.lead != right.lead:
        return ""
    axes = [axis for axis, (a, b) in enumerate(zip(left.shape, right.shape, strict=True)) if a != b]
    if len(axes) != 1 or axes[0] >= left.lead:
        return ""
    low, high = sorted((left.shape[axes[0]], right.shape[axes[0]]))
    side = "first" if left.shape[axes[0]] == high else "second"
    heads = "head" in (left.axes[axes[0]], right.axes[axes[0]])
    if heads and low == 1:
        return f"only the {side} has {high} heads; the other has one"
    word = ("head" if heads else "row") + ("s" if high - low > 1 else "")
    span = f"{low}" if high - low == 1 else f"{low} to {high - 1}"
    return f"only the {side} has {word} {span}; the other has {low}"


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "()"


def _listing(table: Tabular) -> str:
    return ", ".join(f"'{array.name}' {_shape(array.shape)}" for array in table.arrays)
