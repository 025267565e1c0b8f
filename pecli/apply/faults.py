"""Faults of rotated queries and keys against a golden file, and of weights of the other pairing."""

from __future__ import annotations

import numpy as np

from pecli.apply.checkpoints import HeadRows, PermutedRows
from pecli.apply.cosines import PAIRINGS, HeadPairs
from pecli.apply.exact import Floats
from pecli.apply.tensors import BY_RANK
from pecli.judge.applied import AppliedRotation, RotationSource, as_vectors, faults
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.rounding import widen
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Finding, compare_tables

MAX_BYTES = 1 << 26  # of an array that is rotated anew in memory, several times as float64
MAX_RELATIVE_GAP = 2.0**-6  # of the largest value that two roundings of bfloat16 may be apart


def explained(found: Comparison, a: Tabular, b: Tabular, heads: int | None = None) -> Comparison:
    """Let what was applied explain a difference first: a golden file says it, and heads make weights of a matrix."""
    usual = found.explain
    mine, golden = (b, a) if "rotated" in a.metadata and "rotated" not in b.metadata else (a, b)
    if heads is None and "rotated" not in golden.metadata:
        return found

    def explain(comparison: Comparison) -> list[Finding]:
        findings = rotation_faults(mine, golden, comparison) if heads is None else weight_faults(a, b, heads)
        return findings or (usual(comparison) if usual is not None else [])

    found.explain = explain
    return found


def rotation_faults(mine: Tabular, golden: Tabular, found: Comparison) -> list[Finding]:
    """Return what was done to each rotated array that differs from a golden file's, by the inputs that it holds."""
    facts = golden.metadata
    findings: list[Finding] = []
    names = facts.get("rotated", "").split()
    given = {name: name.removesuffix("_rotated") for name in names}
    heads = [golden.array(x).shape[1] for x in given.values() if x in golden and len(golden.array(x).shape) == 4]
    same = [array.name for array in found.arrays if not array.figures.beyond]
    for name, x in given.items():
        if name not in mine or x == name or x not in golden or mine.array(name).dtype not in GRIDS:
            continue
        shape, dtype = mine.array(name).shape, mine.array(name).dtype
        alike = shape == golden.array(name).shape
        if (alike and name in same) or max(table.array(name).bytes for table in (mine, golden)) > MAX_BYTES:
            continue
        y, right, before = (widen(t.read(n), t.array(n).dtype) for t, n in ((mine, name), (golden, name), (golden, x)))
        if not alike:
            fault = _repeated(y, right)
            findings += [Finding("rotation", f"{name}: {fault}")] if fault else []
            continue
        recipe = split_recipe(facts["applied"])
        pairs, axes = HeadPairs.parse(facts["pairs"]), BY_RANK[len(shape)]
        applied = AppliedRotation(
            x=as_vectors(before, axes),
            y=as_vectors(y, axes),
            right=as_vectors(right, axes),
            positions=golden.read("positions").astype(np.int64),
            pairs=(pairs.taken, pairs.given),
            rotary=int(facts["rotary-dim"]),
            dtype=dtype,
            source=RotationSource((recipe[0], recipe[1])),
            heads=max(heads, default=1),
            axes=axes,
        )
        findings += faults(applied, name)
    return findings


def _repeated(here: Floats, truth: Floats) -> str | None:
    """Return whether keys (b, heads, n, d) stand once for each head of the queries."""
    if here.ndim != 4 or truth.ndim != 4 or here.shape[1] % truth.shape[1]:
        return None
    times = here.shape[1] // truth.shape[1]
    heads = f"{here.shape[1]} heads where {truth.shape[1]} were expected, the queries'"
    for made, findings in (
        (np.repeat(truth, times, axis=1), f"each stands {times} times"),
        (
            np.tile(truth, (1, times, 1, 1)),
            "all stand one after the other, again and again, in the order of none of the groups",
        ),
    ):
        if made.shape == here.shape and (np.abs(here - made) <= MAX_RELATIVE_GAP * np.abs(truth).max()).all():
            return f"{heads}: {findings}"
    return None


def weight_faults(mine: Tabular, expected: Tabular, heads: int, rotary_dim: int | None = None) -> list[Finding]:
    """Return whether the rows of one matrix are those of another in the order of the other pairing."""
    for taken, given in (PAIRINGS, PAIRINGS[::-1]):
        moved = PermutedRows(expected, HeadRows(taken, given, heads, heads, rotary_dim))
        if compare_tables(mine, moved).equal:
            return [Finding("pairs", f"rows permuted: {given} against {taken}, every value equal once they are moved")]
    return []
