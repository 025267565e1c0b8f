"""Differences of biases, indices and codes: what was done to a file whose expected table is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pecli.errors import PecliError
from pecli.judge.biases import READINGS, best_fit, distance_of, fits, is_named, plain_of, readings
from pecli.judge.codes import visible
from pecli.judge.description import Fit
from pecli.judge.fit import MIN_SHARE_LIKELY, Lines, arrays_of, fit, fit_table, numbers, recipe_text
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.printing import at_least
from pecli.spec.plans import Bias, Relative, Values
from pecli.spec.profiles import Candidate, Floats, Integers, median, units
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Finding, compare_tables
from pecli.tables.table import Table

MAX_ULP = 4.0
"""Units in the last place within which a value is the expected one; products of two rounded factors are 2 off."""
HARMLESS_ULP = 64
"""Units in the last place up to which a difference is called harmless; slopes by powers in float32 are 35 off."""
MAX_ULP_NAMED = 1000
"""Units in the last place that somebody would accept; more are those of values next to zero."""
ABSENT = "none"
"""The choice of a parameter, such as a mask, that leaves it out."""
MAX_NAMED = 3
"""Heads that a finding lists."""
MIN_FACTOR = 1e-3
"""Relative difference from 1 from which a factor is one; less is a rounding of slopes."""
MAX_HEAD_VALUES = 1 << 17
"""Values of a head that are compared with another head; of larger ones some queries are."""
ROOTS = {"log2(e)": math.log2(math.e), "ln(2)": math.log(2), "sqrt(2)": math.sqrt(2)}


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
        held = arrays_of(actual)
        if not held:
            return None
        compared = compare_tables(actual, expected) if found is None else found
        said = _rounding(actual, expected, held, compared)
        return _causes(actual, expected, held, compared) if said is None else said


def _causes(actual: Tabular, expected: Table, held: list[Lines], compared: Comparison) -> list[Finding] | None:
    name, short = expected.source.encoding.name, expected.source.short
    if (plain := plain_of(actual)) is not None:
        return [Finding("identity", f"not {name}: {plain}")]
    if found := _mistakes(held, expected):
        return found
    own = []
    for one in filter(is_named, fits(actual, name)):
        own.append(one)
        if one.equal == 1.0 and len(_other_keys(one, expected)) <= 1:
            break
    best = min(own, key=lambda f: (f.unexplained, len(_other_keys(f, expected)), f.equal < 1, f.max_ulp), default=None)
    described = _described(best, actual, expected, compared) if best is not None else []
    if described and not {one.kind for one in described} & {"slope_values", "heads"}:
        return described  # a part of the heads may look like other slopes, or like fewer heads
    if found := _structure(held, expected) or described:
        return found
    if (index := distance_of(actual, indices=True)) is not None:
        return [Finding("buckets", f"the index is {index}, where {short} was expected")]
    if best is not None and best.candidate.trained:
        return [Finding("trained", "the index is the expected one, and the trained numbers are others")]
    other = best_fit(actual)
    if other is None or not is_named(other) or other.candidate.doubts or other.candidate.name == name:
        return None
    return [Finding("identity", f"this is {recipe_text(other.table)}, where {short} was expected")]


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
            narrow = kind not in ("float64", "float32") or any(lines.integral for lines in held)
            candidate = Candidate("", {}, ulp=MAX_ULP if narrow else HARMLESS_ULP)
            for some in (held, *(arrays_of(actual, lines) for lines in readings(actual, exchanged=True))):
                found = fit_table(candidate, table.as_type(kind), some, kind)
                if found is not None and not found.unexplained:
                    findings = [Finding("axes", said) for said in (note, some[0].note) if said]
                    return findings + list(_harmless(found, held, expected, kind, None if findings else compared))
    return None


def _harmless(
    found: Fit, held: list[Lines], expected: Table, kind: str, compared: Comparison | None
) -> Iterator[Finding]:
    """Yield copies, another number for minus infinity, and roundings."""
    for lines in (lines for lines in held if lines.name in found.arrays):
        copies, left = divmod(lines.count * lines.width, min(math.prod(array.shape) for array in expected.arrays))
        if copies > 1 and not left:
            yield Finding("copies", f"{copies} copies of the expected values, as of a batch")
        if lines.low is not None:
            text = f"masked pairs hold {lines.low_text}, where -inf was expected: equal after a softmax"
            yield Finding("mask", text)
    theirs = expected.request.dtype
    if kind != theirs and GRIDS[kind].precision < GRIDS[theirs].precision and found.equal == 1.0:
        yield Finding("rounding", f"the values are rounded to {kind}")
    elif kind != theirs and (near := fit_table(Candidate("", {}, ulp=MAX_ULP), expected, held, theirs)) is not None:
        if near.max_ulp:
            yield _rounded(near, compared, f"{kind} values where {theirs} was expected")
    elif found.max_ulp:
        yield _rounded(found, compared)


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
    findings = [Finding("axes", note) for note in found.candidate.notes if note in READINGS.values()]
    other = _other_keys(found, expected)
    keys, theirs = dict(found.candidate.keys), _keys(expected.source)
    for key in [key for key in other if len(other) > 1 and key in theirs]:  # a term whose removal fits as well
        tried = {**keys, key: theirs[key]}
        again = fit(replace(found.candidate, keys=tried), actual)
        if again is not None and again.unexplained <= found.unexplained and again.equal >= found.equal:
            keys = tried
            del other[key]
    encoding = expected.source.encoding
    words = encoding.hook("words")(other) if encoding.declares("words") else {}
    for key, (mine, wanted) in other.items():
        option = next((p.param.off for p in encoding.parameters.values() if p.option == key), None)
        findings.append(Finding(key.replace("-", "_"), words.get(key) or _said(key, mine, wanted, option)))
    findings += _extent(found, expected)
    findings += [Finding("place", place) for place in found.places]
    if found.max_ulp and not other and not found.candidate.trained and (found.places or not findings):
        said = f"in the other values {found.arithmetic} rounding" if found.places else ""
        findings.append(_rounded(found, None if said else compared, said))
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
    were = "were" if key in ("heads", "buckets", "dim") else ""
    return f"{mine} {key} where {wanted} were expected" if were else f"{key} {mine} where {wanted} was expected"


def _extent(found: Fit, expected: Table) -> Iterator[Finding]:
    """Yield other numbers of queries and keys, and another form."""
    mine, theirs = found.table, expected
    if mine.request.form != theirs.request.form and "index" not in (mine.request.form, theirs.request.form):
        yield Finding("form", f"form {mine.request.form} where {theirs.request.form} was expected")
    elif mine.request.form != "slopes" and mine.source.rows is None:
        if mine.positions.count != theirs.positions.count:
            yield Finding("length", f"{mine.positions.count} keys where {theirs.positions.count} were expected")
        elif mine.positions.start != theirs.positions.start:
            text = f"positions start at {mine.positions.start} where {theirs.positions.start} was expected"
            yield Finding("start", text)
        elif mine.rows != theirs.rows:
            many = f"{mine.rows} quer{'y' if mine.rows == 1 else 'ies'}"
            yield Finding("queries", f"{many} where {theirs.rows} were expected")


def _mistakes(held: list[Lines], expected: Table) -> list[Finding]:
    """Return the encoding's own mistake that gives every value but a few."""
    encoding = expected.source.encoding
    if not encoding.declares("mistakes"):
        return []
    exact = Candidate("", {}, ulp=MAX_ULP)
    kind = next((lines.dtype for lines in held if lines.dtype in GRIDS), expected.request.dtype)
    grain = next((lines.grain for lines in held if lines.dtype in GRIDS), "float64")
    for change in encoding.hook("mistakes")(expected.source.keys()):
        table = expected
        if change.waves is not None:
            continue
        if change.keys:
            keys = {**expected.source.keys(), **change.keys}
            try:
                recipe = Recipe.bind(encoding.name, **{k: v for k, v in keys.items() if v is not None})
                table = Table(recipe, expected.extent, expected.request)
            except PecliError:
                continue
        found = fit_table(exact, table.as_type(kind), held, grain, change.values)
        if found is None or found.explained < MIN_SHARE_LIKELY:
            continue
        plain = fit_table(exact, expected.as_type(kind), held, grain)
        if plain is None or found.unexplained < plain.unexplained:
            return [Finding(change.kind, change.text), *(Finding("place", place) for place in found.places)]
    return []


class Cube:
    """Arrays of a file and of the expected table as (heads, queries, keys), in memory; of many queries some.

    Attributes
    ----------
    a, b : (heads, queries, keys) float64
        The file's values and the expected ones.
    distance : (queries, keys) int64
        Key minus query; the queries are the last of the keys.
    ulp : float
        Units in the last place of `grain` within which values are equal.
    """

    def __init__(self, mine: Lines, theirs: Lines) -> None:
        self.a, self.distance = _values(mine)
        self.b, _ = _values(theirs)
        self.grain = mine.grain if mine.dtype in GRIDS else "float64"
        self.ulp = HARMLESS_ULP if self.grain in ("float64", "float32") else MAX_ULP

    def far(self, a: Floats, b: Floats) -> int:
        """Return how many values are not equal within roundings."""
        off = np.abs(a - b) <= self.ulp * units(np.maximum(np.abs(a), np.abs(b)), self.grain)
        return int((~(off | (a == b) | (np.isnan(a) & np.isnan(b)))).sum())

    def near(self, a: Floats, b: Floats) -> bool:
        """Whether all values but a few in a hundred are equal."""
        few = slice(None, None, 1 + a.size // 4096)
        if a.size > 8192 and not self.near(a.reshape(-1)[few], b.reshape(-1)[few]):
            return False
        return self.far(a, b) <= (1 - MIN_SHARE_LIKELY) * a.size if a.size else False


def _values(lines: Lines) -> tuple[Floats, Integers]:
    shape = lines.shape
    heads, queries, keys = (*shape, 1, 1) if len(shape) == 1 else (1,) * (3 - len(shape)) + shape
    picked = np.unique(np.linspace(0, queries - 1, min(queries, max(8, MAX_HEAD_VALUES // keys))).astype(int))
    if len(picked) == queries:
        values = lines.read(0, lines.count).reshape(heads, queries, keys)
    else:
        rows = (head * queries + query for head in range(heads) for query in picked.tolist())
        values = np.concatenate([lines.read(at, at + 1) for at in rows]).reshape(heads, -1, keys)
    return values, np.arange(keys) - (picked + keys - queries)[:, None]


def _structure(held: Sequence[Lines], expected: Table) -> list[Finding]:
    """Return which heads, sign, mask, factor or shift of the expected values the file has."""
    array = expected.arrays[0]
    for lines in held:
        if len(lines.shape) > 3 or len(array.shape) > 3:
            continue
        kind = lines.dtype if lines.dtype in GRIDS and array.dtype in GRIDS else None
        other = Lines(expected.as_type(kind) if kind else expected, array.name)
        if lines.shape[-2:] != other.shape[-2:] and (len(lines.shape), len(other.shape)) != (1, 1):
            continue
        cube = Cube(lines, other)
        said = _heads(cube)
        if said is not None:
            return [Finding("heads", said)]
        if len(cube.a) != len(cube.b):
            continue
        for kind_of, text, wanted, where in _changes(cube, index=other.integral):
            if not where.any() or not cube.near(cube.a[where], wanted[where]):
                continue
            left, many = cube.far(cube.a[where], wanted[where]), int(where.sum())
            more = (
                [Finding("place", f"{left:,} of {many:,} values that were looked at do not fit that")] if left else []
            )
            return [Finding(kind_of, text), *more]
    return []


def _heads(cube: Cube) -> str | None:
    """Return which of the expected heads a file has; None where it has all of them in their order, or others."""
    many = len(cube.b)
    order = [next((h for h in range(many) if cube.near(row, cube.b[h])), -1) for row in cube.a]
    if -1 in order or order == list(range(many)):
        return None
    first, count = order[0], len(order)
    if order == list(range(first, first + count)):
        rank = " (a rank's slice)" if many % count == 0 and first % count == 0 else ""
        last = first + count - 1
        return (
            f"this is head {first} of {many}"
            if count == 1
            else f"{count} of {many} heads: heads {first} to {last}{rank}"
        )
    if len(set(order)) == 1:
        return f"every head has the values of head {first}"
    left = sorted({*range(many)} - {*order})
    if sorted(set(order)) == order and len(left) <= MAX_NAMED:
        heads = numbers(np.array(left))
        return f"head {heads} of {many} is missing" if len(left) == 1 else f"heads {heads} of {many} are missing"
    if count != many:
        return None
    again = sorted(order) == list(range(many))
    if again and order == sorted(order, reverse=True):
        return "the heads are reversed: the last one comes first"
    verb = "holds" if again else "has the values of"
    shown = [f"head {h} {verb} head {k}" for h, k in enumerate(order) if h != k]
    text = ", ".join(shown[:MAX_NAMED]) + ", .." * (len(shown) > MAX_NAMED)
    return f"the heads are in another order: {text}" if again else text


def _changes(cube: Cube, *, index: bool) -> Iterator[tuple[str, str, Floats, np.ndarray]]:
    """Yield a kind, what to say, the values that are then wanted, and where they are looked at."""
    a, b = cube.a, cube.b
    hidden, masked, every = np.isneginf(b), np.isneginf(a), np.ones(a.shape, bool)
    shown, later = ~(hidden | masked), np.broadcast_to(cube.distance > 0, a.shape)
    if not np.array_equal(hidden, masked):
        theirs, mine = visible(~hidden[0], cube.distance), visible(~masked[0], cube.distance)
        causal = (hidden == later).all()
        if not masked.any():
            at, which = np.unique(a[hidden]), "keys after the query" if causal else "masked pairs"
            text = f"{'causal ' * bool(causal)}mask missing{f': {which} hold {at[0]:g}' if len(at) == 1 else ''}"
        elif not hidden.any():
            text = "a causal mask" if (masked == later).all() else f"a mask that shows pairs {mine},"
            text += " where none was expected"
        else:
            text = f"another mask: it shows pairs {mine}; expected: {theirs}"
        yield "mask", text, b, shown
    text = "the sign is wrong: every value has the other sign" + ("" if index else ", so that far keys are preferred")
    yield "sign", text, -b, ~hidden
    if shown.all() and later.any() and not index:
        text = "the distance keeps its sign, where its size was expected: keys {} the query have the other sign"
        yield "sign", text.format("after"), np.where(later, -b, b), every
        yield "sign", text.format("before"), np.where(later, b, -b), every
        yield "mask", "keys after the query hold 0, where their distance was expected", np.where(later, 0.0, b), every
    if a.shape[-1] == a.shape[-2] > 1:
        yield "axes", "query and key axes are exchanged", b.swapaxes(-1, -2), every
    yield from _factors(cube, shown & np.isfinite(a) & np.isfinite(b), later, index=index)


def _factors(
    cube: Cube, shown: np.ndarray, later: np.ndarray, *, index: bool
) -> Iterator[tuple[str, str, Floats, np.ndarray]]:
    """Yield a number that is added, one factor of all values or of each head, and a number added to each query."""
    a, b = cube.a, cube.b
    gaps = [float(np.median((a - b)[where])) if where.any() else 0.0 for where in (shown & ~later, shown & later)]
    if index and any(gaps) and a.shape[-1] > 1:
        where = "the keys after the query" if not gaps[0] else "the others" if not gaps[1] else "all keys"
        if gaps[0] == gaps[1] or not all(gaps):
            gap = gaps[0] or gaps[1]
            text = f"the entries of {where} are {abs(gap):g} {'more' if gap > 0 else 'less'} than expected"
            yield "shift", text, b + np.where(later, gaps[1], gaps[0]), shown
    if index:
        return
    seen = shown & (b != 0)
    factors = np.array([np.median(x[s] / y[s]) if s.any() else np.nan for x, y, s in zip(a, b, seen, strict=True)])
    heads = np.flatnonzero(np.abs(factors - 1) > MIN_FACTOR)
    if np.isfinite(factors).all() and len(heads):
        text = f"every value is {_factor(float(factors[0]))} times what was expected"
        if np.ptp(factors) > MIN_FACTOR * abs(factors[0]):
            k = heads[0]
            at = int(np.flatnonzero(seen[k].ravel())[0])
            which = (
                f"{len(heads)} of {len(a)} heads have other slopes"
                if len(heads) < len(a)
                else "every head has another slope"
            )
            text = f"{which}: head {k} has {a[k].ravel()[at]:g} where {b[k].ravel()[at]:g} was expected"
            text = f"head {k} holds zeros" if len(heads) == 1 and not a[k].any() else text
        yield "factor", text, factors[:, None, None] * b, shown
    earlier = shown & ~later
    middle = np.nan_to_num(median(np.where(earlier, a - b, np.nan)))[..., None]
    if a.shape[-1] > 2 and not cube.far(a[earlier], (b + middle)[earlier]):
        yield "offset", "one number is added to all keys of a query: equal after a causal softmax", b + middle, earlier


def _factor(value: float) -> str:
    """Return a factor as a number, and as a root or a logarithm where it is one."""
    for said, number in ROOTS.items():
        if abs(value / number - 1) < 1e-5:
            return f"{value:.6g} ({said})"
    square = value**2 if value > 1 else 1 / value**2 if value else 0.0
    if value > 0 and abs(value - round(value)) > 1e-6 and abs(square - round(square)) < 1e-3 and 2 < square < 1024:
        return f"{value:.6g} ({'' if value > 1 else '1/'}sqrt({round(square)}))"
    return f"{value:.6g}"
