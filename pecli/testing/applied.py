"""Check of whether a table was applied correctly, and the mistake if it was not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np

from pecli import api
from pecli.apply.checkpoints import applied_rotation
from pecli.apply.tensors import AXES_BY_RANK
from pecli.errors import PecliError
from pecli.judge.compare import compare, explained
from pecli.judge.kernels import COARSER, UNSPECIFIC_KINDS, RotationSource, faults
from pecli.judge.located import located
from pecli.judge.orders import numbered
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.printing import figure, limit
from pecli.numbers.rounding import Floats, allowance, floats, narrow
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import Array, InMemory
from pecli.tables.foreign import table_of
from pecli.tables.sources import NamedSource
from pecli.tables.views import matched_views

# Relative error of a factor that a sum shows.
MAX_FIT_ERROR = 1e-5


@dataclass(frozen=True)
class Applied:
    """Inputs, outputs, and the source and options that should have produced the outputs."""

    source: NamedSource
    inputs: Any
    outputs: Any
    pairs: str | None
    start: int | None
    positions: Any
    axes: str | None

    @cached_property
    def before(self) -> InMemory:
        """The inputs."""
        return table_of(self.inputs)

    @cached_property
    def after(self) -> InMemory:
        """The outputs."""
        return table_of(self.outputs)

    def fault(self, atol: float | None = None) -> str:
        """Return a description of the mistake, or an empty string.

        Raises
        ------
        PecliError
            If inputs and table do not fit, in one sentence.
        """
        if self.before.keys() != self.after.keys():
            return f"the outputs have the names {self.after.keys()}, the inputs {self.before.keys()}"
        for before, after in zip(self.before.arrays, self.after.arrays, strict=True):
            if before.shape != after.shape:
                return f"{after.name} has the shape {after.shape}, its input {before.shape}"
        allowed = self.allowed if atol is None else atol
        gap = self.gap(self.exact)
        if gap <= allowed:
            return ""
        phrase = f"the outputs are up to {limit(gap, 3)} from the exact ones, and {figure(allowed, 3)} are allowed"
        found = self.explained()
        right = bool(found) and all(": the rotation is right" in text for text in found)
        how = "was applied rightly, but coarsely" if right else "was not applied rightly"
        return "\n  ".join([f"{self.source.text} {how}: {phrase}", *found])

    @cached_property
    def exact(self) -> Any:
        """The expected outputs for the inputs, in float64."""
        return self.made()

    @property
    def allowed(self) -> float:
        """The difference that a kernel may make."""
        numbers = (values for table in (self.before, self.exact.outputs) for values in self._numbers(table))
        largest = max((float(np.abs(one[np.isfinite(one)]).max(initial=0.0)) for one in numbers), default=0.0)
        coarse = max((a.dtype for a in self.after.arrays), key=lambda name: GRIDS[name].rounding)
        return allowance(largest, coarse, self._last())

    def _last(self) -> int:
        if self.positions is not None:
            return int(np.max(np.asarray(self.positions)))
        return max((a.shape[-2] if len(a.shape) > 1 else 1 for a in self.before.arrays), default=1) + (self.start or 0)

    def made(self, **options: Any) -> Any:
        """Return the expected outputs for the inputs, in float64."""
        given = {"pairs": self.pairs, "start": self.start, "positions": self.positions, "axes": self.axes, **options}
        return api.apply(self.source, self.before, dtype="float64", **given)

    def gap(self, made: Any) -> float:
        """Return the largest difference between the outputs and the expected ones; infinite if a value is NaN."""
        pairs = zip(self._numbers(made.outputs), self._numbers(self.after), strict=True)
        gaps = [np.abs(exact - got).max(initial=0.0) for exact, got in pairs]
        return float(np.nan_to_num(np.max(gaps), nan=np.inf, posinf=np.inf))  # max() would pass over a NaN

    def _numbers(self, table: Any) -> Iterator[Floats]:
        for array in table.arrays:
            yield floats(table.read(array.name), array.dtype).astype(np.float64)

    def explained(self) -> list[str]:
        """Return the mistake made in each tensor, and its place."""
        if exchanged := self._exchanged():
            return exchanged
        made, found = self.exact, list[str]()
        facts, companion = made.outputs.metadata, made.companion
        numbers = map(self._numbers, (self.before, self.after, made.outputs))
        for array, x, y, right in zip(self.after.arrays, *numbers, strict=True):
            if "rotary-dim" not in facts:
                found += self._added(array, x, y, right)
                continue
            axes = self.axes or AXES_BY_RANK[x.ndim]
            if "(" in axes:  # heads side by side
                heads, axes = made.outputs.heads[array.name], "bshd"
                x, y, right = (one.reshape(*one.shape[:2], heads, -1) for one in (x, y, right))
            if "leading" in facts:  # the last columns rotate
                x, y, right = (np.roll(one, -int(facts["leading"]), axis=-1) for one in (x, y, right))
            rows = x.shape[axes.replace("t", "s").index("s")] if x.ndim > 1 else 1
            applied = applied_rotation(
                facts, axes, (x, y, right), positions=self._positions(rows), dtype=array.dtype,
                source=self._source(facts["applied"], companion),
            )  # fmt: skip
            if applied.wrong.any() or len(self.after.arrays) == 1:
                texts = [finding.text for finding in faults(applied, array.name, explained)]
                other = "; if that is meant, it is right with axes='bshd'" * (self.axes is None)
                found += [text + other * ("positions run along the heads" in text) for text in texts]
        return found

    def _exchanged(self) -> list[str]:
        """Return which tensors hold what was expected of others."""
        tables = self.before, self.after, self.exact.outputs
        given, have, want = (dict(zip(self.after.keys(), self._numbers(one), strict=True)) for one in tables)
        both = [(a, b) for a, b in permutations(have, 2) if have[a].shape == want[b].shape]
        unlike = [(a, b) for a, b in both if not np.array_equal(given[a], given[b])]
        alike = [(a, b) for a, b in unlike if np.allclose(have[a], want[b], rtol=0, atol=self.allowed)]
        return [f"{a} holds what was expected of {b}" for a, b in alike]

    def _positions(self, rows: int) -> Any:
        if self.positions is None:
            given = self.source.given.get("start", "0")
            start = self.start if self.start is not None else int(given) if given.lstrip("-").isdigit() else 0
            return start + np.arange(rows)
        return np.asarray(self.positions, np.int64)

    def _source(self, applied: str, companion: Any) -> RotationSource:
        """Return the cosines and sines of any position: of the recipe, or of the rows of a file."""
        if self.source.recipe is not None:
            name, keys = split_recipe(applied)
            known = name in CATALOGUE  # else it is a model's config
            return RotationSource(
                (name, keys) if known else (self.source.recipe.encoding.name, self.source.recipe.keys())
            )
        cos, sin = (np.asarray(companion.read(part), np.float64) for part in ("cos", "sin"))
        return RotationSource(None, (np.arange(len(cos)), cos, sin))

    def _added(self, array: Array, x: Floats, y: Floats, right: Floats) -> list[str]:
        """Return the mistake made in adding rows or a bias."""
        name, near = array.name, 2 * self.allowed
        if np.array_equal(x, y):
            return [f"{name}: nothing was done: the outputs are the inputs"]
        for start in (1, 0, (self.start or 0) - 1, (self.start or 0) + 1) if self.positions is None else ():
            try:
                other = dict(zip(self.after.keys(), self._numbers(self.made(start=start).outputs), strict=True))
            except PecliError:
                continue
            if np.allclose(other[name], y, rtol=0, atol=self.allowed):
                return [f"{name}: positions start at {start} where {self.start or 0} was expected"]
        added, meant = y - x, right - x
        if np.allclose(added, 2 * meant, rtol=0, atol=near):
            return [f"{name}: it was added twice"]
        if x.ndim == 3 and (first := self._along_first(x)) is not None and np.allclose(y, first, rtol=0, atol=near):
            what = "positions run along the batch: every row of batch b has position b"
            return [f"{name}: {what}; if the axes are (positions, batch, width), exchange the first two"]
        if text := other_sum(x, y, right, near):
            return [f"{name}: {text}"]
        still = (x == y).all(axis=tuple(k for k in range(x.ndim) if k != x.ndim - 2)) if x.ndim > 1 else np.zeros(1)
        if still.any():
            rows = numbered("row", np.flatnonzero(still))
            return [f"{name}: nothing was added to {rows}"]
        while meant.ndim > 2 and all(np.allclose(values, values[:1], rtol=0, atol=near) for values in (added, meant)):
            added, meant = added[0], meant[0]
        if meant.ndim == 2 or not np.allclose(meant, meant[:1], rtol=0, atol=near):  # else batches differ
            coarse = InMemory({name: narrow(added, None, COARSER[array.dtype])})  # which hides the sum's rounding
            found = compare(coarse, InMemory({name: meant})).findings
            if said := [one.text for one in found if one.kind not in UNSPECIFIC_KINDS]:
                return [f"{name}: what was added: {', and '.join(said)}"]
        clean = np.where(np.abs(y - right) <= self.allowed, right, y)
        return [finding.text for finding in located(matched_views(InMemory({name: clean}), InMemory({name: right})))]

    def _along_first(self, x: Floats) -> Floats | None:
        """Return the expected outputs where rows run along the first axis; None where there is no such table."""
        try:
            made = api.apply(
                self.source, np.swapaxes(x, 0, 1), dtype="float64", start=self.start, positions=self.positions
            )
        except PecliError:
            return None
        return np.swapaxes(next(self._numbers(made.outputs)), 0, 1)


def other_sum(x: Floats, y: Floats, right: Floats, near: float) -> str:
    """Return what was computed of inputs and table instead of their sum, or of the sum; "" where that is unknown."""
    finite = np.isfinite(right) & np.isfinite(y)  # a mask is not
    terms = np.stack([x[finite], (right - x)[finite]], axis=1)
    if not finite.any() or not np.isfinite(terms).all():
        return ""
    near += MAX_FIT_ERROR * float(np.abs(y[finite]).max())
    (a, b), *_ = np.linalg.lstsq(terms, y[finite], rcond=None)
    if np.abs(terms @ (a, b) - y[finite]).max() <= near and abs(a - 1) > MAX_FIT_ERROR:
        if abs(a) < MAX_FIT_ERROR:
            return "the inputs are missing: the outputs are what should be added to them"
        root = " (the square root of the width)" * bool(abs(a**2 / x.shape[-1] - 1) < MAX_FIT_ERROR)
        if abs(a / b - 1) < MAX_FIT_ERROR:
            return f"the sum is multiplied by {a:.6g}{root}"
        return f"the inputs are multiplied by {a:.6g}{root} before the positions are added"
    with np.errstate(all="ignore"):  # of a masked row the mean is infinite
        weights = np.exp(np.where(finite, right - right.max(axis=-1, keepdims=True), -np.inf))
        centred = right - right.mean(axis=-1, keepdims=True)
        others = {
            "the table is multiplied with the inputs, to which it should be added": x * (right - x),
            "a softmax was applied to the sum": weights / weights.sum(axis=-1, keepdims=True),
            "a layer normalisation was applied to the sum": centred / centred.std(axis=-1, keepdims=True),
            "one vector is added to all rows besides, such as a token type's": right + (y - right)[..., :1, :],
        }
    same = (text for text, values in others.items() if np.abs(values[finite] - y[finite]).max() <= near)
    return next(same, "")
