"""What values may have been rounded to: a narrower type, decimals, fewer bits, multiples of a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from pecli.diagnosis.case import Candidate, Case, gaps, read_rows
from pecli.diagnosis.reworked import Work, candidate, each, reworked
from pecli.measures.samples import Floats, holds, rounded

MOST_DECIMALS = 7  # float32 has no more to lose
MOST_BITS = 21  # of a value, fewer than float32 has
DOUBLE = 53  # bits of a value in float64
NARROW = {"bfloat16": 8, "float16": 11}  # significant bits
LEAST = -1000  # exponent below which no value is looked at
EIGHT_BITS = (("e4m3", 4, -5), ("e5m2", 3, -13))  # significant bits; values below 2^-6 and 2^-14 are subnormal
STEPS = (127, 128, 255, 256)  # of which the size 1 is made in eight bits


def _cut(p: Floats) -> Floats:
    """Return values cut to bfloat16: the first half of the bits of a float32."""
    return (p.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def roundings(case: Case) -> list[Candidate]:
    """Return what is coarser than the expected values and those may have been brought to, the likeliest first."""
    said = "the expected values"
    works: list[tuple[str, str, Work | None]] = [
        (f"{said} rounded to bfloat16", "bfloat16", None),
        (f"{said} cut, not rounded, to bfloat16", "bfloat16", each(_cut)),
        (f"{said} rounded to float16", "float16", None),
        (f"{said} rounded to float16, then to bfloat16", "bfloat16", each(partial(rounded, kind="float16"))),
        (f"{said} rounded to float32", "float32", None),
    ]
    works = [one for one in works if all(holds(p, one[1]) for p in case.here)]
    works = [one for one in works if not all(holds(p, one[1]) for p in case.there)]
    digits = _decimals(case)
    if digits is not None:
        works.append((f"{said} rounded to {digits} decimals", case.grain, each(partial(_multiples, parts=10**digits))))
    found = []
    for text, kind, work in works:
        made = [read_rows(lane, *case.window) for lane in reworked(case.expected, kind, work)]
        unlike = sum(int(np.count_nonzero(gaps(p, q))) for p, q in zip(case.here, made, strict=True))
        found.append((unlike, candidate(case, "rounding", text, work, grain=kind)))
    return [one for _, one in sorted(found, key=lambda item: item[0])]


def _decimals(case: Case) -> int | None:
    """Return the decimals that all values at hand were rounded to, where the expected ones have more."""
    return next(
        (digits for digits in range(1, MOST_DECIMALS) if _kept(case, partial(_multiples, parts=10**digits))), None
    )


def coarser(case: Case) -> Iterator[Candidate]:
    """Yield the multiples of a step, or the number of bits, that all values at hand and not the expected ones have."""
    works = {f"multiples of 1/{parts}": partial(_multiples, parts=parts) for parts in STEPS}
    works |= {f"float8 {name}": partial(_shortened, bits=bits, least=least) for name, bits, least in EIGHT_BITS}
    bits = max(map(_bits, case.here))
    if bits <= NARROW.get(case.grain, MOST_BITS):
        works[f"{bits} significant bits"] = partial(_shortened, bits=bits)
    for text, work in works.items():
        if _kept(case, work):
            yield candidate(case, "rounding", f"the expected values rounded to {text}", each(work))
            cut = partial(work, to=np.trunc)
            yield candidate(case, "rounding", f"the expected values cut, not rounded, to {text}", each(cut))
            return


def _kept(case: Case, work: Callable[[Floats], Floats]) -> bool:
    """Whether rounding leaves the values at hand as they are, and not the expected ones."""
    return all(_same(work, p, case.grain) for p in case.here) and not all(
        _same(work, p, case.grain) for p in case.there
    )


def _same(work: Callable[[Floats], Floats], p: Floats, grain: str) -> bool:
    return np.array_equal(rounded(work(p), grain), p, equal_nan=True)


def _multiples(p: Floats, parts: int, to: Callable[[Floats], Floats] = np.round) -> Floats:
    found: Floats = to(p * parts) / parts
    return found


def _shortened(p: Floats, bits: int, least: int = LEAST, to: Callable[[Floats], Floats] = np.round) -> Floats:
    """Return values of so many significant bits, fewer below 2^least, where all have the same last one."""
    unit = np.maximum(np.frexp(p)[1], least) - bits
    found: Floats = np.ldexp(to(np.ldexp(p, -unit)), unit)
    return found


def _bits(p: Floats) -> int:
    """Return how many bits the longest of some values has, from its first to its last that is set."""
    part = np.frexp(p[np.isfinite(p)])[0]
    whole = np.ldexp(part, DOUBLE).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return int(np.where(whole == 0, 0, DOUBLE - lowest).max(initial=0))
