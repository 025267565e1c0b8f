"""Differences of biases, indices and codes: what was done to a file whose expected table is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pecli.comparison.compare import compare_tables
from pecli.comparison.results import Comparison, Finding
from pecli.declare.changes import Change
from pecli.declare.plan import Bias, Relative, Values
from pecli.declare.profiles import MAX_DIGITS_CHOSEN, Candidate, Floats, Integers, median, units
from pecli.declare.tabular import Tabular
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.judge.biases import (
    MAX_REORDERED_BYTES,
    MIN_SHARE_LIKELY,
    REORDERED,
    best_fit,
    distance_of,
    fits,
)
from pecli.judge.codes import measured_of
from pecli.judge.description import Fit
from pecli.judge.fit import Lines, Tally, arrays_of, fit, fit_table, recipe_text
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.printing import at_least
from pecli.tables.table import Table

MAX_ULP = 4.0
"""Units in the last place within which a value is the expected one; products of two rounded factors are 2 off."""
HARMLESS_ULP = 64
"""Units in the last place up to which a difference is called harmless; slopes by powers in float32 are 35 off."""
MAX_ULP_NAMED = 1000
"""Units in the last place that somebody would accept; more are those of values next to zero."""
SMALL_ULP = 1 << 17
"""Units in the last place up to which another parameter is a matter of rounding, as slopes of bfloat16 in float32."""
ABSENT = "none"
"""The choice of a parameter, such as a mask, that leaves it out."""
MAX_NAMED = 3
"""Heads or factors that a finding lists."""
MIN_FACTOR = 1e-3
"""Relative difference from 1 from which a factor is one; less is a rounding of slopes."""
MAX_BLOCK_VALUES = 1 << 18
"""Values to which a mistake is applied at once: most are refused by the first block."""
FEW_VALUES = 1 << 12
"""Values by which most hypotheses are refused."""
MAX_HEAD_VALUES = 1 << 17
"""Values of a head by which its structure is compared; of larger ones some queries are."""


def bias_differences(actual: Tabular, expected: Table, found: Comparison | None = None) -> list[Finding] | None:
    """Return why a bias, an index, slopes or a code differ from the expected table; None where no cause is known.

    Parameters
    ----------
    actual : Tabular
        The file.
    expected : Table
        A table of a bias, of relative indices or of computed values; for one of waves None is returned.
    found : Comparison, optional
        The comparison of both, whose figures are those that a tolerance must accept; computed if left out.

    Returns
    -------
    list of Finding or None
        The cause first.
    """
    plan = expected.plan
    if not isinstance(plan, Bias | Values) and not (isinstance(plan, Relative) and plan.waves is None):
        return None
    with np.errstate(all="ignore"):
        return _differences(actual, expected, compare_tables(actual, expected) if found is None else found)


def _differences(actual: Tabular, expected: Table, compared: Comparison) -> list[Finding] | None:
    held = arrays_of(actual)
    if not held:
        return None
    if (said := _rounding(actual, expected, held, compared)) is not None:
        return said
    measured = measured_of(actual)
    if measured is not None:
        return [Finding("identity", f"not {expected.source.encoding.name}: {'; '.join(measured.measured)}")]
    if found := _mistakes(held, expected):
        return found
    name = expected.source.encoding.name
    own = []
    for one in fits(actual, name):
        if one.explained >= MIN_SHARE_LIKELY and one.candidate.fitted <= MAX_DIGITS_CHOSEN:
            own.append(one)
            if one.equal == 1.0 and len(_other_keys(one, expected)) <= 1:
                break
    best = min(own, key=lambda f: (f.unexplained, len(_other_keys(f, expected)), f.equal < 1, f.max_ulp), default=None)
    described = _described(best, actual, expected, compared) if best is not None else []
    if described and not {one.kind for one in described} & {"slope_values", "heads"}:
        return described  # a part of the heads may look like other slopes, or like fewer heads
    if found := _structure(held, expected):
        return found
    if described:
        return described
    if (index := distance_of(actual)) is not None:
        return [Finding("buckets", f"the index is {index}, where {expected.source.short} was expected")]
    if best is not None and best.candidate.trained:
        return [Finding("trained", "the index is the expected one, and the trained numbers are others")]
    other = best_fit(actual)
    if other is None or other.explained < MIN_SHARE_LIKELY or other.candidate.doubts:
        return None
    if other.candidate.fitted > MAX_DIGITS_CHOSEN or other.candidate.name == name:
        return None
    return [Finding("identity", f"this is {recipe_text(other.table)}, where {expected.source.short} was expected")]


def _rounding(actual: Tabular, expected: Table, held: list[Lines], compared: Comparison) -> list[Finding] | None:
    """Return what is to be said where a file holds the expected values within roundings; None where it does not."""
    floats = [lines for lines in held if lines.dtype in GRIDS]
    own = floats[0].dtype if floats else expected.request.dtype
    tables = {"": expected}
    if expected.request.queries:
        align = "first" if expected.request.align == "last" else "last"
        other = replace(expected.request, align=align)
        said = f"the queries are the {align} of the keys, where the {expected.request.align} were expected"
        tables[said] = Table(expected.source, other.extent(expected.positions), other)
    for note, table in tables.items():
        for kind in dict.fromkeys((own, *(lines.grain for lines in floats[:1]))):
            whole = any(lines.integral for lines in held)
            candidate = Candidate("", {}, ulp=MAX_ULP if whole else _allowed(kind))
            for lines in (None, *_reordered(held)):
                some = held if lines is None else arrays_of(actual, lines)
                found = fit_table(candidate, table.as_type(kind), some, kind)
                if found is not None and not found.unexplained:
                    findings = [Finding("axes", said) for said in (note, lines.note if lines else "") if said]
                    return findings + list(_harmless(found, held, expected, kind, None if findings else compared))
    return None


def _allowed(kind: str) -> float:
    """Return the units in the last place by which arithmetic in a type is off; of a narrow one few are much."""
    return HARMLESS_ULP if kind in ("float64", "float32") else MAX_ULP


def _harmless(
    found: Fit, held: list[Lines], expected: Table, kind: str, compared: Comparison | None
) -> Iterator[Finding]:
    """Yield copies, another number for minus infinity, and roundings."""
    for lines in (lines for lines in held if lines.name in found.arrays):
        count = min(math.prod(array.shape) for array in expected.arrays)
        copies = lines.count * lines.width // count
        if copies > 1 and lines.count * lines.width == copies * count:
            yield Finding("copies", f"{copies} copies of the expected values, as of a batch")
        if lines.low is not None:
            text = f"masked pairs hold {lines.low:g}, where -inf was expected: equal after a softmax"
            yield Finding("mask", text)
    theirs = expected.request.dtype
    if kind != theirs and GRIDS[kind].precision < GRIDS[theirs].precision and found.equal == 1.0:
        yield Finding("rounding", f"the values are rounded to {kind}")
    elif kind != theirs and (near := fit_table(Candidate("", {}, ulp=MAX_ULP), expected, held, theirs)) is not None:
        if near.max_ulp:
            yield _rounded(near, compared, f"{kind} values where {theirs} was expected")
    elif found.max_ulp:
        yield _rounded(found, compared)


def _reordered(held: list[Lines]) -> Iterator[Lines]:
    for lines in held:
        for order, note in REORDERED.items():
            if len(order) == len(lines.shape) and lines.count > 1 and lines.array.bytes <= MAX_REORDERED_BYTES:
                yield Lines(lines.table, lines.name, note, order)


def _rounded(found: Fit, compared: Comparison | None, said: str = "") -> Finding:
    """Return a rounding with the tolerance that accepts it; without one where values are no neighbours in the file."""
    said = said or f"{found.arithmetic} rounding"
    harmless = ": harmless" if found.candidate.name or found.max_ulp <= HARMLESS_ULP else ""
    total = compared.total if compared is not None and compared.complete else None
    if total is None or not math.isfinite(total.max_abs) or not total.max_abs:
        return Finding("rounding", f"{said}, at most {math.ceil(found.max_ulp)} ulp ({found.residual:.2g}){harmless}")
    ulp = f"--ulp {total.max_ulp} or " if 0 < total.max_ulp <= MAX_ULP_NAMED else ""
    size = f"at most {total.max_ulp} ulp ({total.max_abs:.2g})" if ulp else f"at most {total.max_abs:.2g}"
    accepts = f"{ulp}--atol {at_least(total.max_abs * (1 + 2.0**-26), 1)} accepts it"
    return Finding("rounding", f"{said}, {size}{harmless}{';' if harmless else ':'} {accepts}")


def _keys(recipe: Recipe) -> dict[str, str]:
    return {key: text for key, text in recipe.keys().items() if key not in ("seed", "generator", "weights")}


def _other_keys(found: Fit, expected: Table) -> dict[str, tuple[str, str]]:
    """Return the parameters that differ: the file's and the expected text of each, "" where one has none."""
    mine, theirs = _keys(found.table.source), _keys(expected.source)
    known = [key for key in {**theirs, **mine} if key not in found.candidate.open]
    if found.candidate.trained or not found.table.source.keys().keys() >= theirs.keys():
        known = [key for key in known if key in mine]
    return {key: (mine.get(key, ""), theirs.get(key, "")) for key in known if mine.get(key) != theirs.get(key)}


def _described(found: Fit, actual: Tabular, expected: Table, compared: Comparison) -> list[Finding]:
    """Return the parameters that differ, one line each, then what the reading and the values leave to say."""
    findings = [Finding("axes", note) for note in found.candidate.notes if note in REORDERED.values()]
    other = _other_keys(found, expected)
    keys, theirs = dict(found.candidate.keys), _keys(expected.source)
    for key in [key for key in other if len(other) > 1 and key in theirs]:  # a term whose removal fits as well
        tried = {**keys, key: theirs[key]}
        again = fit(replace(found.candidate, keys=tried), actual)
        if again is not None and again.unexplained <= found.unexplained and again.equal >= found.equal:
            keys = tried
            del other[key]
    words = expected.source.encoding.hook("words")(other) if expected.source.encoding.declares("words") else {}
    parameters = {p.option: p for p in expected.source.encoding.parameters.values()}
    for key, (mine, wanted) in other.items():
        text = words.get(key) or _said(key, mine, wanted, parameters[key].param.off if key in parameters else None)
        findings.append(Finding(key.replace("-", "_"), text))
    findings += _extent(found, expected)
    findings += [Finding("place", place) for place in found.places]
    if found.places and found.max_ulp and not other:
        findings.append(_rounded(found, None, f"in the other values {found.arithmetic} rounding"))
    if findings and (
        near := fit_table(Candidate("", {}, ulp=SMALL_ULP), expected, arrays_of(actual), expected.request.dtype)
    ):
        findings += [] if near.unexplained else [_rounded(near, compared)]
    if not findings and found.max_ulp and not found.candidate.trained:
        return [_rounded(found, compared)]
    return findings


def _said(key: str, mine: str, wanted: str, off: str | None) -> str:
    """Return one parameter that differs, in words."""
    if {mine, wanted} <= {"true", "false", ""}:
        if off:
            return f"{key} where {off} was expected" if mine == "true" else f"{off} where {key} was expected"
        return f"{key} where it was not expected" if mine == "true" else f"{key} is missing"
    if ABSENT in (mine, wanted):
        return f"{wanted} {key} missing" if mine == ABSENT else f"a {mine} {key} where none was expected"
    if not mine or not wanted:
        return f"{key} {wanted} missing" if wanted else f"{key} {mine} where none was given"
    if key in ("heads", "buckets", "dim"):
        return f"{mine} {key} where {wanted} were expected"
    return f"{key} {mine} where {wanted} was expected"


def _extent(found: Fit, expected: Table) -> Iterator[Finding]:
    """Yield other numbers of queries and keys, and another form."""
    mine, theirs = found.table, expected
    if mine.request.form != theirs.request.form and "index" not in (mine.request.form, theirs.request.form):
        yield Finding("form", f"form {mine.request.form} where {theirs.request.form} was expected")
    elif mine.request.form != "slopes":
        keys, rows = mine.positions.count, mine.rows
        if mine.source.rows is not None:
            return
        if keys != theirs.positions.count:
            yield Finding("length", f"{keys} keys where {theirs.positions.count} were expected")
        elif mine.positions.start != theirs.positions.start:
            text = f"positions start at {mine.positions.start} where {theirs.positions.start} was expected"
            yield Finding("start", text)
        elif rows != theirs.rows:
            yield Finding("queries", f"{rows} quer{'y' if rows == 1 else 'ies'} where {theirs.rows} were expected")


Transform = Callable[[Floats, Floats, Integers], tuple[Floats, Floats]]
"""Of a head's values, the expected ones and the distances of their pairs, what is to be equal."""


class Cube:
    """An array as (heads, queries, keys), in memory."""

    def __init__(self, lines: Lines) -> None:
        shape = lines.shape
        sides = (1,) * (3 - len(shape)) + shape
        if len(shape) == 1 and lines.array.shape[-1:] == shape and lines.name == "slopes":
            sides = (*shape, 1, 1)
        heads, queries, keys = sides
        some = min(queries, max(8, MAX_HEAD_VALUES // max(1, keys)))
        self.queries = np.unique(np.linspace(0, queries - 1, some).astype(int))
        if len(self.queries) == queries:
            self.values = lines.read(0, lines.count).reshape(sides)
        else:
            picked = (head * queries + query for head in range(heads) for query in self.queries.tolist())
            self.values = np.concatenate([lines.read(at, at + 1) for at in picked]).reshape(heads, -1, keys)
        self.grain = lines.grain if lines.dtype in GRIDS else "float64"
        self.offset = keys - queries

    def distances(self) -> Integers:
        """Return key minus query of each pair; the queries are the last of the keys."""
        found: Integers = np.arange(self.values.shape[-1]) - (self.queries + self.offset)[:, None]
        return found


def _structure(held: Sequence[Lines], expected: Table) -> list[Finding]:
    """Return which heads, sign, mask, factor or shift of the expected values the file has."""
    array = expected.arrays[0]
    for lines in held:
        if len(lines.shape) > 3 or len(array.shape) > 3:
            continue
        if lines.dtype in GRIDS and array.dtype in GRIDS:
            expected = expected.as_type(lines.dtype)
        other = Lines(expected, array.name)
        mine = Cube(lines)
        theirs = Cube(other)
        if len(array.shape) == 1 and len(lines.shape) == 1:  # slopes
            mine.values, theirs.values = mine.values.reshape(-1, 1, 1), theirs.values.reshape(-1, 1, 1)
        if mine.values.shape[1:] == theirs.values.shape[1:] and (
            found := _compared(mine, theirs, pairs=isinstance(expected.plan, Bias))
        ):
            return found
    return []


def _near(mine: Floats, wanted: Floats, grain: str) -> bool:
    """Whether all values but a few in a hundred are the wanted ones within roundings."""
    if mine.size > 2 * FEW_VALUES:
        step = mine.size // FEW_VALUES
        if not _near(mine.reshape(-1)[::step], wanted.reshape(-1)[::step], grain):
            return False
    off = np.abs(mine - wanted) <= _allowed(grain) * units(np.maximum(np.abs(mine), np.abs(wanted)), grain)
    good = off | (mine == wanted) | (np.isnan(mine) & np.isnan(wanted))
    return bool(good.mean() >= MIN_SHARE_LIKELY) if good.size else False


def _compared(mine: Cube, theirs: Cube, *, pairs: bool) -> list[Finding]:
    """Return what was done to the heads, or to the values of all heads alike."""
    a, b, grain = mine.values, theirs.values, mine.grain
    if found := _heads(a, b, grain):
        return [found]
    if len(a) != len(b):
        return []
    distance = mine.distances()
    later = np.broadcast_to(distance > 0, a.shape)
    shown = np.isfinite(b)
    for kind, text, wanted, where in _signs_and_masks(a, b, later, shown):
        if where.any() and _near(a[where], wanted[where], grain):
            return [Finding(kind, text)]
    return list(_factors(a, b, distance, grain, pairs=pairs))


def _heads(a: Floats, b: Floats, grain: str) -> Finding | None:
    """Return which of the expected heads a file has."""
    order = [next((h for h in range(len(b)) if _near(row, b[h], grain)), -1) for row in a]
    if -1 in order or order == list(range(len(b))):
        return None
    first, count = order[0], len(order)
    if order == list(range(first, first + count)):
        if count == 1:
            return Finding("heads", f"this is head {first} of {len(b)}")
        rank = " (a rank's slice)" if len(b) % count == 0 and first % count == 0 else ""
        return Finding("heads", f"{count} of {len(b)} heads: heads {first} to {first + count - 1}{rank}")
    if sorted(order) == list(range(len(b))):
        if order == sorted(order, reverse=True):
            return Finding("heads", "the heads are reversed: the last one comes first")
        shown = [f"head {h} holds head {k}" for h, k in enumerate(order) if h != k][:MAX_NAMED]
        return Finding("heads", f"the heads are in another order: {', '.join(shown)}{', ..' * (count > MAX_NAMED)}")
    if len(set(order)) == 1:
        return Finding("heads", f"every head has the values of head {order[0]}")
    if count == len(b):
        shown = [f"head {h} has the values of head {k}" for h, k in enumerate(order) if h != k]
        return Finding("heads", ", ".join(shown[:MAX_NAMED]) + ", .." * (len(shown) > MAX_NAMED))
    return None


Check = tuple[str, str, Floats, Any]


def _signs_and_masks(a: Floats, b: Floats, later: Any, shown: Any) -> Iterator[Check]:
    """Yield a kind, what to say, the values that are then wanted, and where they are looked at."""
    every, hidden = np.ones(a.shape, bool), np.isneginf(b)
    if hidden.any() and not np.isneginf(a)[hidden].any():
        at = a[hidden]
        same = len(np.unique(at)) == 1
        if same and at[0] == 0:
            text = "causal mask missing: keys after the query hold 0"
        elif same:
            text = f"keys after the query hold {at[0]:g}, where -inf was expected"
        else:
            text = "causal mask missing"
        yield "mask", text, b, shown
    if not hidden.any() and np.isneginf(a).any() and np.array_equal(np.isneginf(a), later):
        yield "mask", "a causal mask where none was expected", b, ~later
    if hidden.any() and np.array_equal(
        np.isneginf(a), hidden.swapaxes(-1, -2) if a.shape[-1] == a.shape[-2] else hidden
    ):
        text = "the mask hides keys before the query, where it was to hide those after it: query and key are exchanged"
        yield "axes", text, b.swapaxes(-1, -2) if a.shape[-1] == a.shape[-2] else b, every
    yield "sign", "the sign is wrong: every value has the other sign, so that far keys are preferred", -b, shown
    if np.array_equal(shown, every) and later.any():
        text = "the distance keeps its sign, where its size was expected: keys after the query have the other sign"
        yield "sign", text, np.where(later, -b, b), every
        text = "the distance keeps its sign, where its size was expected: keys before the query have the other sign"
        yield "sign", text, np.where(later, b, -b), every
        text = "keys after the query hold 0, where their distance was expected"
        yield "mask", text, np.where(later, 0.0, b), every
    if a.shape[-1] == a.shape[-2]:
        yield "axes", "query and key axes are exchanged", b.swapaxes(-1, -2), every


def _factors(a: Floats, b: Floats, distance: Integers, grain: str, *, pairs: bool) -> Iterator[Finding]:
    """Yield one factor of all values, one of each head, or one number added to each query."""
    shown = np.isfinite(a) & np.isfinite(b)
    seen = shown & (b != 0)
    if not seen.any():
        return
    factors = np.array([np.median(x[s] / y[s]) if s.any() else np.nan for x, y, s in zip(a, b, seen, strict=True)])
    made = factors[:, None, None] * b
    if _near(a[shown], made[shown], grain) and np.isfinite(factors).all():
        if (np.abs(factors - 1) <= MIN_FACTOR).all():
            return
        if np.ptp(factors) <= MIN_FACTOR * abs(factors[0]):
            yield Finding("factor", f"every value is {_factor(float(factors[0]))} times what was expected")
            return
        heads = np.flatnonzero(np.abs(factors - 1) > MIN_FACTOR)
        first = int(np.flatnonzero(seen[heads[0]].ravel())[0])
        k = heads[0]
        x, y = a[k].ravel()[first], b[k].ravel()[first]
        which = (
            f"{len(heads)} of {len(a)} heads have other slopes"
            if len(heads) < len(a)
            else "every head has another slope"
        )
        yield Finding("slopes", f"{which}: head {k} has {x:g} where {y:g} was expected")
        return
    earlier = shown & np.broadcast_to(distance <= 0, a.shape)
    gap = np.where(earlier, a - b, np.nan)
    middle = np.nan_to_num(median(gap))[..., None]
    if _near(a[earlier], (b + middle)[earlier], grain) and a.shape[-1] > 2 and pairs:
        yield Finding("offset", "one number is added to all keys of a query: equal after a causal softmax")


def _factor(value: float) -> str:
    """Return a factor as a number, and as a root or a logarithm where it is one."""
    for said, number in (("log2(e)", math.log2(math.e)), ("ln(2)", math.log(2)), ("sqrt(2)", math.sqrt(2))):
        if abs(value / number - 1) < 1e-5:
            return f"{value:.6g} ({said})"
    square = value**2 if value > 1 else 1 / value**2
    if value > 0 and abs(value - round(value)) > 1e-6 and abs(square - round(square)) < 1e-3 and 2 < square < 1024:
        return f"{value:.6g} ({'' if value > 1 else '1/'}sqrt({round(square)}))"
    return f"{value:.6g}"


def _mistakes(held: Sequence[Lines], expected: Table) -> list[Finding]:
    """Return the encoding's own mistake that gives every value."""
    encoding = expected.source.encoding
    if not encoding.declares("mistakes"):
        return []
    for change in encoding.hook("mistakes")(expected.source.keys()):
        for lines in held:
            for array in expected.arrays:
                if change.waves is None and _gives(change, lines, expected, array.name):
                    return [Finding(change.kind, change.text)]
    return []


def _gives(change: Change, lines: Lines, expected: Table, name: str) -> bool:
    """Whether a change of the expected table gives an array of the file."""
    table = expected
    if change.keys:
        keys: dict[str, Any] = {**expected.source.keys(), **change.keys}
        try:
            recipe = Recipe.bind(expected.source.encoding.name, **{k: v for k, v in keys.items() if v is not None})
            table = Table(recipe, expected.extent, expected.request)
        except PecliError:
            return False
    if lines.dtype in GRIDS and table.array(name).dtype in GRIDS:
        table = table.as_type(lines.dtype)
    other, tally = Lines(table, name), Tally()
    if other.shape != lines.shape or (lines.dtype in GRIDS) != (other.dtype in GRIDS):
        return False
    per = other.shape[-2] if len(other.shape) > 1 else other.count
    while per * other.width > MAX_BLOCK_VALUES and per % 2 == 0:
        per //= 2
    moved, grain = False, lines.grain if lines.dtype in GRIDS else "float64"
    for start in range(0, other.count, per):
        values = plain = other.read(start, start + per)
        if change.values is not None:
            values = change.values(name, plain, start)
            moved |= bool((np.abs(values - plain) > MAX_ULP * units(plain, grain)).any())
        tally.add(start, lines.read(start, start + per), values, grain, Candidate("", {}, ulp=MAX_ULP))
        if tally.unexplained > (1 - MIN_SHARE_LIKELY) * lines.count * lines.width:
            return False
    return moved or change.values is None
