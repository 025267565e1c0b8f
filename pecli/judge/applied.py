"""Faults of a kernel that rotates queries and keys: the kind of each fault and the vectors that it affects.

Known slips of a kernel (`judge.kernels`) are tried first.  Then the rotation is measured: for each position and pair
the number z = y / x that all vectors share.  If it gives all values, its real and imaginary parts are a table of
cosines and sines, and how that differs from the expected one is the finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pecli.judge.compare import compare
from pecli.judge.kernels import (
    UNNAMED,
    AppliedRotation,
    Kernel,
    kernels,
    measured_faults,
)
from pecli.judge.located import ComputedRows, indices, located
from pecli.judge.planes import effective_dtype, rounded, unit
from pecli.numbers.printing import at_least, figure
from pecli.spec.measured import PUBLISHED_BASES
from pecli.spec.recipe import Recipe
from pecli.tables.comparison import Finding
from pecli.tables.request import take_table_keys

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
UNSCALED_KEYS = ("dim", "base", "rotary-dim", "partial", "sections", "section-order")  # no part of a scaling


def faults(applied: AppliedRotation, name: str) -> list[Finding]:
    """Return the fault of the kernel and its place, or the finding that only rounding differs."""
    with np.errstate(all="ignore"):
        held = effective_dtype(applied.flat[1][applied.sample], applied.dtype)
        rough = f", and rounded to {held}" if held != applied.dtype else ""
        applied = replace(applied, dtype=held)
        if not applied.wrong.any():
            return [_rounding(applied, name, rough)]
        for part, where in ((applied, ""), _part(applied)):
            fault = next(_faults_of_all(part), None) if part is not None else None
            if fault is not None:
                return [Finding("rotation", f"{name}: {where}{fault}{rough}")]
        return _elsewhere(applied, name)


def _faults_of_all(applied: AppliedRotation) -> Iterator[str]:
    """Yield the texts of the faults that explain all vectors."""
    yield from (text for text, kernel in kernels(applied) if applied.gives(kernel))
    measured = list(measured_faults(applied, lambda a, b: compare(a, b).findings))
    yield from (text for text in measured if UNNAMED not in text)
    yield from (text for text, kernel in _bases(applied) if applied.gives(kernel))
    yield from measured


def _rounding(applied: AppliedRotation, name: str, rough: str) -> Finding:
    """Return the finding that the outputs are right within rounding."""
    off = np.abs(applied.y - applied.right)
    most, units = float(off.max()), int(np.ceil((off / unit(applied.right, applied.dtype)).max() - 0.5))
    what = f"the outputs are rounded to {applied.dtype}" if rough else f"{applied.dtype} rounding"
    cancelled = f" ({units} ulp, where two products cancel)" if units > 4 else ""
    text = f"{name}: {what}, at most {figure(most, 1)}{cancelled}: the rotation is right"
    return Finding("rounding", f"{text}; --atol {at_least(most, 1)} accepts it")


def as_vectors(values: Floats, axes: str) -> Floats:
    """Return a tensor with the axes batch, head, row and column, of length 1 where it has none."""
    axes = axes.replace("t", "s")
    moved = values.transpose([axes.index(letter) for letter in "bhsd" if letter in axes])
    return np.expand_dims(moved, [k for k, letter in enumerate("bhsd") if letter not in axes])


def _elsewhere(applied: AppliedRotation, name: str) -> list[Finding]:
    """Return the place and kind of the wrong values, without the rounding of the others."""
    letters = applied.axes.replace("t", "s")
    order = ["bhsd".index(letter) for letter in (*letters, *sorted(set("bhsd") - set(letters)))]
    axes = tuple({"b": "batch", "h": "head"}.get(letter, "position") for letter in letters)

    def array(values: Floats) -> ComputedRows:
        own = rounded(values, applied.dtype).transpose(order)
        shape, rows = own.shape[: len(letters)], np.ascontiguousarray(own).reshape(-1, own.shape[len(letters) - 1])
        return ComputedRows(name, shape, applied.dtype, lambda a, b: rows[a:b], max(1, len(shape) - 1), axes)

    off = np.where(applied.wrong, applied.y, applied.right)
    return [one for one in located([array(off)], [array(applied.right)]) if one.kind != "rounding"]


def _part(applied: AppliedRotation) -> tuple[AppliedRotation | None, str]:
    """Return the batches, heads and rows in which all wrong values lie, and the words for them."""
    wrong: NDArray[np.bool_] = np.any(applied.wrong, axis=3)
    kept, words = list[Integers](), list[str]()
    for axis, word in enumerate(("batch", "head", "row")):
        at = np.flatnonzero(np.any(wrong, axis=tuple(k for k in range(3) if k != axis)))
        kept.append(at)
        if len(at) < wrong.shape[axis]:
            listed = indices(word, at, wrong.shape[axis])
            words.append(listed if listed.endswith(" on") else f"all of {listed}")
    if not words or not wrong[np.ix_(*kept)].all():
        return None, ""
    x, y, right = (values[np.ix_(*kept)] for values in (applied.x, applied.y, applied.right))
    positions = applied.by_batch[np.ix_(kept[0], kept[2])]
    return replace(applied, x=x, y=y, right=right, positions=positions), f"{', '.join(words)}: "


def _bases(applied: AppliedRotation) -> Iterator[tuple[str, Kernel]]:
    """Yield rotations without the scaling, and with the bases of well-known models: few rows tell no frequency."""
    if applied.source.recipe is None:
        return
    name, given = applied.source.recipe
    keys = dict(given)
    take_table_keys(name, keys)
    full = Recipe.bind(name, **keys).keys()
    if "scaling" in full:
        plain = {key: None for key in keys if key not in UNSCALED_KEYS}
        yield f"scaling {full['scaling']} is missing", partial(applied.rotated, changed=plain)
    for base in PUBLISHED_BASES if "base" in full else ():
        yield f"base {base} where {full['base']} was expected", partial(applied.rotated, changed={"base": base})
