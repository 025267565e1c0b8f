"""RoPE's parameters from measured frequencies: a plain series, a step or linear factor, NTK's base, and the ramps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from pecli.declare.measured import (
    LENGTHS,
    PUBLISHED_BASES,
    PUBLISHED_FACTORS,
    Floats,
    Named,
    Pairs,
    plain_digits,
)
from pecli.numbers.decimals import digits, number_text, shortest

LIST_LEVEL = 2.0**-20
"""Relative error of frequencies beyond which a list of short decimals fits any of them."""
LIST_DIGITS = 4
"""Significant digits of the factors that models publish: 1.08, 64.11."""
MIN_LISTED = 0.9
"""Share of the list that must be so short; of arbitrary ratios 1 in 100 is."""
LIST_COST = 8.0
"""Digits that a list counts for: any single parameter is tried before."""
MAX_FACTOR_DIGITS = 4
"""Digits of a factor that somebody chose; with 6, roundings of bfloat16 frequencies are named as factors."""
RAMP_ENDS = ((1.0, 4.0), (1.0, 32.0), (1.0, 8.0), (2.0, 4.0), (1.0, 2.0), (2.0, 8.0))
"""low-freq-factor and high-freq-factor: Llama 3's, then others that were published."""
SINE_FIRST = 2.0
"""Digits that sines before cosines in one array count against rope: sinusoids are written so, GPT-J's cache too."""


def identify(pairs: Pairs) -> Iterator[Named]:
    """Yield parameters of rope, the plainest first."""
    found = layout(pairs)
    if found is None:
        return
    _, table = found
    doubt = SINE_FIRST if pairs.single and pairs.sine_first else 0.0
    for named in _named(pairs):
        keys = {"dim": str(2 * pairs.count), **named.keys}
        yield replace(named, keys=keys, table=table, fitted=named.fitted + doubt)


def layout(pairs: Pairs) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return the parameters and the table's keys of the layout that columns have; None where rope has no such one."""
    found = pairs.layout
    if pairs.single:
        if found == "alternate" and pairs.sine_first:
            return None
        found = {"alternate": "pairs", "concat": "sin-cos" if pairs.sine_first else "concat"}.get(found, found)
    return {}, {} if found == "split" else {"layout": found}


def _named(pairs: Pairs) -> Iterator[Named]:
    m = pairs.count
    exponents = np.arange(m) / max(1, m)
    tail = _unrotated(pairs)
    if tail is None:
        return
    for base in pairs.bases(exponents):
        named = _series(pairs, base, exponents, tail)
        if named is not None:
            yield named
            yield from _ntk(pairs, base, exponents, tail)
            if not tail:
                yield from _dynamic(pairs, base, exponents)
    yield from _stepped(pairs, exponents, tail)
    if not tail and m >= 4 and np.isfinite(pairs.errors).all():
        yield from _odd_width(pairs)
        yield from _ramps(pairs, exponents)
        yield from _list(pairs, exponents)


def _odd_width(pairs: Pairs) -> Iterator[Named]:
    """Yield a series over an odd rotary width, which gives one pair more than half of it."""
    width = 2 * pairs.count - 1
    exponents = 2 * np.arange(pairs.count) / width
    for base in pairs.bases(exponents):
        named = _series(pairs, base, exponents, {"rotary-dim": str(width)})
        if named is not None:
            yield replace(named, fitted=named.fitted + 1.0)


def _list(pairs: Pairs, exponents: Floats) -> Iterator[Named]:
    """Yield LongRoPE's list of what divides each frequency, where nearly all of it are short decimals."""
    if pairs.level > LIST_LEVEL:
        return
    for text in PUBLISHED_BASES[:3]:
        plain = np.exp(-exponents * math.log(float(text)))
        with np.errstate(all="ignore"):
            ratios, loose = plain / pairs.steps, pairs.slack(plain) / plain
        if not np.isfinite(ratios).all() or (ratios < 0.9).any():
            continue
        listed = [shortest(r * (1 - e), r * (1 + e)) for r, e in zip(ratios, loose, strict=True)]
        if np.mean([digits(number) <= LIST_DIGITS for number in listed]) < MIN_LISTED:
            continue
        items = "+".join(map(number_text, listed))
        size, own = _longrope_magnitude(pairs)
        keys = {"scaling": "longrope", **_base_key(Decimal(text)), "seq-len": "1",
                "short-factor": items, "long-factor": items, **own}  # fmt: skip
        frequencies = plain / np.array([float(number) for number in listed])
        yield Named(keys, frequencies, Fraction(1), LIST_COST, magnitude=size, listed=True)
        return


def _longrope_magnitude(pairs: Pairs) -> tuple[float, dict[str, str]]:
    """Return the magnitude sqrt(1 + ln f / ln L) with its factor and original length, else as an attention factor."""
    size, near = pairs.magnitude, 2 * pairs.magnitude_error
    if abs(size - 1) <= near:
        return 1.0, {"original-max": "4096", "attention-factor": "1"}
    for length in LENGTHS:
        for factor in PUBLISHED_FACTORS:
            own = math.sqrt(1 + math.log(float(factor)) / math.log(length))
            if abs(size / own - 1) <= near:
                return own, {"original-max": str(length), "factor": factor}
    text = number_text(shortest(size * (1 - near), size * (1 + near)))
    return float(text), {"original-max": "4096", "attention-factor": text}


def _unrotated(pairs: Pairs) -> dict[str, str] | None:
    """Return the parameters of pairs at the slow end that do not rotate; None where others do not."""
    moving = int(np.count_nonzero(~pairs.still))
    if not pairs.still.any():
        return {}
    if moving == 0 or pairs.still[:moving].any():
        return None
    share = Decimal(moving) / Decimal(pairs.count)
    return {"scaling": "proportional", "partial": number_text(share)}


def _base_key(base: Decimal) -> dict[str, str]:
    return {} if base == 10000 else {"base": number_text(base)}


def _series(pairs: Pairs, base: Decimal, exponents: Floats, tail: dict[str, str], step: Fraction = Fraction(1),
            factor: Decimal | None = None) -> Named | None:  # fmt: skip
    plain = np.exp(-exponents * math.log(float(base)))
    plain = np.where(pairs.still, 0.0, plain)
    times = 1.0 if factor is None else float(factor)
    if not pairs.fits(plain / times, float(step)):
        return None
    keys = {**_base_key(base), **tail}
    cost = plain_digits(base, PUBLISHED_BASES)
    if factor is not None:
        keys |= {"factor": number_text(factor)} if tail else {"scaling": "linear", "factor": number_text(factor)}
        cost += plain_digits(factor, PUBLISHED_FACTORS) + 0.5
    if step != 1:
        cost += plain_digits(step) + 0.5
    return Named(keys, plain / times, step, cost, (float(base), exponents, times))


def _ntk(pairs: Pairs, base: Decimal, exponents: Floats, tail: dict[str, str]) -> Iterator[Named]:
    """Yield a published base with an NTK factor where the measured base is no short number."""
    d = 2 * pairs.count
    if digits(base) <= 3 or d <= 2 or tail:
        return
    for text in PUBLISHED_BASES[:8]:
        ratio = (float(base) / float(text)) ** ((d - 2) / d)
        if not 1.01 < ratio < 1025:
            continue
        loose = (pairs.slack(pairs.steps)[-1] / max(pairs.steps[-1], 1e-300)) + 1e-9
        factor = shortest(ratio * (1 - 2 * loose), ratio * (1 + 2 * loose))
        if digits(factor) > 3:
            continue
        grown = float(text) * float(factor) ** (d / (d - 2))
        frequencies = np.exp(-exponents * math.log(grown))
        if pairs.fits(frequencies):
            keys = {**_base_key(Decimal(text)), "scaling": "ntk", "factor": number_text(factor)}
            cost = 1.0 + plain_digits(Decimal(text), PUBLISHED_BASES) + plain_digits(factor, PUBLISHED_FACTORS)
            yield Named(keys, frequencies, Fraction(1), cost, (grown, exponents, 1.0))


def _dynamic(pairs: Pairs, base: Decimal, exponents: Floats) -> Iterator[Named]:
    """Yield a published base that dynamic scaling enlarged for the table's own length."""
    d = 2 * pairs.count
    if digits(base) <= 3 or d <= 2:
        return
    for text in PUBLISHED_BASES[:3]:
        for length in (n for n in LENGTHS[:14] if n < pairs.rows):
            growth = (float(base) / float(text)) ** ((d - 2) / d)  # f L/M - (f - 1)
            ratio = pairs.rows / length - 1
            factor = shortest((growth * (1 - 1e-5) - 1) / ratio, (growth * (1 + 1e-5) - 1) / ratio)
            if digits(factor) > 2 or factor <= 0:
                continue
            grown = float(text) * (float(factor) * ratio + 1) ** (d / (d - 2))
            frequencies = np.exp(-exponents * math.log(grown))
            if pairs.fits(frequencies):
                keys = {**_base_key(Decimal(text)), "scaling": "dynamic", "factor": number_text(factor),
                        "max-position": str(length), "seq-len": str(pairs.rows)}  # fmt: skip
                yield Named(keys, frequencies, Fraction(1), 3.0, (grown, exponents, 1.0))
                return


def _stepped(pairs: Pairs, exponents: Floats, tail: dict[str, str]) -> Iterator[Named]:
    """Yield a series whose first frequency is no 1: positions a row, or a linear factor."""
    use = np.flatnonzero(pairs.usable)
    if not len(use):
        return
    size = pairs.slack(pairs.steps)
    if len(use) == 1:
        first, loose = pairs.steps[use[0]], size[use[0]] / pairs.steps[use[0]]
        scales = [(first, loose)] if use[0] == 0 else []
    else:
        logs, weights = np.log(pairs.steps[use]), pairs.steps[use] / size[use]
        slope, start = np.polyfit(exponents[use], logs, 1, w=weights)
        fit = start + slope * exponents[use]
        loose = float(np.abs(logs - fit).max() + (size[use] / pairs.steps[use]).max())
        scales = [(math.exp(start), loose)]
        if use[0] == 0:
            scales.insert(0, (pairs.steps[0], size[0] / pairs.steps[0]))
    seen = set()
    for scale, loose in scales:
        low, high = scale * (1 - loose), scale * (1 + loose)
        if low <= 1 <= high or low <= 0:
            continue
        options: list[tuple[Fraction, Decimal | None]] = []
        inverse = shortest(1 / high, 1 / low)
        if inverse > 1 and digits(inverse) <= MAX_FACTOR_DIGITS:
            options.append((Fraction(1), inverse))
        number = shortest(low, high)
        if digits(number) <= MAX_FACTOR_DIGITS and number > 0:
            options.append((Fraction(number), None))
        whole = round(scale)
        if whole > 1 and low <= whole <= high:
            options.append((Fraction(whole), None))
        for step, factor in options:
            if (step, factor) in seen:
                continue
            seen.add((step, factor))
            scaled = float(step) / (1.0 if factor is None else float(factor))
            for base in pairs.bases(exponents, scaled):
                named = _series(pairs, base, exponents, tail, step, factor)
                if named is not None:
                    yield named


def _ramps(pairs: Pairs, exponents: Floats) -> Iterator[Named]:
    """Yield scalings with a ramp between fast pairs as they are and slow ones over the factor."""
    m = pairs.count
    for few in sorted({max(2, m // 4), max(2, m // 8), 1}, reverse=True):
        head = np.arange(m) < few + 1
        for base in pairs.bases(exponents, some=head):
            plain = np.exp(-exponents * math.log(float(base)))
            with np.errstate(all="ignore"):
                ratio = pairs.steps / plain
            loose = pairs.slack(plain) / plain
            if not (np.abs(ratio[: few + 1] - 1) <= loose[: few + 1]).all() or ratio[-1] > 1 - 3 * loose[-1]:
                continue
            yield from _of_ratio(pairs, base, plain, ratio, loose)


def _of_ratio(pairs: Pairs, base: Decimal, plain: Floats, ratio: Floats, loose: Floats) -> Iterator[Named]:
    cost = plain_digits(base, PUBLISHED_BASES)
    for factor in _factors(ratio, loose):
        f = float(factor)
        share = (ratio - 1 / f) / (1 - 1 / f)
        doubt = loose * np.maximum(ratio, 1 / f) / (1 - 1 / f)
        if (share < -doubt).any() or (share > 1 + doubt).any():
            continue
        price = cost + plain_digits(factor, PUBLISHED_FACTORS)
        for keys, shares, more in (*_by_rotations(plain, share, doubt), *_by_index(pairs, base, share, doubt),
                                   *_by_fast_end(pairs, base, share, doubt)):  # fmt: skip
            frequencies = plain * ((1 - shares) / f + shares)
            if not pairs.fits(frequencies):
                continue
            given = {**_base_key(base), **keys, "factor": number_text(factor)}
            if given["scaling"] == "llama3":
                yield Named(given, frequencies, Fraction(1), price + more)
            else:
                yield from _with_magnitude(pairs, given, frequencies, price + more)


def _factors(ratio: Floats, loose: Floats) -> Iterator[Decimal]:
    """Yield factors that the slowest pairs show."""
    last = ratio[-1]
    flat = np.abs(ratio / last - 1) <= np.maximum(2 * loose, 1e-12)
    count = len(ratio) - int(np.flatnonzero(~flat)[-1]) - 1 if (~flat).any() else len(ratio)
    tail = slice(len(ratio) - max(1, count), len(ratio))
    low, high = (1 / (ratio[tail] * (1 + loose[tail]))).max(), (1 / (ratio[tail] * (1 - loose[tail]))).min()
    if low > high:
        low, high = 1 / (last * (1 + loose[-1])), 1 / (last * (1 - loose[-1]))
    found = [Decimal(text) for text in PUBLISHED_FACTORS if low <= float(text) <= high]
    short = shortest(low, high)
    if short not in found and short > 1 and digits(short) <= MAX_FACTOR_DIGITS + 2:
        found.append(short)
    yield from found[:3]


def _by_rotations(plain: Floats, share: Floats, doubt: Floats) -> Iterator[tuple[dict[str, str], Floats, float]]:
    """Yield Llama 3's ramp, linear in rotations within the original length: share = (L w/2 pi - low)/(high - low)."""
    rotations = plain / (2 * math.pi)
    for low, high in RAMP_ENDS:
        inside = (share > doubt) & (share < 1 - doubt)
        most = np.where(share > 1 - doubt, np.inf, ((share + doubt) * (high - low) + low) / rotations)
        least = np.where(share < doubt, 0.0, ((share - doubt) * (high - low) + low) / rotations)
        least, most = least.max(), most.min()
        if not least <= most or not np.isfinite(most):
            continue
        length = next((n for n in LENGTHS if least <= n <= most), None)
        if length is None:
            if not inside.any():
                continue
            short = shortest(least, most)
            if short != short.to_integral_value() or digits(short) > 6:
                continue
            length = int(short)
        keys = {"scaling": "llama3", "original-max": str(length)}
        keys |= {} if low == 1 else {"low-freq-factor": f"{low:g}"}
        keys |= {} if high == 4 else {"high-freq-factor": f"{high:g}"}
        shares = np.clip((length * rotations - low) / (high - low), 0, 1)
        yield keys, shares, (0.0 if length in LENGTHS else digits(Decimal(length))) + 2.0 * (high != 4)
        if (low, high) == (1.0, 32.0):
            yield {"scaling": "yarn", "original-max": str(length), "ramp": "rotations"}, shares, 1.5


def _by_index(
    pairs: Pairs, base: Decimal, share: Floats, doubt: Floats
) -> Iterator[tuple[dict[str, str], Floats, float]]:
    """Yield YaRN's ramp, linear in the index between two correction dimensions, rounded to whole ones or not."""
    d, logb, k = 2 * pairs.count, math.log(float(base)), np.arange(pairs.count)
    if logb <= 0:
        return
    for truncate in (True, False):
        for order, length in enumerate(LENGTHS):
            ends = [d * math.log(length / (2 * math.pi * beta)) / (2 * logb) for beta in (32, 1)]
            low, high = (math.floor(ends[0]), math.ceil(ends[1])) if truncate else ends
            low, high = max(low, 0), min(high, d - 1)
            high += 0.001 if low == high else 0
            if high < low:
                continue
            shares = 1 - np.clip((k - low) / (high - low), 0, 1)
            if (np.abs(shares - share) <= doubt + 1e-9).all():
                keys = {"scaling": "yarn", "original-max": str(length)} | ({} if truncate else {"truncate": "false"})
                yield keys, shares, 0.05 * order + (0 if truncate else 0.5)


def _by_fast_end(
    pairs: Pairs, base: Decimal, share: Floats, doubt: Floats
) -> Iterator[tuple[dict[str, str], Floats, float]]:
    """Yield YaRN's ramp with another beta-fast, from the whole indices between which it runs."""
    inside = np.flatnonzero((share > 4 * doubt) & (share < 1 - 4 * doubt))
    d, logb, k = 2 * pairs.count, math.log(float(base)), np.arange(pairs.count)
    if len(inside) < 2 or logb <= 0:
        return
    slope, start = np.polyfit(inside, 1 - share[inside], 1)
    low, high = round(-start / slope), round((1 - start) / slope)
    if not 0 <= low < high:
        return
    shares = 1 - np.clip((k - low) / (high - low), 0, 1)
    if not (np.abs(shares - share) <= doubt + 1e-9).all():
        return
    for length in LENGTHS:
        if math.ceil(d * math.log(length / (2 * math.pi)) / (2 * logb)) != high:
            continue
        ends = [length / (2 * math.pi) * math.exp(-2 * logb * index / d) for index in (low + 1 - 1e-9, low)]
        fast = shortest(*ends)
        if fast > 1 and digits(fast) <= 2:
            yield {"scaling": "yarn", "original-max": str(length), "beta-fast": number_text(fast)}, shares, 2.0
            return


def _with_magnitude(pairs: Pairs, keys: dict[str, str], frequencies: Floats, cost: float) -> Iterator[Named]:
    """Yield yarn with the magnitude that was measured: its own, another attention factor, or none."""
    f = float(keys["factor"])
    own = 0.1 * math.log(f) + 1 if f > 1 else 1.0
    near = 2 * pairs.magnitude_error
    if abs(pairs.magnitude / own - 1) <= near:
        yield Named({**keys, "scaling": "yarn"}, frequencies, Fraction(1), cost, magnitude=own)
    elif abs(pairs.magnitude - 1) <= near:
        yield Named({**keys, "scaling": "ntk-by-parts"}, frequencies, Fraction(1), cost + 0.5)
    else:
        size = shortest(pairs.magnitude * (1 - near), pairs.magnitude * (1 + near))
        if digits(size) <= 7:
            given = {**keys, "scaling": "yarn", "attention-factor": number_text(size)}
            yield Named(given, frequencies, Fraction(1), cost + digits(size), magnitude=float(size))


def differences(have: Mapping[str, str], want: Mapping[str, str]) -> list[str]:
    """Say which parameters differ: the base, the scaling with its numbers, or single numbers of one scaling."""
    scalings = have.get("scaling", "none"), want.get("scaling", "none")
    bases = have.get("base"), want.get("base")
    found = []
    own = {k: v for k, v in have.items() if k not in COMMON}
    other = {k: v for k, v in want.items() if k not in COMMON}
    if scalings[0] != scalings[1] and bases[0] != bases[1]:
        found.append(
            f"{_phrase(scalings[0], bases[0], own)} where {_phrase(scalings[1], bases[1], other)} was expected"
        )
    elif scalings[0] != scalings[1]:
        if scalings[0] == "none":
            found.append(f"scaling {scalings[1]} is missing ({_numbers(other)}): the frequencies are unscaled")
        elif scalings[1] == "none":
            found.append(f"{scalings[0]} scaling ({_numbers(own)}) where none was expected")
        else:
            found.append(
                f"{scalings[0]} scaling ({_numbers(own)}) where {scalings[1]} ({_numbers(other)}) was expected"
            )
    else:
        if bases[0] != bases[1]:
            found.append(f"base {bases[0]} where {bases[1]} was expected")
        for key in dict.fromkeys((*other, *own)):
            if own.get(key) != other.get(key):
                one = f"{key} {own[key]}" if key in own else f"no {key}"
                found.append(f"{one} where {other.get(key, 'none')} was expected")
    return found + [
        f"{key} {have.get(key, 'of the whole head')} where {want.get(key, 'none')} was expected"
        for key in ("dim", "rotary-dim", "partial")
        if have.get(key) != want.get(key)
    ]


COMMON = ("dim", "rotary-dim", "partial", "base", "scaling")


def _numbers(keys: Mapping[str, str]) -> str:
    usual = {"beta-fast": "32", "beta-slow": "1", "low-freq-factor": "1", "high-freq-factor": "4", "ramp": "index",
             "truncate": "true", "coefficient": "0.1"}  # fmt: skip
    return ", ".join(f"{key} {value}" for key, value in keys.items() if usual.get(key) != value)


def _phrase(scaling: str, base: str | None, keys: Mapping[str, str]) -> str:
    if scaling == "none":
        return f"plain base {base}"
    return f"base {base} with {scaling} scaling ({_numbers(keys)})"
