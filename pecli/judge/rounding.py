"""Harmless rounding: which type or arithmetic explains all differences from the exact values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.comparison.results import Finding
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.printing import at_least, figure
from pecli.numbers.rounding import nearest

Floats = NDArray[np.float64]

MAX_LIBM_ULP = 1.5  # units that a sine may be off, beside its angle: one of the library, half of rounding; glibc, SVML
ANGLE_ROUNDINGS = {"float64": 16.0, "float32": 4.0}
"""Roundings of an angle p w, half a unit each: the frequency, its exponent and the product. An exponential of a rounded
logarithm loses 8 units. In float32 real differences would hide in that, so two units are allowed."""
MAX_PLAIN_ULP = 2  # units of 1 up to which float32 values are called harmless: beyond, angles have drifted
MAX_SAID_ULP = 1000  # units up to which --ulp is a useful tolerance: more are values near 0
MIN_DECIMALS = 2  # decimals that a table is printed with, at least
MAX_DECIMALS = 15


BITS = {
    "bfloat16": ("f4", "i4", 16),
    "float16": ("f2", "i2", 0),
    "float32": ("f4", "i4", 0),
    "float64": ("f8", "i8", 0),
}
"""Of each type: one that holds its numbers, integers of that size, and the bits of them that are always 0."""


def units(a: Floats, b: Floats, dtype: str) -> int:
    """Return how many numbers of a type lie between two of them, the most of all pairs."""
    finite = np.isfinite(a) & np.isfinite(b)
    kind, whole, shift = BITS[dtype]

    def ordinals(values: Floats) -> NDArray[np.int64]:
        bits = values[finite].astype(kind).view(whole).astype(np.int64)
        size = bits & np.iinfo(whole).max
        return np.where(bits < 0, -size, size) >> shift

    x, y = ordinals(a), ordinals(b)
    apart = np.maximum(x, y).view(np.uint64) - np.minimum(x, y).view(np.uint64)  # which wraps, and so fits
    return int(apart.max(initial=0))


def rounded(values: Floats, dtype: str) -> Floats:
    """Return values rounded to a type, as float64."""
    return values if dtype == "float64" else nearest(values, dtype)


def effective_dtype(values: Floats, stored: str) -> str:
    """Return the narrowest of bfloat16, float16, float32, float64 that holds all values exactly."""
    finite = values[np.isfinite(values)]
    kinds = sorted(
        (k for k in GRIDS if GRIDS[k].precision <= GRIDS[stored].precision), key=lambda k: GRIDS[k].precision
    )
    return next((kind for kind in kinds if np.array_equal(rounded(finite, kind), finite)), stored)


def cut(values: Floats, dtype: str) -> Floats:
    """Return values cut to a type, towards zero, as float64."""
    grid = GRIDS[dtype]
    exponent = np.maximum(np.frexp(values)[1] - 1, grid.lowest) - grid.precision + 1
    return np.asarray(np.ldexp(np.trunc(np.ldexp(values, -exponent)), exponent))


def rounding(actual: Any, exact: Any, dtype: str, angle_bound: Any = 0.0) -> Finding | None:
    """Return the rounding that explains every difference, and the tolerance that accepts it; None where none does.

    Parameters
    ----------
    actual : ndarray
        Numbers at hand.
    exact : ndarray
        The expected values in float64, before they are rounded to a type.
    dtype : {"float64", "float32", "float16", "bfloat16"}
        Effective type of the values at hand.
    angle_bound : float or ndarray
        Size of the angle p w of each value, or of the largest; 0 for what is no sine.
    """
    a, e = np.asarray(actual, np.float64), np.asarray(exact, np.float64)
    if a.shape != e.shape or not a.size:
        return None
    with np.errstate(all="ignore"):
        same = (a == e) | (np.isnan(a) & np.isnan(e))
        if same.all() or not np.isfinite(a[~same]).all() or not np.isfinite(e[~same]).all():
            return None
        angle = np.broadcast_to(np.abs(np.asarray(angle_bound, np.float64)), a.shape)[~same]
        return _explained(a[~same], e[~same], dtype, angle, a, e)


def _explained(a: Floats, e: Floats, dtype: str, angle: Floats, all_a: Floats, all_e: Floats) -> Finding | None:
    if np.array_equal(a, rounded(e, dtype)):
        return None if dtype == "float64" else _narrow(a, e, dtype, "rounded")
    for decimals in range(MIN_DECIMALS, MAX_DECIMALS + 1):
        unit = 10.0**-decimals
        if not (np.abs(all_a - all_e) <= unit * (1 + 2.0**-20)).all():
            return _by_arithmetic(a, e, dtype, angle)
        for how, made in (("rounded", np.round(all_e, decimals)), ("cut", np.trunc(all_e / unit) * unit)):
            slack = 2.0**-50 * np.abs(all_e) + GRIDS[dtype].rounding * np.abs(made) * (dtype != "float64")
            if (np.abs(all_a - made) <= slack).all():
                accepts = f"--digits {decimals}" if how == "rounded" else f"--atol {unit:g}"
                text = f"printed with {decimals} decimals ({how}), at most {figure(float(np.abs(a - e).max()), 2)} off"
                return Finding("rounding", f"{text}: harmless; {accepts} accepts it")
    return _by_arithmetic(a, e, dtype, angle)


def _by_arithmetic(a: Floats, e: Floats, dtype: str, angle: Floats) -> Finding | None:
    """Return the rounding of a type that the values went through, or of the angles in the arithmetic of their type."""
    for kind in ("bfloat16", "float16", "float32"):
        if GRIDS[kind].precision > GRIDS[dtype].precision:
            continue
        for source in (e, rounded(e, "float32")):
            if np.array_equal(a, rounded(rounded(source, kind), dtype)):
                return _narrow(a, e, kind, "rounded")
            if np.array_equal(a, cut(source, kind)):
                return _narrow(a, e, kind, "cut")
    off = np.abs(a - e)
    for arithmetic in ("float64", "float32"):
        if GRIDS[arithmetic].precision < GRIDS[dtype].precision:
            continue
        ulp = 2 * GRIDS[arithmetic].rounding
        stored = GRIDS[dtype].rounding * np.abs(e) if dtype != arithmetic else 0.0
        allowed = ulp * MAX_LIBM_ULP * np.maximum(np.abs(e), 2.0**-20) + stored
        allowed = allowed + ulp / 2 * ANGLE_ROUNDINGS[arithmetic] * angle
        if (off <= allowed).all():
            return _computed(a, e, dtype, arithmetic)
    return None


def _narrow(a: Floats, e: Floats, dtype: str, how: str) -> Finding:
    """Say that values went through a narrower type."""
    size = figure(float(np.abs(a - e).max()), 2)
    if how == "cut":
        return Finding("rounding", f"cut to {dtype} instead of rounded, at most 1 ulp of {dtype} ({size}) off")
    return Finding("rounding", f"rounded to {dtype}, at most {size} off")


def _computed(a: Floats, e: Floats, dtype: str, arithmetic: str) -> Finding:
    """Say that the arithmetic of a type gives the values, and which tolerance accepts them."""
    most = float(np.abs(a - e).max())
    count = units(a, rounded(e, dtype), dtype)
    accepts = [f"--ulp {count}"] if 0 < count <= MAX_SAID_ULP else []
    accepts.append(f"--atol {at_least(most, 1)}")
    said = (
        f"at most {count} ulp ({figure(most, 1)})" if accepts[0].startswith("--ulp") else f"at most {figure(most, 1)}"
    )
    plain = arithmetic == "float64" or most <= 2 * GRIDS[arithmetic].rounding * MAX_PLAIN_ULP
    what = f"{arithmetic} rounding" if plain else f"angles computed in {arithmetic}"
    harmless = "harmless; " if plain else ""
    return Finding("rounding", f"{what}, {said}: {harmless}{' or '.join(accepts)} accepts it")
