"""Differences of biases, indices and codes: what was done to a file whose expected table is known."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pecli.errors import PecliError
from pecli.judge import biases
from pecli.judge.description import harmless, parameter_texts
from pecli.judge.located import located
from pecli.judge.masks import visible
from pecli.judge.noise import same_numbers
from pecli.judge.planes import EPSILON, is_large
from pecli.judge.rows import floats
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.printing import limit
from pecli.numbers.rounding import units
from pecli.spec.hooks import Change
from pecli.spec.plans import Bias, ImageWindow, Relative, Values
from pecli.spec.profiles import CAUSAL, Candidate
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Finding, compare_tables
from pecli.tables.table import Table
from pecli.tables.views import matched_views

# Units in the last place within which a value is the expected one; products of two rounded factors are 2 off.
MAX_ULP = 4.0
# Units in the last place up to which a difference is called harmless; slopes by powers in float32 are 35 off.
HARMLESS_ULP = 64
# Queries times keys of a mask that is described; the matrix takes 32 MB.
MAX_MASK_VALUES = 1 << 22


def bias_differences(actual: Tabular, expected: Table, found: Comparison) -> list[Finding] | None:
    """Return why a bias, an index, slopes or a code differ from the expected table; None where no cause is known.

    Parameters
    ----------
    actual : Tabular
        The file.
    expected : Table
        A table of a bias, of relative indices or of computed values; for one of waves None is returned.
    found : Comparison
        The comparison of both, whose figures are those that a tolerance must accept.

    Returns
    -------
    list of Finding or None
        The cause first.
    """
    plan = expected.plan
    if not isinstance(plan, Bias | Values) and not (isinstance(plan, Relative) and plan.waves is None):
        return None
    if isinstance(plan, Bias) and plan.heads > biases.MAX_HEADS:  # each formula that is tried would take seconds
        return None
    shapes = [tuple(side for side in array.shape if side != 1) for array in actual.arrays]
    own = next((one for one in plan.fixed if shapes == [tuple(one.shape)] != [expected.arrays[0].shape]), None)
    if own is not None and expected.request.form != "parameters":
        text = f"the file holds what the expected table is made of: {own.name} for each {' and '.join(own.axes)}"
        return [Finding("form", text)]
    with np.errstate(all="ignore"):
        held = biases.arrays_of(actual)
        if not held:
            return None
        findings = _rounding(actual, expected, held, found)
        return _causes(actual, expected, held, found) if findings is None else findings


def _causes(actual: Tabular, expected: Table, held: list[biases.Lines], compared: Comparison) -> list[Finding] | None:
    name, short = expected.source.encoding.name, expected.source.short
    if isinstance(expected.plan, Bias) and (plain := biases.measured_of(actual)) is not None:
        own = _placed(actual, expected) if expected.request.form == "slopes" else []
        return own or [Finding("identity", f"not {name}: {plain}")]
    array = expected.arrays[0]
    for lines in held if array.dtype in GRIDS else ():
        if lines.dtype in GRIDS and (found := _mask(lines, biases.Lines(expected.as_type(lines.dtype), array.name))):
            return found
    if isinstance(expected.plan, Bias) and expected.plan.window is not None:
        for lines in held:
            if found := _strides(lines, expected.plan.window):
                return found
    if found := _mistakes(held, expected):
        return found
    allows_mask = expected.source.keys().get("mask") not in (None, "causal")
    if allows_mask and any((lines.sample == -np.inf).any() for lines in held):
        with contextlib.suppress(PecliError):
            recipe = Recipe.bind(name, **{**expected.source.keys(), "mask": "causal"})
            if found := _mistakes(held, Table(recipe, expected.extent, expected.request)):
                return [*found, Finding("mask", "besides, a causal mask where none was expected")]
    fits = list[biases.Fit]()
    resized = sorted(math.prod(a.shape) for a in actual.arrays) != sorted(math.prod(a.shape) for a in expected.arrays)
    unlikely = {*biases.READINGS.values()} if _is_part(compared) else {biases.READINGS[0, 2, 1]} if resized else set()
    for one in biases.fits(actual, name):
        other_axes = unlikely & {*one.candidate.notes}
        if one.explained < biases.MIN_SHARE_LIKELY or other_axes:
            continue
        fits.append(one)
        if one.equal == 1.0 and len(_other_keys(one, expected)) <= 1:
            break
    best = min(fits, key=lambda f: (f.unexplained, len(_other_keys(f, expected)), f.equal < 1, f.max_ulp), default=None)
    of_weights = best is not None and best.candidate.trained and bool(expected.source.values.get("weights"))
    trained = of_weights and best is not None and not _other_keys(best, expected)  # else the index is another one
    padded = best is not None and best.candidate.columns is not None  # by which values are off more than by rounding
    described = _described(best, actual, expected, None if padded else compared) if best and not trained else []
    if best is not None and best.candidate.columns is not None:  # of keys at other positions
        return [*(Finding("copies", note) for note in best.candidate.notes), *described]
    if best is not None and any(one.text.endswith("softmax") for one in described):
        most = compare_tables(actual, best.table.as_type("float32")).total.max_abs
        rounding = f"softmax, but for rounding by up to {limit(most, 2)}" if MAX_UNSEEN < most < math.inf else "softmax"
        described = [one._replace(text=re.sub("softmax$", rounding, one.text)) for one in described]
    kinds = [one.kind for one in described]
    several = best is not None and best.table.source.keys().get("heads") != "1"
    # a part of the heads may look like other slopes, or like fewer heads with another bias-max
    of_more = best is not None and any(note.startswith("slopes of") for note in best.candidate.notes)
    part = ("slope_values" in kinds and not of_more) or ("heads" in kinds and not several)
    part |= len(kinds) > 1 and bool({"heads", "alibi_heads"} & {*kinds})
    if described and not part:
        return described
    is_shifted = _is_shifted(actual, expected)
    if not is_shifted and (found := _placed(actual, expected) or described):
        return found
    measured = biases.distance_of(actual) or ""
    if measured and "no recipe" not in measured:
        same = ": equal after a softmax, as each row differs by one number" * is_shifted
        return [Finding("identity", f"the file holds {measured}, where {short} was expected{same}")]
    if described:
        return described
    if best is not None and best.candidate.trained:
        if best.candidate.notes[-1:] == (CAUSAL,) and expected.source.keys().get("mask") != "causal":
            return [Finding("mask", f"{CAUSAL}, where none was expected")]
        if text := _placed_weights(actual, expected):
            return [Finding("weights", text)]
        if same_numbers(matched_views(actual, expected)):
            return [Finding("random", "the numbers are the expected ones, at other places")]
        text = "the places that share a number are those of the expected index, and the trained numbers are others"
        return [Finding("trained", text)]
    return None


def _placed_weights(actual: Tabular, expected: Table) -> str:
    """Return how the expected weights stand at other heads and buckets in a bias; "" where it holds other numbers."""
    if is_large(actual) or len(actual.arrays) != 1 or not expected.source.keys().get("weights"):
        return ""
    try:
        index, weights = (
            Table(expected.source, expected.extent, expected.request._replace(form=form)).read(name)
            for form, name in (("index", "index"), ("parameters", "weight"))
        )
    except PecliError:  # of a network, which has several
        return ""
    heads, have = weights.shape[1], actual.read(actual.arrays[0].name)
    if have.size != heads * index.size:
        return ""
    buckets, first = np.unique(index, return_index=True)
    own = have.reshape(heads, -1)[:, first].T
    others = {
        "heads and buckets of the weights are exchanged (transposed)": weights.T,
        "the weights were reshaped to (heads, buckets) where they should be transposed": weights.reshape(heads, -1).T,
        "the buckets are in the reverse order": weights[::-1],
    }
    for text, other in others.items():
        if other.shape == weights.shape and np.array_equal(own, other[buckets]):
            return text
    return "the numbers are the expected ones, of other heads or buckets" * bool(np.isin(own, weights).all())


def _is_shifted(actual: Tabular, expected: Table) -> bool:
    """Whether all values of each row, those of a query, differ from the expected ones by one number of its own."""
    pairs = [] if is_large(actual) else matched_views(actual, expected)
    both = [[floats(view, 0, view.rows) for view in pair] for pair in pairs]
    if not both or any(y.shape != x.shape or not np.isfinite(y).all() for y, x in both):
        return False
    tops = [(y - x, EPSILON["float32"] * (1 + np.abs(y) + np.abs(x)).max()) for y, x in both]
    return all(off.shape[1] > 1 and np.ptp(off, 1).max() <= 4 * gap < np.ptp(off[:, 0]) for off, gap in tops)


def _rounding(actual: Tabular, expected: Table, held: list[biases.Lines], compared: Comparison) -> list[Finding] | None:
    """Return the findings on a file that holds the expected values within rounding; None for any other file."""
    tables = {"": expected}
    if expected.request.queries:
        align = "first" if expected.request.align == "last" else "last"
        other = expected.request._replace(align=align)
        note = ALIGNED.format(align, expected.request.align)
        tables[note] = Table(expected.source, other.extent(expected.positions), other)
    readings = [] if _is_part(compared) else biases.readings(actual, exchanged=True)
    sides = [side for side in expected.arrays[0].shape if side != 1]
    exchanged = [biases.arrays_of(actual, lines) for lines in readings if [*lines.shape] == sides]
    near: list[Finding] | None = None
    for note, table in tables.items():
        for kind in biases.types_of(held, expected.request.dtype):
            narrow = kind not in ("float64", "float32") or any(lines.integral for lines in held)
            candidate = Candidate("", {}, ulp=MAX_ULP if narrow else HARMLESS_ULP)
            for some in (held, *exchanged):
                found = biases.fit_table(candidate, table.as_type(kind), some, kind)
                if found is not None and not found.unexplained:
                    near = [Finding("axes", text) for text in (note, some[0].note) if text]
                    near += _harmless(found, held, expected, kind, None if near else compared)
                    if found.equal == 1.0:
                        return near
                    break
        if near is not None:
            return near
    return None


def _is_part(compared: Comparison) -> bool:
    """Whether only a shape differs; a part of a symmetric bias is another part of it with its axes exchanged."""
    return bool(compared.total.compared) and not compared.total.beyond


def _harmless(
    found: biases.Fit, held: list[biases.Lines], expected: Table, kind: str, compared: Comparison | None
) -> Iterator[Finding]:
    """Yield copies, another number for minus infinity, and roundings."""
    for lines in (lines for lines in held if lines.name in found.arrays):
        if lines.low is not None:
            text = f"masked pairs hold {lines.low_text}, where -inf was expected: equal after a softmax"
            yield Finding("mask", text)
    want = expected.request.dtype
    if kind != want and GRIDS[kind].precision < GRIDS[want].precision and found.equal == 1.0:
        yield Finding("rounding", f"the values are rounded to {kind}")
    elif found.max_ulp:
        how = f"{found.arithmetic} rounding" if kind == want else f"{kind} values where {want} was expected"
        shown = kind != want and compared is not None and compared.total.max_abs > MAX_UNSEEN
        yield _rounded(how, found, compared, ", which a softmax shows" if shown else ": harmless")


ALIGNED = "the queries are the {} of the keys, where the {} were expected"
# Largest rounding of a bias that a softmax hardly shows.
MAX_UNSEEN = 0.05


def _rounded(how: str, found: biases.Fit, compared: Comparison | None, harm: str = ": harmless") -> Finding:
    """Return a rounding as the comparison has it, or as the fit; without a comparison it is that of the rest."""
    if compared is None:
        return Finding("rounding", f"besides, {how}, at most {limit(found.residual, 2)}")
    if compared.complete and 0 < compared.total.max_abs < math.inf:
        return harmless(how, compared.total.max_abs, compared.total.max_ulp, harm)
    return harmless(how, found.residual, math.ceil(found.max_ulp))


def _keys(recipe: Recipe) -> dict[str, str]:
    return {key: text for key, text in recipe.keys().items() if key not in ("seed", "generator", "weights", "std")}


def _other_keys(found: biases.Fit, expected: Table) -> dict[str, tuple[str, str]]:
    """Return the parameters that differ: the file's and the expected text of each, "" where one has none."""
    have, want = _keys(found.table.source), _keys(expected.source)
    known = [key for key in {**want, **have} if key not in found.candidate.open]
    if found.candidate.trained or not found.table.source.keys().keys() >= want.keys():
        optional = {p.option for p in expected.source.encoding.parameters.values() if p.default is None}
        optional -= {"heads"} if found.candidate.trained else set()  # which an index does not have
        known = [key for key in known if key in have or key in optional]
    return {key: (have.get(key, ""), want.get(key, "")) for key in known if have.get(key) != want.get(key)}


def _described(found: biases.Fit, actual: Tabular, expected: Table, compared: Comparison | None) -> list[Finding]:
    """Return one finding for each parameter that differs, then findings on the extent and on the remaining values."""
    axes = (*biases.READINGS.values(), biases.PAST_HIDDEN)
    findings = [Finding("axes", note) for note in found.candidate.notes if note in axes]
    own, meant = found.table.request, expected.request
    if own.queries and own.queries == meant.queries and own.align != meant.align:
        findings.append(Finding("axes", ALIGNED.format(own.align, meant.align)))
    other = _other_keys(found, expected)
    if _counts_on(found, expected):
        other.pop("bias", None)
    keys, want = dict(found.candidate.keys), _keys(expected.source)
    for key in [key for key in other if key in want]:  # a term whose removal fits as well
        tried = {**keys, key: want[key]}
        again = biases.fit(replace(found.candidate, keys=tried), actual)
        if again is not None and again.unexplained <= found.unexplained and again.equal >= found.equal:
            keys = tried
            del other[key]
    for key, text in parameter_texts(expected.source.encoding, other).items():
        same = "".join(f": {note}" for note in found.candidate.notes if key == "bias-max" and "the same as" in note)
        findings.append(Finding(key.replace("-", "_"), text + same))
    if not any(one.kind == "axes" for one in findings):  # else the lengths are those of other axes
        findings += _extent(found, expected)
    findings += [Finding("place", place) for place in found.places]
    if found.max_ulp and not findings and not found.candidate.trained:
        findings.append(_rounded(f"{found.arithmetic} rounding", found, compared))
    return findings


def _counts_on(found: biases.Fit, expected: Table) -> bool:
    """Whether keys are counted from another one where they were expected to be counted from the last."""
    by = [plan.by for plan in (found.table.plan, expected.plan) if isinstance(plan, Bias)]
    return by == ["key", "last"] and bool(found.table.positions.start)


def _extent(found: biases.Fit, expected: Table) -> Iterator[Finding]:
    """Yield other numbers of queries and keys, and another form."""
    have, want = found.table, expected
    shapes = [[array.shape for array in table.arrays] for table in (have, want)]
    form, meant = have.request.form, want.request.form
    if shapes[0] != shapes[1] and form != meant and "index" not in (form, meant):
        yield Finding("form", f"form {form} where {meant} was expected")
    elif form != "slopes" and have.source.rows is None:
        if have.positions.count != want.positions.count:
            yield Finding("length", f"{have.positions.count} keys where {want.positions.count} were expected")
        elif (start := have.positions.start) is not None and start != want.positions.start:
            text = f"positions start at {start} where {want.positions.start} was expected"
            if _counts_on(found, expected):
                text = f"positions of the keys end at {start + have.positions.count - 1} where 0 was expected"
            yield Finding("start", text)
        elif have.rows != want.rows:
            many = f"{have.rows} quer{'y' if have.rows == 1 else 'ies'}"
            yield Finding("queries", f"{many} where {want.rows} were expected")


def _strides(lines: biases.Lines, window: ImageWindow) -> list[Finding]:
    """Return how the index of a window counts the offsets of rows and columns; [] where it is expected."""
    height, width, _ = window
    if window.cls or min(height, width) < 2 or not lines.integral or lines.shape != (window.tokens,) * 2:
        return []
    index = lines.read(0, lines.count)
    y, x = (side[:, None] - side for side in np.divmod(np.arange(window.tokens), width))
    if not np.isfinite(index).all():
        return []
    same, column, row = map(int, index[[0, 1, width], 0])
    row, column, want = row - same, column - same, 2 * width - 1
    alike = (index == row * y + column * x + same).mean()
    if (row, column) == (want, 1) or min(row, column) < 1 or alike < biases.MIN_SHARE_LIKELY:
        return []
    text = f"the index has row stride {row} and column stride {column} where {want} and 1 were expected"
    if column == 1:
        why = ": 2h - 1 instead of 2w - 1" * (row == 2 * height - 1)
        text = f"the index has row stride {row} where {want} was expected{why}"
    return [Finding("index", text)]


def _mistakes(held: list[biases.Lines], expected: Table) -> list[Finding]:
    """Return the encoding's own mistake that gives every value but a few."""
    encoding = expected.source.encoding
    if not encoding.declares("mistakes"):
        return []
    exact = Candidate("", {}, ulp=MAX_ULP, absolute=MAX_ULP * (held[0].dtype in GRIDS))
    kind, *_, effective_dtype = biases.types_of(held, expected.request.dtype) * 2
    best: tuple[biases.Fit, Change] | None = None
    plain = biases.fit_table(exact, expected.as_type(kind), held, effective_dtype)
    most = math.inf if plain is None else plain.unexplained
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
        table = table.as_type(kind)
        found = biases.fit_table(exact, table, held, effective_dtype, change.values)
        if found is not None and found.explained >= biases.MIN_SHARE_LIKELY and found.unexplained < most:
            best, most = (found, change), found.unexplained
        if not most:
            break
    return [Finding(best[1].kind, best[1].text), *(Finding("place", at) for at in best[0].places)] if best else []


def _mask(lines: biases.Lines, other: biases.Lines) -> list[Finding]:
    """Return how the mask of all heads differs, where all other values of the first one are the expected ones."""
    queries, keys = (1, 1, *lines.shape)[-2:]
    if lines.shape != other.shape or queries * keys > MAX_MASK_VALUES:
        return []
    a, b = lines.read(0, queries), other.read(0, queries)
    distance = np.arange(keys) - np.arange(keys - queries, keys)[:, None]
    hidden, masked, later = np.isneginf(b), np.isneginf(a), distance > 0
    near = np.abs(a - b) <= HARMLESS_ULP * units(np.maximum(np.abs(a), np.abs(b)), lines.effective_dtype)
    shown = ~(hidden | masked)
    if np.array_equal(hidden, masked) or not shown.any() or near[shown].mean() < biases.MIN_SHARE_LIKELY:
        return []
    heads = (lines.read(k, k + queries) for k in range(queries, lines.count, queries))
    if any((np.isneginf(head) != masked).any() for head in heads):  # no mask of the whole table
        return []
    have, want = (visible(~one, distance) for one in (masked, hidden))
    if not masked.any():
        at, which = np.unique(a[hidden]), "keys after the query" if (hidden == later).all() else "masked pairs"
        text = f"{'causal ' * which.startswith('k')}mask missing" + f": {which} hold {at[0] + 0.0:g}" * (len(at) == 1)
    elif not hidden.any():
        what = "a causal mask" if (masked == later).all() else f"a mask that shows pairs {have},"
        text = f"{what} where none was expected"
    else:
        text = f"another mask: it shows pairs {have}; expected: {want}"
    return [Finding("mask", text)]


def _placed(actual: Tabular, expected: Table) -> list[Finding]:
    """Return another order or number of heads, a sign, a factor or an offset; [] where only the place is known."""
    findings = located(matched_views(actual, expected))
    return findings if findings and findings[0].kind not in ("place", "value") else []
