"""The same bytes, whatever computes them: processor, library, threads, blocks, slices, order."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pecli.engine import STORAGE, FrequencySet, fill, planning
from tests.support.phase_digests import digests, features
from tests.support.phase_reference import frequencies

DTYPES = list(STORAGE)
ROOT = Path(__file__).parents[2]


def child(**environment: str) -> dict[str, Any]:
    """Digests from another process."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.support.phase_digests"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return digests()


def masks() -> list[Any]:
    """Ever more of the processor's features, from the newest down to NumPy's baseline; the last by default."""
    every = features()
    return [
        pytest.param(every[-count:], marks=() if count == len(every) else pytest.mark.exhaustive)
        for count in range(1, len(every) + 1)
    ]


@pytest.mark.parametrize("mask", masks(), ids=lambda mask: "-".join(mask))
def test_masked_processor_features_change_no_byte(mask: list[str], here: dict[str, str]) -> None:
    found = child(NPY_DISABLE_CPU_FEATURES=" ".join(mask))
    assert not set(mask) & set(found["features"])
    assert found["digests"] == here


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="masks glibc's choice of code")
def test_masking_fma_and_avx2_in_the_mathematical_library_changes_no_byte(here: dict[str, str]) -> None:
    tunables = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX2_Usable,-AVX,-FMA,-FMA_Usable,-FMA4"
    found = child(NPY_DISABLE_CPU_FEATURES=" ".join(features()), GLIBC_TUNABLES=tunables)
    assert found["digests"] == here


@pytest.mark.skipif(not {"X86_V3", "AVX2", "FMA3"} & set(features()), reason="the processor has nothing to mask")
def test_the_masks_do_change_plain_numpy() -> None:
    assert child()["plain"] != child(NPY_DISABLE_CPU_FEATURES=" ".join(features()))["plain"]


def table(wheel: FrequencySet, multiples: Any, dtype: str, **options: Any) -> np.ndarray[Any, Any]:
    out = np.empty((len(multiples), 2 * wheel.count), STORAGE[dtype])
    fill(wheel, multiples, [("sin", out[:, 0::2]), ("cos", out[:, 1::2])], dtype, **options)
    return out.view(f"u{out.itemsize}")


def wheel() -> FrequencySet:
    return FrequencySet(frequencies("10000", 80), magnitude=Decimal("1.0625"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_and_blocks_change_no_byte(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = table(wheel(), range(-700, 60_000), dtype)
    for threads, rows in ((2, None), (7, None), (1, 1000), (3, 37), (1, 10**6)):
        if rows is not None:
            monkeypatch.setattr(planning, "TASK", rows * wheel().count)
        assert np.array_equal(table(wheel(), range(-700, 60_000), dtype, threads=threads), whole)


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_and_orders_change_no_byte(dtype: str) -> None:
    rng = np.random.default_rng(3)
    turning = wheel()
    whole = table(turning, range(-2000, 12_000), dtype)
    for first, last, step in (
        (0, 5000, 1),
        (123, 777, 1),
        (13_000, 14_000, 1),
        (5, 14_000, 7),
        (14_000 - 1, 10, -3),
        (40, 60, 1),
    ):
        chosen = range(-2000, 12_000)[first:last:step]
        assert np.array_equal(table(turning, chosen, dtype), whole[first:last:step])
        assert np.array_equal(table(turning, np.array(chosen), dtype), whole[first:last:step])
    for count in (10, 3000):
        order = rng.permutation(14_000)[:count]
        assert np.array_equal(table(turning, order - 2000, dtype), whole[order])
    narrow = FrequencySet(frequencies("10000", 80)[:9], magnitude=Decimal("1.0625"))
    assert np.array_equal(table(narrow, range(-2000, 12_000), dtype), whole[:, :18])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_unit_of_the_positions_changes_no_byte(dtype: str) -> None:
    given = frequencies("10000", 40)
    whole = table(FrequencySet(given), range(1500), dtype)
    assert np.array_equal(table(FrequencySet(given, unit=Fraction(1, 1000)), range(0, 1_500_000, 1000), dtype), whole)
    assert np.array_equal(table(FrequencySet(given, unit=Fraction(1, 2**40)), np.arange(1500) << 40, dtype), whole)


@pytest.mark.parametrize("dtype", DTYPES)
def test_several_callers_of_one_wheel_get_the_same_bytes(dtype: str) -> None:
    rows = 30_000
    whole = table(wheel(), range(rows), dtype)
    shared = wheel()
    out = np.zeros_like(whole).view(STORAGE[dtype])
    starts = iter(range(0, rows, 1900))
    lock = threading.Lock()

    def write() -> None:
        while True:
            with lock:
                at = next(starts, None)
            if at is None:
                return
            piece = out[at : at + 1900]
            fill(shared, range(at, min(rows, at + 1900)), [("sin", piece[:, 0::2]), ("cos", piece[:, 1::2])], dtype)

    callers = [threading.Thread(target=write) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert np.array_equal(out.view(whole.dtype), whole)
