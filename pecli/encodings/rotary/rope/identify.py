"""RoPE's parameters from measured frequencies: a plain series, a step or linear factor, NTK's base, and the ramps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np

from pecli.numbers.decimals import digits, number_text, shortest
from pecli.numbers.rounding import Floats
from pecli.spec.measured import LENGTHS, PUBLISHED_BASES, PUBLISHED_FACTORS, Named, Pairs, plain_digits

# Parameters of a ramp, the share of the plain frequency in each pair, and what the parameters cost in digits.
Ramp = tuple[dict[str, str], Floats, float]

# Digits of a factor that somebody chose; with 6, roundings of bfloat16 frequencies are named as factors.
MAX_FACTOR_DIGITS = 4
# Smallest factor that is no rounding.
MIN_FACTOR = Decimal("1.1")
# low-freq-factor and high-freq-factor: Llama 3's, Llama 4's, which are equal, then others that were published.
RAMP_ENDS = ((1.0, 4.0), (1.0, 1.0), (1.0, 32.0), (1.0, 8.0), (2.0, 4.0), (1.0, 2.0), (2.0, 8.0))
# beta-fast: YaRN's, then others that were published.
FASTS = (32, 64, 16, 128, 8)
# Of a length that a base shows; float32 frequencies leave 0.01.
MAX_LENGTH_ERROR = 0.05
# Of the ratio of two logarithms that is a whole number: seven digits of a base leave 1e-6.
MAX_POWER_ERROR = 1e-4
# Digits that a step between rows counts against [cos | sin] of rope: timesteps of a diffusion model have one.
STEPPED_CACHE = 3.0
# Digits that an unusual original length counts where several give the same table: too many for a sure name.
OPEN_LENGTH = 10.0
# Digits that sines before cosines in one array count against rope: sinusoids are written so, GPT-J's cache too.
SINE_FIRST = 2.0


def identify(pairs: Pairs) -> Iterator[Named]:
    """Yield parameters of rope, the plainest first."""
    found = layout(pairs)
    if found is None:
        return
    _, table = found
    doubt = SINE_FIRST if pairs.single and pairs.sine_first else 0.0
    for named in _named(pairs):
        keys = {"dim": str(2 * pairs.count), **named.keys}
        steps = STEPPED_CACHE * (pairs.single and named.step != 1)
        yield replace(named, keys=keys, table=table, fitted=named.fitted + doubt + steps)


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
            if not tail:
                yield from _grown(pairs, base, exponents)
    yield from _stepped(pairs, exponents, tail)
    if not tail and np.count_nonzero(np.isfinite(pairs.errors)) >= max(m / 4, 4):  # of cosines alone, slow ones are not
        yield from _ramps(pairs, exponents)


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
        cost += pairs.step_digits(step) + 0.5
    return Named(keys, plain / times, step, cost)


def _grown(pairs: Pairs, base: Decimal, exponents: Floats) -> Iterator[Named]:
    """Yield a published base that NTK's factor enlarged, or dynamic scaling for the table's own length."""
    d = 2 * pairs.count
    if digits(base) <= 3 or d <= 2:
        return
    loose = pairs.slack(pairs.steps)[-1] / max(pairs.steps[-1], 1e-300) + 1e-9
    shorter = [n for n in LENGTHS[:14] if n < pairs.rows]
    for text, length in product(PUBLISHED_BASES[:8], (None, *shorter)):
        growth = (float(base) / float(text)) ** ((d - 2) / d)  # f, or f n/L - (f - 1)
        times = 1.0 if length is None else pairs.rows / length - 1
        low, high = growth * (1 - 2 * loose), growth * (1 + 2 * loose)
        factor = shortest(low, high) if length is None else shortest((low - 1) / times, (high - 1) / times)
        if not 1.01 < growth < 1025 or factor < 1 or digits(factor) > (3 if length is None else 2):
            continue
        grown = float(text) * (float(factor) * times + (length is not None)) ** (d / (d - 2))
        frequencies = np.exp(-exponents * math.log(grown))
        if not pairs.fits(frequencies):
            continue
        keys = {**_base_key(Decimal(text)), "scaling": "ntk", "factor": number_text(factor)}
        cost = 1.0 + plain_digits(Decimal(text), PUBLISHED_BASES) + plain_digits(factor, PUBLISHED_FACTORS)
        if length is not None:
            keys |= {"scaling": "dynamic", "max-position": str(length), "seq-len": str(pairs.rows)}
            cost += 3.0  # more than an alias may cost
        yield Named(keys, frequencies, Fraction(1), cost)


def _stepped(pairs: Pairs, exponents: Floats, tail: dict[str, str]) -> Iterator[Named]:
    """Yield a series whose first frequency is no 1: positions a row, or a linear factor."""
    options: list[tuple[Fraction, Decimal | None]] = []
    for low, high in pairs.scales(exponents):
        inverse = shortest(1 / high, 1 / low)
        if inverse > 1 and digits(inverse) <= MAX_FACTOR_DIGITS:
            options.append((Fraction(1), inverse))
        whole = round((low + high) / 2)
        if whole > 1 and low <= whole <= high:
            options.append((Fraction(whole), None))
    options += [(step, None) for step in pairs.positions_a_row(exponents)]
    for step, factor in dict.fromkeys(options):
        scaled = float(step) / (1.0 if factor is None else float(factor))
        series = (_series(pairs, base, exponents, tail, step, factor) for base in pairs.bases(exponents, scaled))
        yield from filter(None, series)


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
            last = int(np.flatnonzero(np.isfinite(loose))[-1])
            if not (np.abs(ratio[: few + 1] - 1) <= loose[: few + 1]).all() or ratio[last] > 1 - 3 * loose[last]:
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
        for keys, shares, more in (*_by_rotations(plain, share, doubt), *_by_index(pairs, base, share, doubt)):
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
    count = 1 + int(np.flatnonzero(np.isfinite(loose))[-1])
    slowest = count == len(loose)
    ratio, loose = ratio[:count], loose[:count]
    last = ratio[-1]
    flat = np.abs(ratio / last - 1) <= np.maximum(2 * loose, 1e-12)
    count = len(ratio) - int(np.flatnonzero(~flat)[-1]) - 1 if (~flat).any() else len(ratio)
    tail = slice(len(ratio) - max(1, count), len(ratio))
    low, high = (1 / (ratio[tail] * (1 + loose[tail]))).max(), (1 / (ratio[tail] * (1 - loose[tail]))).min()
    if low > high:
        low, high = 1 / (last * (1 + loose[-1])), 1 / (last * (1 - loose[-1]))
    found = [Decimal(text) for text in PUBLISHED_FACTORS if low <= float(text) <= high]
    short = shortest(low, high)
    if short not in found and short > MIN_FACTOR and digits(short) <= MAX_FACTOR_DIGITS + 2:
        found.append(short)
    yield from found[:3]
    if not slowest:
        yield from (one for one in map(Decimal, PUBLISHED_FACTORS) if one not in found and 1 / float(one) <= last)


def _by_rotations(plain: Floats, share: Floats, doubt: Floats) -> Iterator[Ramp]:
    """Yield Llama 3's ramp, linear in rotations within the original length: share = (L w/2 pi - low)/(high - low)."""
    rotations = plain / (2 * math.pi)
    for low, high in RAMP_ENDS:
        most = np.where(share > 1 - doubt, np.inf, ((share + doubt) * (high - low) + low) / rotations)
        least = np.where(share < doubt, 0.0, ((share - doubt) * (high - low) + low) / rotations)
        least, most = least.max(), most.min()
        if not least <= most or not np.isfinite(most):
            continue
        length = next((n for n in LENGTHS if least <= n <= most), None)
        if length is None:
            continue
        keys = {"scaling": "llama3", "original-max": str(length)}
        keys |= {} if low == 1 else {"low-freq-factor": f"{low:g}"}
        keys |= {} if high == 4 else {"high-freq-factor": f"{high:g}"}
        shares = np.clip((length * rotations - low) / max(high - low, 1e-20), 0, 1)
        yield keys, shares, 2.0 * (high not in (1, 4) or (high == low and length != 8192))
        if high == 32:
            yield {"scaling": "yarn", "original-max": str(length), "ramp": "rotations"}, shares, 1.5


def _by_index(pairs: Pairs, base: Decimal, share: Floats, doubt: Floats) -> Iterator[Ramp]:
    """Yield YaRN's ramp, linear in the index between two correction dimensions, rounded to whole ones or not."""
    d, logb, k = 2 * pairs.count, math.log(float(base)), np.arange(pairs.count)
    if logb <= 0:
        return
    for fast, truncate, (order, length) in product(FASTS, (True, False), enumerate(LENGTHS)):
        ends = [d * math.log(length / (2 * math.pi * beta)) / (2 * logb) for beta in (fast, 1)]
        low, high = (math.floor(ends[0]), math.ceil(ends[1])) if truncate else ends
        low, high = max(low, 0), min(high, d - 1)
        high += 0.001 if low == high else 0
        shares = 1 - np.clip((k - low) / (high - low), 0, 1)
        is_usual = not truncate or not length & (length - 1)  # whole ends leave a length open: one that models have
        if high > low and (is_usual or fast == 32) and (np.abs(shares - share) <= doubt + 1e-9).all():
            keys = {"scaling": "yarn", "original-max": str(length)} | ({} if truncate else {"truncate": "false"})
            keys |= {} if fast == 32 else {"beta-fast": str(fast)}
            more = (0 if truncate else 0.5) + 2.0 * (fast != 32) + OPEN_LENGTH * (not is_usual)
            yield keys, shares, 0.05 * order + more


def _with_magnitude(pairs: Pairs, keys: dict[str, str], frequencies: Floats, cost: float) -> Iterator[Named]:
    """Yield yarn with the magnitude that was measured: its own, another attention factor, or none."""
    f = float(keys["factor"])
    own = 0.1 * math.log(f) + 1 if f > 1 else 1.0
    near = 2 * pairs.magnitude_error
    if np.isnan(pairs.magnitude) or abs(pairs.magnitude / own - 1) <= near:
        yield Named({**keys, "scaling": "yarn"}, frequencies, Fraction(1), cost, magnitude=own)
    elif abs(pairs.magnitude - 1) <= near:
        yield Named({**keys, "scaling": "ntk-by-parts"}, frequencies, Fraction(1), cost + 0.5)
    else:
        given = {**keys, "scaling": "yarn", "attention-factor": number_text(pairs.size)}
        yield Named(given, frequencies, Fraction(1), cost + 2.0, magnitude=float(pairs.size))


def differences(have: Mapping[str, str], want: Mapping[str, str]) -> list[str]:
    """Say which parameters differ: the base, the scaling with its numbers, or single numbers of one scaling."""
    have = _at_length(have, want)
    name, expected = have.get("scaling", "none"), want.get("scaling", "none")
    base, meant = have.get("base"), want.get("base")
    own = {k: v for k, v in have.items() if k not in COMMON}
    other = {k: v for k, v in want.items() if k not in COMMON}
    found, is_whole = [], False
    if base and meant and base != meant and min(float(base), float(meant)) > 1:
        width = math.log(float(meant)) / math.log(float(base)) * int(have["dim"])
        is_whole = abs(width - round(width)) < MAX_POWER_ERROR * width
    if name == "proportional" and expected == "none" and "partial" in have and base and meant:
        text = f"a share of {have['partial']} of the pairs turns where all were expected to (proportional)"
        if is_whole and round(width) == (turns := _rotary_width(want)):
            return [f"pairs that do not turn are added behind the expected ones of rotary-dim {turns}"]
        if is_whole:
            return [f"{text}, with exponents over {width:.0f}: rotary-dim {width:.0f} where {turns} was expected"]
        return [text, *([] if base == meant else [_other_base(base, meant)])]
    if name == "none" and expected == "proportional":
        width, turning = _rotary_width(have), f"{_rotary_width(want) // 2} of {int(want['dim']) // 2}"
        text = f"all {width // 2} pairs turn, with exponents over {width}, where {turning} with exponents over"
        other_base = [] if base == meant else [_other_base(str(base), str(meant))]
        return [f"{text} {want['dim']} were expected (proportional)", *other_base]
    if name != expected and base != meant:
        own_base = f"{meant} with exponents over {width:.0f}" if is_whole and base not in PUBLISHED_BASES else base
        text = f"{_phrase(name, own_base, own)} where {_phrase(expected, meant, other)} was expected"
        times = float(base) / float(meant) if (name, expected) == ("none", "ntk") and base and meant else 0.0
        factor = other.get("factor", "-1")
        why = f": {base} is {meant} x {factor}, not {meant} x {factor}^(d/(d - 2))" * (times == float(factor))
        found.append(text + why)
    elif name != expected:
        text = f"{name} scaling ({_numbers(own)}) where {expected} ({_numbers(other)}) was expected"
        if name == "none":
            text = f"scaling {expected} is missing ({_numbers(other)}): the frequencies are unscaled"
        elif expected == "none":
            longer = ", or dynamic at a longer length" * (name == "ntk")
            text = f"{name} scaling ({_numbers(own)}{longer}) where none was expected"
        found.append(text)
    else:
        over = f"exponents over the {_rotary_width(have)} columns that turn where {want['dim']} was expected: as "
        of_turning = name == "proportional" and is_whole and round(width) == _rotary_width(have)
        found += [over * of_turning + _other_base(str(base), str(meant))] if base != meant else []
        for key in dict.fromkeys((*other, *own)):
            if (number := _number(own, key)) != (wanted := _number(other, key)):
                found.append(f"{key} {number} where {wanted} was expected")
    rotates, expects = _rotary_width(have), _rotary_width(want)
    part = "rotary width" if expects != int(want["dim"]) else "dim"
    return found + [f"{part} {rotates} where {expects} was expected"] * (rotates != expects)


def _rotary_width(keys: Mapping[str, str]) -> int:
    return int(keys.get("rotary-dim", Decimal(keys.get("partial", "1")) * int(keys["dim"])))


def _at_length(have: Mapping[str, str], want: Mapping[str, str]) -> Mapping[str, str]:
    """Return a larger base, or NTK's factor, as the length for which the expected dynamic scaling gives it."""
    plain = {"seq-len", "max-position", "factor", "scaling", "base"}
    if want.get("scaling") != "dynamic" or have.get("scaling", "none") not in ("none", "ntk") or "base" not in have:
        return have
    if have.get("factor") == want["factor"] or any(have.get(key) != want.get(key) for key in {*have, *want} - plain):
        return have
    width, factor = int(want.get("rotary-dim", want["dim"])), float(want["factor"])
    growth = float(have.get("factor", "1")) * (float(have["base"]) / float(want["base"])) ** ((width - 2) / width)
    length = (growth + factor - 1) / factor * int(want["max-position"])
    is_whole = growth > 1 and abs(length - round(length)) < MAX_LENGTH_ERROR
    return {**want, "seq-len": str(round(length))} if is_whole else have


def _other_base(base: str, meant: str) -> str:
    if float(base) == 1:
        text = f"every pair turns by 1 radian a position where base {meant} was expected"
        return f"{text}: the exponents are 0, or base 1"
    return f"base {base} where {meant} was expected"


COMMON = ("dim", "rotary-dim", "partial", "base", "scaling")


# Defaults of scalings, which are not listed.
USUAL = {"beta-fast": "32", "beta-slow": "1", "low-freq-factor": "1", "high-freq-factor": "4", "ramp": "index",
         "truncate": "true", "coefficient": "0.1"}  # fmt: skip


def _numbers(keys: Mapping[str, str]) -> str:
    named = (f"{key} {value}" for key, value in keys.items() if USUAL.get(key) != value and "+" not in value)
    return ", ".join(named)  # without lists of many numbers


def _number(keys: Mapping[str, str], key: str) -> str:
    """Return a parameter or its default."""
    if key == "attention-factor" and "factor" in keys:
        return keys.get(key, f"{0.1 * math.log(float(keys['factor'])) + 1:.6g}")
    return keys.get(key, USUAL.get(key, "none"))


def _phrase(scaling: str, base: str | None, keys: Mapping[str, str]) -> str:
    return f"plain base {base}" if scaling == "none" else f"base {base} with {scaling} scaling ({_numbers(keys)})"
