"""Differences of a list of frequencies (``inv_freq``) from the expected ones."""

from __future__ import annotations

import re

import numpy as np

from pecli.errors import PecliError
from pecli.formats.decimals import digits_text, how_printed, printed_digits
from pecli.judge.description import Identification, factor_text, harmless
from pecli.judge.difference import wave_differences
from pecli.judge.expected import Expected, key_lines
from pecli.judge.frequencies import MAX_FREQUENCY_DIGITS, MAX_REPEAT_GAP, identify_vector
from pecli.judge.located import VAGUE, located
from pecli.judge.orders import numbered, numbered_are
from pecli.judge.planes import EPSILON, effective_dtype, rounded, unit
from pecli.judge.positions import first_positions, parsed
from pecli.judge.waves import LOW_TYPES
from pecli.numbers.decimals import near
from pecli.numbers.printing import limit
from pecli.numbers.rounding import Floats, floats
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.comparison import Comparison, Finding, compare_tables
from pecli.tables.table import Table
from pecli.tables.views import matched_views

# Largest error, in units of the last place, of frequencies that were computed in their own type.
MAX_POWER_ULP = 8
# The same relative to the value, whatever its type: of bfloat16.
MAX_POWER_GAP = 2.0**-4
# Frequencies that share what was added to them, or a number of digits.
MIN_LISTED = 4
# Words about tables that say nothing true of a list.
OF_TABLES = re.compile(r"\b(cos|sin|cosines?|sines?|rows?|columns?|positions|magnitude|attention)\b")
# Rows of the tables that stand for two lists of frequencies: a pair of 0.003 radians a position turns once in them.
FREQUENCY_ROWS = 2048
# Frequencies whose tables are held in memory: 32 MiB each.
MAX_FREQUENCIES = 1 << 11


def frequency_differences(actual: Tabular, table: Table, found: Comparison) -> list[Finding]:
    """Return how a list of frequencies differs from the expected one, as their rotary tables do; [] of any other table.

    Parameters
    ----------
    actual : Tabular
        The file.
    table : Table
        The expected table: angles of position 1, which are the frequencies.
    found : Comparison
        The comparison of both.
    """
    if table.request.layout != "angles" or first_positions(table) != (1, 1) or len(actual.arrays) != 1:
        return []
    (array,) = actual.arrays
    values = floats(actual.read_rows([array.name], 0, array.rows)[array.name], array.dtype).astype(np.float64).ravel()
    want = floats(table.read(table.arrays[0].name), table.arrays[0].dtype).astype(np.float64).ravel()
    own, kind = identify_vector(actual), effective_dtype(values, array.dtype)
    if len(values) != len(want):
        return [_of_length(values, want, own)]
    if first := _narrowed(values, want, kind, found) or _added(values, want, kind):
        return [first]
    printed = printed_digits(values, EPSILON[kind], MIN_LISTED, MAX_FREQUENCY_DIGITS)
    if printed and (how := how_printed(values, want, MAX_POWER_ULP * EPSILON["float32"] * want, printed)):
        text = f"the frequencies are {how} to {digits_text(*printed)}, at most {limit(found.total.max_abs, 1)} off"
        return [Finding("decimals", text)]
    have = parsed(own.recipe) if own is not None else None
    named, meant = Expected.of(have) if have is not None else None, Expected.of(table)
    lines = list[Finding]()
    if named is not None and meant is not None and named.encoding == meant.encoding:
        lines = [Finding("parameter", line) for line in key_lines(meant, named.keys)]
        values = named.named.frequencies if printed else values  # whose digits are no other base's
    wrong = ~np.isclose(values, want, MAX_REPEAT_GAP, 0)
    in_order = len({*np.sign(np.diff(values[wrong]))}) < 2
    if 2 * np.count_nonzero(wrong) <= len(values) and not in_order and np.isfinite(values).all():
        text = f"{numbered('frequency', np.flatnonzero(wrong))} hold other numbers"
        return [Finding("values", f"{text}, {values[wrong].min():.4g} to {values[wrong].max():.4g}")]
    if own is not None and "divisors" in own.notes[0] and not lines and named and meant:
        right = ", and they are the expected ones" * own.notes[0].startswith("the divisors")
        return [Finding("frequency", f"the file holds {own.notes[0].partition(',')[0]}{right}")]
    if text := _words(values, want):
        return [Finding("frequency", text)]
    factor = _times(values, want, kind)
    certain = own is not None and own.confidence == "sure" and len(lines) == 1
    less = [*["frequency"] * (certain or bool(factor)), *["parameter"] * bool(lines)]
    tables = [one for one in _as_tables(values, table) if one.kind not in less]
    for one in (*tables, *lines, *factor, *located(matched_views(actual, table))[:1]):
        if one.kind not in VAGUE and not OF_TABLES.search(one.text):  # else it is not true of the list
            return [one._replace(text=one.text.partition(": first beyond")[0])]
    bad = np.flatnonzero(values != want)
    ratios = values[bad] / want[bad]
    times = f"{ratios.min():.5g} to {ratios.max():.5g} times"
    return [Finding("frequency", f"{numbered_are('frequency', bad)} {times} as high as expected")]


def _of_length(values: Floats, want: Floats, own: Identification | None) -> Finding:
    """Return that a list has another length than expected, and why."""
    halves = values[: len(want)], values[len(want) :]
    more = f": those of {own.recipe}" if own is not None else ""
    if any(np.array_equal(*both) for both in (halves, (values[::2], values[1::2]))):
        more = ": each stands twice"
    if len(values) < len(want) and np.allclose(values, want[: len(values)], MAX_REPEAT_GAP, 0):
        more = f": {numbered_are('pair', np.arange(len(values), len(want)))} missing"
    return Finding("shape", f"{len(values)} frequencies where {len(want)} were expected{more}")


def _narrowed(values: Floats, want: Floats, kind: str, found: Comparison) -> Finding | None:
    """Return that frequencies are the expected ones but for rounding, in a narrow type or their own; else None."""
    if kind in LOW_TYPES and np.array_equal(values, rounded(want, kind)):
        return Finding("frequency", f"the frequencies were rounded to {kind}")
    if kind not in LOW_TYPES and np.allclose(values, want, MAX_POWER_ULP * EPSILON["float32"], 0):
        return harmless("rounding alone", found.total.max_abs, found.total.max_ulp)
    if found.total.max_ulp > MAX_POWER_ULP or not np.allclose(values, want, MAX_POWER_GAP, 0):
        return None
    if kind in LOW_TYPES:
        return Finding("frequency", f"the frequencies were computed in {kind}")
    return None


def _added(values: Floats, want: Floats, kind: str) -> Finding | None:
    """Return the finding that one number, or unrelated ones, are added to all frequencies of a list; else None."""
    off, last = values - want, len(want) // 2
    slack = unit(values, kind) + unit(want, kind)
    if not np.isfinite(off).all() or len(off) < MIN_LISTED:
        return None
    usual = float(np.median(off))
    if (np.abs(off - usual) <= slack).all() and (np.abs(off) > slack).mean() > 0.5:
        return Finding("offset", f"{near(usual, float(EPSILON[kind])):.6g} is added to every frequency")
    fast, slow = (float(part.std()) for part in (off[:last], off[last:]))
    both = np.count_nonzero(np.diff(np.sign(off[np.abs(off) > slack]))) > len(off) // 4
    if both and fast < 4 * slow < 16 * fast and slow > 4 * max(float(slack[last:].max()), abs(want[-1])):
        text = f"unrelated numbers, such as noise, are added to the frequencies: of standard deviation {off.std():.2g}"
        return Finding("random", text)
    return None


def _words(values: Floats, want: Floats) -> str:
    """Return what the numbers of a list show by themselves: zeros, NaN, a sign, wavelengths; "" for nothing."""
    if np.allclose(values, -want, MAX_REPEAT_GAP, 0):
        return "the sign of every frequency is changed"
    bad = {"zero": (values == 0) & (want != 0), "NaN or infinite": ~np.isfinite(values), "negative": values * want < 0}
    for word, where in bad.items():
        if where.any():
            return f"{numbered_are('frequency', np.flatnonzero(where))} {word}"
    if np.allclose(values, 2 * np.pi / want, MAX_REPEAT_GAP, 0):
        return "wavelengths stand where frequencies were expected"
    if np.allclose(values, 1 / want, MAX_REPEAT_GAP, 0):
        return "the file holds 1/frequency, by which MLX divides positions (_freqs)"
    return ""


def _times(values: Floats, want: Floats, kind: str) -> list[Finding]:
    """Return the finding that every frequency of a list is a number of times the expected one; [] where it is not."""
    slack = 4 * max(EPSILON[kind], EPSILON["float32"])
    ratio = float(near(float(np.median(values / want)), slack / 2))
    if (np.abs(values - ratio * want) > slack * abs(ratio) * want + unit(0 * want, kind)).any():
        return []
    return [Finding("factor", f"every frequency is {factor_text(ratio)} times the expected one")]


def _as_tables(values: Floats, table: Table) -> list[Finding]:
    """Return the first difference between the rotary tables of two lists of frequencies; [] where there are none."""
    if len(values) > MAX_FREQUENCIES:
        return []
    angles = np.outer(np.arange(FREQUENCY_ROWS), values)
    seen = InMemory({"cos": np.cos(angles), "sin": np.sin(angles)})
    try:
        wanted = Table.make(table.source, length=FREQUENCY_ROWS, layout="split", dtype="float64")
    except PecliError:  # of a grid, which has no further rows
        return []
    return (wave_differences(seen, wanted, compare_tables(seen, wanted)) or [])[:1]
