"""Logarithm and exponential in double-double arithmetic, against mpmath with 250 bits."""

import mpmath as mp
import numpy as np
import pytest

from pecli import Table
from pecli.numbers import double_double as elementary
from pecli.numbers import random as draws
from pecli.numbers.double_double import DoubleDouble

BOUND = 2.0**-96


@pytest.fixture(autouse=True)
def _precision():
    with mp.workprec(250):
        yield


def doubled(values, seed=1):
    """The values with a random second half."""
    part = np.random.default_rng(seed).uniform(-0.5, 0.5, np.shape(values)) * 2.0**-53
    return DoubleDouble(np.asarray(values, np.float64), np.asarray(values) * part * 0.5)


def exact(pair):
    return [mp.mpf(float(h)) + mp.mpf(float(low)) for h, low in zip(pair.hi, pair.lo, strict=True)]


def worst(found, wanted):
    """The largest relative error; where the value is zero the error itself."""
    return max(float(abs(f - w) / (abs(w) or 1)) for f, w in zip(exact(found), wanted, strict=True))


RANDOM = np.random.default_rng(7)
LOGARITHMS = {
    "every size": np.exp(RANDOM.uniform(-600, 600, 1500)),
    "around one": 1 + RANDOM.uniform(-1, 1, 1500) * 10.0 ** RANDOM.uniform(-16, -0.01, 1500),
    "whole numbers": np.arange(2.0, 1500.0),
    "ends of the table": np.array([0.708, 0.70799999, 1.416, 1.41600001, 1 - 2.0**-53, 1 + 2.0**-52, 90.5 / 128, 1.0]),
}


@pytest.mark.parametrize("name", LOGARITHMS)
def test_the_logarithm_is_good_to_96_bits(name):
    x = doubled(LOGARITHMS[name])
    assert worst(elementary.log(x), [mp.log(v) for v in exact(x)]) < BOUND


@pytest.mark.parametrize("scale", [1e-30, 1e-5, 1 / 256, 0.9, 1e3, 1e80])
def test_the_logarithm_of_one_plus_a_small_number_keeps_its_digits(scale):
    x = doubled(np.abs(RANDOM.normal(size=800)) * scale)
    assert worst(elementary.log1p(x), [mp.log1p(v) for v in exact(x)]) < BOUND


@pytest.mark.parametrize("limit", [1e-20, 1e-3, 1, 40, 600])
def test_the_exponential_is_good_to_96_bits(limit):
    x = doubled(RANDOM.uniform(-limit, limit, 800))
    assert worst(elementary.exp(x), [mp.exp(v) for v in exact(x)]) < BOUND


def test_the_exponential_ends_in_zero_and_infinity():
    found = elementary.exp(doubled([-1e308, -800.0, 0.0, 800.0, 1e308]))
    assert found.hi.tolist() == [0.0, 0.0, 1.0, np.inf, np.inf]
    assert not np.isnan(found.lo).any()


def test_powers_are_good_to_90_bits():
    base, exponent = doubled(RANDOM.uniform(1, 1e6, 500)), doubled(RANDOM.uniform(0.01, 2, 500), seed=3)
    wanted = [mp.power(b, e) for b, e in zip(exact(base), exact(exponent), strict=True)]
    assert worst(elementary.power(base, exponent), wanted) < 2.0**-90


@pytest.mark.parametrize("limit", [1e-8, 1, 30, 600])
def test_the_sigmoid_is_good_to_95_bits_on_both_sides(limit):
    x = doubled(RANDOM.uniform(-limit, limit, 500))
    assert worst(elementary.sigmoid(x), [1 / (1 + mp.exp(-v)) for v in exact(x)]) < 2.0**-95


def test_a_value_does_not_depend_on_its_neighbours():
    x = doubled(RANDOM.uniform(0.1, 1e5, 300))
    whole = elementary.log(x)
    for i in (0, 7, 299):
        one = elementary.log(DoubleDouble(x.hi[i : i + 1], x.lo[i : i + 1]))
        assert (one.hi[0], one.lo[0]) == (whole.hi[i], whole.lo[i])


# What README and docs say of float64: what does not oscillate is the nearest value too, but for drawn numbers.


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
    "integer:dim=17,raw=true,scales=0.37": ("pe", 5, lambda p: p * power(mp.mpf(5) / 16, mp.mpf("0.37"))),
    "integer:dim=65,raw=true,scales=2.5": ("pe", 25, lambda p: p * mp.mpf(3125) / 32768),
    "integer:dim=300,raw=true,scales=1e6": ("pe", 298, lambda p: p * power(mp.mpf(298) / 299, 10**6)),
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
