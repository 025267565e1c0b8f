"""Differences of a table of waves from the expected recipe, in the words of whoever made the mistake.

The file is described first: by the expected recipe itself, by the mistakes that its encoding declares, and by the
names that rules give its measured frequencies.  The findings are the differences of the best description from
the expected one; they are reported only if that description gives the file's values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import chain, takewhile
from typing import NamedTuple

import numpy as np

from pecli.judge import waves
from pecli.judge.description import Tally, factor_text, harmless, is_rounding
from pecli.judge.expected import MAX_SHORT, Expected, key_lines, parameter_lines
from pecli.judge.identify import shares_of_copies, unlike_last, with_blank_row
from pecli.judge.located import located
from pecli.judge.orders import MAX_PARTS, consecutive, descriptions, numbered, numbered_are, span
from pecli.judge.planes import EPSILON, Integers, Plane, exchanged, is_large, is_zero, planes_of, rounded, rows_of, unit
from pecli.judge.rows import ComputedRows
from pecli.judge.signal import (
    Measured,
    Signal,
    lone_readings,
    may_be_waves,
    measured_readings,
    positions_in_steps,
    wave_groups,
)
from pecli.numbers.decimals import digits, near, shortest
from pecli.numbers.positions import fraction_text, simplest
from pecli.numbers.printing import limit
from pecli.spec.hooks import Change, other_exponent, other_values
from pecli.spec.measured import PUBLISHED_BASES, Floats, Named, Pairs
from pecli.spec.plans import Waves
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Finding
from pecli.tables.table import Table

# Smallest share of sampled values that a reported description must give; a corrupted row in 30 still passes.
MIN_SAMPLE = 0.97
# Times as many values must differ from the expected ones as are left by a description of another table.
MIN_FEWER = 3
# Smallest share of all values that a reported description explains; below it, only the place is reported.
MIN_EXPLAINED = 0.5
# Declared mistakes that are looked at; each costs one evaluation of its frequencies.
MAX_MISTAKES = 160
# Descriptions whose values are computed; more cost time.
MAX_PLACED = 12
# Values that differ whose first is shown with the expected one; of more, rows and columns say more.
MAX_LISTED = 8
# Digits of a factor on every position that somebody chose, such as a length.
MAX_STEP_DIGITS = 6
# Share of the pairs that may have other frequencies than expected and be named; of more, all are others.
MAX_OTHER_PAIRS = 0.45
# Cost of frequencies without a rule, in digits: parameters that give the same ones are reported instead.
OTHER_FREQUENCIES = 1.5
# Largest rest that is a rounding's; more says nothing, as of angles so large that float32 holds no position.
MAX_REST = 0.5
# Of a width that exponents are divided by: the largest, and how far the measured one may be from a whole number.
MAX_WIDTH, MAX_WIDTH_ERROR = 1 << 14, 1e-3
# Cost of another step, in digits: a little more than one mistake, which may explain the same values.
OTHER_STEP = 1.25
# Units in the last place of float32 phases that a first fault shows, besides one of the values.
STEP_UNITS = 4.0
# Rows that are described by themselves where the others are as expected.
MIN_PART_ROWS = 16
# Share of a row's values, of those that are off in the worst one, that arithmetic of another order may leave off.
MAX_FAINT = 0.1
# Pairs that do not have two frequencies alone by chance.
MIN_PAIRS = 4
# Distance of a point of the unit circle from the wave measured of it; bfloat16 leaves 0.01.
WAVE_GAP = 0.02
# Digits of a base that somebody chose, though it was never published.
MAX_BASE_DIGITS = 3
# Of a base that a series without a rule shows, relative.
BASE_GAP = 1e-3
# Radians a row from which a frequency is measured well enough for the ratio to its neighbour.
CLEAR_STEP = 2.0**-12


class Description(NamedTuple):
    """A description of the file, and its differences from the expected recipe as lines of text."""

    name: waves.WaveName
    lines: list[str]
    want: Expected
    kind: str = "parameter"

    @property
    def other(self) -> float:
        """Cost of another step and of other frequencies."""
        step, own = self.name.step, self.want.step
        other = step != own and (step != -own or bool(self.name.phase))
        return OTHER_STEP * other + OTHER_FREQUENCIES * (self.kind in ("frequency", "still"))

    @property
    def merit(self) -> tuple[float, float, float]:
        """Return the sort key of descriptions: values explained, fewest differences and fitted digits, equal values."""
        return (-round(self.name.explained, 2), len(self.lines) + self.name.misfit + self.other, -self.name.equal)

    @property
    def fits(self) -> bool:
        """Whether it explains all sampled values, or those of all but a few rows where all is as expected."""
        if self.name.explained < waves.MIN_WIDE or self.kind != "same" or self.other or self.want.named.blank:
            return self.name.explained == 1.0
        seen = self.name.measured.pairs.at(waves.LEVELS["float32"])
        w = self.want.named.frequencies * abs(float(self.want.step))
        return self.name.explained == 1.0 or not (seen.gaps(w) > 2 * seen.slack(w)).any()


def wave_differences(
    actual: Tabular, expected: Table, found: Comparison, *, named: bool = True
) -> list[Finding] | None:
    """Return why a table of waves differs from an expected one, the cause first; None where no description fits.

    Of an unknown table, which has no name, `named` is false: none is looked for again.
    """
    with np.errstate(all="ignore"):
        want = Expected.of(expected)
        if want is None:
            return None
        planes = [plane for array in actual.arrays for plane in planes_of(actual, array)]
        zero = [plane for plane in planes if len(planes) > 1 and is_zero(plane)]
        groups = list(wave_groups([plane for plane in planes if plane not in zero]))
        shape = (want.rows, want.table.arrays[0].shape[-1])
        crossed = bool(planes) and shape == (planes[0].width, planes[0].rows) != shape[::-1]
        orders = (True, False) if crossed else (False,) if is_large(actual) else (False, True)
        for transposed in orders:
            if crossed and not transposed:  # the length was taken for that of a transposed table
                want = replace(want, rows=planes[0].rows)
            for group in groups:
                read = tuple(plane for plane in map(exchanged, group) if plane is not None) if transposed else group
                findings = _of_group(read, want, found, named=named) if len(read) == len(group) else None
                if findings and len(planes) > len(group) and min(shares_of_copies(planes, group)) < 1.0:
                    continue  # the others differ in another way
                if findings is None and not transposed:
                    findings = _each_alone(group, want)
                if findings is not None and transposed:
                    first = Finding("transposed", "rows and columns are exchanged: the table is transposed")
                    lone = ["exchanged"] * (len(group) == 1)  # one part alone: the other is not missing
                    others = [one for one in findings if one.kind not in ("rows", "rounding", *lone)]
                    both = " that both have" * any(one.kind == "rows" for one in findings)
                    right = Finding("rounding", f"otherwise all values{both} are right, within rounding")
                    return [first, *(others or [right])]
                if findings is not None:
                    return [*(Finding("zero", f"{plane.name}: all values are zero") for plane in zero), *findings]
        return next((findings for group in groups if (findings := _by_positions(group, want))), None)


def other_frequencies(actual: Tabular, expected: Tabular) -> list[Finding]:
    """Return findings on the measured frequencies of some rows or of a table of waves that no description gives."""
    want = Expected.of(expected) if isinstance(expected, Table) else None
    if isinstance(expected, Table):
        w = None if want is None else want.named.frequencies * abs(float(want.step))
    else:
        read = (one for group in _groups(expected) for one in measured_readings(group))
        w = next((one.pairs.steps for one in read if _turning(one.signal, one.signal.steps) >= MIN_SAMPLE), None)
    groups = list(_groups(actual)) if w is not None else []
    rows = (_by_rows(group, want) for group in groups if want)
    others = (_by_frequencies(group, w) for group in groups if w is not None)
    return next((findings for findings in chain(rows, others) if findings), [])


def _groups(table: Tabular) -> Iterator[tuple[Plane, ...]]:
    return wave_groups([plane for array in table.arrays for plane in planes_of(table, array)])


def _of_group(
    group: tuple[Plane, ...], want: Expected, found: Comparison, *, named: bool = True
) -> list[Finding] | None:
    best: Description | None = None
    rounded = measured_readings(group, still=True)
    for measured in chain(measured_readings(group), lone_readings(group) if len(group) == 1 else (), rounded):
        one = _described(measured, want, named=named)
        if one is not None and (best is None or one.merit < best.merit):
            best = one
        if best is not None and best.fits and not best.lines:
            break
    if best is None or best.name.explained < MIN_SAMPLE * best.name.regular:
        return None
    name = with_blank_row(best.name) if want.named.blank else best.name
    name, total = waves.verified(name)
    as_expected = not best.lines and (name.start, name.step, name.phase) == (want.start, want.step, "")
    if total.explained < _least(name) or (not as_expected and _explains_little(name, total, want)):
        return None
    wider = name.measured.planes[0].width > want.table.arrays[0].shape[-1]
    if (wider or not best.lines) and len(unlike_last(name)):  # a column besides the pairs
        return None
    return list(_findings(best._replace(name=name), total, want, found))


def _explains_little(name: waves.WaveName, total: Tally, want: Expected) -> bool:
    """Whether a description leaves most of the values that differ from the expected ones, as of other faults."""
    same = len(name.named.frequencies) == len(want.named.frequencies) and name.measured.reading.sin is not None
    if not total.unexplained or not same or name.encoding != want.encoding:
        return False
    return _as_expected(name.measured, want).unexplained < MIN_FEWER * total.unexplained


def _least(name: waves.WaveName) -> float:
    """Return the share of all values that a description must explain: more, if half of them had no other sign."""
    return MIN_SAMPLE if name.way.name in waves.COARSE_TYPES or "negated" in name.phase else MIN_EXPLAINED


PARTS = {"cos": "cosines", "sin": "sines"}


def _each_alone(group: tuple[Plane, ...], want: Expected) -> list[Finding] | None:
    """Return findings on cosines and sines that are read alone: those of two arrays, or of the columns of one."""
    parts = {label: [one for one in own if may_be_waves(one)] for label, own in _components(group, want)}
    if not all(parts.values()):  # each mistake that is looked for costs milliseconds
        return None
    labels, changes = list(parts), [change for change in want.mistakes if change.waves is not None]
    for change in (None, *changes, *want.mistakes_at_other_bases) if len(parts) == 2 else ():
        names = [_alone(one, part, want, change) for part, one in zip(PARTS, parts.values(), strict=True)]
        kinds = ["angles" if n and n.measured.reading.is_angles else n.phase[:3] if n else "" for n in names]
        if kinds == ["angles", "angles"]:
            return [Finding("angles", f"{' and '.join(labels)} hold the angles: no cosine and no sine was taken")]
        if kinds[0] == kinds[1] and kinds[0] and change is None:
            own, other = sorted(PARTS.values(), reverse=kinds[0] == "sin")
            label = labels[kinds[0] == "cos"]
            text = f"{label} {'hold' if label.endswith('ines') else 'holds'} the {own} where the {other} were expected"
            return [Finding("exchanged", text), *(_positions(names[0], want) if names[0] else ())]
        named = {label: name for label, name in zip(labels, names, strict=True) if name}
        if kinds == list(PARTS) and (found := _by_parts(named, want, change)):
            return found
        if change is None and all(names):  # each has the expected frequencies
            return None
    return None


def _components(group: tuple[Plane, ...], want: Expected) -> Iterator[tuple[str, list[Measured]]]:
    """Yield the cosines and the sines with what to call them: two arrays, or the columns where they are expected."""
    plan, layout = want.table.plan, want.named.table.get("layout")
    assert isinstance(plan, Waves)
    if len(group) == 2:
        for plane, part in zip(group, ("real", "imaginary"), strict=True):
            yield f"the {part} part" if plane.part else plane.name, list(lone_readings((plane,)))
    elif layout in ("complex", "half", "interleaved"):  # half of a pair, whose columns are all cosines or all sines
        return
    elif len(plan.bands) == 1 and group[0].width == want.table.arrays[0].shape[-1]:
        for part, word in PARTS.items():
            first = (part == "cos") == (layout != "sin-cos")
            halves = np.s_[: group[0].width // 2] if first else np.s_[group[0].width // 2 :]
            columns = halves if layout else getattr(plan.bands[0], part)
            yield f"the {word}", list(lone_readings(group, columns))


def _alone(readings: Sequence[Measured], part: str, want: Expected, change: Change | None) -> waves.WaveName | None:
    """Return the expected parameters, or those of a mistake, as one component has them, if they give all of it."""
    w = want.named.frequencies
    if change is not None:
        changed = want.changed(change)
        bands = [band for band in changed[1].bands if getattr(band, part) is not None] if changed else []
        w = np.array([float(f) for band in bands for f in band.frequencies])
    for measured in readings:
        if measured.pairs.count == len(w) and _fits(measured.pairs, w, want.step):
            named = replace(want.named, frequencies=w, by_engine=False)
            name = waves.fitted(measured, want.encoding, named, exact=False)
            if name is not None and name.explained == 1.0:
                return name
    return None


def _by_parts(names: Mapping[str, waves.WaveName], want: Expected, change: Change | None) -> list[Finding]:
    """Return the mistake, what differs in the cosines or the sines alone, and which of them is right."""
    found = [Finding(change.kind, change.text)] if change is not None else []
    right = []
    for label, one in names.items():
        name, total = waves.verified(one)
        if total.explained < _least(name):
            return []
        signs = [one for one in _signs(name, want) if one.kind == "sign"]
        own = [*_positions(name, want), *signs, *_magnitude(name, want)]
        rounding = "" if name.way.name == "exact" else f", but for {name.way.name} rounding"
        if total.unexplained:
            own.append(Finding("place", total.rest))
        found += [finding._replace(text=f"{label}: {finding.text}") for finding in own]
        right += [] if own else [f"{label} {'are' if label.endswith('ines') else 'is'} right{rounding}"]
    if change is None and len(right) != 1:  # both differ in the same way
        return []
    if change is None:
        found[0] = found[0]._replace(text=f"{found[0].text}; {right[0]}")
    return found


def _by_positions(group: tuple[Plane, ...], want: Expected) -> list[Finding] | None:
    """Return at which positions rows are, where all pairs have the expected frequencies."""
    w = want.named.frequencies
    for measured in measured_readings(group):
        signal = measured.signal
        if measured.pairs.count != len(w) or len(signal.rows) != group[0].rows or group[0].rows < MIN_PART_ROWS:
            continue
        places = _nearest(positions_in_steps(signal, w, np.zeros(len(w))), want)
        index = (np.rint(places) - float(want.start)) / float(want.step)
        found = np.rint(index).astype(np.int64)
        among = found.min() >= 0 and found.max() < want.rows  # whoever compares rows knows more
        if among or np.abs(places - np.rint(places)).mean() > waves.MAX_PLACE or (index != found).any():
            continue
        order = np.argsort(places, kind="stable")
        planes = tuple(replace(plane, offset=0, values=plane.stored(0, plane.rows)[order]) for plane in group)
        for own in measured_readings(planes, np.rint(places[order]).astype(np.int64)):
            if own.pairs.count != len(w):
                continue
            plain = waves.WaveName(want.encoding, want.named, Fraction(0), Fraction(1), "", own, waves.Way("exact", w))
            name = plain.computed()
            if name is None or name.explained < MIN_SAMPLE or waves.verified(name)[1].explained < MIN_SAMPLE:
                continue
            named = descriptions(found, max(want.rows, int(found.max()) + 1), "row") if found.min() >= 0 else ()
            text = next((text for text, order in named if np.array_equal(order, found)), "")
            return [Finding("rows", text or position_words(np.rint(places).astype(np.int64), want))]
    return None


def _by_rows(group: tuple[Plane, ...], want: Expected) -> list[Finding] | None:
    """Return how a run of rows differs where all others are as expected."""
    w = want.named.frequencies
    for measured in measured_readings(group):
        if measured.pairs.count == len(w) and group[0].rows == want.rows:
            total = _as_expected(measured, want)
            return list(_in_part(group, total, want)) if total.unexplained else None
    return None


def _as_expected(measured: Measured, want: Expected) -> Tally:
    """Return the tally of a reading with the expected values, in the arithmetic of its type."""
    kind = "float64" if measured.dtype == "float64" else "float32"
    way = waves.Way(kind, rounded(want.named.frequencies, kind), kind, kind)
    own = _structured(want, measured.pairs), want.start, want.step, "", measured, way
    return waves.tally(waves.WaveName(want.encoding, *own))


def _nearest(places: Floats, want: Expected) -> Floats:
    """Return positions as near to the expected ones, or in their one turn, as whole turns of a single pair allow."""
    w = want.named.frequencies
    if len(w) > 1 or not w[0]:
        return places
    turn, expected = 2 * np.pi / float(w[0]), float(want.start) + float(want.step) * np.arange(len(places))
    if np.ptp(expected) < turn:
        expected = (expected[:1] + expected[-1:]) / 2
    return np.asarray(places + turn * np.rint((expected - places) / turn))


def position_words(places: Integers, want: Expected) -> str:
    """Describe rows at other positions than expected: a few runs of them, or else the first ones."""
    expected = np.rint(float(want.start) + float(want.step) * np.arange(len(places))).astype(np.int64)
    runs = [run for run in consecutive(places) if places[run.start] != expected[run.start]]
    if not 0 < len(runs) <= MAX_PARTS:
        return f"rows are at other positions: {', '.join(map(str, places[:MAX_LISTED]))}, .."
    by = (expected - places)[[run.start for run in runs]]
    bits = next((bits for bits in (8, 16) if not (by % (1 << bits)).any()), 0)
    ends = [(run.start, run.stop - 1) for run in runs]
    some = [f"{span(a, b, 'row')} at {places[a]}" + f" to {places[b]}" * (b > a) for a, b in ends]
    return f"other positions: {', '.join(some)}" + f", as {bits}-bit integers overflow" * bool(bits)


def _by_frequencies(group: tuple[Plane, ...], w: Floats) -> list[Finding] | None:
    """Return a finding on the frequencies of a table of waves if most of them differ from the expected ones."""
    for measured in measured_readings(group):
        signal, pairs = measured.signal, measured.pairs
        if pairs.count != len(w) or pairs.count < 2 or not np.isfinite(pairs.errors).all():
            continue
        if len(signal.rows) < MIN_EXPLAINED * len(measured.rows):  # the first rows alone say nothing of the others
            continue
        own, meant = (_turning(signal, steps) for steps in (signal.steps, np.copysign(w, signal.steps)))
        known = np.abs(np.sort(pairs.steps) - np.sort(w)) <= WAVE_GAP * np.sort(w) + pairs.errors.min()
        clearly = own >= MIN_SAMPLE > meant and 2 * (1 - own) <= 1 - meant
        if clearly and pairs.steps.max() > np.pi and known.mean() <= 0.5:  # whole turns are not known
            still = int(np.count_nonzero(pairs.still & (w > 0)))
            text = "other frequencies: " + f"{still} of {len(w)} pairs do not turn, and " * (still > 1)
            text += "some pairs turn backward, or by more than half a turn a row"
            slow = bool(w.max() <= np.pi)  # of faster ones whole turns are not known either
            wanted = f", where {w.max():.4g} to {w.min():.4g} radians a row were expected" * slow
            return [Finding("frequency", f"{text}{wanted}")]
        if clearly and known.mean() <= 0.5:  # pairs in another order are no other frequencies
            return [Finding("frequency", _series_words(pairs.at(waves.LEVELS["float32"]), w))]
    return None


def _turning(signal: Signal, steps: Floats) -> float:
    """Return the share of the sampled points of the unit circle that turn by these steps a row."""
    turns = signal.phases + steps * (signal.rows - signal.reference)[:, None]
    return float((np.abs(signal.unit - np.exp(1j * turns)) < WAVE_GAP).mean())


def _series_words(pairs: Pairs, w: Floats) -> str:
    """Describe measured frequencies: some that are off, repeated ones, another series, or their range."""
    steps, slack = pairs.steps, pairs.slack(w)
    off = pairs.gaps(w) > 2 * slack
    bad, some = np.flatnonzero(off), ""
    if bad[:1] > 0 and (w > 0).all():
        some = f"other frequencies: {_ratio_words(bad, steps[bad] / w[bad], slack[bad] / w[bad])}"
        if bad[0] > 1:
            return some
    own = f"{w.max():.4g} to {w.min():.4g}"
    first, last = steps[0], steps[-1]
    of_two = (np.minimum(abs(steps - first), abs(steps - last)) <= 2 * slack).all() and first - last > 2 * slack[0]
    if of_two and len(steps) > MIN_PAIRS:
        cut = ", as of exponents that are cut to whole numbers" * bool(abs(first - w[0]) <= 2 * slack[0])
        return f"the pairs have two frequencies alone, {first:.4g} and {last:.4g}{cut}, where {own} were expected"
    half = len(steps) // 2
    if len(steps) == 2 * half > 2 and np.allclose(steps[:half], steps[half:], rtol=1e-3):
        return f"the frequencies of {half} pairs stand twice, one after the other"
    clear = np.array(list(takewhile(lambda step: step > CLEAR_STEP, steps)))
    times = clear / w[: len(clear)]
    if len(clear) > 1 and np.ptp(times) <= BASE_GAP * times[0] and abs(times[0] - 1) > BASE_GAP:
        return f"every frequency is {near(float(np.median(times)), BASE_GAP):f} times the expected one"
    ratios = clear[1:] / clear[:-1]
    falls = len(ratios) > 1 and np.median(ratios) < 1 - BASE_GAP
    series = [clear, w] if falls and steps[len(clear) :].max(initial=0) <= CLEAR_STEP else []
    if series and all(np.allclose(one[1:], one[:-1] * np.median(one[1:] / one[:-1]), 1e-3, 0) for one in series):
        text = f"the frequencies are another series: each is {np.median(ratios):.4g} of the one before"
        bases = [f"{near(one ** -len(w), BASE_GAP):f}" for one in (np.median(ratios), w[1] / w[0])]
        named = f" (as base {bases[0]} for {bases[1]})" * ({*bases} <= {*PUBLISHED_BASES})
        return f"{text}, where {w[1] / w[0]:.4g} was expected{named}"
    if w.max() > np.pi:  # of which rows show no whole turns
        return some or "other frequencies"
    least = f"{steps.min():.4g}" if steps.min() > slack.min() else "almost 0"
    return some or f"other frequencies: about {steps.max():.4g} to {least} radians a row where {own} were expected"


def _described(measured: Measured, want: Expected, *, named: bool) -> Description | None:
    """Return the best description of a reading."""
    if not np.isfinite(measured.pairs.steps).all():
        return None
    best: Description | None = None
    for way in (measured,) if measured.reading.sin is None else (measured, measured.otherwise()):
        for own, lines, kind in _candidates(way, want):
            if way.reading.is_angles and not _fits(way.pairs, own.frequencies, own.step):
                continue
            name = waves.fitted(way, want.encoding, own, exact=False, guess=float(want.start))
            if name is None:
                continue
            one = Description(name, lines, want, kind)
            if best is None or one.merit < best.merit:
                best = one
            if best.fits and not best.lines and not best.other and not best.name.phase:
                return best
        if best is not None and best.fits and not best.name.phase:
            break
    twice = want.named.table.get("layout") in ("half", "interleaved") and len(want.named.frequencies) * 2
    # A file whose halves differ has a frequency for each column, as a split cache of twice the width has.
    named &= measured.reading.layout != "split" or measured.pairs.count != twice
    if named and (best is None or not best.fits or len(best.lines) > 1 or best.other):
        names = waves.names_of(measured)
        alike = [name for name in names if name.encoding == want.encoding]  # the same values may have other names, too
        for name in map(with_blank_row, (alike or names)[:2]):
            one = Description(name, parameter_lines(want, name), want)
            best = one if best is None or one.merit < best.merit else best
    return best


def _candidates(measured: Measured, want: Expected) -> Iterator[tuple[Named, list[str], str]]:
    """Yield the expected parameters, then declared mistakes, as far as the measured frequencies allow them."""
    pairs, base = measured.pairs, _structured(want, measured.pairs)
    w = want.named.frequencies
    firsts = w[: max(1, len(w) - pairs.count + 1)] * float(want.step)  # of as many pairs as there are
    first = int(np.abs(firsts - pairs.steps[0]).argmin())
    part, gone = w[first : first + pairs.count], np.delete(np.arange(len(w)), np.s_[first : first + pairs.count])
    if len(gone) and _fits(pairs, part, want.step):
        word = "column" if measured.reading.layout == "split" else "pair"
        text = f"{numbered_are(word, gone)} missing" + ", which do not rotate" * (not w[gone].any())
        width, whole = measured.planes[0].width, want.table.arrays[0].shape[-1]
        lines = [text]
        if width % 2 and len(measured.planes) == 1 and not first:  # half of a pair is there
            lines = [f"{numbered_are('column', np.arange(width, whole))} missing"] * (width < whole)
        yield replace(base, frequencies=part, by_engine=False), lines, "columns"
    if len(w) != pairs.count:
        return
    yield base, [], "same"
    for step in _other_steps(pairs, base):
        yield replace(base, step=want.step * step), [], "same"
    yield from _pair_order(pairs, base)
    placed = 0
    for change in [*_other_width(pairs, want), *_other_base(pairs, want), *want.mistakes[:MAX_MISTAKES]]:
        changed = want.changed(change, base.keys) if placed < MAX_PLACED else None
        if changed is None:
            continue
        keys, plan = changed
        w = np.array([float(f) for f in plan.frequencies]) * float(change.step)
        size = float(plan.magnitude) if len(set(plan.magnitudes)) == 1 else 1.0
        if len(w) == pairs.count and not change.shift and size == base.magnitude:
            last = max(abs(want.start), abs(want.start + want.step * want.rows))
            apart = np.abs(w - base.frequencies).max() * float(last)
            if apart <= EPSILON[measured.dtype]:  # the same values
                continue
        if len(w) == pairs.count and _fits(pairs, w, want.step):
            placed += 1
            alike = change.waves is None and change.step == 1
            plain = alike and not change.shift and "scaling" in change.keys
            lines = key_lines(want, keys) if plain else []
            named = replace(base, keys=keys, frequencies=w, magnitude=size, fitted=0.0,
                            by_engine=alike and base.by_engine)  # fmt: skip
            yield named, lines or [change.text], change.kind
    yield from _some_pairs(pairs, base)


def _other_width(pairs: Pairs, want: Expected) -> Iterator[Change]:
    """Yield the width that exponents are divided by, where a series has another whole one than expected."""
    w, base = want.named.frequencies, want.keys.get("base", "1")
    use = pairs.usable & (w < 1) & (len(w) > 1)
    if not use.any() or float(base) <= 1 or not np.allclose(w, w[1] ** np.arange(len(w)), rtol=1e-9, atol=0):
        return
    width = round(-2 * math.log(float(base)) / math.log(w[1]))
    over = np.median(width * np.log(w[use]) / np.log(pairs.steps[use] / float(want.step)))
    found = round(over) if 0 < over < MAX_WIDTH else 0
    whole = str(found) == want.keys.get("dim")
    is_partial = whole and bool({"rotary-dim", "partial"} & {*want.keys})
    words = ("the head's width ", "the rotary width ") if is_partial else ("", "")
    text = f"exponent over {words[0]}{found} where {words[1]}{width} was expected"
    change = other_exponent("base", base, Fraction(width, found or width), text)
    likely = whole or change.keys["base"] not in PUBLISHED_BASES
    named = [width - 2, width + 2] if "shift" in want.keys else []  # which have names of their own
    named += [] if whole else [width // 2, 2 * width]
    if found not in (0, width, *named) and abs(over - found) < MAX_WIDTH_ERROR and likely:
        yield change


def _other_base(pairs: Pairs, want: Expected) -> Iterator[Change]:
    """Yield the base that the fastest pairs show, which most scalings leave as they are."""
    w, own, fast = want.named.frequencies, float(want.keys.get("base", 1)), np.arange(pairs.count) < pairs.count // 4
    if own <= 1:
        return
    exponents = -np.log(np.maximum(w, CLEAR_STEP**2)) / math.log(own)
    for base in pairs.bases(exponents, float(want.step), some=fast & (exponents > 0)):
        width = 2 * len(w) * math.log(own) / math.log(base) if base > 1 else 0.0
        is_chosen = f"{base:f}" not in PUBLISHED_BASES and digits(base) <= MAX_BASE_DIGITS
        if is_chosen and abs(width - round(width)) > MAX_WIDTH_ERROR:  # else it is another one's
            yield from other_values(want.keys, "base", f"{base:f}")


def _pair_order(pairs: Pairs, base: Named) -> Iterator[tuple[Named, list[str], str]]:
    """Yield the expected frequencies in another order, and the words for it."""
    w, seen, places = base.frequencies, pairs.at(waves.LEVELS["float32"]), np.arange(pairs.count)
    near = np.abs(pairs.steps[:, None] - w) <= 2 * (pairs.errors[:, None] + seen.level * w)
    found = np.where(near.diagonal(), places, near.argmax(axis=1))
    unrotated, still = np.flatnonzero(w == 0), np.flatnonzero(pairs.still)
    if len(unrotated) == len(still) and len(still):
        found[still] = unrotated
    if not near.any(axis=1).all() or len(np.unique(found)) < len(w) or (found == places).all():
        return
    for text, order in descriptions(found, len(w), "pair"):
        if np.array_equal(order, found):
            if len(still) and still[-1] < len(still):
                text = f"the unrotated pairs come first, where they were expected last ({numbered('pair', unrotated)})"
            yield replace(base, frequencies=w[found], by_engine=False), [text], "columns"
            return


def _fits(pairs: Pairs, w: Floats, step: Fraction) -> bool:
    """Whether most measured frequencies are these, rounded to some type."""
    return any(pairs.at(error).fits(w, float(step), 0.9) for error in waves.LEVELS.values())


def _some_pairs(pairs: Pairs, base: Named) -> Iterator[tuple[Named, list[str], str]]:
    """Yield the expected frequencies with the measured ones of some pairs, and which they are."""
    w, seen = base.frequencies, pairs.at(waves.LEVELS["float32"])
    off = seen.gaps(w) > 2 * seen.slack(w)
    bad = np.flatnonzero(off)
    if not np.isfinite(pairs.errors).all() or (w[bad] == 0).any():
        return
    if 0 < len(bad) < len(w) and pairs.still[bad].all():
        overflow = ", as with a base that overflowed to infinity" * bool(bad[0] == 1 and len(bad) == len(w) - 1)
        text = f"{numbered('pair', bad)} {'do' if len(bad) > 1 else 'does'} not rotate: the frequency is 0{overflow}"
        yield replace(base, frequencies=np.where(off, 0.0, w), by_engine=False), [text], "still"
        return
    if not 0 < len(bad) <= MAX_OTHER_PAIRS * len(w):
        return
    text = _ratio_words(bad, pairs.steps[bad] / w[bad], seen.slack(w)[bad] / w[bad])
    backwards = np.remainder(pairs.steps[bad] + np.pi, 2 * np.pi) - np.pi  # a turn less each row is the other way round
    if (np.abs(backwards + w[bad]) <= 4 * seen.slack(w)[bad]).all():
        text = f"the sines of {numbered('pair', bad)} have the other sign"
    yield replace(base, frequencies=np.where(off, pairs.steps, w), by_engine=False), [text], "frequency"


def _ratio_words(bad: Integers, ratios: Floats, loose: Floats) -> str:
    """Describe pairs by the ratio of their frequencies to the expected ones, or by its range."""
    low, high = (ratios * (1 - loose)).max(), (ratios * (1 + loose)).min()
    one = shortest(low, high) if low <= high else Decimal(0)
    ends = [float(one)] if one else [float(ratios.min()), float(ratios.max())]
    texts = ([f"{ratio:.{places}g}" for ratio in ends] for places in (4, 6, 9, 17))
    times = next((" to ".join(some) for some in texts if len({*some}) == len(ends) and some != ["1"]), "about 1")
    return f"{numbered('pair', bad)} {'turns' if len(bad) == 1 else 'turn'} {times} times as fast"


def _other_steps(pairs: Pairs, base: Named) -> Iterator[Fraction]:
    """Yield common factors of all frequencies: of rows that are spread evenly over a length, or a short number."""
    w = base.frequencies
    use = pairs.usable & (w > 0)
    if not use.any() or not np.isfinite(pairs.errors).all():
        return
    ratios = pairs.steps[use] / w[use]
    loose = pairs.slack(pairs.steps)[use] / pairs.steps[use] + 2.0**-22
    low, high = (ratios * (1 - loose)).max(), (ratios * (1 + loose)).min()
    if not 0 < low <= high or low <= 1 <= high:
        return
    number, inverse = shortest(low, high), shortest(1 / high, 1 / low)
    ratio = simplest(Fraction(float(low)), Fraction(float(high)))
    n = max(2, pairs.rows)
    even = [one for one in (Fraction(n, n - 1), Fraction(n - 1, n)) if low <= one <= high]  # linspace with its end
    even += [ratio] if {*ratio.as_integer_ratio()} & {n - 1, n, n + 1} else []
    even += [one for one in (Fraction(1, max(1, pairs.rows - k)) for k in (0, 1)) if low <= one <= high]
    if not even and min(digits(number), digits(inverse)) <= MAX_STEP_DIGITS:
        even = [Fraction(number) if digits(number) <= digits(inverse) else 1 / Fraction(inverse)]
    yield from dict.fromkeys(even)


def _structured(want: Expected, pairs: Pairs) -> Named:
    """Return the expected parameters with the layout that the file's columns have."""
    encoding = want.recipe.encoding
    found = encoding.hook("layout")(pairs) if encoding.declares("layout") else None
    if found is None:
        return replace(want.named, by_engine=False)
    return replace(want.named, keys={**want.named.keys, **found[0]}, table=found[1])


def _findings(best: Description, total: Tally, want: Expected, found: Comparison) -> Iterator[Finding]:
    """Yield the findings of a description: rows, parameters, positions, signs, magnitude, layout, arithmetic, place."""
    name, way = best.name, best.name.way
    kind = name.measured.dtype if name.measured.dtype in waves.LOW_TYPES else "float32"
    rest = total.unexplained if total.largest > EPSILON[kind] * name.magnitude else 0
    moved = name.start != want.start or name.measured.planes[0].rows < want.rows  # they went around, or one is missing
    if rest > MAX_LISTED and not best.lines and moved and want.rows <= MAX_SHORT:
        others = list(_located(name, want, total))
        if any(finding.kind != "place" for finding in others):
            yield from others
            return
    findings = [*(Finding(best.kind, line) for line in best.lines), *_positions(name, want)]
    if name.encoding != want.encoding:
        yield from (*findings, *_rows(name, want))
        return
    findings[:0] = _rows(name, want)
    findings += [*_signs(name, want), *_magnitude(name, want), *_layout(name, want)]
    yield from findings
    if way.name in waves.COARSE_TYPES:
        yield Finding("arithmetic", _low_arithmetic(name, also=bool(findings)))
    elif findings:
        yield from _rest_rounding(name, total, want, whole=not rest)
    elif found.arrays and not rest:
        yield from _rounding(name, want, total, found)
    if rest and not findings and way.name not in waves.COARSE_TYPES:
        yield from _located(name, want, total)
    elif rest:
        part = [] if best.lines else list(_in_part(name.measured.planes, total, want))
        if best.lines and way.name not in waves.COARSE_TYPES and (name.start, name.step) == (want.start, want.step):
            part = [one for one in _located(name, want, total) if one.kind == "rows"]
        yield from part or [Finding("value" if total.unexplained == len(total.singles) else "place", total.rest)]


def _rest_rounding(name: waves.WaveName, total: Tally, want: Expected, *, whole: bool) -> Iterator[Finding]:
    """Yield how far all values that fit are from the exact ones, where they were not rounded once from these."""
    kind, own = (one if one in waves.LOW_TYPES else "" for one in (name.measured.dtype, want.table.request.dtype))
    if whole and (name.way.name == "float32" or (kind and not own)):  # else it is more than an exception
        once = EPSILON[want.table.request.dtype] * name.magnitude / (2 if name.magnitude <= 1 else 1)  # expected ones
        residual = total.residual * max(1.0, want.named.magnitude / name.magnitude)  # as the expected values are
        if residual < MAX_REST:
            yield Finding("rounding", f"the rest differs by at most {limit(residual + once, 2)}")


def _rounding(name: waves.WaveName, want: Expected, total: Tally, found: Comparison) -> Iterator[Finding]:
    """Yield the finding on a narrower type, or on the arithmetic of a rounding with the tolerance that accepts it."""
    figures, kind, own = found.total, name.measured.dtype, want.table.request.dtype
    largest = figures.max_abs
    if not largest:  # arrays are missing, and the others are equal
        return
    if kind in waves.LOW_TYPES and kind != own and is_rounding(largest, max(total.residual, EPSILON[own])):
        text = f"values were rounded to {kind} where {own} was expected: at most {limit(largest, 2)} off"
        yield Finding("type", text)
    elif name.measured.reading.layout.startswith("angles-") and want.named.table.get("layout") == "angles":
        twice = name.measured.reading.layout.removeprefix("angles-").replace("half", "half-split")
        yield Finding("layout", f"each angle stands in two columns ({twice}) where one was expected")
    elif name.measured.reading.is_angles and want.named.table.get("layout") != "angles":
        how = f": {name.way.name} rounding, at most {limit(total.residual, 2)}"
        if kind in waves.LOW_TYPES:
            how = f", rounded to {kind}: by up to {limit(total.residual, 2)} radians"
        yield Finding("rounding", f"the file holds the angles of the expected table{how}")
    elif is_rounding(largest, total.residual):
        words = {"exact": "rounding", "float64": "float64 rounding", "float32": "rounding of float32 phases"}
        yield harmless(words[name.way.name], largest, figures.max_ulp)
        if name.measured.reading.is_angles:
            yield Finding("labels", "both hold angles in radians: no cosine and no sine was taken")


def _located(name: waves.WaveName, want: Expected, total: Tally) -> Iterator[Finding]:
    """Yield findings on values that differ in a table of the expected recipe."""
    planes, dtype = name.measured.planes, name.measured.dtype
    where = total.places()
    if total.unexplained <= MAX_LISTED:
        yield from (Finding("value", text) for text in total.texts())
        if total.unexplained > len(total.singles):
            yield Finding("place", f"{total.unexplained} values differ in all: {where}")
        return
    corrupted = total.rows if (name.start, name.step) == (want.start, want.step) else None
    own, short = replace(name, start=want.start, step=want.step), want.rows - planes[0].rows
    if short > 0:  # what the missing rows hold is not known
        stored = [np.pad(plane.stored(0, plane.rows), ((0, short), (0, 0))) for plane in planes]
        longer = (replace(p, rows=want.rows, offset=0, values=v) for p, v in zip(planes, stored, strict=True))
        own = replace(own, measured=own.measured._replace(planes=tuple(longer)))
        corrupted = None if corrupted is None else np.pad(corrupted, (0, short), constant_values=1)
    right = waves.Expectation(own)
    mended = [partial(right.mended, k, corrupted) for k in range(len(planes))]
    have = [ComputedRows(plane.name, (plane.rows, *plane.row_shape), dtype, plane.read) for plane in planes]
    meant = [one._replace(shape=(want.rows, *one.shape[1:]), read=read) for one, read in zip(have, mended, strict=True)]
    findings = located(zip(have, meant, strict=True))
    if {one.kind for one in findings} - {"place", "rounding"}:  # whose rounding is that of the mended values
        yield from (finding for finding in findings if finding.kind != "rounding")
        whole = short <= 0 and all(finding.kind != "rest" for finding in findings)  # later rows are off by more
        yield from _rest_rounding(name, total, want, whole=whole)
    elif not (part := list(_in_part(planes, total, want))):
        yield Finding("place", f"{total.unexplained:,} of {total.count:,} values {total.differ}: {where}")
    else:
        yield from part


def _in_part(planes: Sequence[Plane], total: Tally, want: Expected) -> Iterator[Finding]:
    """Yield the findings on a run of rows that is described otherwise than the other rows, as after a joint."""
    at = np.flatnonzero(total.rows > MAX_FAINT * total.rows.max())
    first, last = at[[0, -1]].tolist()
    count = last + 1 - first
    if MIN_PART_ROWS <= count < planes[0].rows and len(at) > MIN_SAMPLE * count:
        part = tuple(rows_of(plane, first, count) for plane in planes)
        own = replace(want, start=want.start + first * want.step, rows=count)
        findings = _of_group(part, own, Comparison())
        if findings and findings[0].kind not in ("place", "value", "rounding"):
            which = f"rows {first} to {last}"
            yield from (one._replace(text=f"{which}: {one.text}") for one in findings if one.kind != "rounding")


def _low_arithmetic(name: waves.WaveName, *, also: bool) -> str:
    """Describe the steps that were rounded to a narrow type, and the first position that shows it."""
    way, coarse, kind = name.way, name.way.coarse_words, name.way.coarse_type
    w = name.named.frequencies
    text = f"phases were computed in {kind} ({coarse} {way.coarse_verb} {kind})"
    if coarse in ("positions", "frequencies"):
        text = f"{coarse.replace('frequencies', 'frequencies (inv_freq)')} were {way.coarse_verb} {kind}"
    text = f"{'and ' if also else ''}{text}"
    count, dtype = min(name.measured.planes[0].rows, 4096), name.measured.dtype
    positions, wrong = name.positions(np.arange(count)), np.zeros(count, bool)
    right = waves.Way("exact", w if "frequencies" in coarse else way.frequencies)
    both = way.compute(positions, name.magnitude, dtype), right.compute(positions, name.magnitude, "float64")
    doubt = STEP_UNITS * 2.0**-24 * np.abs(positions[:, None]) * w  # that float32 phases leave
    for one, other in zip(*both, strict=True):
        once = unit(other, dtype) * (0.5 if name.magnitude == 1 else 1.5)  # a product is rounded again
        wrong |= (np.abs(one - other) > once + doubt).any(axis=1)
    if not wrong.any():
        return text
    return f"{text}: first beyond rounding at position {fraction_text(name.start + name.step * int(wrong.argmax()))}"


def _rows(name: waves.WaveName, want: Expected) -> Iterator[Finding]:
    """Yield the finding on missing or additional rows."""
    count = name.measured.planes[0].rows
    if count == want.rows:
        return
    text = f"{count:,} row{'s' * (count > 1)} where {want.rows:,} were expected"
    first = (name.start - want.start) / want.step
    if name.step == want.step and first.denominator != 1:
        return
    gone = np.delete(np.arange(want.rows), np.s_[max(0, int(first)) : max(0, int(first) + count)])
    if name.step == want.step and len(gone) and first >= 0:
        text += f": {numbered_are('row', gone)} missing"
    yield Finding("rows", text)


# Of a step that is no decimal and was written with 12 digits, relative.
MAX_STEP_ERROR = 1e-9


def _positions(name: waves.WaveName, want: Expected) -> Iterator[Finding]:
    """Yield the findings on another first position or another step."""
    count = name.measured.planes[0].rows
    if count > 1 and name.step == -want.step and name.start == want.start + want.step * (count - 1):
        yield Finding("rows", "the rows are reversed: the last one stands first")
        return
    ratio = name.step / want.step
    other = abs(ratio - 1) > MAX_STEP_ERROR and count > 1
    from_zero = name.start == want.start == 0 and want.step != 1
    if other and (from_zero or (want.start and abs(name.start / want.start / ratio - 1) < MAX_STEP_ERROR)):
        text = f"every position is {factor_text(float(near(float(ratio), MAX_STEP_ERROR)))} times the expected one"
        yield Finding("factor", text)
        return
    if other and want.keys.get("scale", "1") != "1":  # of its positions, which a step multiplies once more
        scale = Fraction(want.keys["scale"])
        yield Finding("scale", f"scale {fraction_text(scale * ratio)} where {fraction_text(scale)} was expected")
    elif other:
        over, own = name.step.denominator, fraction_text(want.step)
        if name.step.numerator == 1 and over in (count, count - 1):
            length = "the number of rows" if over == count else "the last row's number"
            text = f"positions are divided by {over}, {length}: step 1/{over} where {own} was expected"
        else:
            text = f"positions advance by {fraction_text(name.step)} where {own} was expected"
            if ratio == Fraction(count, max(1, count - 1)) and want.start == 0:
                text += (
                    f": the last of {count:,} rows stands at {fraction_text(count * want.step)}, as linspace puts it"
                )
            if ratio < 0 < want.step:
                text = f"positions fall by {fraction_text(-name.step)} where they were expected to rise by {own}"
            text += f" (step {fraction_text(name.step)})"
        yield Finding("step", text)
    if name.start != want.start and (count == want.rows or name.start < want.start or other):
        text = f"positions start at {fraction_text(name.start)} where {fraction_text(want.start)} was expected"
        yield Finding("start", text)


def _signs(name: waves.WaveName, want: Expected) -> Iterator[Finding]:
    """Yield the finding on exchanged or negated sines and cosines."""
    measured = name.measured
    if measured.reading.is_alone:
        part, held, gone = ("sin", "sine", "cosine") if name.phase.startswith("sin") else ("cos", "cosine", "sine")
        if name.phase.endswith("negated"):
            yield Finding("sign", f"every {held} has the other sign")
        one = want.table.arrays[0].name if len(want.table.arrays) == 1 else ""
        if one in ("cos", "sin"):  # one array of a pair was expected
            if one != part and not name.phase.endswith("negated"):  # which of both is compared, the values do not show
                yield Finding("exchanged", f"every column holds {held}s where {gone}s were expected")
        elif one and want.named.table.get("layout") != "angles":
            yield Finding("exchanged", f"every column holds {held}s: the {gone}s are missing")
    elif text := _quarter_words(name, want):
        yield Finding("sign" if name.phase else "exchanged", text)


def _quarter_words(name: waves.WaveName, want: Expected) -> str:
    """Return how cosines and sines are exchanged or negated, where both have the expected columns; "" if they are not.

    Cosines and sines together are as many quarter turns from the expected ones as the phase has, exchanged or not.
    """
    measured, order = name.measured, want.keys.get("order")
    if measured.reading.is_angles:
        return ""
    sine_first, exchanged = measured.pairs.sine_first, bool(name.quarter % 2)  # of other columns, in any order
    halves, own = ("concat", "sin-cos", "cos-sin"), order or want.named.table.get("layout", "")
    if len(measured.planes) == 2 or (measured.reading.layout in halves) == (own in halves):
        expected = order != "cos-sin" if order is not None else want.named.table.get("layout") == "sin-cos"
        exchanged = sine_first != (expected and len(measured.planes) == 1)
    first = f": the {'sines' if sine_first else 'cosines'} come first" * (len(measured.planes) == 1)
    return waves.QUARTER_WORDS[exchanged, name.quarter] + first * ((exchanged, name.quarter) == (True, 0))


def _magnitude(name: waves.WaveName, want: Expected) -> Iterator[Finding]:
    """Yield a finding if the magnitude is missing, applied twice or different, and no parameter explains it."""
    measured, own = name.measured, want.named.magnitude
    have, near = name.magnitude, 4 * measured.pairs.magnitude_error
    if measured.reading.is_angles:
        return
    if abs(have - own) <= near * own:
        if name.named.magnitude != own != 1:
            yield Finding("magnitude", f"the attention factor {own:.6g} is applied")
        return
    if name.named.magnitude != own and abs(have / name.named.magnitude - 1) <= near:
        return
    is_rotary = want.recipe.encoding.family.word == "rotary"
    word = "attention factor" if is_rotary else "amplitude"
    text = f"magnitude {have:.6g} where {own:.6g} was expected ({word})"
    if abs(have - 1) <= near:
        text = f"the magnitude is missing ({word} {own:.6g})"
    elif own == 1:
        width = measured.pairs.width
        rotary = " (an attention factor that was not expected)" * is_rotary
        root = f"{have:.6g} (the square root of the width {width})" if abs(have**2 / width - 1) < 1e-3 else ""
        text = f"every value is multiplied by {root or factor_text(have) + rotary}"
    elif abs(have - own**2) <= 1e-3 * own**2:
        text = f"the magnitude is applied twice ({word} {own:.6g})"
    elif abs(have * own - 1) <= 1e-3:
        text = f"the magnitude divides the values where it should multiply them ({word} {own:.6g})"
    yield Finding("magnitude", text)


def _layout(name: waves.WaveName, want: Expected) -> Iterator[Finding]:
    """Yield the finding on another layout of the columns, where both tables have one shape."""
    reading, own = name.measured.reading, want.named.table.get("layout", "")
    sine_first = name.measured.pairs.sine_first != (name.phase in waves.QUARTERS)
    words = {"half": "half-split", "interleaved": "interleaved"}
    order = want.keys.get("order")
    if {reading.layout, own} == {"half", "interleaved"}:
        yield Finding("layout", f"{words[reading.layout]} columns where {words[own]} ones were expected")
    elif reading.layout in words and reading.sin is not None and len(name.measured.planes) == 1:
        first, then = ("sines", "cosines") if sine_first else ("cosines", "sines")
        yield Finding("layout", f"one array holds the {first} and then the {then} ({words[reading.layout]} each)")
    elif own in words and reading.layout == "split" and reading.pairs == len(want.named.frequencies):
        yield Finding("layout", f"each pair has one column where it was expected to have two ({words[own]})")
    elif len(name.measured.planes) == 1 and reading.sin is not None:
        first = "sines" if sine_first else "cosines"
        turns, halves = "in neighbouring columns", ("concat", "sin-cos")
        have = f"in two halves, {first} first" if reading.layout in halves else turns
        wanted = f"in two halves ({order or own})" if (order or own) in (*halves, "cos-sin") else turns
        wanted = f"in two arrays ({words[own]})" if own in words else wanted
        if own in words or ((order or own) and (have == turns) != (wanted == turns)):
            yield Finding("layout", f"sin and cos stand {have}, where they were expected {wanted}")
    elif len({plane.array.name for plane in name.measured.planes}) == 2 and len(want.table.arrays) == 1:
        yield Finding("layout", f"cos and sin stand in two arrays, where one array was expected ({order or own})")
