"""Why two tables differ: what was done to one that makes it the other.

Every fault that is known is tried on the expected values; the one that makes
them equal, or nearly, to those at hand is named, with what is left.  Where none
does, the table is identified for itself and its recipe set beside the expected one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from pecli.comparison.compare import Progress, compare_tables
from pecli.comparison.results import Comparison, Finding, Tolerance
from pecli.declare.encoding import Family
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.diagnosis.mistakes import changed, mistakes
from pecli.diagnosis.structure_faults import Case, Fault, Planes, rounding_fault, structural
from pecli.errors import PecliError
from pecli.measures.lanes import Lane, lane_of, pair_lanes, same_layout
from pecli.measures.repetition import read_rows, what_follows
from pecli.measures.samples import Floats, Plane, grain, take
from pecli.tables.layouts import LAYOUTS
from pecli.tables.table import Table

ROWS = 1024  # that faults are tried on
NEAR = 0.02  # of the first difference that may be left where a fault explains the rest
FLOAT32_REST = 2.0**-8  # largest rest, relative, that angles in float32 leave in these rows
GRAINS = ("bfloat16", "float16", "float32", "float64")


def compare(a: Tabular, b: Tabular, tolerance: Tolerance | None = None, progress: Progress = None) -> Comparison:
    """Compare all values of two tables; the result knows why they differ.

    Parameters
    ----------
    a, b : Tabular
        A computed one, or else the second, is what was expected.
    tolerance : Tolerance, optional
        What counts as the same; left out, only equal values do.
    progress : callable, optional
        Is told of the bytes read, block by block.
    """
    found = compare_tables(a, b, tolerance, progress)
    found.explain = partial(diagnose, *expected_side(a, b))
    return found


def expected_side(a: Tabular, b: Tabular) -> tuple[Tabular, Tabular]:
    """Return which of two tables is at hand and which was expected: a computed one, or else the second."""
    return (b, a) if isinstance(a, Table) and not isinstance(b, Table) else (a, b)


def diagnose(mine: Tabular, expected: Tabular, found: Comparison) -> list[Finding]:
    """Return why a table differs from the expected one, the most telling first; empty where nothing is known."""
    pairs = [same_layout(a, b) for a, b in pair_lanes(mine, expected)[0]]
    pairs = [(a, b) for a, b in pairs if a.row_shape == b.row_shape]
    case = _case(pairs)
    if case is None:
        return _by_identity(mine, expected)
    firsts = [a.figures.first.index[0] for a in found.arrays if a.figures.first is not None and a.figures.first.index]
    text = what_follows(pairs, min(firsts, default=0))
    if text is not None:
        return [Finding("rows", text)]
    text = rounding_fault(case)
    if text is not None:
        return [Finding("rounding", text)]
    return _best_fault(case, expected) or _arithmetic(case, mine, expected) or _by_identity(mine, expected)


def _case(pairs: list[tuple[Lane, Lane]]) -> Case | None:
    """Read the first rows of both sides."""
    if not pairs or any(a.dtype.startswith(("int", "uint", "bool")) for a, _ in pairs):
        return None
    mine, expected = [], []
    for a, b in pairs:
        rows = min(a.rows, b.rows, ROWS)
        mine.append(read_rows(a, 0, rows))
        expected.append(read_rows(b, 0, rows))
    if any(p.shape != q.shape or p.size == 0 for p, q in zip(mine, expected, strict=True)):
        return None
    left, right = pairs[0]
    grains = (_grain(mine, left.dtype), _grain(expected, right.dtype))
    return Case([a.name for a, _ in pairs], mine, expected, min(grains, key=GRAINS.index))


def _grain(planes: Planes, dtype: str) -> str:
    return grain([Plane("", p, len(p)) for p in planes], dtype)


def _best_fault(case: Case, expected: Tabular) -> list[Finding]:
    """Try every fault; return the one that leaves least, if that is little."""
    table = expected_table(expected)
    best: tuple[float, Fault] | None = None
    for fault in (*_of_recipe(case, table), *structural(case)):
        left = _left(case, fault)
        if best is None or left < best[0]:
            best = (left, fault)
        if left <= case.rounding:
            break
    if best is None or best[0] > max(case.rounding, NEAR * case.residual()):
        return []
    left, fault = best
    findings = [Finding(fault.kind, _worded(fault, table))]
    if left > case.rounding:
        tail = ", as phases in float32 leave" if left < FLOAT32_REST * case.scale else ""
        findings.append(Finding("rest", f"what is left is at most {left:.2g}{tail}"))
    return findings


def _left(case: Case, fault: Fault) -> float:
    """Return the largest difference that a fault leaves, in the rows and columns that it speaks of."""
    planes = fault.change()
    if planes is None or len(planes) != len(case.mine):
        return float("inf")
    part = Case(case.names, [p[fault.rows] for p in case.mine], case.expected, case.grain)
    return part.residual([p[fault.rows] for p in planes], fault.columns)


def _of_recipe(case: Case, table: Table | None) -> Iterator[Fault]:
    """Yield faults of the expected recipe's parameters, layouts among them."""
    if table is None:
        return
    rows = len(case.expected[0])
    if table.source.encoding.family is Family.ROTARY:
        yield from _layouts(case, table, rows)
    for change in mistakes(table):
        made = changed(table, change, rows)
        if made is not None:
            yield Fault(change.kind, change.text, partial(planes_of, made, rows))


def _layouts(case: Case, table: Table, rows: int) -> Iterator[Fault]:
    """Yield the other layouts of a rotary table that have the same shape."""
    mine = table.request.layout
    for layout in LAYOUTS:
        if layout in (mine, "complex"):
            continue
        other = Table.make(table.source, positions=table.part.part(0, rows), dtype="float64", layout=layout)
        if [a.shape[1:] for a in other.arrays] == [p.shape[1:] for p in case.expected]:
            text = f"layout {layout} where {mine} was expected"
            if {layout, mine} == {"half", "interleaved"}:
                text = f"equal after swapping interleaved for halves: {text}"
            elif {layout, mine} == {"concat", "sin-cos"}:
                text = f"cos and sin are exchanged: {text}"
            yield Fault("layout", text, partial(planes_of, other, rows))


def planes_of(table: Tabular, rows: int) -> Planes:
    """Return the first rows of every array as float64, (n, columns)."""
    lanes = [lane_of(table, array) for array in table.arrays]
    return [read_rows(lane, 0, min(rows, lane.rows)) for lane in lanes]


def expected_table(expected: Tabular) -> Table | None:
    """Return the computed table behind what was expected: itself, or that of the recipe in its file."""
    if isinstance(expected, Table):
        return expected
    if expected.recipe is None:
        return None
    try:
        return Table.parse(expected.recipe)
    except PecliError:
        return None


def _worded(fault: Fault, table: Table | None) -> str:
    """Return what to say of a fault; a factor on all values is a magnitude where the recipe may have one."""
    if fault.kind != "size" or table is None or table.source.encoding.family is not Family.ROTARY:
        return fault.text
    magnitude = float(table.plan.magnitude) if isinstance(table.plan, Waves) else 1.0
    if magnitude != 1.0 and abs(fault.factor * magnitude - 1) < 1e-3:
        return f"magnitude missing ({magnitude:.5g})"
    if magnitude != 1.0 and abs(fault.factor / magnitude - 1) < 1e-3:
        return f"magnitude applied twice ({magnitude:.5g})"
    return f"magnitude {fault.factor * magnitude:.6g} where {magnitude:.6g} was expected"


def _arithmetic(case: Case, mine: Tabular, expected: Tabular) -> list[Finding]:
    """Say which arithmetic the phases were computed in, and where it shows first."""
    from pecli.measures.arithmetics import find_arithmetic
    from pecli.measures.readings import readings

    table = expected_table(expected)
    if table is None or not isinstance(table.plan, Waves) or len(table.plan.bands) != 1:
        return []
    sample = take(mine, ROWS)
    w = np.array([float(f) for f in table.plan.frequencies])
    for reading in readings(sample):
        positions = table.part.numbers(0, len(case.expected[0])).astype(np.float64)[reading.rows]
        if reading.first.shape != (len(positions), len(w)):
            continue
        for cos, sin in ((reading.first, reading.second), (reading.second, reading.first)):
            how = find_arithmetic(positions, w, float(table.plan.magnitude), cos, sin, sample.grain)
            if how.fits and how.name != "float64":
                return [Finding("arithmetic", _where(case, how.name, how.words(), positions))]
    return []


def _where(case: Case, name: str, words: str, positions: Floats) -> str:
    """Name the arithmetic and the first position whose values rounding alone does not explain."""
    from pecli.measures.arithmetics import spacing

    angles = 0.0 if name == "float32" else 2.0**-20 * (1 + np.abs(positions[:, None]))
    wrong = np.zeros(len(case.mine[0]), bool)
    for p, q in zip(case.mine, case.expected, strict=True):
        wrong |= (np.abs(p - q) > 2 * spacing(q, case.grain) + angles * case.scale).any(axis=1)
    said = f"phases were computed in {name} ({words})"
    if not wrong.any():
        return f"{said}: no value is off by more than its rounding"
    return f"{said}: first wrong at position {positions[int(wrong.argmax())]:g}"


def _by_identity(mine: Tabular, expected: Tabular) -> list[Finding]:
    """Identify what is at hand, and set it beside the expected recipe."""
    from pecli.identification.identification import identify

    found = identify(mine)
    if found.recipe is None:
        return [Finding("unknown", "no fault that is known explains the difference, and no formula gives these values")]
    table = expected_table(expected)
    identity = Finding("identity", f"these values are {found.recipe} ({found.confidence})")
    return [identity] if table is None else [*_against(found.recipe, table), identity]


def _against(recipe: str, table: Table) -> list[Finding]:
    """Return the parameters in which a recipe differs from that of the expected table."""
    other = Table.parse(recipe)
    if other.source.encoding is not table.source.encoding:
        names = other.source.encoding.name, table.source.encoding.name
        return [Finding("encoding", f"{names[0]} where {names[1]} was expected")]
    mine, theirs = ({**t.source.keys(), **t.positions.keys(), **t.request.keys()} for t in (other, table))
    differ = [k for k in dict.fromkeys([*mine, *theirs]) if mine.get(k) != theirs.get(k)]
    return [
        Finding(key, f"{key} {mine.get(key, 'not given')} where {theirs.get(key, 'none')} was expected")
        for key in differ
        if key not in ("len", "dtype", "seq-len")
    ]
