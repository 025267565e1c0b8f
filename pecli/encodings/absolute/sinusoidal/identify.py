"""The sinusoid's parameters from measured frequencies: base, spacing, scale of the position."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np

from pecli.numbers.decimals import CONTEXT, decimal_of, digits, number_text, power
from pecli.spec.hooks import Change, parameter_text
from pecli.spec.measured import PUBLISHED_BASES, TURN, Named, Pairs, plain_digits
from pecli.spec.plans import Band, Waves

# Digits that a measured amplitude counts at most.
MAX_SCALE_DIGITS = 4
# Digits that cosines before sines in one array count against a sinusoid at consecutive positions: a server's rotary
# cache is written so. Timesteps of a diffusion model have a step, which counts against such a cache as much.
COSINE_FIRST = 2.0


def identify(pairs: Pairs) -> Iterator[Named]:
    """Yield parameters of sinusoidal, the paper's spacing first."""
    found = layout(pairs)
    if pairs.still.any() or found is None:
        return
    order = {} if found[0]["order"] == "interleaved" else found[0]
    cosine_first = COSINE_FIRST if order and not pairs.sine_first else 0.0
    amplitude, doubt = _amplitude(pairs)
    own = {"dim": str(pairs.width), **order} | ({} if amplitude == 1 else {"amplitude": number_text(amplitude)})
    for odd, half in _halves(pairs):
        for named in _series(pairs, half):
            cost = named.fitted + doubt + 0.25 * bool(odd) + cosine_first * (named.step == 1)
            yield replace(named, keys={**own, **odd, **named.keys}, fitted=cost, magnitude=float(amplitude))


def _amplitude(pairs: Pairs) -> tuple[Decimal, float]:
    """Return 1, the square root of the width or its inverse, or the shortest decimal measured, with its cost."""
    low, high = (pairs.magnitude * (1 + 2 * sign * pairs.magnitude_error) for sign in (-1, 1))
    for usual, cost in ((1.0, 0.0), (pairs.width**-0.5, 1.0), (pairs.width**0.5, 1.0)):
        if low <= usual <= high:
            return Decimal(repr(usual)), cost
    return pairs.size, 0.5 + min(digits(pairs.size), MAX_SCALE_DIGITS)


def _halves(pairs: Pairs) -> list[tuple[dict[str, str], Fraction]]:
    """Return the treatments of an odd width that the last column allows, and the half that exponents divide by."""
    width = pairs.width
    if width % 2 == 0:
        return [({}, Fraction(pairs.count))]
    if pairs.tail == "zero":
        return [({"odd": "pad"}, Fraction(pairs.count))]
    return [({"odd": "truncate"}, Fraction(width, 2)), ({"odd": "round-up"}, Fraction(width + 1, 2))]


def _series(pairs: Pairs, half: Fraction) -> Iterator[Named]:
    """Yield base, spacing and scale of the frequencies."""
    m = pairs.count
    for shift in (0, 1) if half > 1 else (0,):
        exponents = np.arange(m) / float(half - shift)
        for scale in dict.fromkeys([Fraction(1), *pairs.positions_a_row(exponents)]):
            times = 2 * math.pi if scale == TURN else float(scale)
            for base in pairs.bases(exponents, times):
                frequencies = np.exp(-exponents * math.log(float(base)))
                if not pairs.fits(frequencies * times):
                    continue
                keys = {} if base == 10000 else {"base": number_text(base)}
                keys |= {"shift": str(shift)} if shift else {}
                cost = plain_digits(base, PUBLISHED_BASES) + 0.25 * shift
                if scale == TURN:
                    yield Named({**keys, "turns": "true"}, frequencies * times, Fraction(1), cost)
                else:
                    cost += pairs.step_digits(scale) + 0.5 if scale != 1 else 0.0
                    yield Named(keys, frequencies, scale, cost)


def layout(pairs: Pairs) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return the order of columns; None where a sinusoid has no such one."""
    if not pairs.single or pairs.layout not in ("alternate", "concat"):
        return None
    if pairs.layout == "concat":
        return {"order": "sin-cos" if pairs.sine_first else "cos-sin"}, {}
    return ({"order": "interleaved"}, {}) if pairs.sine_first else None


def differences(have: Mapping[str, str], want: Mapping[str, str]) -> list[str]:
    """Return the parameters that differ, as text; the order of columns is reported as a layout."""
    if {"max-timescale"} & (have.keys() ^ want.keys()):
        have, want = _as_series(have), _as_series(want)
    found = []
    for key in dict.fromkeys((*want, *have)):
        one, other = have.get(key, ""), want.get(key, "")
        if one == other or key in ("order", "odd"):  # of a layout, of another width
            continue
        text = parameter_text(key, one, other)
        if key == "shift" and {one, other} == {"0", "1"}:
            words = {"0": "the paper's spacing (exponent over d/2)", "1": "endpoint spacing (exponent over d/2 - 1)"}
            text = f"{words[one]} where {words[other]} was expected"
        found.append(text)
    return found


def _as_series(keys: Mapping[str, str]) -> Mapping[str, str]:
    """Return the parameters with time scales as the base, the shift and the scale that mean the same."""
    if "max-timescale" not in keys:
        return keys
    low, scale = Decimal(keys["min-timescale"]), Decimal(keys.get("scale", "1"))
    base = number_text(CONTEXT.divide(Decimal(keys["max-timescale"]), low))
    return {**{key: value for key, value in keys.items() if not key.endswith("-timescale")},
            "base": base, "shift": "1", "scale": number_text(low * scale)}  # fmt: skip


APART = "sine and cosine of a pair have different frequencies"


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield exponents that people write instead of 2i/d."""
    is_halved = keys.get("order", "interleaved") != "interleaved"
    for times in (2, 1):
        own = "2j/d" if times == 2 else "j/d"
        text = f"{APART}: column j has exponent {own} where 2 (j // 2)/d was expected"
        if is_halved:
            text = f"{APART}: exponents {2 * times}i/d and ({2 * times}i + {times})/d where 2i/d was expected of both"
        yield Change("exponent", text, waves=partial(by_column, times))
    text = "the exponent of pair i is 2 (i // 2)/d where 2i/d was expected: each frequency stands in two pairs"
    yield Change("exponent", text, waves=partial(_same_frequency, 2))
    text = "integer division in the exponent: every pair has the same frequency, 1"
    yield Change("exponent", text, waves=partial(_same_frequency, 1 << 20))


def by_column(times: int, waves: Waves) -> Waves:
    """Return waves whose columns each have a frequency of their own, base^(-times j / d), j counting sines and cosines.

    These alternate, whatever their order in the array is; of several axes each has its own.
    """
    parts = list[Band]()
    for band in waves.bands:
        if len(band.frequencies) < 2 or band.sin is None or band.cos is None:
            return waves
        ratio = CONTEXT.divide(decimal_of(band.frequencies[1]), decimal_of(band.frequencies[0]))
        cosines_first = (band.cos.start or 0) < (band.sin.start or 0)
        for part in ("sin", "cos"):
            first = decimal_of(band.frequencies[0])
            odd = (part == "cos") != cosines_first
            powers = (Fraction(times * (2 * k + odd), 2) for k in range(len(band.frequencies)))
            frequencies = tuple(CONTEXT.multiply(first, power(ratio, one)) for one in powers)
            parts.append(band._replace(frequencies=frequencies, sin=band.sin if part == "sin" else None,
                                       cos=band.cos if part == "cos" else None))  # fmt: skip
    return replace(waves, bands=tuple(parts))


def _same_frequency(count: int, waves: Waves) -> Waves:
    """Return waves with the first frequencies, each in this many neighbouring pairs."""
    parts = ((band, band.frequencies) for band in waves.bands)
    bands = tuple(band._replace(frequencies=tuple(w[k // count] for k in range(len(w)))) for band, w in parts)
    return replace(waves, bands=bands)
