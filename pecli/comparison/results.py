"""What a comparison found, array by array and as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property

from pecli.comparison.figures import Figures
from pecli.comparison.ulps import BINS
from pecli.records import dataclass
from pecli.spec.tabular import html_table


@dataclass(frozen=True)
class Tolerance:
    """What counts as the same: abs(a - b) <= atol + rtol abs(b), or at most `ulp` units in the last place.

    `decimals` are those with which one side was printed, if it was: its values are brought back to them.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulp: int = 0
    decimals: int | None = None

    @classmethod
    def printed(cls, decimals: int) -> Tolerance:
        """Return what values that were printed with so many decimals may be off by: half a unit of the last one.

        2^-50 of a value is what its rounding to decimals and the difference may be off by in float64.
        """
        return cls(atol=0.5 * 10.0**-decimals, rtol=2.0**-50, decimals=decimals)

    @property
    def exact(self) -> bool:
        """Whether only equal values pass."""
        return not (self.atol or self.rtol or self.ulp)

    def __str__(self) -> str:
        if self.decimals is not None:
            return f"as printed with {self.decimals} decimals"
        parts = {"atol": self.atol, "rtol": self.rtol, "ulp": self.ulp}
        return ", ".join(f"{name} {value:g}" for name, value in parts.items() if value)


@dataclass(frozen=True)
class Finding:
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


@dataclass(frozen=True)
class ArrayComparison:
    """Two arrays side by side.

    Attributes
    ----------
    name, shape, dtype : str, tuple, str
        Of the first; `other_name`, `other_shape` and `other_dtype` of the second.
    ulp_dtype : str or None
        Type in whose units distances are counted; None where it has none.
    stretch : int
        Rows for which one number stands in the profile.
    figures : Figures
    lead : int
        How many axes number the first's rows.
    """

    name: str
    shape: tuple[int, ...]
    other_shape: tuple[int, ...]
    dtype: str
    other_dtype: str
    ulp_dtype: str | None
    stretch: int
    figures: Figures
    other_name: str
    lead: int = 1

    @property
    def parts(self) -> int:
        """Numbers of a value: a complex one is real and imaginary part."""
        return 2 if self.dtype.startswith("complex") else 1

    def place(self, row: int) -> tuple[int, ...]:
        """Return the index of a row along the axes that number rows."""
        index: list[int] = []
        for side in self.shape[: self.lead][::-1]:
            row, at = divmod(row, side)
            index.insert(0, at)
        return tuple(index)

    @property
    def reversed(self) -> ArrayComparison:
        """The second beside the first."""
        return ArrayComparison(
            self.other_name, self.other_shape, self.shape, self.other_dtype, self.dtype,
            self.ulp_dtype, self.stretch, self.figures.reversed(self.other_name), self.name, self.lead,
        )  # fmt: skip

    @property
    def units(self) -> dict[str, int]:
        """How many values are 0, 1, 2, 3..4 .. units apart."""
        counts = self.figures.histogram
        return {} if counts is None else {name: int(n) for name, n in zip(BINS, counts, strict=True) if n}

    @property
    def columns(self) -> list[float]:
        """Largest difference in each column; empty where nothing differs."""
        return [] if self.figures.columns is None else [float(v) for v in self.figures.columns]

    @property
    def profile(self) -> list[tuple[int, float]]:
        """First row and largest difference of each stretch of rows; empty where nothing differs."""
        found = self.figures.profile
        return [] if found is None else [(k * self.stretch, float(v)) for k, v in enumerate(found)]


@dataclass(repr=False)
class Comparison:
    """What was found between two tables.

    Attributes
    ----------
    arrays : list of ArrayComparison
        What could be compared.
    remarks : list of Finding
        Arrays that one side alone has, other shapes and types.
    complete : bool
        Whether nothing was left out of the comparison.
    explain : callable, optional
        Finds why the values differ, when somebody asks.
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
        """The second beside the first, without what explains it."""
        arrays = [array.reversed for array in self.arrays]
        return Comparison(arrays, self.remarks, self.complete, tolerance=self.tolerance)

    @property
    def equal(self) -> bool:
        """Whether everything on one side is on the other, within the tolerance."""
        return self.complete and bool(self.arrays) and not self.total.beyond

    def __bool__(self) -> bool:
        return self.equal

    @property
    def verdict(self) -> str:
        """Whether they are the same, and how many values are not, in one line."""
        compared, beyond, unequal = self.total.compared, self.total.beyond, self.total.unequal
        if self.equal:
            if not unequal:
                return f"same: {compared:,} values are equal{self._bits}"
            return f"same within the tolerance ({self.tolerance}): {unequal:,} of {compared:,} values are not equal"
        if not compared:
            return "different: they have nothing in common to compare"
        if not beyond and unequal:
            both = f"within the tolerance ({self.tolerance}), {unequal:,} of {compared:,} values are not equal"
            return f"different: what both have is the same {both}"
        if not beyond:
            return f"different: what both have is the same in {compared:,} values"
        share = f"{beyond:,} of {compared:,} values ({_share(beyond, compared)})"
        return f"different: {share} differ" + ("" if self.tolerance.exact else f" by more than {self.tolerance}")

    @property
    def _bits(self) -> str:
        """In how far equal values are so to the bit."""
        if any(array.dtype != array.other_dtype for array in self.arrays):
            return ""
        others = self.total.other_bits
        return f", {others:,} of them in other bits: the sign of a zero, or a NaN" if others else " to the bit"

    def __repr__(self) -> str:
        return "\n  ".join([self.verdict, *(finding.text for finding in self.findings)])

    def _repr_html_(self) -> str:
        rows = [
            (a.name, f"{f.unequal:,} of {f.compared:,}", f"{f.max_abs:.4g}", f"{f.max_ulp:,}" if a.ulp_dtype else "")
            for a, f in ((array, array.figures) for array in self.arrays)
        ]
        return html_table(str(self), ("array", "differ", "max abs", "max ulp"), rows)

    @cached_property
    def findings(self) -> list[Finding]:
        """Why the tables differ, the most telling first, and what else is to be said of them."""
        causes = self.explain(self) if self.explain and not self.equal else []
        shaped = {finding.kind for finding in causes} & {"rows", "pairs", "transposed"}  # these say the shapes as well
        return [*causes, *(one for one in self.remarks if one.kind != "shape" or not shaped)]

    def remark(self, kind: str, text: str, *, complete: bool = False) -> None:
        """Add what the names, shapes and types show; `complete` if it leaves no value out."""
        self.remarks.append(Finding(kind, text))
        self.complete = self.complete and complete


def _share(some: int, every: int) -> str:
    """Return a share; 1 only of all."""
    said = f"{some / every:.3g}"
    return f"all but {every - some:,}" if said == "1" and some != every else said
