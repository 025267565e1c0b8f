"""The engine against plain NumPy, and against itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext

import numpy as np

from pecli.engine import STORAGE, FrequencySet, default_threads, fill
from pecli.numbers.decimals import FREQUENCY_DIGITS
from tests.bench.rows import Row

REPEATS = 9
THREADS = 2
USUAL = (32_768, 1024)
ROTARY = (262_144, 128)
LISTED = 10**7
CROWDS = (2, 4, 8, 16)


def frequencies(dim: int) -> list[Decimal]:
    """Give 10000^(-2i/dim)."""
    with localcontext() as context:
        context.prec = FREQUENCY_DIGITS
        ratio = (-Decimal(10000).ln() * 2 / dim).exp()
        found = [Decimal(1)]
        while len(found) < dim // 2:
            found.append(found[-1] * ratio)
        return found


def plain(rows: int, dim: int, cast: bool = True) -> np.ndarray:
    """Fill a table as is usually done."""
    w = 10000.0 ** (-np.arange(0, dim, 2) / dim)
    a = np.arange(rows)[:, None] * w
    t = np.empty((rows, dim))
    t[:, 0::2] = np.sin(a)
    t[:, 1::2] = np.cos(a)
    return t.astype(np.float32) if cast else t


def ours(rows: int, dim: int, dtype: str, threads: int = THREADS) -> np.ndarray:
    """Fill the same, the frequencies included, into a fresh array."""
    t = np.empty((rows, dim), STORAGE[dtype])
    fill(
        FrequencySet(frequencies(dim)), range(rows), [("sin", t[:, 0::2]), ("cos", t[:, 1::2])], dtype, threads=threads
    )
    return t


def rotary(rows: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Fill two arrays."""
    c, s = (np.empty((rows, dim // 2), np.float32) for _ in range(2))
    fill(FrequencySet(frequencies(dim)), range(rows), [("cos", c), ("sin", s)], "float32", threads=THREADS)
    return c, s


def plain_rotary(rows: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Fill them as is usually done."""
    a = np.arange(rows)[:, None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    return np.cos(a).astype(np.float32), np.sin(a).astype(np.float32)


def interleaved(*works: Callable[[], object]) -> list[float]:
    """Time each work in turn, several times; the best of each."""
    best = [float("inf")] * len(works)
    for _ in range(REPEATS):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def per_value(multiples: range | np.ndarray, dim: int) -> float:
    """Time one value of a long table, filled block by block into the same 8 MiB."""
    wheel = FrequencySet(frequencies(dim))
    block = (8 << 20) // (4 * dim)
    t = np.empty((block, dim), np.float32)
    start = time.perf_counter()
    for at in range(0, len(multiples) - block + 1, block):
        fill(wheel, multiples[at : at + block], [("sin", t[:, 0::2]), ("cos", t[:, 1::2])], "float32", threads=THREADS)
    return (time.perf_counter() - start) / (len(multiples) // block * block * dim)


def rows() -> Iterator[Row]:
    """Measure; each row is a ratio."""
    times = interleaved(
        lambda: plain(*USUAL),
        lambda: plain(*USUAL, cast=False),
        lambda: ours(*USUAL, "float32"),
        lambda: ours(*USUAL, "float64"),
        lambda: ours(*USUAL, "float16"),
        lambda: ours(*USUAL, "bfloat16"),
    )
    usual, uncast, single, double, half, brain = times
    yield Row("float32 32768 x 1024, fresh array, two threads, against plain NumPy", usual / single, "x faster", 14, 18)
    yield Row("float64 32768 x 1024, against plain NumPy without the cast", uncast / double, "x faster", 5, 7)
    yield Row("float16 32768 x 1024, against float32", half / single, "x", 1.1, 0.9)
    yield Row("bfloat16 32768 x 1024, against float32", brain / single, "x", 0.95, 0.8)
    times = interleaved(
        lambda: plain(*ROTARY), lambda: ours(*ROTARY, "float32"), lambda: plain_rotary(*ROTARY), lambda: rotary(*ROTARY)
    )
    yield Row("float32 262144 x 128, against plain NumPy", times[0] / times[1], "x faster", 16, 20)
    yield Row("rotary cos, sin pair 262144 x 64 each, against plain NumPy", times[2] / times[3], "x faster", 13, 20)
    long, longer = per_value(range(10**8 // 128), 128), per_value(range(10**9 // 128), 128)
    yield Row("cost of a value among 10^9, against 10^8", longer / long, "x", 1.2)
    positions = np.random.default_rng(0).integers(0, 10**8, LISTED)
    pairs = [(per_value(positions, 64), per_value(range(LISTED), 64)) for _ in range(3)]
    listed, ranged = (min(times) for times in zip(*pairs, strict=True))
    yield Row("a list of 10^7 scattered positions, against a range of as many, 64 columns", listed / ranged, "x", 3)
    team = dict.fromkeys((1, *CROWDS, default_threads()))
    times = dict(zip(team, interleaved(*(lambda n=n: ours(*USUAL, "float32", n) for n in team)), strict=True))
    most = max(CROWDS, key=times.__getitem__)
    yield Row(
        f"{min(CROWDS)} to {max(CROWDS)} threads (worst: {most}), against one for each core",
        times[most] / times[default_threads()],
        "x",
        1.1,
    )
    yield Row("one thread for each core, against one thread", times[default_threads()] / times[1], "x", 1)


if __name__ == "__main__":
    for row in rows():
        print(f"{row.what:<80} {row.value:.2f}  (reach {row.reach}, goal {row.goal})")
