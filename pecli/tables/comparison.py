"""Two tables compared value by value, at reading speed and in constant memory.

Equality is of values, not of bits: both zeros are equal, NaN equals NaN in the same
place, infinity equals infinity.  A block of equal bytes costs no more than
reading it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

from pecli.engine.threads import default_threads, ordered_map
from pecli.numbers.dtypes import ITEM_BYTES
from pecli.numbers.printing import percent
from pecli.spec.tabular import Tabular, shape_text
from pecli.tables.figures import Figures, Pairing, Tolerance, coarser, compare_block
from pecli.tables.table import Table
from pecli.tables.views import ArrayView, RowOverlap, is_regrouped, overlapping_rows, pair_views, same_layout

MAX_LEFT_OUT = 3  # names of arrays that are not compared, in a sentence


class Finding(NamedTuple):
    """One thing that was found, of which every part is true of the whole of both tables.

    Attributes
    ----------
    kind : str
        A word for programs.
    text : str
        What to say.
    """

    kind: str
    text: str

    @property
    def without_option(self) -> Finding:
        """The finding without the option that accepts its rounding, which would not accept the whole."""
        return self._replace(text=self.text.partition("; --")[0])


class ArrayComparison(NamedTuple):
    """Two arrays side by side.

    Attributes
    ----------
    names, shapes, dtypes : tuple
        Of the first and of the second.
    figures : Figures
    """

    names: tuple[str, str]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    dtypes: tuple[str, str]
    figures: Figures

    @property
    def ulp_dtype(self) -> str | None:
        """Type in whose units distances are counted; None where it has none."""
        return coarser(*self.dtypes)

    @property
    def reversed(self) -> ArrayComparison:
        """The comparison with left and right exchanged."""
        figures = self.figures.reversed(self.names[1])
        return ArrayComparison(self.names[::-1], self.shapes[::-1], self.dtypes[::-1], figures)

    def as_dict(self) -> dict[str, Any]:
        """Return every figure, for JSON."""
        figures = self.figures
        return {
            "name": self.names[0],
            "shapes": self.shapes,
            "dtypes": self.dtypes,
            **{name: getattr(figures, name) for name in ("compared", "unequal", "beyond", "max_abs", "mean_abs")},
            "max_ulp": figures.max_ulp if self.ulp_dtype else None,
            "ulp_of": self.ulp_dtype,
            "nan": figures.nan.as_dict(),
            "infinite": figures.infinite.as_dict(),
            **figures.places(),
        }


@dataclass(repr=False)
class Comparison:
    """Result of the comparison of two tables.

    Attributes
    ----------
    arrays : list of ArrayComparison
        What could be compared.
    remarks : list of Finding
        Arrays that one side alone has, other shapes and types.
    complete : bool
        Whether nothing was left out of the comparison.
    explain : callable, optional
        Finds why the values differ, on demand.
    tolerance : Tolerance
        What counted as the same.
    """

    arrays: list[ArrayComparison] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)
    complete: bool = True
    explain: Callable[[Comparison], list[Finding]] | None = None
    tolerance: Tolerance = field(default=Tolerance())

    @cached_property
    def total(self) -> Figures:
        """The figures of all arrays together."""
        return sum((array.figures for array in self.arrays), Figures())

    @property
    def reversed(self) -> Comparison:
        """The comparison with left and right exchanged, without its explanation."""
        arrays = [array.reversed for array in self.arrays]
        return Comparison(arrays, self.remarks, self.complete, tolerance=self.tolerance)

    @property
    def equal(self) -> bool:
        """Whether everything on one side is on the other, within the tolerance."""
        return self.complete and bool(self.arrays) and not self.total.beyond

    def __bool__(self) -> bool:
        return self.equal

    def as_dict(self) -> dict[str, Any]:
        """Return verdict, findings and every figure, for JSON."""
        total = self.total
        return {
            "verdict": "same" if self.equal else "different",
            "equal": self.equal,
            "max_abs": total.max_abs if self.arrays else None,
            "mean_abs": total.mean_abs if total.compared else None,
            "max_ulp": total.max_ulp if any(array.ulp_dtype for array in self.arrays) else None,
            **total.places(),
            "findings": [finding.text for finding in self.findings],
            "arrays": [array.as_dict() for array in self.arrays],
        }

    @property
    def verdict(self) -> str:
        """One line: whether the tables are the same, and the number of unequal values."""
        compared, beyond, unequal = self.total.compared, self.total.beyond, self.total.unequal
        within = f"within {self.tolerance} ({unequal:,} of {compared:,} values are not bit-equal)"
        if self.equal:
            return f"same {within}" if unequal else f"same: {compared:,} values are equal{self._bits}"
        if not compared:
            named = any(one.kind == "shape" for one in self.remarks)
            return f"different: {'the shapes differ' if named else 'the arrays differ'}, so no values are counted"
        if not beyond:
            return f"different: what both have is equal {within if unequal else f'({compared:,} values)'}"
        cut = any(one.kind in ("size", "shape") for one in self.remarks)  # to what both have
        values = f"{compared:,} values{' at the same places' * cut}"
        count, share = f"{beyond:,} of {'the ' * cut}{values}", f" ({percent(beyond / compared, 1)})"
        if beyond == compared:
            count, share = f"all {values}", ""
        by = "" if self.tolerance.exact else f" by more than {self.tolerance}"
        by = by if self.tolerance.decimals is None else f" at {self.tolerance}"
        return f"different: {count} differ{by}{share}"

    @property
    def _bits(self) -> str:
        """In how far equal values are so to the bit."""
        if any(len({*array.dtypes}) > 1 for array in self.arrays):
            return ""
        others = self.total.other_bits
        return f", {others:,} of them in other bits: the sign of a zero, or a NaN" if others else " to the bit"

    def __repr__(self) -> str:
        return "\n  ".join([self.verdict, *(finding.text for finding in self.findings)])

    @cached_property
    def findings(self) -> list[Finding]:
        """Causes of the differences, the most informative first, then the other remarks."""
        causes = self.explain(self) if self.explain and not self.equal else []
        missing = [one for one in self.remarks if one.kind in ("arrays", "size")] if not self.complete else []
        if causes and all(one.kind == "rounding" for one in causes):  # which do not say what is missing
            others = [one for one in self.remarks if one not in missing and one.kind != "shape"]
            return [*missing, *(one.without_option if missing else one for one in causes), *others]
        left_out = ["shape", "size"] if causes else []
        left_out += ["arrays"] if causes and causes[0].kind == "layout" and not self.arrays else []
        return [*causes, *(one for one in self.remarks if one.kind not in left_out)]

    def remark(self, kind: str, text: str, *, complete: bool = False) -> None:
        """Add a finding about names, shapes or types; `complete` if every value was compared all the same."""
        self.remarks.append(Finding(kind, text))
        self.complete = self.complete and complete


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
        Called with the number of bytes read, block by block.
    """
    found = Comparison(tolerance=tolerance or Tolerance())
    pairs, left_only, right_only = pair_views(a, b)
    if left_only + right_only and [left.name for left, _ in pairs] != [right.name for _, right in pairs]:
        names = [pair[0 if left_only else 1].name for pair in pairs]  # one of several, with the only one of the other
        name = " and ".join(names) + " alone" * (len(names) == 1)
        left_out = ", ".join(map(repr, (left_only + right_only)[:MAX_LEFT_OUT]))
        found.remark("arrays", f"compared: {name}, not {left_out}", complete=True)
        left_only, right_only = [], []
    for names, side in ((left_only, "first"), (right_only, "second")):
        if names and pairs:
            found.remark("arrays", f"only the {side} has {', '.join(map(repr, names))}")
    for table in (a, b):
        if table.unlike:
            layers = ", ".join(map(repr, table.unlike[:MAX_LEFT_OUT]))
            more = f" and {len(table.unlike) - MAX_LEFT_OUT:,} more" * (len(table.unlike) > MAX_LEFT_OUT)
            found.remark("arrays", f"other arrays hold other values: {layers}{more}")
        if many := len(table.other_names):
            found.remark("labels", f"{many:,} other array{'s' * (many > 1)} not compared", complete=True)
    for text in dict.fromkeys((*a.label_words, *b.label_words)):
        found.remark("labels", text, complete=True)
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
    """Compare two views in their common part; None where they have no common values."""
    name = left.name if left.name == right.name else f"{left.name} and {right.name}"
    if left.plain_shape != right.plain_shape:
        further = _further(left, right)
        shapes = f"shape {shape_text(left.shape)} against {shape_text(right.shape)}"
        text = f"{further} ({shapes})" if further else shapes
        found.remark("size" if further else "shape", f"{name}: {text}")
    if left.dtype != right.dtype:
        both = f"type {left.dtype} against {right.dtype}, compared as numbers"
        found.remark("dtype", f"{name}: {both}", complete=True)
    if left.dtype.startswith("complex") != right.dtype.startswith("complex"):
        found.complete = False
        return None
    if left.plain_shape != right.plain_shape and is_regrouped(left, right):
        shape = math.prod(left.shape[:-1]), left.shape[-1]
        left, right = (replace(v, shape=shape, axes=("", ""), lead=1) for v in (left, right))
    parts = overlapping_rows(left, right)
    if parts is None:
        found.remark("shape", f"{name}: values of these shapes are not counted one by one")
        return None
    return compare_views(left, right, list(parts), tolerance, progress)


def compare_views(
    left: ArrayView, right: ArrayView, parts: list[RowOverlap], tolerance: Tolerance, progress: Progress = None
) -> ArrayComparison:
    """Compare the rows that two views have in common, on all cores."""
    pairing = Pairing(left, right, parts[0].cut if parts else (), tolerance)
    total = Figures()
    for figures, size in ordered_map(partial(compare_block, pairing), _blocks(left, right, parts)):
        total += figures
        if progress is not None:
            progress(size)
    return ArrayComparison((left.name, right.name), (left.shape, right.shape), (left.dtype, right.dtype), total)


def _blocks(left: ArrayView, right: ArrayView, parts: list[RowOverlap]) -> Iterator[RowOverlap]:
    """Cut overlapping_rows into blocks of about READ_BYTES, of a computed table in larger ones."""
    computed = isinstance(left.table, Table) or isinstance(right.table, Table)
    width = max(left.row_size * ITEM_BYTES[left.dtype], right.row_size * ITEM_BYTES[right.dtype], 1)
    step = max(1, (COMPUTED_BYTES // default_threads() if computed else READ_BYTES) // width)
    step = 1 << (step.bit_length() - 1)  # the engine's anchors are at powers of two
    for part in parts:
        for start in range(0, part.rows, step):
            yield RowOverlap(part.left + start, part.right + start, min(step, part.rows - start), part.cut)


def _further(left: ArrayView, right: ArrayView) -> str:
    """Return which rows or heads only one side has, if shapes differ in nothing else; empty otherwise."""
    if len(left.shape) != len(right.shape) or left.lead != right.lead:
        return ""
    axes = [axis for axis, (a, b) in enumerate(zip(left.shape, right.shape, strict=True)) if a != b]
    if len(axes) != 1 or axes[0] >= left.lead:
        return ""
    low, high = sorted((left.shape[axes[0]], right.shape[axes[0]]))
    side = "first" if left.shape[axes[0]] == high else "second"
    heads = "head" in (left.axes[axes[0]], right.axes[axes[0]])
    if heads and low == 1:
        return f"only the {side} has {high} heads"
    word = ("head" if heads else "row") + ("s" if high - low > 1 else "")
    span = f"{low}" if high - low == 1 else f"{low} to {high - 1}"
    return f"only the {side} has {word} {span}"


def _listing(table: Tabular) -> str:
    listed = [f"'{array.name}' {shape_text(array.shape)}" for array in table.arrays[:MAX_LEFT_OUT]]
    more = len(table.arrays) - len(listed)
    return ", ".join(listed) + f" and {more:,} more" * (more > 0)
