"""Differences of a table of waves from the expected recipe, in the words of whoever made the mistake.

The file is described first: by the expected recipe itself, by the mistakes that its encoding declares, and by the
names that rules give its measured frequencies.  What is said of the best description is what differs from the
expected one; it is said only if that description gives the file's values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_UP, Decimal
from fractions import Fraction

import numpy as np

from pecli.comparison.results import Comparison, Finding
from pecli.declare.changes import Change, other_units
from pecli.declare.measured import Floats, Named, Pairs
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.judge.alone import lone_readings
from pecli.judge.arithmetic import LOW_TYPES
from pecli.judge.identify import refitted
from pecli.judge.located import Array2, located
from pecli.judge.planes import Plane, exchanged, planes_of, sample_rows
from pecli.judge.waves import (
    LEVELS,
    Measured,
    WaveName,
    exactly,
    fitted,
    magnitude_of,
    measured_readings,
    names_of,
    wave_groups,
)
from pecli.judge.whole import Tally, numbered, places, recipe_of, simulated, single_values, tally
from pecli.numbers.decimals import digits, shortest
from pecli.numbers.positions import fraction_text
from pecli.tables.table import Table

MIN_SAMPLE = 0.97
"""Share of sampled values that a description must give to be told; a spoiled row in 30 still passes."""
MIN_EXPLAINED = 0.5
"""Share of all values from which a description is told, with the rest located; below it, the place is all we know."""
MAX_MISTAKES = 160
"""Declared mistakes that are looked at; each costs one evaluation of its frequencies."""
MAX_LISTED = 8
"""Values that differ whose first is shown with the expected one; of more, rows and columns say more."""
MAX_STEP_DIGITS = 6
"""Digits of a factor on every position that somebody chose, such as a length."""
MAX_PLACED = 8
"""Descriptions whose values are computed; more cost time."""
MAX_OTHER_PAIRS = 0.4
"""Share of the pairs that may have other frequencies than expected and be named; of more, all are others."""
STEP_UNITS = 4.0
"""Units of position that a first fault is told by: below, rounding of values hides it."""


@dataclass(frozen=True)
class Expected:
    """The expected table of waves: recipe, positions and the names of its frequencies."""

    table: Table
    recipe: Recipe
    named: Named
    start: Fraction
    step: Fraction
    rows: int
    keys: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table) -> Expected | None:
        """Return what a table is expected to be; None where it is no table of waves on one axis of even positions."""
        recipe, plan = table.source, table.plan
        part = table.part
        if not isinstance(plan, Waves) or plan.axes or plan.cross is not None or len(part.numbers(0, 1)) == 0:
            return None
        if not table.positions.is_range or plan.prefix or plan.suffix or plan.form == "full":
            return None
        keys = recipe.keys()
        numbers = list(part.part(0, min(2, part.count)))
        start, step = numbers[0], (numbers[1] - numbers[0] if len(numbers) > 1 else Fraction(1))
        layout = {} if table.request.layout in (None, "split") else {"layout": table.request.layout}
        raw = Named(dict(keys), np.zeros(len(plan.frequencies)), table=layout)
        named = exactly(recipe.encoding.name, raw)
        return None if named is None else cls(table, recipe, named, start, step, part.count, keys)


@dataclass(frozen=True)
class Description:
    """One way to describe the file, and what that says against the expected recipe."""

    name: WaveName
    lines: tuple[str, ...]
    kind: str = "parameter"
    other: float = 0.0

    @property
    def merit(self) -> tuple[float, float]:
        """Return what orders descriptions: values explained, then the fewest differences and fitted digits."""
        return (-round(self.name.score.close, 2), len(self.lines) + self.name.cost + self.other)


def wave_differences(actual: Tabular, expected: Table, found: Comparison) -> list[Finding] | None:
    """Return why a table of waves differs from an expected one, the cause first; None where no description fits."""
    with np.errstate(all="ignore"):
        return _differences(actual, expected, found)


def _differences(actual: Tabular, expected: Table, found: Comparison) -> list[Finding] | None:
    want = Expected.of(expected)
    if want is None:
        return None
    planes = [plane for array in actual.arrays if array.bytes for plane in planes_of(actual, array)]
    groups = list(wave_groups(planes))
    for group in groups:
        said = _of_group(group, want, found)
        if said is not None:
            return said
    for group in groups:
        turned = tuple(plane for plane in map(exchanged, group) if plane is not None)
        said = _of_group(turned, want, found) if len(turned) == len(group) else None
        if said is not None:
            first = Finding("transposed", "rows and columns are exchanged: the table is transposed")
            return [first, *(one for one in said if one.kind not in ("rows", "rounding"))]
    for group in groups:
        said = _by_values(group, want) or (_one_array(group, want) if len(group) == 2 else None)
        if said:
            return said
    return None


def _of_group(group: tuple[Plane, ...], want: Expected, found: Comparison) -> list[Finding] | None:
    best: Description | None = None
    for measured in (*measured_readings(group), *(lone_readings(group) if len(group) == 1 else ())):
        one = _described(measured, want)
        if one is not None and (best is None or one.merit < best.merit):
            best = one
        if best is not None and best.name.score.close == 1.0 and not best.lines:
            break
    if best is None or best.name.score.close < MIN_SAMPLE * best.name.regular:
        return None
    name, total = best.name, tally(best.name)
    if total.unexplained and total.explained > MIN_EXPLAINED:
        name, total = refitted(name, total)
    if total.explained < MIN_EXPLAINED:
        return None
    return list(_findings(Description(name, best.lines, best.kind), total, want, found))


def _one_array(group: tuple[Plane, ...], want: Expected) -> list[Finding] | None:
    """Return what was done to one of two arrays, where the other one alone is as expected."""
    for index, plane in enumerate(group):
        for measured in lone_readings((plane,)):
            if measured.pairs.count != len(want.named.frequencies):
                continue
            name = fitted(measured, want.recipe.encoding.name, _structured(want, measured.pairs), exact=False)
            part = "sin" if index else "cos"
            if (
                name is None
                or name.score.close < 1.0
                or name.phase != part
                or name.start != want.start
                or name.step != want.step
            ):
                continue
            other = group[1 - index]
            for again in lone_readings((other,)):
                if again.pairs.count != measured.pairs.count:
                    continue
                twin = fitted(again, want.recipe.encoding.name, _structured(want, again.pairs), exact=False)
                if twin is not None and twin.score.close == 1.0 and twin.phase == part:
                    held, own = ("sines", "cosines") if index else ("cosines", "sines")
                    return [Finding("exchanged", f"'{other.name}' holds the {held} where the {own} were expected")]

            def made(start: int, stop: int, name: WaveName = name, other: int = 1 - index) -> Floats:
                rows = float(name.start) + float(name.step) * np.arange(start, stop, dtype=float)
                both = name.score.way.compute(rows, want.named.magnitude, name.measured.dtype)
                out = np.zeros((stop - start, group[other].width))
                for place in name.measured.reading.cos_at:
                    out[:, place.index] = both[other]
                return out

            mine = Array2(other.name, (other.rows, other.width), name.measured.dtype, other.read)
            theirs = Array2(other.name, (want.rows, other.width), name.measured.dtype, made)
            return [replace(one, text=one.text if other.name in one.text else f"{other.name}: {one.text}")
                    for one in located([mine], [theirs])]  # fmt: skip
    return None


def _by_values(group: tuple[Plane, ...], want: Expected) -> list[Finding] | None:
    """Return the declared mistake whose values, computed column by column, are those of one array."""
    if len(group) != 1 or group[0].rows < MIN_VALUE_ROWS:
        return None
    plane = group[0]
    rows = sample_rows(plane.rows, plane.width)
    values = plane.at(rows)
    positions: Floats = float(want.start) + float(want.step) * rows.astype(np.float64)
    for change in _mistakes(want):
        plan = _plan_of(want, change)
        made = None if plan is None else _column_values(plan, positions * float(change.step) + float(change.shift))
        if made is None or made.shape != values.shape:
            continue
        near = np.abs(made - values) <= VALUE_GAP * (1 + np.abs(positions[:, None]) * 2.0**-12)
        if near.mean() >= MIN_SAMPLE:
            return [Finding(change.kind, change.text)]
    return None


VALUE_GAP = 2e-3
"""Difference of a value from what a mistake gives: bfloat16 values are off by 2e-3, another mistake's by 0.1."""
MIN_VALUE_ROWS = 4
"""Rows by which a mistake is told; of fewer, several give the same values."""


def _plan_of(want: Expected, change: Change) -> Waves | None:
    keys = {**want.keys}
    for option, value in change.keys.items():
        keys.pop(option, None)
        if value is not None:
            keys[option] = value
    try:
        plan = Recipe.bind(want.recipe.encoding.name, **{k.replace("-", "_"): v for k, v in keys.items()}).plan
        if isinstance(plan, Waves) and change.waves is not None:
            plan = change.waves(plan)
    except PecliError:
        return None
    return plan if isinstance(plan, Waves) and plan.form == "real" and not plan.axes else None


def _column_values(plan: Waves, positions: Floats) -> Floats | None:
    """Return the columns of a plan in one array, computed in double precision; None of a rotary one."""
    out = np.zeros((len(positions), plan.width))
    for band in plan.bands:
        if band.sin == band.cos:
            return None
        w = np.array([float(f) for f in Waves(plan.width, (band,)).frequencies])
        for columns, function in ((band.sin, np.sin), (band.cos, np.cos)):
            if columns is not None:
                count = len(range(*columns.indices(plan.width)))
                out[:, columns] = float(band.magnitude) * function(positions[:, None] * w[:count])
    return out


def _described(measured: Measured, want: Expected) -> Description | None:
    """Return the best description of a reading."""
    if not np.isfinite(measured.pairs.steps).all():
        return None
    best: Description | None = None
    for way in (measured,) if measured.reading.sin is None else (measured, measured.otherwise()):
        for named, lines, kind in _candidates(way, want):
            name = fitted(way, want.recipe.encoding.name, named, exact=False, guess=float(want.start))
            if name is None:
                continue
            one = _of(name, lines, want, kind)
            if best is None or one.merit < best.merit:
                best = one
            if best.name.score.close == 1.0 and not best.lines and not best.other and not name.phase:
                return best
        if best is not None and best.name.score.close == 1.0 and not best.name.phase:
            break
    if best is None or best.name.score.close < 1.0 or len(best.lines) > 1 or best.other:
        for name in names_of(measured)[:2]:
            one = _of(name, parameter_lines(want, name), want)
            if name.named.listed:
                continue
            if best is None or one.merit < best.merit:
                best = one
    return best


def _of(name: WaveName, lines: list[str], want: Expected, kind: str = "parameter") -> Description:
    """Return a description, weighed with the positions that it says."""
    other = OTHER_STEP * (name.step != want.step) + OTHER_FREQUENCIES * (kind == "frequency")
    return Description(name, tuple(lines), kind, other)


OTHER_FREQUENCIES = 1.5
"""What frequencies without a rule count for: parameters that give the same are told instead."""
OTHER_STEP = 1.25
"""What another step counts for: a little more than one mistake, which may say the same."""


def _candidates(measured: Measured, want: Expected) -> Iterator[tuple[Named, list[str], str]]:
    """Yield the expected parameters, then what they are mistaken for, as far as the measured frequencies allow."""
    pairs = measured.pairs
    if len(want.named.frequencies) != pairs.count:
        return
    base = _structured(want, pairs)
    yield base, [], "same"
    step = _other_step(pairs, base)
    if step is not None:
        yield replace(base, step=want.step * step, by_engine=base.by_engine), [], "same"
    placed = 0
    for change in _mistakes(want)[:MAX_MISTAKES]:
        named = _changed(want, base, change)
        if named is None or placed >= MAX_PLACED:
            continue
        if any(pairs.at(error).fits(named.frequencies, float(want.step), 0.9) for error in LEVELS.values()):
            placed += 1
            plain = change.waves is None and change.step == 1 and not change.shift and "scaling" in change.keys
            lines = _key_lines(want, named.keys) if plain else [change.text]
            yield named, lines or [change.text], change.kind
    mixed = _some_pairs(pairs, base)
    if mixed is not None:
        yield mixed[0], [mixed[1]], "frequency"


def _some_pairs(pairs: Pairs, base: Named) -> tuple[Named, str] | None:
    """Return the expected frequencies with the measured ones of some pairs, and which they are."""
    w = base.frequencies
    seen = pairs.at(LEVELS["float32"])
    off = seen.gaps(w) > 2 * seen.slack(w)
    bad = np.flatnonzero(off)
    if (
        not len(bad)
        or len(bad) > MAX_OTHER_PAIRS * len(w)
        or not np.isfinite(pairs.errors).all()
        or (w[bad] == 0).any()
    ):
        return None
    ratios, loose = pairs.steps[bad] / w[bad], seen.slack(w)[bad] / w[bad]
    low, high = ratios.min(), ratios.max()
    one = shortest(low * (1 - loose.max()), high * (1 + loose.max()))
    times = f"{one:f}" if digits(one) <= 6 else f"{low:.4g}" if len(bad) == 1 else f"{low:.3g} to {high:.3g}"
    verb = "turns" if len(bad) == 1 else "turn"
    return replace(
        base, frequencies=np.where(off, pairs.steps, w), by_engine=False
    ), f"{numbered('pair', bad)} {verb} {times} times as fast"


def _other_step(pairs: Pairs, base: Named) -> Fraction | None:
    """Return what every frequency is multiplied by, where all are by the same number and somebody chose it."""
    w = base.frequencies
    use = pairs.usable & (w > 0)
    if not use.any() or not np.isfinite(pairs.errors).all():
        return None
    ratios = pairs.steps[use] / w[use]
    loose = pairs.slack(pairs.steps)[use] / pairs.steps[use] + 2.0**-22
    low, high = (ratios * (1 - loose)).max(), (ratios * (1 + loose)).min()
    if not 0 < low <= high or low <= 1 <= high:
        return None
    number, inverse = shortest(low, high), shortest(1 / high, 1 / low)
    best = Fraction(number) if digits(number) <= digits(inverse) else 1 / Fraction(inverse)
    return best if min(digits(number), digits(inverse)) <= MAX_STEP_DIGITS else None


def _structured(want: Expected, pairs: Pairs) -> Named:
    """Return the expected parameters with the layout that the file's columns have."""
    encoding = want.recipe.encoding
    found = encoding.hook("layout")(pairs) if encoding.declares("layout") else None
    if found is None:
        return replace(want.named, by_engine=False)
    keys, table = found
    return replace(want.named, keys={**want.named.keys, **keys}, table=table)


def _key_lines(want: Expected, keys: Mapping[str, str]) -> list[str]:
    encoding = want.recipe.encoding
    have = Recipe.bind(encoding.name, **{k.replace("-", "_"): v for k, v in keys.items()}).keys()
    lines: list[str] = (encoding.hook("differences") if encoding.declares("differences") else plain_lines)(
        have, dict(want.keys)
    )
    return lines


def _mistakes(want: Expected) -> list[Change]:
    encoding = want.recipe.encoding
    found = list(encoding.hook("mistakes")(want.keys)) if encoding.declares("mistakes") else []
    for parameter in encoding.parameters.values():
        mistaken = parameter.param.mistaken
        if mistaken is not None and parameter.option in want.keys:
            found += mistaken(parameter.option, want.keys[parameter.option], parameter.choices)
    found += other_units()
    return [change for change in found if change.values is None and change.kind not in ("layout", "exchanged")]


def _changed(want: Expected, base: Named, change: Change) -> Named | None:
    """Return the frequencies of a mistake."""
    keys = dict(base.keys)
    for option, value in change.keys.items():
        keys.pop(option, None)
        if value is not None:
            keys[option] = value
    try:
        recipe = Recipe.bind(want.recipe.encoding.name, **{k.replace("-", "_"): v for k, v in keys.items()})
        plan = recipe.plan
        if change.waves is not None and isinstance(plan, Waves):
            plan = change.waves(plan)
    except PecliError:
        return None
    if not isinstance(plan, Waves):
        return None
    w = np.array([float(f) for f in plan.frequencies]) * float(change.step)
    if len(w) != len(want.named.frequencies):
        return None
    size = float(plan.magnitude) if len(set(plan.magnitudes)) == 1 else 1.0
    known = change.waves is None and change.step == 1 and base.by_engine
    return replace(base, keys=keys, frequencies=w, magnitude=size, fitted=0.0, by_engine=known)


def parameter_lines(want: Expected, name: WaveName) -> list[str]:
    """Say which parameters differ from the expected ones, one line for each cause."""
    encoding = want.recipe.encoding
    if name.encoding != encoding.name:
        return [f"{recipe_of(name)} where {want.recipe.short} was expected"]
    return _key_lines(want, name.named.keys)


LAYOUT_KEYS = ("order",)
"""Parameters that say how columns are laid out, which is told as such."""


def plain_lines(have: Mapping[str, str], want: Mapping[str, str]) -> list[str]:
    """Say each parameter that differs."""
    found = []
    for key in dict.fromkeys((*want, *have)):
        if have.get(key) != want.get(key) and key not in LAYOUT_KEYS:
            one, other = have.get(key), want.get(key)
            if other is None:
                found.append(f"{key} {one} where none was expected")
            elif one is None:
                found.append(f"{key} {other} is missing")
            else:
                found.append(f"{key} {one} where {other} was expected")
    return found


def _findings(best: Description, total: Tally, want: Expected, found: Comparison) -> Iterator[Finding]:
    """Yield what differs: rows, parameters, positions, signs, layout, magnitude, arithmetic, places."""
    name, measured = best.name, best.name.measured
    lines = [Finding(best.kind, line) for line in best.lines]
    lines += _positions(name, want)
    lines += _signs(name, want)
    lines += _magnitude(name, want)
    lines += _layout(name, want)
    rows = _rows(name, want)
    yield from (*rows, *lines)
    differs = bool(rows or lines)
    way = name.score.way
    rest = total.unexplained
    if way.name in ("bfloat16", "float16"):
        yield Finding("arithmetic", _low_arithmetic(name, total, differs=differs))
    elif not differs and found.arrays and not rest:
        yield _narrowed(name, want, total) or harmless(name, total, found)
    elif way.name == "float32" and differs:
        yield Finding("rounding", f"the rest is float32 rounding, at most {total.residual:.2g}")
    if rest and not differs and way.name not in ("bfloat16", "float16"):
        yield from _located(name, want, total)
    elif rest:
        yield Finding("place", f"{rest:,} of {total.count:,} values differ from that: {places(total, measured.planes)}")


def _narrowed(name: WaveName, want: Expected, total: Tally) -> Finding | None:
    """Say that values were rounded to a narrower type than was expected."""
    have, own = name.measured.dtype, want.table.request.dtype
    if have not in LOW_TYPES or own in LOW_TYPES:
        return None
    return Finding("type", f"values were rounded to {have} where {own} was expected: at most {total.residual:.2g} off")


def _located(name: WaveName, want: Expected, total: Tally) -> Iterator[Finding]:
    """Yield what is known of the values that differ in a table of the expected recipe."""
    measured = name.measured
    if total.unexplained <= MAX_LISTED and total.first is not None:
        yield from (Finding("place", text) for text in single_values(total, measured.planes))
        if total.unexplained > len(total.singles):
            yield Finding("place", f"{total.unexplained} values differ in all: {places(total, measured.planes)}")
        return
    own = replace(name, start=want.start, step=want.step)
    mine, theirs = [], []
    for number, plane in enumerate(measured.planes):

        def made(start: int, stop: int, number: int = number) -> Floats:
            return simulated(own, start, stop)[0][number]

        mine.append(Array2(plane.name, (plane.rows, plane.width), measured.dtype, plane.read))
        theirs.append(Array2(plane.name, (want.rows, plane.width), measured.dtype, made))
    said = located(mine, theirs)
    if any(finding.kind != "place" for finding in said):
        yield from said
    else:
        text = f"{total.unexplained:,} of {total.count:,} values differ: {places(total, measured.planes)}"
        yield Finding("place", text)


def harmless(name: WaveName, total: Tally, found: Comparison) -> Finding:
    """Say that every difference is rounding, of which arithmetic, how large, and which tolerance accepts it."""
    figures = found.total
    way, ulps, largest = name.score.way, figures.max_ulp, figures.max_abs
    kind = {"exact": "rounding", "float64": "float64 rounding", "float32": "float32 phases"}[way.name]
    atol = f"--atol {_above(largest):g}"
    ulp = f"--ulp {ulps} or " if 0 < ulps <= MAX_ULP_NAMED else ""
    size = f"at most {ulps} ulp ({largest:.2g})" if ulp else f"at most {largest:.2g}"
    return Finding("rounding", f"{kind}, {size}: harmless; {ulp}{atol} accepts it")


MAX_ULP_NAMED = 64
"""Units in the last place that somebody would accept; more are those of values next to zero."""


def _above(value: float) -> float:
    """Return the next number of one digit that is no smaller."""
    if value <= 0:
        return 0.0
    text = Decimal(repr(value))
    return float(text.quantize(Decimal(1).scaleb(text.adjusted()), ROUND_UP))


def _low_arithmetic(name: WaveName, total: Tally, *, differs: bool) -> str:
    """Say which steps were rounded to a narrow type, and the first position that shows it."""
    way = name.score.way
    steps = {"frequencies": way.frequency_type, "positions": way.positions, "angles": way.angles}
    coarse = [step for step, kind in steps.items() if kind == way.name]
    said = (
        f"{'and ' if differs else ''}phases were computed in {way.name} ({' and '.join(coarse)} rounded to {way.name})"
    )
    start = _first_wrong(name)
    return said if start is None else f"{said}: first wrong at position {fraction_text(start)}"


def _first_wrong(name: WaveName) -> Fraction | None:
    """Return the first position whose angles are wrong by more than values of this type show."""
    from pecli.judge.arithmetic import Way
    from pecli.judge.planes import unit

    measured = name.measured
    count = min(measured.planes[0].rows, 4096)
    positions = float(name.start) + float(name.step) * np.arange(count, dtype=float)
    size = magnitude_of(measured, name.named)
    made = name.score.way.compute(positions, size, measured.dtype)
    exact = Way("exact", name.named.frequencies).compute(positions, size, measured.dtype)
    wrong = np.zeros(count, bool)
    for one, other in zip(made, exact, strict=True):
        wrong |= (np.abs(one - other) > STEP_UNITS * unit(other, measured.dtype) + 1e-3).any(axis=1)
    return name.start + name.step * int(wrong.argmax()) if wrong.any() else None


def _rows(name: WaveName, want: Expected) -> list[Finding]:
    """Say which rows are missing, or are more than expected."""
    count = name.measured.planes[0].rows
    if count == want.rows or name.step != want.step:
        return [] if count == want.rows else [Finding("rows", f"{count:,} rows where {want.rows:,} were expected")]
    offset = (name.start - want.start) / want.step
    if offset.denominator != 1:
        return []
    first, last = int(offset), int(offset) + count - 1
    gone = np.concatenate([np.arange(0, max(0, first)), np.arange(max(0, last + 1), want.rows)])
    said = f"{count:,} rows where {want.rows:,} were expected"
    if len(gone) and first >= 0:
        return [Finding("rows", f"{said}: {numbered('row', gone)} {'is' if len(gone) == 1 else 'are'} missing")]
    return [Finding("rows", said)]


def _positions(name: WaveName, want: Expected) -> list[Finding]:
    """Say that positions start or proceed otherwise."""
    count = name.measured.planes[0].rows
    if name.step == -want.step and name.start == want.start + want.step * (count - 1):
        return [Finding("rows", "the rows are reversed: the last one stands first")]
    found = []
    if name.step != want.step and count > 1:
        ratio = name.step / want.step
        step, own = fraction_text(abs(name.step)), fraction_text(want.step)
        if name.step.numerator == 1 and name.step.denominator in (count, count - 1):
            length = "the number of rows" if name.step.denominator == count else "the last row's number"
            found.append(
                Finding(
                    "step",
                    f"positions are over {name.step.denominator}, {length}: "
                    f"step 1/{name.step.denominator} where {own} was expected",
                )
            )
        else:
            back = " and backward" if ratio < 0 else ""
            found.append(Finding("step", f"positions advance by {step}{back} where {own} was expected (step {step})"))
    if name.start != want.start and (count == want.rows or name.start < want.start or len(found)):
        found.append(
            Finding(
                "start",
                f"positions start at {fraction_text(name.start)} where {fraction_text(want.start)} was expected",
            )
        )
    return found


def _signs(name: WaveName, want: Expected) -> list[Finding]:
    """Say that sines and cosines are exchanged, or have the other sign."""
    measured = name.measured
    found = []
    if measured.reading.is_alone or measured.reading.is_angles:
        part = "sin" if name.phase.startswith("sin") else "cos"
        if name.phase.endswith("negated"):
            found.append(Finding("sign", f"every {'sine' if part == 'sin' else 'cosine'} has the other sign"))
        array = measured.planes[0].array.name
        if array in ("cos", "sin") and array != part:
            found.append(
                Finding("exchanged", f"the array '{array}' holds the {'sines' if part == 'sin' else 'cosines'}")
            )
        return found
    if len(measured.planes) == 2 and measured.swapped and not name.phase:
        found.append(Finding("exchanged", "sin and cos are exchanged"))
    elif name.phase:
        words = {"negated": "every value has the other sign",
                 "sine negated": "the sign of sin is changed: the rotation goes the other way",
                 "cosine negated": "the sign of cos is changed"}  # fmt: skip
        found.append(Finding("sign", words[name.phase]))
    return found


def _magnitude(name: WaveName, want: Expected) -> list[Finding]:
    """Say that the magnitude is missing, applied twice, or another one."""
    have, own = magnitude_of(name.measured, name.named), want.named.magnitude
    if name.measured.reading.is_angles or abs(have / own - 1) <= 4 * name.measured.pairs.magnitude_error:
        return []
    if name.named.magnitude != own and abs(have / name.named.magnitude - 1) <= 4 * name.measured.pairs.magnitude_error:
        return []  # the parameters that differ say it
    if abs(have - 1) <= 4 * name.measured.pairs.magnitude_error:
        return [Finding("magnitude", f"the magnitude is missing (attention factor {own:.6g})")]
    if own != 1 and abs(have / own**2 - 1) <= 1e-3:
        return [Finding("magnitude", f"the magnitude is applied twice (attention factor {own:.6g})")]
    if own == 1:
        return [
            Finding("magnitude", f"every value is multiplied by {have:.6g} (an attention factor that was not expected)")
        ]
    return [Finding("magnitude", f"magnitude {have:.6g} where {own:.6g} was expected (attention factor)")]


def _layout(name: WaveName, want: Expected) -> list[Finding]:
    """Say that columns are laid out otherwise than the expected table's, where both are of one shape."""
    reading, own = name.measured.reading, want.named.table.get("layout", "")
    have = {"alternate": "pairs"}.get(reading.layout, reading.layout)
    words = {"half": "half-split", "interleaved": "interleaved"}
    if {have, own} == {"half", "interleaved"}:
        return [Finding("layout", f"{words[have]} columns where {words[own]} ones were expected")]
    order = want.keys.get("order")
    if order is not None and len(name.measured.planes) == 1 and reading.sin is not None:
        halves, sine_first = reading.layout in ("concat", "sin-cos"), name.measured.swapped
        if halves == (order == "interleaved"):
            one = (
                f"in two halves, {'sines' if sine_first else 'cosines'} first" if halves else "in neighbouring columns"
            )
            other = "in neighbouring columns" if halves else f"in two halves ({order})"
            return [Finding("layout", f"sin and cos stand {one}, where they were expected {other}")]
        if sine_first == (order == "cos-sin"):
            return [
                Finding("exchanged", f"sin and cos are exchanged: {'sines' if sine_first else 'cosines'} come first")
            ]
    if {have, own} == {"concat", "sin-cos"}:
        first = "sines" if own == "concat" else "cosines"
        return [Finding("exchanged", f"sin and cos are exchanged: the {first} stand first")]
    return []
