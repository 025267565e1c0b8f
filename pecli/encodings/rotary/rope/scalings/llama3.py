"""Llama 3.1: by wavelength as they are, over the factor, or smoothly between (arXiv:2407.21783 and its code)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import partial
from typing import Annotated

from pecli.encodings.rotary.rope.scalings import Frequencies, PlainSeries, Reader, RopeType, Scaling, inverse_powers
from pecli.encodings.shared.deferred import Float32, np
from pecli.encodings.shared.parameters import Factor, OriginalMax
from pecli.numbers.decimals import CONTEXT, TAU, number_text
from pecli.spec.declaration import Param
from pecli.spec.hooks import Change, other_values
from pecli.spec.plans import Waves


def _frequencies(
    series: PlainSeries,
    *,
    factor: Factor,
    original_max: OriginalMax,
    low_freq_factor: Annotated[Decimal, Param(gt=0)] = Decimal(1),
    high_freq_factor: Annotated[Decimal, Param(gt=0)] = Decimal(4),
) -> Frequencies:
    """Return the exact frequencies; the order of the tests matters where low exceeds high.

    Formula
    -------
    t_i = original-max w_i / (2 pi), the turns of pair i
    below low-freq-factor w'_i = w_i / factor, above high-freq-factor w'_i = w_i, and between
    w'_i = (1 - s) w_i / factor + s w_i, s = (t_i - low-freq-factor) / (high-freq-factor - low-freq-factor)

    Parameters
    ----------
    low_freq_factor
        Wavelengths above original-max / this are multiplied by the factor.
    high_freq_factor
        Wavelengths below original-max / this are unchanged.
    """
    return _by_turns(series.frequencies, factor, Decimal(original_max), low_freq_factor, high_freq_factor)


def _by_turns(
    frequencies: Iterable[Decimal], factor: Decimal, original: Decimal, low: Decimal, high: Decimal
) -> Frequencies:
    """Return frequencies scaled by their turns within the original length."""

    def scaled(w: Decimal) -> Decimal:
        turns = original * w / TAU
        if turns < low:
            return w / factor
        if turns > high:
            return w
        smooth = (turns - low) / (high - low)
        return (1 - smooth) * w / factor + smooth * w

    with localcontext(CONTEXT):
        return tuple(map(scaled, frequencies))


def _float32(
    series: PlainSeries, *, factor: Decimal, original_max: int, low_freq_factor: Decimal, high_freq_factor: Decimal
) -> Float32:

    f32, one = np.float32, np.float32(1)
    plain = inverse_powers(series.base, series.width)
    times, low, high = f32(factor), float(low_freq_factor), float(high_freq_factor)
    wavelength = f32(2 * math.pi) / plain
    slow, fast = wavelength > f32(original_max / low), wavelength < f32(original_max / high)
    scaled = np.where(slow, plain / times, plain)
    smooth = (f32(original_max) / wavelength - f32(low)) / f32(high - low)
    between = (one - smooth) * scaled / times + smooth * scaled
    return np.asarray(np.where(~fast & ~slow, between, scaled))


def _read(reader: Reader, width: int) -> dict[str, str]:
    return {
        "scaling": "llama3",
        "factor": reader.text("factor"),
        "original-max": str(reader.original),
        "low-freq-factor": reader.text("low_freq_factor"),
        "high-freq-factor": reader.text("high_freq_factor"),
    }


def _by_wavelength(
    frequencies: Frequencies, factor: Decimal, original: Decimal, low: Decimal, high: Decimal, *, backwards: bool
) -> Frequencies:
    """Return frequencies whose ramp is linear in the wavelength, from its long end on where it runs backwards."""
    first, last = original / high, original / low

    def scaled(w: Decimal) -> Decimal:
        share = (TAU / w - first) / (last - first)
        if backwards and 0 < share < 1:
            share = 1 - share
        return w / (1 + min(max(share, Decimal(0)), Decimal(1)) * (factor - 1))

    return frequencies if low == high else tuple(map(scaled, frequencies))


Numbers = tuple[Decimal, Decimal, Decimal, Decimal]  # factor, original length, low and high factor
# What another formula makes of the plain and of the scaled frequencies.
OTHER_FORMULAS: dict[str, Callable[[Frequencies, Frequencies, Numbers], Frequencies]] = {
    "scaling llama3 is applied twice": lambda _, scaled, numbers: _by_turns(scaled, *numbers),
    "2 pi is missing in the wavelengths: 1 / w was taken where 2 pi / w was expected": (
        lambda plain, _, numbers: _by_turns(plain, numbers[0], numbers[1] * TAU, *numbers[2:])
    ),
    "the ramp is linear in the wavelength, where it should be in its inverse": (
        lambda plain, _, numbers: _by_wavelength(plain, *numbers, backwards=False)
    ),
    "the ramp runs the other way over the wavelengths: the short ones in it get the factor": (
        lambda plain, _, numbers: _by_wavelength(plain, *numbers, backwards=True)
    ),
}


def _otherwise(keys: Mapping[str, str], text: str, waves: Waves) -> Waves:
    """Return waves with frequencies that are scaled by another formula."""
    (band,) = waves.bands
    factor, original, low, high = (
        Decimal(keys[option]) for option in ("factor", "original-max", "low-freq-factor", "high-freq-factor")
    )
    scaled = tuple(w for w in band.frequencies if isinstance(w, Decimal))
    with localcontext(CONTEXT):
        other = OTHER_FORMULAS[text](PlainSeries.of(keys).frequencies, scaled, (factor, original, low, high))
    return replace(waves, bands=(band._replace(frequencies=other),))


def _mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the two ends exchanged, no ramp between them, and others."""
    low, high = "low-freq-factor", "high-freq-factor"
    other = {low: keys[high], high: keys[low]}
    if Decimal(keys[low]) >= Decimal(keys[high]):
        yield Change("scaling", f"{low} and {high} are exchanged", other)
    else:  # the first test then takes all that lie between
        no_ramp = "or the frequencies between them are not smoothed but divided by the factor"
        yield Change("scaling", f"{low} and {high} are exchanged, {no_ramp}", other)
    for text in OTHER_FORMULAS:
        yield Change("scaling", text, waves=partial(_otherwise, keys, text))
    end = {high: number_text(Decimal(keys[low]) + Decimal("1e-20"))}  # right after the other: no ramp
    yield Change("scaling", f"the frequencies between {low} and {high} are not smoothed but left as they are", end)
    yield from other_values(keys, low, "1", "2", "0.5", "4")
    yield from other_values(keys, high, "4", "2", "8", "16", "32", "1")


SCALING = Scaling(
    "llama3", 8, _frequencies, _float32, types=(RopeType("llama3", _read, original_outside=True),),
    mistakes=_mistakes,
)  # fmt: skip
