"""Identification of tables of plain numbers: positions, bits, zeros, indices of buckets and windows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from pecli.identification.finders.buckets import bucket_rules
from pecli.identification.finders.guesses import Guess
from pecli.measures.readings import squeezed
from pecli.measures.samples import Floats, Sample
from pecli.measures.spectra import text
from pecli.numbers.shortest import digits, shortest


def guesses(sample: Sample) -> Iterator[Guess]:
    """Yield what one array of plain numbers may be."""
    values = squeezed(sample.planes[0].values)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not np.isfinite(values).all():
        return
    if not values.any():
        yield Guess("none", {"dim": str(values.shape[1])}, {}, 1.0, determined=False)
        return
    whole = bool((values == np.round(values)).all())
    if whole and set(np.unique(values)) <= {-1.0, 0.0, 1.0}:
        yield from _bits(values)
    if whole and values.shape[1] == 1 and len(values) % 2 and len(values) > 4:
        yield from _by_distance(values[:, 0], "distance")
    if whole:
        yield from _indices(sample, values)
    yield from _ramps(sample, values)


def _bits(values: Floats) -> Iterator[Guess]:
    """Yield binary and Gray codes; the first row and the changes say where they start."""
    signed = bool((values < 0).any())
    if signed and not (np.abs(values) == 1).all():
        return
    bits = (values > 0).astype(object)
    width = values.shape[1]
    for msb in (False, True):
        weights = [1 << (width - 1 - i if msb else i) for i in range(width)]
        numbers = [int(sum(w for w, b in zip(weights, row, strict=True) if b)) for row in bits]
        for code in ("binary", "gray"):
            decoded = numbers if code == "binary" else [_from_gray(n) for n in numbers]
            steps = {b - a for a, b in pairwise(decoded)}
            if len(steps) != 1 or 0 in steps or decoded[0] >= 1 << 53:
                continue
            keys = {"dim": str(width)}
            keys |= {"msb": "true"} if msb else {}
            keys |= {"code": code} if code != "binary" else {}
            keys |= {"signed": "true"} if signed else {}
            table = {"start": str(decoded[0])} if decoded[0] else {}
            table |= {"step": str(steps.pop())} if steps != {1} else {}
            known = len(values) > 3  # the bits of two or three rows may stand in line by chance
            yield Guess("binary", keys, table, 2.0 + msb + (code != "binary"), determined=known)


def _from_gray(number: int) -> int:
    found = 0
    while number:
        found ^= number
        number >>= 1
    return found


def _ramps(sample: Sample, values: Floats) -> Iterator[Guess]:
    """Yield tables whose columns are lines: positions, scaled, and rotary angles."""
    n = len(values)
    if n < 3:
        return
    rise = (values[-1] - values[0]) / (n - 1)
    line = values[0] + np.outer(np.arange(n), rise)
    size = np.maximum(np.abs(values), np.abs(rise))
    if (np.abs(values - line) > 4 * sample.resolution * size + 1e-300).any() or not (rise != 0).any():
        return
    first = values[:, 0]
    if (values == first[:, None]).all() or values.shape[1] == 1:
        yield from _integers(sample, float(rise[0]), float(values[0, 0]), values.shape[1], n)
    else:
        yield from _scales(sample, rise, values)


def _integers(sample: Sample, rise: float, start: float, width: int, rows: int) -> Iterator[Guess]:
    """Yield p and p / (L - 1), the same in every column."""
    loose = 4 * sample.resolution
    if rise == round(rise) and start == round(start):
        yield Guess("integer", {"dim": str(width), "raw": "true"}, _from(start, rise), 2.0)
    inverse = 1 / rise
    if abs(inverse - round(inverse)) <= loose * abs(inverse) and inverse >= 1:
        last = round(inverse)
        keys = {"dim": str(width), "max-len": str(last + 1)}
        yield Guess("integer", keys, _from(round(start * last), 1), 2.0 + (last + 1 != rows))


def _from(start: float, step: float) -> dict[str, str]:
    table = {"start": f"{start:g}"} if start else {}
    return table | ({"step": f"{step:g}"} if step != 1 else {})


def _scales(sample: Sample, rise: Floats, values: Floats) -> Iterator[Guess]:
    """Yield p/(L-1) (i/(d-1))^a by column, and angles p w_i."""
    width = len(rise)
    if rise[0] == 0 and (rise[1:] > 0).all() and width > 2:
        i = np.arange(1, width) / (width - 1)
        middle = width // 2
        exponent = math.log(rise[middle] / rise[-1]) / math.log(i[middle - 1])
        last = round(1 / rise[-1])
        spread = 8 * sample.resolution / abs(math.log(i[middle - 1]))
        scales = shortest(exponent - spread, exponent + spread)
        if scales > 0 and last >= 1:
            keys = {"dim": str(width), "max-len": str(last + 1), "scales": text(scales)}
            start = round(float(values[0, -1]) * last)
            yield Guess("integer", keys, _from(start, 1), 3.0 + digits(scales))
    if (rise > 0).all():
        yield from _angles(sample, rise, values)


def _angles(sample: Sample, rise: Floats, values: Floats) -> Iterator[Guess]:
    """Yield rotary angles: the frequencies can be read off."""
    from pecli.identification.finders.ramps import ramps
    from pecli.measures.spectra import LEVELS, Measured, geometric, ntk
    from pecli.numbers.positions import fraction_text

    width = len(rise)
    errors = 2 * sample.resolution * np.maximum(np.abs(values[-1]), np.abs(values[0])) / (len(values) - 1)
    for level in LEVELS:
        measured = Measured(rise, errors, float(width)).at(level)
        spectra = list(geometric(measured))
        spectra += [other for found in spectra for other in ntk(measured, found)] or list(ramps(measured))
        for spectrum in sorted(spectra, key=lambda s: s.cost)[:4]:
            start = float(values[0, 0]) / float(rise[0]) * float(spectrum.step)
            table = {"layout": "angles"}
            table |= {"start": f"{round(start)}"} if round(start) else {}
            table |= {"step": fraction_text(spectrum.step)} if spectrum.step != 1 else {}
            keys = {"dim": str(2 * width), **spectrum.keys}
            if keys.get("scaling") == "yarn":
                keys["scaling"] = "ntk-by-parts"
            yield Guess("rope", keys, table, spectrum.cost, level)
        if spectra:
            return


def _indices(sample: Sample, values: Floats) -> Iterator[Guess]:
    """Yield indices of distances: clipped, or in buckets, (n, n)."""
    n, width = values.shape
    if n != width or n < 3:
        return
    low, high = values[-1, :], values[0, :]
    by_distance = np.concatenate([low, high[1:]])
    if not all(np.array_equal(values[i], by_distance[n - 1 - i : 2 * n - 1 - i]) for i in range(0, n, max(1, n // 16))):
        yield from _windows(values)
        return
    yield from _by_distance(by_distance, "index")


def _by_distance(values: Floats, form: str) -> Iterator[Guess]:
    """Yield indices by distance -(n-1)..n-1."""
    n = (len(values) + 1) // 2
    distances = np.arange(-(n - 1), n)
    table = {"form": form, "length": str(n)}
    most = int(values.max())
    clipped = np.clip(distances, -(most // 2), most // 2) + most // 2
    if form == "index" and most % 2 == 0 and np.array_equal(clipped, values):
        yield Guess("shaw", {"dim": "1", "clip": str(most // 2)}, table, 2.0, determined=most // 2 < n)
    if values[n - 1] == 0:
        parts = np.concatenate([[0], np.cumsum(np.diff(values) != 0)]).astype(np.int64)
        for keys in bucket_rules(parts, distances):
            yield Guess("t5", keys, table, 3.0)
    if form != "index":
        return
    for buckets in (256, 64, 32, 128, 0, 512):
        for reach in (512, 128, 256, 1024, 2048, 1000):
            for shifted in ("false", "true"):
                keys = {"buckets": str(buckets), "max-distance": str(reach), "shifted": shifted}
                yield Guess("deberta", keys, table, 4.0)


def _windows(values: Floats) -> Iterator[Guess]:
    """Yield Swin's and BEiT's index of a window."""
    n = len(values)
    for cls in (False, True):
        tokens = n - cls
        for height in range(1, tokens + 1):
            if tokens % height == 0:
                keys = {"grid": f"{height}x{tokens // height}", **({"cls": "true"} if cls else {})}
                yield Guess("window", keys, {"form": "index"}, 3.0)
