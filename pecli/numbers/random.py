"""Seeded values drawn by a counter, so that any slice equals the whole.

The word of row r, column c is word r * width + c of Philox4x64-10 (Salmon et
al. 2011, "Parallel random numbers: as easy as 1, 2, 3") under the key (seed,
stream).  A normal value is the inverse of the normal distribution function at
the middle of the word's interval (Wichura 1988, algorithm AS 241), computed
with + - x / and square roots only: NumPy's logarithm changes with the CPU, and
the streams of its Generator are not promised across versions, while the words
of its Philox are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Values worked on at once: their working arrays stay in a core's cache.
CHUNK = 1 << 13

_LN2_HI = float.fromhex("0x1.62e42fee00000p-1")  # 33 bits: times an exponent below 2^11 it is exact
_LN2_LO = float.fromhex("0x1.a39ef35793c76p-33")

# Coefficients of AS 241, routine PPND16, from the highest power down; relative error about 1e-16.
_CENTRE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
_MIDDLE = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip
_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)  # fmt: skip


def words(seed: int, start: int, count: int, stream: int = 0) -> NDArray[np.uint64]:
    """Return words `start` to `start + count` of the stream, (count,) uint64."""
    generator = np.random.Philox(key=np.array([seed, stream], np.uint64), counter=start // 4)
    skip = start % 4
    return np.asarray(generator.random_raw(count + skip)[skip:])


def row_words(seed: int, rows: NDArray[np.int64], width: int, stream: int = 0) -> NDArray[np.uint64]:
    """Return the words of these rows, (n, width) uint64; consecutive rows are drawn in one go."""
    out = np.empty((len(rows), width), np.uint64)
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    for first, last in zip([0, *breaks], [*breaks, len(rows)], strict=True):
        if first < last:
            flat = words(seed, int(rows[first]) * width, (last - first) * width, stream)
            out[first:last] = flat.reshape(-1, width)
    return out


def uniform(drawn: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the middle of each word's interval in (0, 1): (k + 1/2) 2^-52 for its upper 52 bits, exactly."""
    return ((drawn >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def normal(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard normal values whose distribution function is `u`, in (0, 1)."""
    out = np.empty(u.shape)
    flat, given = out.reshape(-1), u.reshape(-1)
    for at in range(0, given.size, CHUNK):
        flat[at : at + CHUNK] = _normal(given[at : at + CHUNK])
    return out


def _normal(u: NDArray[np.float64]) -> NDArray[np.float64]:
    q = u - 0.5
    out: NDArray[np.float64] = q * _ratio(_CENTRE, 0.180625 - q * q)
    outside = np.abs(q) > 0.425
    if outside.any():
        tail = q[outside]
        r = np.sqrt(-_log(np.where(tail < 0, u[outside], 1.0 - u[outside])))
        value = np.where(r <= 5.0, _ratio(_MIDDLE, r - 1.6), _ratio(_TAIL, r - 5.0))
        out[outside] = np.where(tail < 0, -value, value)
    return out


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: NDArray[Any]) -> NDArray[Any]:
    """Return the quotient of two polynomials by Horner's rule."""
    above, below = (np.full_like(x, polynomial[0]) for polynomial in coefficients)
    for a, b in zip(coefficients[0][1:], coefficients[1][1:], strict=True):
        above *= x
        above += a
        below *= x
        below += b
    above /= below
    return above


def _log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the natural logarithm of normal numbers above 0, to about an ulp, with + - x / only.

    x = m 2^e with m in [1/sqrt 2, sqrt 2); ln m = 2 artanh s, s = (m-1)/(m+1),
    abs(s) <= 0.1716, whose series to s^23 leaves 2^-58.
    """
    bits = x.view(np.int64)
    exponent = (bits >> 52) - 1023
    m = ((bits & ((1 << 52) - 1)) | (1023 << 52)).view(np.float64)
    above = m > 1.4142135623730951
    m = np.where(above, 0.5 * m, m)
    e = (exponent + above).astype(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = np.full_like(z, 1.0 / 23)
    for k in range(21, 0, -2):
        series = series * z + 1.0 / k
    return e * _LN2_HI + (2.0 * s * series + e * _LN2_LO)
