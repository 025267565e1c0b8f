"""Frequencies as exact fractions of a turn, in fixed point.

A turn is the natural unit: taking a phase modulo one turn is dropping the integer part, which
integer multiplication does for nothing.  Everything here is integers and exact decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter

LIMB = 32
Limbs = NDArray[np.uint64]


def _arctan_inverse(x: int, one: int) -> int:
    total = term = one // x
    n, sign = 1, 1
    while term:
        term //= x * x
        n, sign = n + 2, -sign
        total += sign * (term // n)
    return total


@lru_cache(maxsize=64)
def _pi_times(one: int) -> int:
    """Pi times ``one`` to the integer below, by Machin's formula with 64 spare bits."""
    wide = one << 64
    return (16 * _arctan_inverse(5, wide) - 4 * _arctan_inverse(239, wide)) >> 64


def pi_bits(bits: int) -> int:
    """Pi times 2^bits, rounded down."""
    return _pi_times(1 << bits)


def inverse_turn(bits: int) -> int:
    """2^bits / (2 pi), within one unit."""
    return (1 << (2 * bits + 16)) // (pi_bits(bits + 16) << 1)


def _size(number: Decimal | Fraction) -> Decimal | Fraction:
    # abs() of a Decimal rounds to the caller's context
    return number.copy_abs() if isinstance(number, Decimal) else abs(number)


def fraction_bits(frequencies: Sequence[Decimal | Fraction], unit: Fraction) -> int:
    """How many bits after the point keep 100 significant ones of the slowest frequency; at least 256.

    The spare ones (a phase is below 1, so its error of |multiple| 2^-bits is at most the share
    2^-bits / frequency of it) serve the relative accuracy of the smallest sines.
    """
    smallest = min((_size(f) for f in frequencies if f), default=None)
    if smallest is None:
        return 256
    exponent = (
        smallest.adjusted() * 3.3219281
        if isinstance(smallest, Decimal)
        else float(smallest.numerator.bit_length() - smallest.denominator.bit_length())
    )
    exponent += unit.numerator.bit_length() - unit.denominator.bit_length() - 6
    return max(256, -(-int(120 - exponent) // LIMB) * LIMB)


def fixed_turns(frequencies: Sequence[Decimal | Fraction], turns: bool, unit: Fraction, bits: int) -> list[int]:
    """Sizes of the frequencies in 2^-bits turns per multiple, within one."""
    if turns:
        fractions = [abs(Fraction(f) * unit) for f in frequencies]
        return [(f.numerator << bits) // f.denominator for f in fractions]
    # radians * unit / 2 pi * 2^bits, in decimal: one multiplication and one conversion each
    context = Context(prec=bits * 31 // 100 + 40, Emin=-999999, Emax=999999)
    wide = bits + 64
    factor = context.divide(
        Decimal(inverse_turn(wide) * unit.numerator), Decimal((1 << (wide - bits)) * unit.denominator)
    )
    return [
        int(context.multiply(f.copy_abs(), factor))
        if isinstance(f, Decimal)
        else int(context.multiply(context.divide(Decimal(abs(f.numerator)), Decimal(f.denominator)), factor))
        for f in frequencies
    ]


def limbs_of(fixed: Sequence[int], bits: int) -> Limbs:
    """Limbs of 32 bits, lowest first: shape (bits / 32, count); whole turns dropped."""
    mask = (1 << bits) - 1
    raw = b"".join((f & mask).to_bytes(bits // 8, "little") for f in fixed)
    rows = np.frombuffer(raw, dtype="<u4").reshape(len(fixed), bits // LIMB)
    return np.ascontiguousarray(rows.T.astype(np.uint64))


def check_frequencies(frequencies: Sequence[Decimal | Fraction], magnitude: Decimal) -> None:
    """Refuse what is not finite."""
    for f in (*frequencies, magnitude):
        if isinstance(f, Decimal) and not f.is_finite():
            name = "magnitude" if f is magnitude else "frequency"
            raise BadParameter(name, f, "is not a finite number")


LOW32 = np.uint64(0xFFFFFFFF)
SHIFT32 = np.uint64(LIMB)


def phases(size: NDArray[np.uint64], limbs: Limbs | list[NDArray[np.uint64]]) -> list[NDArray[np.uint64]]:
    """``size`` times the fixed-point frequencies, modulo one turn, in limbs of 32 bits, lowest first.

    Parameters
    ----------
    size : ndarray of uint64
        Multiples without their sign, below 2^63; broadcasts against the frequencies.
    limbs : sequence of ndarray of uint64
        The frequencies.

    Notes
    -----
    Schoolbook multiplication: (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1, so a product of two limbs,
    the limb it is added to and the carry never overflow.
    """
    low, high = size & LOW32, size >> SHIFT32
    result: list[NDArray[np.uint64]] = []
    carry: NDArray[np.uint64] | None = None
    for limb in limbs:
        total = limb * low
        if carry is not None:
            total += carry
        carry = total >> SHIFT32
        total &= LOW32
        result.append(total)
    if high.any():
        carry = None
        for i in range(1, len(result)):
            total = limbs[i - 1] * high
            total += result[i]
            if carry is not None:
                total += carry
            carry = total >> SHIFT32
            result[i] = total & LOW32
    return result
