"""The worked examples of the guides: what the command prints, and the values, to the digits that the guides print."""

import json

import numpy as np
import pytest

from pecli import Table


def values(text):
    table = Table.parse(text + ",dtype=float64")
    return [table.read(a.name) for a in table.arrays]


def test_the_sinusoid_of_four_dimensions():
    (pe,) = values("sinusoidal:dim=4,len=3")
    np.testing.assert_allclose(pe[0], [0, 1, 0, 1], atol=0)
    np.testing.assert_allclose(pe[1], [0.841, 0.540, 0.010, 1.000], atol=5e-4)
    np.testing.assert_allclose(pe[2], [0.909, -0.416, 0.020, 0.9998], atol=5e-4)


def test_the_sinusoid_of_eight_dimensions():
    (pe,) = values("sinusoidal:dim=8,len=4")
    expected = [[0.84, 0.54, 0.10, 0.995], [0.91, -0.42, 0.20, 0.98], [0.14, -0.99, 0.30, 0.955]]
    np.testing.assert_allclose(pe[1:, :4], expected, atol=5e-3)


def test_the_columns_of_the_sinusoid_over_eight_positions():
    (pe,) = values("sinusoidal:dim=12,len=8")
    np.testing.assert_allclose(pe[:, 0], [0, 0.84, 0.91, 0.14, -0.76, -0.96, -0.28, 0.66], atol=5e-3)
    np.testing.assert_allclose(pe[:, 6], np.arange(8) * 0.01, atol=1e-4)


def test_the_rotation_of_two_positions_is_the_rotation_of_their_difference():
    cos, sin = values("rope:dim=4,positions=1+3+2")
    m, n, difference = (
        [np.array([[c, -s], [s, c]]) for c, s in zip(cos[row], sin[row], strict=True)] for row in range(3)
    )
    np.testing.assert_allclose(m[0], [[0.540, -0.841], [0.841, 0.540]], atol=5e-4)
    np.testing.assert_allclose(m[1], [[1.000, -0.010], [0.010, 1.000]], atol=5e-4)
    np.testing.assert_allclose(n[0], [[-0.990, -0.141], [0.141, -0.990]], atol=5e-4)
    np.testing.assert_allclose(n[1], [[1.000, -0.030], [0.030, 1.000]], atol=5e-4)
    for pair in range(2):
        np.testing.assert_allclose(m[pair].T @ n[pair], difference[pair], atol=1e-15)


def test_the_angles_of_the_rotation_are_1_and_a_hundredth():
    (angles,) = values("rope:dim=4,positions=1,layout=angles")
    np.testing.assert_array_equal(angles, [[1.0, 0.01]])


def test_the_slopes_of_eight_heads_and_a_row_of_the_first():
    (slopes,) = values("alibi:heads=8,len=5,form=slopes")
    np.testing.assert_array_equal(slopes, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256])
    (bias,) = values("alibi:heads=8,len=5")
    np.testing.assert_array_equal(bias[0, 2], [-1, -0.5, 0, -0.5, -1])
    np.testing.assert_array_equal(bias[0, 0], [0, -0.5, -1, -1.5, -2])


def test_the_integer_of_ten_positions():
    (pe,) = values("integer:dim=4,len=10")
    np.testing.assert_allclose(pe[[0, 5, 9]], [[0] * 4, [0.556] * 4, [1] * 4], atol=5e-4)


def test_thirteen_in_binary():
    (pe,) = values("binary:dim=8,positions=13")
    np.testing.assert_array_equal(pe, [[1, 0, 1, 1, 0, 0, 0, 0]])


def test_three_and_four_differ_in_one_bit_of_the_gray_code_and_three_of_the_binary():
    (gray,) = values("binary:dim=4,code=gray,msb=true,positions=3+4")
    np.testing.assert_array_equal(gray, [[0, 0, 1, 0], [0, 1, 1, 0]])
    (binary,) = values("binary:dim=4,positions=3+4")
    assert (binary[0] != binary[1]).sum() == 3


def test_neighbouring_frequencies_have_the_true_ratio_not_the_guides():
    from pecli import Recipe

    w = Recipe.parse("sinusoidal:dim=512").plan.frequencies
    assert float(w[0] / w[1]) == pytest.approx(1.0366, abs=5e-5)
    assert 2 * np.pi / float(w[-1]) == pytest.approx(60_611, abs=0.5)


def test_the_command_prints_the_example(pecli):
    shown = pecli("generate", "sinusoidal", "--dim", 4, "--len", 3, "--precision", 3).stdout
    for word in ("0.841", "0.540", "0.010", "0.909", "-0.416", "0.020"):
        assert word in shown


def test_the_command_prints_the_slopes(pecli):
    shown = pecli("generate", "alibi", "--heads", 8, "--len", 5, "--form", "slopes", "--precision", 8).stdout
    for slope in ("0.50000000", "0.25000000", "0.00390625"):
        assert slope in shown


def test_the_command_prints_json(pecli):
    found = json.loads(pecli("generate", "sinusoidal", "--dim", 4, "--len", 2, "--json").stdout)
    assert found["recipe"].startswith("sinusoidal:dim=4,")
    assert found["arrays"][0]["shape"] == [2, 4]
