"""Why two tables differ: what was done to one that makes it the other.

Every fault that is known is tried on the expected values; the one that makes
them equal, or nearly, to those at hand is named, with what is left.  Where none
does, the table is identified for itself and its recipe set beside the expected one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pecli.analysis.comparison import Comparison
from pecli.analysis.faults_structure import Case, Fault, Planes, rounding_fault, structural
from pecli.analysis.lanes import Lane, pair_lanes, same_layout
from pecli.analysis.samples import Floats, Plane, grain
from pecli.spec import Family
from pecli.table import Table
from pecli.tabular import Tabular

ROWS = 1024  # that faults are tried on
NEAR = 0.02  # of the first difference that may be left where a fault explains the rest
RUN = 4  # rows that show what repeats
SCANNED = 1 << 26  # values among which the beginning of a repetition is looked for row by row


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    kind : str
        A word for programs.
    text : str
        What to say.
    """

    kind: str
    text: str


def diagnose(mine: Tabular, expected: Tabular, found: Comparison) -> list[Finding]:
    """Return why a table differs from the expected one, the most telling first; empty where nothing is known."""
    pairs = [same_layout(a, b) for a, b in pair_lanes(mine, expected)[0]]
    pairs = [(a, b) for a, b in pairs if a.row_shape == b.row_shape or a.shape[1:] == b.shape[1:]]
    if not pairs or any(a.dtype.startswith("int") != b.dtype.startswith("int") for a, b in pairs):
        return _by_identity(mine, expected)
    repeated = _suffix(pairs, found)
    if repeated:
        return repeated
    case = _case(pairs)
    if case is None:
        return _by_identity(mine, expected)
    text = rounding_fault(case)
    if text is not None:
        return [Finding("rounding", text)]
    best = _best_fault(case, mine, expected)
    if best is not None:
        return best
    return _arithmetic(case, mine, expected) or _by_identity(mine, expected)


def expected_side(a: Tabular, b: Tabular) -> tuple[Tabular, Tabular]:
    """Return which of two tables is at hand and which was expected: a computed one, or else the second."""
    return (b, a) if isinstance(a, Table) and not isinstance(b, Table) else (a, b)


def _case(pairs: list[tuple[Lane, Lane]]) -> Case | None:
    """Read the first rows of both sides."""
    mine, expected = [], []
    for a, b in pairs:
        rows = min(a.rows, b.rows, ROWS)
        mine.append(_read(a, 0, rows))
        expected.append(_read(b, 0, rows))
    if not mine or any(p.shape != q.shape or p.size == 0 for p, q in zip(mine, expected, strict=True)):
        return None
    grains = [grain([Plane("", p, len(p)) for p in planes], side[0].dtype) for planes, side in ((mine, list(zip(*pairs, strict=True))[0]), (expected, list(zip(*pairs, strict=True))[1]))]
    coarse = min(grains, key=("bfloat16", "float16", "float32", "float64").index)
    return Case([a.name for a, _ in pairs], mine, expected, coarse)


def _read(lane: Lane, start: int, stop: int) -> Floats:
    from pecli.analysis.inspection import floats

    values = floats(lane.read(start, stop), lane.dtype).astype(np.float64)
    return values.reshape(stop - start, -1)


def _suffix(pairs: list[tuple[Lane, Lane]], found: Comparison) -> list[Finding]:
    """Say what the rows hold from one on, where those before are as expected."""
    firsts = [place.index[0] for place in (array.first for array in found.arrays) if place is not None and place.index]
    for start in _suspects(pairs, min(firsts, default=0)):
        texts = {_what(a, b, start) for a, b in pairs}
        if len(texts) == 1 and (text := texts.pop()) is not None:
            return [Finding("rows", text)]
    return []


def _suspects(pairs: list[tuple[Lane, Lane]], first: int) -> Iterator[int]:
    """Yield rows at which something new may begin: the first that differs, lengths that models have, any repetition."""
    n = min(a.rows for a, _ in pairs)
    known = {first, *(1 << k for k in range(4, 31)), *(1000 * k for k in (1, 2, 4, 8, 10, 16, 32)), *(1536, 3072, 12288)}
    yield from sorted(row for row in known if 1 < row < n)
    lane = pairs[0][0]
    if lane.rows * lane.row_size <= SCANNED and n > 2 * RUN:
        head = lane.read(0, 1)
        for start in range(1, n, 4096):
            rows = lane.read(start, min(start + 4096, n))
            same = (rows == head).reshape(len(rows), -1).all(axis=1)
            if same.any():
                yield start + int(same.argmax())
                return


def _what(a: Lane, b: Lane, start: int) -> str | None:
    """Say what an array holds from a row on that was not expected there; None for nothing known."""
    stop = min(start + RUN, a.rows, b.rows)
    if stop <= start or start < 1:
        return None
    mine, expected, before = _read(a, start, stop), _read(b, start, stop), _read(a, start - 1, start)
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)) or 1.0
    with np.errstate(invalid="ignore"):
        if not np.abs(mine - expected).max() > 0.01 * scale:
            return None
        if np.abs(before - _read(b, start - 1, start)).max() > 0.01 * scale:
            return None
    if np.isnan(mine).all():
        return f"rows {start} and up are NaN"
    if not mine.any():
        return f"rows {start} and up are zero"
    if np.array_equal(mine, np.broadcast_to(before, mine.shape)):
        return f"rows {start} and up repeat row {start - 1}"
    again = _read(a, 0, stop - start)
    if np.array_equal(mine, again) and not np.array_equal(expected, _read(b, 0, stop - start)):
        return f"rows {start} and up repeat: row {start} is row 0 again"
    return None


def _best_fault(case: Case, mine: Tabular, expected: Tabular) -> list[Finding] | None:
    """Try every fault; return the one that leaves least, if that is little."""
    first = case.residual(None)
    best: tuple[float, Fault] | None = None
    for fault in (*_of_recipe(case, expected), *structural(case)):
        left = _left(case, fault)
        if best is None or left < best[0]:
            best = (left, fault)
        if left <= case.rounding:
            break
    if best is None or best[0] > max(case.rounding, NEAR * first):
        return None
    left, fault = best
    findings = [Finding(fault.kind, _worded(fault, expected))]
    if left > case.rounding:
        findings += _rest(fault, left, case, mine, expected)
    return findings


def _left(case: Case, fault: Fault) -> float:
    planes = fault.change()
    if planes is None:
        return float("inf")
    part = Case(case.names, [p[fault.rows] for p in case.mine], case.expected, case.grain)
    return part.residual([p[fault.rows] for p in planes], fault.columns)


def _of_recipe(case: Case, expected: Tabular) -> Iterator[Fault]:
    """Yield faults of the expected recipe's parameters, layouts among them."""
    from pecli.analysis.faults_recipe import changed, changes

    table = expected_table(expected)
    if table is None:
        return
    rows = len(case.expected[0])
    if table.source.encoding.family is Family.ROTARY:
        yield from _layouts(case, table, rows)
    for kind, text, keys, shift in changes(table):
        made = changed(table, keys, shift, rows)
        if made is not None:
            yield Fault(kind, text, lambda made=made: planes_of(made, rows))  # type: ignore[misc]


def _layouts(case: Case, table: Table, rows: int) -> Iterator[Fault]:
    """Yield the other layouts of a rotary table that have the same shape."""
    from pecli.layouts import LAYOUTS

    for layout in LAYOUTS:
        if layout == table.request.layout:
            continue
        other = Table.make(
            table.source, positions=table.part.part(0, rows), dtype="float64", layout=layout,
            arithmetic=table.request.arithmetic,
        ) if layout != "complex" else None  # fmt: skip
        if other is not None and [a.shape[1:] for a in other.arrays] == [p.shape[1:] for p in case.expected]:
            names = {layout, table.request.layout}
            text = f"layout {layout} where {table.request.layout} was expected"
            if names == {"half", "interleaved"}:
                text = f"equal after swapping interleaved for halves: {text}"
            elif names == {"concat", "sin-cos"}:
                text = f"cos and sin are exchanged: {text}"
            yield Fault("layout", text, lambda other=other: planes_of(other, rows))  # type: ignore[misc]


def planes_of(table: Tabular, rows: int) -> Planes:
    """Return the first rows of every array as float64, (n, columns)."""
    from pecli.analysis.lanes import lane_of

    lanes = [lane_of(table, array) for array in table.arrays]
    return [_read(lane, 0, min(rows, lane.rows)) for lane in lanes]


def expected_table(expected: Tabular) -> Table | None:
    """Return the computed table behind what was expected: itself, or that of the recipe in its file."""
    from pecli.errors import PecliError

    if isinstance(expected, Table):
        return expected
    if expected.recipe is None:
        return None
    try:
        return Table.parse(expected.recipe)
    except PecliError:
        return None


def _worded(fault: Fault, expected: Tabular) -> str:
    """Return what to say of a fault; a factor on all values is a magnitude where the recipe has one."""
    table = expected_table(expected)
    if fault.kind != "size" or table is None:
        return fault.text
    magnitude = float(getattr(table.plan, "magnitude", 1.0))
    planes = fault.text.split()
    factor = float(planes[3])
    if magnitude != 1.0 and abs(factor * magnitude - 1) < 1e-3:
        return f"magnitude missing ({magnitude:.5g})"
    if magnitude != 1.0 and abs(factor / magnitude - 1) < 1e-3:
        return f"magnitude applied twice ({magnitude:.5g})"
    return f"magnitude {factor * magnitude:.6g} where {magnitude:.6g} was expected"


def _rest(fault: Fault, left: float, case: Case, mine: Tabular, expected: Tabular) -> list[Finding]:
    """Say what is left beside a fault."""
    text = f"what is left is at most {left:.2g}"
    limit = 2.0**-20 * case.scale
    if left < 4096 * limit:
        text += ", as phases in float32 leave"
    return [Finding("rest", text)]


def _arithmetic(case: Case, mine: Tabular, expected: Tabular) -> list[Finding]:
    """Say which arithmetic the phases were computed in, and where it shows first."""
    from pecli.analysis.finders.arithmetics import find_arithmetic
    from pecli.analysis.readings import readings
    from pecli.analysis.samples import take
    from pecli.plan import Waves

    table = expected_table(expected)
    if table is None or not isinstance(table.plan, Waves) or len(table.plan.bands) != 1:
        return []
    sample = take(mine, ROWS)
    w = np.array([float(f) for f in table.plan.frequencies])
    for reading in readings(sample):
        if reading.first.shape[1] != len(w):
            continue
        positions = table.part.numbers(0, len(case.expected[0])).astype(np.float64)[reading.rows]
        if len(positions) != len(reading.first):
            continue
        for cos, sin in ((reading.first, reading.second), (reading.second, reading.first)):
            how = find_arithmetic(positions, w, float(table.plan.magnitude), cos, sin, sample.grain)
            if how.fits and how.name != "float64":
                return [Finding("arithmetic", _arithmetic_text(case, how.name, how.words(), positions))]
    return []


def _arithmetic_text(case: Case, name: str, words: str, positions: Floats) -> str:
    """Name the arithmetic and the first position whose values rounding alone does not explain."""
    from pecli.analysis.finders.arithmetics import spacing

    wrong = np.zeros(len(case.mine[0]), bool)
    for p, q in zip(case.mine, case.expected, strict=True):
        angles = 2.0**-20 * (1 + np.abs(positions[:, None])) if name != "float32" else 0.0
        wrong |= (np.abs(p - q) > 2 * spacing(q, case.grain) + angles * case.scale).any(axis=1)
    row = int(wrong.argmax())
    if not wrong.any():
        return f"phases were computed in {name} ({words}): no value is off by more than its rounding"
    return f"phases were computed in {name} ({words}): first wrong at position {positions[row]:g}"


def _by_identity(mine: Tabular, expected: Tabular) -> list[Finding]:
    """Identify what is at hand, and set it beside the expected recipe."""
    from pecli.analysis.identification import identify

    found = identify(mine)
    if found.recipe is None:
        return [Finding("unknown", "no fault that is known explains the difference, and no formula gives these values")]
    table = expected_table(expected)
    findings = [Finding("identity", f"these values are {found.recipe} ({found.confidence})")]
    if table is not None:
        findings = _against(found.recipe, table) + findings
    return findings


def _against(recipe: str, table: Table) -> list[Finding]:
    """Return the parameters in which a recipe differs from that of the expected table."""
    other = Table.parse(recipe)
    if other.source.encoding is not table.source.encoding:
        names = other.source.encoding.name, table.source.encoding.name
        return [Finding("encoding", f"{names[0]} where {names[1]} was expected")]
    mine, theirs = ({**t.source.keys(), **t.positions.keys(), **t.request.keys()} for t in (other, table))
    found = []
    for key in dict.fromkeys([*mine, *theirs]):
        if mine.get(key) != theirs.get(key) and key not in ("len", "dtype", "seq-len"):
            found.append(Finding(key, f"{key} {mine.get(key, 'not given')} where {theirs.get(key, 'none')} was expected"))
    return found
