"""The rounding test itself: its error bounds hold, and what it doubts is settled rightly.

A random sample cannot see one wrong value in 10^8, so whole tables are checked, in two ways that
lead straight to the doubtful places.
 - Every bound is multiplied by 64 or more.  Then every value within so many times the proven
   distance of a rounding boundary is settled in integers; the table must not change by a bit.
 - float64 values are correctly rounded by a path of their own.  Rounded once more they give the
   narrow table, save where one lies on a boundary: those are compared with mpmath.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pecli.engine import STORAGE, FrequencySet, fill, narrow
from pecli.engine import frequencies as engine_frequencies
from pecli.engine import planning as tasks
from pecli.engine import runs as narrow_run
from pecli.engine import runs as wide_run
from pecli.engine.angles import LIMB
from pecli.engine.narrowing import DoubtWindow
from pecli.engine.rotation_tables import RotationTable, Split, StepRotations, combine, group_size
from pecli.engine.runs import fill_points, has_points, plane_error
from tests.support.phase_reference import frequencies, wanted

NARROW = ["float16", "bfloat16", "float32"]
FACTORS = {"float16": 2**20, "bfloat16": 2**20, "float32": 64, "float64": 64}
"""The first stage of the half types flags everything within 2^-26 of a midpoint."""

DEFAULT = 2**23
EXHAUSTIVE = 10**9


def stretches(values: int, columns: int, start: int) -> Iterator[range]:
    """Ranges of multiples that cover so many values in pieces that memory holds."""
    rows = values // (2 * columns)
    piece = max(1, 2**22 // columns)
    for at in range(0, rows, piece):
        yield range(start + at, start + min(at + piece, rows))


def table(given: FrequencySet, multiples: range, dtype: str) -> np.ndarray[Any, Any]:
    """Sines and cosines, interleaved."""
    out = np.empty((len(multiples), 2 * given.count), STORAGE[dtype])
    fill(given, multiples, [("sin", out[:, 0::2]), ("cos", out[:, 1::2])], dtype, threads=2)
    return out


@contextmanager
def widened_bounds(factor: int) -> Iterator[list[int]]:
    """Widen every bound and settle in integers only; the result counts what was settled."""
    settled: list[int] = []
    exactly = engine_frequencies.FrequencySet._round_exactly

    def counted(self: FrequencySet, multiples: Any, *rest: Any) -> Any:
        settled.append(len(multiples))
        return exactly(self, multiples, *rest)

    window = DoubtWindow(64 * narrow_run.FIRST_PLANE / narrow_run.SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrow_run, "PLANE", factor * narrow_run.PLANE)
        patch.setattr(narrow_run, "RELATIVE", factor * narrow_run.RELATIVE)
        patch.setattr(narrow_run, "WINDOW", window)
        patch.setattr(tasks, "WINDOW", window)
        patch.setattr(wide_run, "ERROR", factor * wide_run.ERROR)
        patch.setattr(engine_frequencies, "MIN_MULTIPLES", 1 << 62)
        patch.setattr(engine_frequencies.FrequencySet, "_round_exactly", counted)
        yield settled


def check_settled(values: int, columns: int, start: int, dtype: str) -> None:
    """Compare tables made with plain and with widened bounds."""
    given = frequencies("10000", 2 * columns)
    plain = FrequencySet(given)
    doubting = FrequencySet(given)
    for multiples in stretches(values, columns, start):
        expected = table(plain, multiples, dtype)
        with widened_bounds(FACTORS[dtype]) as settled:
            got = table(doubting, multiples, dtype)
        assert np.array_equal(got.view(np.uint8), expected.view(np.uint8))
        assert sum(settled) > got.size >> 20, "the check must lead to doubtful places"


def midpoints(values: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """Where a float64 lies midway between two values of the type, or is smaller than its normal numbers."""
    cut = {"float16": 42, "bfloat16": 45, "float32": 29}[dtype]
    low = values.view(np.uint64) & np.uint64((1 << cut) - 1)
    small = np.abs(values) < {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126}[dtype]
    return (low == np.uint64(1 << (cut - 1))) | (small & (values != 0))


def check_narrowed(values: int, columns: int, start: int, dtype: str) -> None:
    """Compare narrow tables with float64 ones rounded again; those on a boundary with mpmath."""
    given = frequencies("10000", 2 * columns)
    freqs = FrequencySet(given)
    for multiples in stretches(values, columns, start):
        got, fine = table(freqs, multiples, dtype), table(freqs, multiples, "float64")
        on_boundary = midpoints(fine, dtype)
        bits = f"u{got.itemsize}"
        assert np.array_equal(got.view(bits)[~on_boundary], narrow(fine, None, dtype).view(bits)[~on_boundary])
        for i, k in np.argwhere(on_boundary).tolist():
            part, j = ("sin", "cos")[k % 2], k // 2
            if multiples[i] == 0:
                continue
            expected = wanted(multiples[i], given[j], part, dtype, Fraction(1), Decimal(1), False)
            assert got[i, k] == narrow(np.array([expected]), None, dtype)[0]


@pytest.mark.parametrize("dtype", [*NARROW, "float64"])
@pytest.mark.parametrize(("columns", "start"), [(64, 0), (256, 2**52)])
@pytest.mark.sample(2)
def test_doubting_more_changes_nothing(dtype: str, columns: int, start: int) -> None:
    check_settled(4 * DEFAULT, columns, start, dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [*NARROW, "float64"])
@pytest.mark.parametrize(("columns", "start"), [(64, 0), (512, 0), (256, 2**52)])
def test_doubting_more_changes_nothing_in_a_thousand_million(dtype: str, columns: int, start: int) -> None:
    check_settled(EXHAUSTIVE, columns, start, dtype)


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_tables_are_the_float64_ones_rounded(dtype: str) -> None:
    check_narrowed(DEFAULT, 64, 0, dtype)
    check_narrowed(DEFAULT, 100, 2**40 + 12345, dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(("columns", "start"), [(64, 0), (512, 0)])
def test_narrow_tables_are_the_float64_ones_rounded_in_a_thousand_million(dtype: str, columns: int, start: int) -> None:
    check_narrowed(EXHAUSTIVE, columns, start, dtype)


CASES = {
    "usual": ("10000", 128, 0, 1, Decimal(1)),
    "far": ("10000", 96, 2**53 - 40000, 1, Decimal(1)),
    "steps": ("5e5", 64, 3, 10**9 + 7, Decimal("1.37")),
    "fast": ("0.000001", 64, 0, 1, Decimal("-0.6")),
    "slow": ("1e30", 256, 0, 1, Decimal(1)),
}


@pytest.mark.parametrize("case", CASES)
def test_candidates_of_narrow_types_keep_their_bounds(case: str) -> None:
    base, dim, start, step, magnitude = CASES[case]
    freqs = FrequencySet(frequencies(base, dim), magnitude=magnitude)
    rotations = RotationTable(freqs, start % step, step, wide=False, bias=narrow_run.WINDOW.bias)
    group = group_size(rotations) * rotations.block
    index, rows = start // step // group, 3000
    anchors = StepRotations(rotations, index)
    n = np.arange(index * group, index * group + min(rows, group))
    anchor, offset = np.divmod(n, rotations.block)
    candidate = anchors.factors(False)[0][anchor - anchors.base] * rotations.offsets(False)[0][offset]
    cosine, sine = freqs.doubled_rows(rotations.offset + rotations.step * n)
    scale = narrow_run.WINDOW.bias * float(magnitude)
    true = (cosine.hi + 1j * sine.hi) * scale
    error = np.abs(candidate - true) / abs(float(magnitude))
    # the reference is rounded too, which the bound has to spare
    assert error.max() < narrow_run.FIRST_PLANE
    assert error.max() > narrow_run.PLANE / 64, "a bound far from the truth flags too much"
    slow = anchors.slow
    for got, wish in ((candidate.real, true.real), (candidate.imag, true.imag)):
        off = np.abs(got - wish)[1:, slow]
        assert (off <= narrow_run.RELATIVE * np.abs(wish[1:, slow])).all()


@pytest.mark.parametrize("case", CASES)
def test_candidates_of_float64_keep_their_bound(case: str) -> None:
    base, dim, start, step, magnitude = CASES[case]
    freqs = FrequencySet(frequencies(base, dim), magnitude=magnitude)
    rotations = RotationTable(freqs, start % step, step, wide=True)
    index = start // step // (group_size(rotations) * rotations.block)
    anchors = StepRotations(rotations, index)
    for k in (0, 3):
        main, rest = combine(Split(*anchors.factors(False)).rows(slice(k, k + 1)), Split(*rotations.offsets(False)))
        n = np.arange(rotations.block) + (anchors.base + k) * rotations.block
        cosine, sine = freqs.doubled_rows(rotations.offset + rotations.step * n)
        for m, r, true in ((main.real, rest.real, cosine), (main.imag, rest.imag, sine)):
            scaled = true * type(true)(*(np.broadcast_to(x, m.shape) for x in (freqs.magnitude.hi, freqs.magnitude.lo)))
            error = ((m - scaled.hi) + r) - scaled.lo
            assert np.abs(error).max() < wide_run.ERROR * 2.0**rotations.exponent


def test_single_and_doubled_points_keep_their_bounds() -> None:
    import mpmath

    from pecli.engine.angles import DOUBLED_ERROR, SINGLE_ERROR, TAILED_ERROR, doubled_point, reduce, single_point

    rng = np.random.default_rng(4)
    limbs = [rng.integers(0, 2**LIMB, 3000, dtype=np.uint64) for _ in range(6)]
    for place in range(1, 6):  # phases ever nearer to a quarter of a turn, from both sides
        for i, fillers in enumerate(((0, 0x40000000), (2**LIMB - 1, 0x3FFFFFFF))):
            chosen = slice(place * 200 + 100 * i, place * 200 + 100 * i + 100)
            for limb in limbs[6 - place :]:
                limb[chosen] = fillers[0]
            limbs[5][chosen] = fillers[1]
    points = (
        single_point(reduce([limb.copy() for limb in limbs])),
        single_point(reduce([limb.copy() for limb in limbs]), tails=True),
    )
    cosine, sine = doubled_point(reduce([limb.copy() for limb in limbs]))
    with mpmath.workprec(300):
        for i in range(3000):
            phase = mpmath.mpf(sum(int(limb[i]) << (LIMB * k) for k, limb in enumerate(limbs))) / 2 ** (6 * LIMB)
            cases = (
                (mpmath.cospi(2 * phase), points[0].cosine, points[1].cosine, points[1].cosine_tail, cosine),
                (mpmath.sinpi(2 * phase), points[0].sine, points[1].sine, points[1].sine_tail, sine),
            )
            for true, single, tailed, tail, doubled in cases:
                assert tail is not None
                near = abs(true) * SINGLE_ERROR + mpmath.mpf(2) ** (-6 * LIMB + 4)
                assert abs(float(single[i]) - true) <= near
                assert abs(mpmath.mpf(float(tailed[i])) + float(tail[i]) - true) <= TAILED_ERROR
                near = abs(true) * DOUBLED_ERROR + mpmath.mpf(2) ** (-6 * LIMB + 4)
                assert abs(mpmath.mpf(float(doubled.hi[i])) + float(doubled.lo[i]) - true) <= near


@pytest.mark.parametrize(
    ("start", "step", "magnitude"), [(0, 1, "1"), (12_345, 7, "1.3"), (10**9, 1, "-0.5"), (5, 999_983, "1")]
)
def test_points_that_are_not_rounded_err_by_less_than_is_claimed(start, step, magnitude):
    freqs = FrequencySet([*frequencies("10000", 64), Decimal(0), Decimal("-0.01")], magnitude=Decimal(magnitude))
    multiples = range(start, start + 3000 * step, step)
    assert has_points(freqs, multiples)
    points = np.empty((len(multiples), freqs.count), np.complex128)
    for part in (slice(0, 700), slice(700, 3000)):
        fill_points(freqs, multiples[part], points[part])
    factor = float(freqs.magnitude.hi)
    off = [
        (part - factor * exact.hi) - factor * exact.lo
        for part, exact in zip((points.real, points.imag), freqs.doubled_rows(np.array(multiples)), strict=True)
    ]
    assert np.hypot(*off).max() < plane_error(freqs) + 2.0**-52 * abs(factor)  # what is compared with is rounded here


def test_points_are_made_of_upward_runs_alone():
    freqs = FrequencySet(frequencies("10000", 8))
    assert not has_points(freqs, range(-1, 5))
    assert not has_points(freqs, range(5, 0, -1))
    assert not has_points(FrequencySet(frequencies("10000", 8), magnitude=Decimal("1e150")), range(5))
