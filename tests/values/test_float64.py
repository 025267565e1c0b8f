"""What README and docs say of float64: what does not oscillate is the nearest value too, but for drawn numbers."""

import mpmath as mp
import numpy as np
import pytest

from pecli import Table
from pecli.numbers import random as draws


def power(base, exponent):
    return mp.power(mp.mpf(base), exponent)


KERNELS = {
    "alibi:heads=12,form=distance": ("bias", 9, lambda d: -power(2, mp.mpf(-3) / 2) * abs(d - 699)),
    "gaussian:sigma=25,form=distance": ("bias", 0, lambda d: mp.exp(-(mp.mpf(d - 699) ** 2) / 1250)),
    "kerple:heads=1,r1=1.3,r2=0.37,form=distance": (
        "bias", 0, lambda d: -mp.mpf("1.3") * mp.log(1 + mp.mpf("0.37") * abs(d - 699)),
    ),
    "xpos:dim=16,centre=0": (
        "scale", 3, lambda p: power((mp.mpf(6) / 16 + mp.mpf("0.4")) / mp.mpf("1.4"), mp.mpf(p) / 512),
    ),
    "retnet:dim=4,heads=3": ("decay", 2, lambda d: power(1 - mp.mpf(2) ** -7, d)),
    "integer:dim=2,max-len=700": ("pe", 0, lambda p: mp.mpf(p) / 699),
    "query-scale:length=16,beta=0.1": (
        "pe", 0, lambda p: 1 + mp.mpf("0.1") * mp.log(1 + mp.floor(mp.mpf(p + 1) / 16)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("recipe", KERNELS)
def test_a_kernel_is_the_nearest_float64(recipe):
    name, place, exact = KERNELS[recipe]
    table = Table.parse(recipe, dtype="float64", length=700)
    values = table.read(name if name in {a.name for a in table.arrays} else table.arrays[0].name)
    line = values[place] if values.shape[-1] >= 700 else values[:, place]
    with mp.workdps(60):
        for at, value in list(enumerate(line.tolist()))[::7]:
            # half the distance to the neighbour on the side of the real number: no other float64 is nearer
            real = exact(at)
            off = real - mp.mpf(value)
            side = float(np.nextafter(value, np.inf if off > 0 else -np.inf))
            assert abs(off) <= abs(mp.mpf(side) - mp.mpf(value)) / 2, (at, value)


def test_a_drawn_normal_is_within_a_few_units_of_the_inverse_distribution():
    uniform = draws.uniform(draws.words(7, 0, 400))
    with mp.workdps(40):
        for u, z in zip(uniform.tolist(), draws.normal(uniform).tolist(), strict=True):
            assert abs((mp.ncdf(z) - mp.mpf(u)) / mp.npdf(z)) <= 8 * float(np.spacing(abs(z)))
