"""Scaled and inverted rotations are within their stated error of the true values, by mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import pecli
from pecli.apply.exact import StoredRows
from pecli.apply.rotation import ExactRotations, Rotations, ScaledRotations, inverse_of
from pecli.formats import open_table

POSITIONS = (0, 1, 11, 39, 355)


@pytest.fixture
def yarn() -> ExactRotations:
    """Rotations whose first pair turns by one radian a position and has magnitude 0.1 ln 4 + 1."""
    recipe = "rope:dim=8,scaling=yarn,factor=4,original-max=128,len=400,dtype=float64"
    return ExactRotations(pecli.table(recipe))


def check(rotations: Rotations, factor) -> None:
    """Compare the first pair's double-double values with `factor` times cos p and sin p."""
    with mpmath.workprec(400):
        for p in POSITIONS:
            wanted = [factor(p) * f(mpmath.mpf(p)) for f in (mpmath.cos, mpmath.sin)]
            doubled = rotations.doubled(np.array([p]), np.array([0]))
            for true, twice in zip(wanted, doubled[:2], strict=True):
                near = Fraction(float(twice.hi[0])) + Fraction(float(twice.lo[0]))
                assert abs(near - fraction(true)) <= Fraction(float(doubled[2][0])), p


def fraction(number: mpmath.mpf) -> Fraction:
    """Return the exact value of a number of mpmath."""
    sign, mantissa, exponent, _ = number._mpf_
    return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** int(exponent)


def test_the_inverse_divides_by_the_magnitude(yarn):
    check(inverse_of(yarn), lambda p: 1 / (mpmath.log(4) / 10 + 1))


@pytest.mark.parametrize("divides", [False, True])
def test_a_stored_factor_multiplies_or_divides(tmp_path, yarn, divides):
    factors = np.linspace(0.5, 3, 1600).reshape(400, 4)
    np.save(tmp_path / "factors.npy", factors)
    scaled = ScaledRotations(yarn, StoredRows(open_table(tmp_path / "factors.npy")), divides=divides)

    def factor(p: int):
        stored = mpmath.mpf(float(factors[p, 0]))
        return (mpmath.log(4) / 10 + 1) * (1 / stored if divides else stored)

    check(scaled, factor)


def test_a_rotation_alone_is_its_own_inverse():
    plain = ExactRotations(pecli.table("rope:dim=8,len=4,dtype=float64"))
    assert inverse_of(plain) is plain
