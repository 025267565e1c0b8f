"""Digests of the engine's bytes, printed by a child whose processor or mathematical library is masked.

Run as a module; prints one JSON object: the digests, and which processor features NumPy uses.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from pecli.engine import STORAGE, FrequencySet, fill
from tests.support.phase_reference import frequencies


def tables() -> dict[str, tuple[FrequencySet, Any]]:
    """Frequency sets and multiples that take every path of the engine."""
    rng = np.random.default_rng(8)
    return {
        "run": (FrequencySet(frequencies("10000", 96)), range(20_000)),
        "rotary": (
            FrequencySet(frequencies("500000", 128), magnitude=Decimal("1.2079441541679836")),
            range(-3000, 9000),
        ),
        "far": (FrequencySet(frequencies("10000", 32), unit=Fraction(1, 10)), range(2**53 - 4000, 2**53, 2)),
        "list": (FrequencySet(frequencies("1e30", 64)), rng.integers(-(2**53), 2**53, 700)),
        "few": (FrequencySet(frequencies("10000", 512)), range(5, 29)),
        "turns": (
            FrequencySet([Fraction(2**k, 2) for k in range(12)], turns=True, unit=Fraction(1, 1000)),
            range(-2000, 2000),
        ),
    }


def digests() -> dict[str, str]:
    """One digest per table and type; sines, cosines and angles."""
    found = {}
    for name, (wheel, multiples) in tables().items():
        for dtype, kind in STORAGE.items():
            out = np.zeros((len(multiples), 3 * wheel.count), kind)
            n = wheel.count
            outputs: list[Any] = [
                ("sin", out[:, 0 : 2 * n : 2]),
                ("cos", out[:, 1 : 2 * n : 2]),
                ("angle", out[:, 2 * n :]),
            ]
            fill(wheel, multiples, outputs, dtype)
            found[f"{name} {dtype}"] = hashlib.sha256(out.tobytes()).hexdigest()
    return found


def features() -> list[str]:
    """What NumPy dispatches to on this processor."""
    try:
        from numpy._core import _multiarray_umath as umath
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as umath  # type: ignore[no-redef]
    return [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]]


def plain() -> str:
    """What plain NumPy makes of it, to show that the masks change something."""
    angles = np.arange(4000.0)[:, None] * np.array([float(f) for f in frequencies("10000", 64)])
    z = np.exp(1j * angles)
    return hashlib.sha256((z[1:] * z[:-1]).tobytes() + np.sin(angles).tobytes()).hexdigest()


if __name__ == "__main__":
    print(json.dumps({"digests": digests(), "features": features(), "plain": plain()}))
