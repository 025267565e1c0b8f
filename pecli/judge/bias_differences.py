"""Differences of biases, indices and codes: what was done to a file whose expected table is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pecli.errors import PecliError
from pecli.judge.biases import PAST_HIDDEN, READINGS, best_fit, distance_of, fits, is_named, plain_of, readings
from pecli.judge.codes import visible
from pecli.judge.description import Fit
from pecli.judge.fit import MIN_SHARE_LIKELY, Lines, arrays_of, fit, fit_table, recipe_text
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
"""Largest tolerance in units in the last place that is proposed; larger differences are of values near zero."""
ABSENT = "none"
"""The choice of a parameter, such as a mask, that leaves it out."""
MAX_NAMED = 3
"""Heads that a finding lists."""
MAX_LEFT = 0.1
"""Share of the differing values that a change may leave; with more, a row of zeros is called an added number."""
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
        findings = _rounding(actual, expected, held, compared)
        return _causes(actual, expected, held, compared) if findings is None else findings


def _causes(actual: Tabular, expected: Table, held: list[Lines], compared: Comparison) -> list[Finding] | None:
    name, short = expected.source.encoding.name, expected.source.short
    if (plain := plain_of(actual)) is not None:
        return [Finding("identity", f"not {name}: {plain}")]
    cubes = list(_cubes(held, expected))
    if found := [one for cube in cubes for one in _mask(cube)] or _mistakes(held, expected):
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
    if found := [one for cube in cubes for one in _change(cube)] or described:
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
    """Return the findings on a file that holds the expected values within rounding; None for any other file."""
    floats = [lines for lines in held if lines.dtype in GRIDS]
    own = floats[0].dtype if floats else expected.request.dtype
    tables = {"": expected}
    if expected.request.queries:
        align = "first" if expected.request.align == "last" else "last"
        other = replace(expected.request, align=align)
        text = f"the queries are the {align} of the keys, where the {expected.request.align} were expected"
        tables[text] = Table(expected.source, other.extent(expected.positions), other)
    for note, table in tables.items():
        for kind in dict.fromkeys((own, *(lines.effective_dtype for lines in floats[:1]))):
            narrow = kind not in ("float64", "float32") or any(lines.integral for lines in held)
            candidate = Candidate("", {}, ulp=MAX_ULP if narrow else HARMLESS_ULP)
            for some in (held, *(arrays_of(actual, lines) for lines in readings(actual, exchanged=True))):
                found = fit_table(candidate, table.as_type(kind), some, kind)
                if found is not None and not found.unexplained:
                    findings = [Finding("axes", text) for text in (note, some[0].note) if text]
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
    want = expected.request.dtype
    if kind != want and GRIDS[kind].precision < GRIDS[want].precision and found.equal == 1.0:
        yield Finding("rounding", f"the values are rounded to {kind}")
    elif kind != want and (near := fit_table(Candidate("", {}, ulp=MAX_ULP), expected, held, want)) is not None:
        if near.max_ulp:
            yield _rounded(near, compared, f"{kind} values where {want} was expected")
    elif found.max_ulp:
        yield _rounded(found, compared)


def _rounded(found: Fit, compared: Comparison | None, text: str = "") -> Finding:
    """Return a rounding with the tolerance that accepts it; without one where values are no neighbours in the file."""
    text = text or f"{found.arithmetic} rounding"
    harmless = ": harmless" if found.candidate.name or found.max_ulp <= HARMLESS_ULP else ""
    total = compared.total if compared is not None and compared.complete else None
    if total is None or not math.isfinite(total.max_abs) or not total.max_abs:
        return Finding("rounding", f"{text}, at most {math.ceil(found.max_ulp)} ulp ({found.residual:.2g}){harmless}")
    ulp = f"--ulp {total.max_ulp} or " if 0 < total.max_ulp <= MAX_ULP_NAMED else ""
    size = f"at most {total.max_ulp} ulp ({total.max_abs:.2g})" if ulp else f"at most {total.max_abs:.2g}"
    accepts = f"{ulp}--atol {at_least(total.max_abs * (1 + 2.0**-26), 1)} accepts it"
    return Finding("rounding", f"{text}, {size}{harmless}{';' if harmless else ':'} {accepts}")


def _keys(recipe: Recipe) -> dict[str, str]:
    return {key: text for key, text in recipe.keys().items() if key not in ("seed", "generator", "weights")}


def _other_keys(found: Fit, expected: Table) -> dict[str, tuple[str, str]]:
    """Return the parameters that differ: the file's and the expected text of each, "" where one has none."""
    have, want = _keys(found.table.source), _keys(expected.source)
    known = [key for key in {**want, **have} if key not in found.candidate.open]
    if found.candidate.trained or not found.table.source.keys().keys() >= want.keys():
        known = [key for key in known if key in have]
    return {key: (have.get(key, ""), want.get(key, "")) for key in known if have.get(key) != want.get(key)}


def _described(found: Fit, actual: Tabular, expected: Table, compared: Comparison) -> list[Finding]:
    """Return one finding for each parameter that differs, then findings on the extent and on the remaining values."""
    findings = [Finding("axes", note) for note in found.candidate.notes if note in (*READINGS.values(), PAST_HIDDEN)]
    other = _other_keys(found, expected)
    keys, want = dict(found.candidate.keys), _keys(expected.source)
    for key in [key for key in other if key in want]:  # a term whose removal fits as well
        tried = {**keys, key: want[key]}
        again = fit(replace(found.candidate, keys=tried), actual)
        if again is not None and again.unexplained <= found.unexplained and again.equal >= found.equal:
            keys = tried
            del other[key]
    encoding = expected.source.encoding
    words = encoding.hook("words")(other) if encoding.declares("words") else {}
    for key, (have, wanted) in other.items():
        option = next((p.param.off for p in encoding.parameters.values() if p.option == key), None)
        findings.append(Finding(key.replace("-", "_"), words.get(key) or _parameter_text(key, have, wanted, option)))
    findings += _extent(found, expected)
    findings += [Finding("place", place) for place in found.places]
    if found.max_ulp and not other and not found.candidate.trained and (found.places or not findings):
        text = f"in the other values {found.arithmetic} rounding" if found.places else ""
        findings.append(_rounded(found, None if text else compared, text))
    return findings


def _parameter_text(key: str, have: str, wanted: str, off: str | None) -> str:
    """Return one parameter that differs, in words."""
    if {have, wanted} <= {"true", "false", ""}:
        if off:
            return f"{key} where {off} was expected" if have == "true" else f"{off} where {key} was expected"
        return f"{key} where it was not expected" if have == "true" else f"{key} is missing"
    if ABSENT in (have, wanted):
        return f"{wanted} {key} missing" if have == ABSENT else f"a {have} {key} where none was expected"
    if not have or not wanted:
        return f"{key} {wanted} missing" if wanted else f"{key} {have} where none was given"
    were = "were" if key in ("heads", "buckets", "dim") else ""
    return f"{have} {key} where {wanted} were expected" if were else f"{key} {have} where {wanted} was expected"


def _extent(found: Fit, expected: Table) -> Iterator[Finding]:
    """Yield other numbers of queries and keys, and another form."""
    have, want = found.table, expected
    if have.request.form != want.request.form and "index" not in (have.request.form, want.request.form):
        yield Finding("form", f"form {have.request.form} where {want.request.form} was expected")
    elif have.request.form != "slopes" and have.source.rows is None:
        if have.positions.count != want.positions.count:
            yield Finding("length", f"{have.positions.count} keys where {want.positions.count} were expected")
        elif have.positions.start != want.positions.start:
            text = f"positions start at {have.positions.start} where {want.positions.start} was expected"
            yield Finding("start", text)
        elif have.rows != want.rows:
            many = f"{have.rows} quer{'y' if have.rows == 1 else 'ies'}"
            yield Finding("queries", f"{many} where {want.rows} were expected")


def _mistakes(held: list[Lines], expected: Table) -> list[Finding]:
    """Return the encoding's own mistake that gives every value but a few."""
    encoding = expected.source.encoding
    if not encoding.declares("mistakes"):
        return []
    exact = Candidate("", {}, ulp=MAX_ULP)
    kind = next((lines.dtype for lines in held if lines.dtype in GRIDS), expected.request.dtype)
    effective_dtype = next((lines.effective_dtype for lines in held if lines.dtype in GRIDS), "float64")
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
        found = fit_table(exact, table.as_type(kind), held, effective_dtype, change.values)
        if found is None or found.explained < MIN_SHARE_LIKELY:
            continue
        plain = fit_table(exact, expected.as_type(kind), held, effective_dtype)
        if plain is None or found.unexplained < plain.unexplained:
            return [Finding(change.kind, change.text), *(Finding("place", place) for place in found.places)]
    return []


@dataclass(frozen=True)
class Cube:
    """An array of a file and the expected one as (heads, queries, keys), in memory; of many queries some.

    Attributes
    ----------
    a, b : (heads, queries, keys) float64
        The file's values and the expected ones; they may have other numbers of heads.
    distance : (queries, keys) int64
        Key minus query; the queries are the last of the keys.
    effective_dtype : str
        The effective dtype.
    index : bool
        Whether whole numbers are expected.
    """

    a: Floats
    b: Floats
    distance: Integers
    effective_dtype: str
    index: bool

    def near(self, a: Floats, b: Floats, share: float = MIN_SHARE_LIKELY) -> bool:
        """Whether all values but a few in a hundred are equal within roundings."""
        few = slice(None, None, 1 + a.size // 4096)
        if a.size > 8192 and not self.near(a.reshape(-1)[few], b.reshape(-1)[few], share):
            return False
        return bool(self.same(a, b).mean() >= share) if a.size else False

    def same(self, a: Floats, b: Floats) -> NDArray[np.bool_]:
        """Return which values are equal within roundings."""
        ulp = HARMLESS_ULP if self.effective_dtype in ("float64", "float32") else MAX_ULP
        close = np.abs(a - b) <= ulp * units(np.maximum(np.abs(a), np.abs(b)), self.effective_dtype)
        return np.asarray(close | (a == b) | (np.isnan(a) & np.isnan(b)))

    def finding(self, kind: str, text: str, wanted: Floats, where: NDArray[np.bool_]) -> list[Finding]:
        """Return a change that gives the file's values in these places, and that others do not fit; [] of another."""
        a, b = self.a[where], wanted[where]
        if not self.near(a, b):
            return []
        left, differing = (int(np.count_nonzero(~self.same(a, one))) for one in (b, self.b[where]))
        if differing and left > MAX_LEFT * differing:
            return []
        places = [Finding("place", "some of the values that were looked at do not fit")] if left else []
        return [Finding(kind, text), *places]


def _cubes(held: Sequence[Lines], expected: Table) -> Iterator[Cube]:
    array = expected.arrays[0]
    for lines in held:
        floats = lines.dtype in GRIDS
        other = Lines(expected.as_type(lines.dtype) if floats and array.dtype in GRIDS else expected, array.name)
        if max(len(lines.shape), len(other.shape)) > 3:
            continue
        if lines.shape[-2:] == other.shape[-2:] or (len(lines.shape), len(other.shape)) == (1, 1):
            (a, distance), (b, _) = _values(lines), _values(other)
            yield Cube(a, b, distance, lines.effective_dtype if floats else "float64", other.integral)


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


def _mask(cube: Cube) -> list[Finding]:
    """Return how the mask differs where all other values are the expected ones."""
    hidden, masked, later = np.isneginf(cube.b), np.isneginf(cube.a), cube.distance > 0
    if len(cube.a) != len(cube.b) or np.array_equal(hidden, masked):
        return []
    have, want = (visible(~one[0], cube.distance) for one in (masked, hidden))
    if not masked.any():
        at, which = np.unique(cube.a[hidden]), "keys after the query" if (hidden == later).all() else "masked pairs"
        text = f"{'causal ' * which.startswith('k')}mask missing" + f": {which} hold {at[0]:g}" * (len(at) == 1)
    elif not hidden.any():
        what = "a causal mask" if (masked == later).all() else f"a mask that shows pairs {have},"
        text = f"{what} where none was expected"
    else:
        text = f"another mask: it shows pairs {have}; expected: {want}"
    return cube.finding("mask", text, cube.b, ~(hidden | masked))


def _change(cube: Cube) -> list[Finding]:
    """Return which heads, sign, factor or shift of the expected values an array has."""
    many, count = len(cube.b), len(cube.a)
    order = [next((h for h in range(many) if cube.near(head, cube.b[h])), -1) for head in cube.a]
    first, last = order[0], order[0] + count - 1
    text = ""
    if count < many and order == list(range(first, last + 1)) and first >= 0:
        rank = " (a rank's slice)" if many % count == 0 and first % count == 0 else ""
        text = f"{count} of {many} heads: heads {first} to {last}{rank}"
        text = f"this is head {first} of {many}" if count == 1 else text
    elif -1 not in order and count == many:
        moved = [f"head {h} has the values of head {k}" for h, k in enumerate(order) if h != k]
        other = "the heads are in another order: " * (sorted(order) == list(range(many)))
        text = other + ", ".join(moved[:MAX_NAMED]) + ", .." * (len(moved) > MAX_NAMED)
        text = f"every head has the values of head {first}" if len(set(order)) == 1 else text
        text = "the heads are reversed: the last one comes first" if order[::-1] == list(range(many)) else text
    if text or count != many:
        return [Finding("heads", text)] if text else []
    shown = ~np.isneginf(cube.b)
    changes = _changes(cube, shown & np.isfinite(cube.a))
    return next(filter(None, (cube.finding(*one, shown) for one in changes)), [])


def _changes(cube: Cube, shown: NDArray[np.bool_]) -> Iterator[tuple[str, str, Floats]]:
    """Yield candidate changes: kind, text, and the values that each of them makes."""
    a, b, later = cube.a, cube.b, np.broadcast_to(cube.distance > 0, cube.a.shape)
    text = "the sign is wrong: every value has the other sign"
    yield "sign", text + ", so that far keys are preferred" * (not cube.index), -b
    if cube.index:
        gaps = [float(np.median((a - b)[where])) if where.any() else 0.0 for where in (shown & ~later, shown & later)]
        where = "the keys after the query" if not gaps[0] else "the others" if not gaps[1] else "all keys"
        if any(gaps) and (gaps[0] == gaps[1] or not all(gaps)):
            gap = gaps[0] or gaps[1]
            text = f"the entries of {where} are {abs(gap):g} {'more' if gap > 0 else 'less'} than expected"
            yield "shift", text, b + np.where(later, gaps[1], gaps[0])
        return
    if later.any() and not np.isneginf(b).any():
        text = "the distance keeps its sign, where its size was expected: keys {} the query have the other sign"
        yield "sign", text.format("after"), np.where(later, -b, b)
        yield "sign", text.format("before"), np.where(later, b, -b)
        yield "mask", "keys after the query hold 0, where their distance was expected", np.where(later, 0.0, b)
    yield from _factors(cube, shown & (b != 0))
    middle = np.nan_to_num(median(np.where(shown & ~later, a - b, np.nan)))[..., None]
    if a.shape[-1] > 2 and middle.any():
        text = "one number is added to all keys of a query: equal after a causal softmax"
        yield "offset", text, np.where(later, a, b + middle)


def _factors(cube: Cube, seen: NDArray[np.bool_]) -> Iterator[tuple[str, str, Floats]]:
    """Yield one factor of all values, or one of each head."""
    a, b = cube.a, cube.b
    factors = np.array([np.median(x[s] / y[s]) if s.any() else np.nan for x, y, s in zip(a, b, seen, strict=True)])
    heads = np.flatnonzero(np.abs(factors - 1) > MIN_FACTOR)
    if not np.isfinite(factors).all() or not len(heads) or np.abs(factors).min() < MIN_FACTOR:
        return
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
    yield "factor", text, factors[:, None, None] * b


def _factor(value: float) -> str:
    """Return a factor as a number, and as a root or a logarithm where it is one."""
    square = max(value**2, 1 / value**2)
    words = [word for word, number in ROOTS.items() if abs(value / number - 1) < 1e-5]
    if (
        not words
        and value > 0
        and abs(value - round(value)) > 1e-6
        and abs(square - round(square)) < 1e-3
        and square < 1024
    ):
        words = [f"{'' if value > 1 else '1/'}sqrt({round(square)})"]
    return f"{value:.6g}{f' ({words[0]})' if words else ''}"
