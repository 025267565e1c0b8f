"""Tests of a rotary kernel: run them with pytest. The kernel is in NumPy here, so that the file runs as it is.

The fixtures come with pecli; `from pecli.testing import assert_applied, assert_table` gives the same.
"""

import numpy as np
import pytest

RECIPE = "rope:dim=64,base=500000"


def cache(length, dim=64, base=500000.0):
    """The kernel's table: float32 as frameworks make it, cos and sin of width dim/2."""
    frequencies = (1.0 / base ** (np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim))).astype(np.float32)
    angles = np.arange(length, dtype=np.float32)[:, None] * frequencies
    return np.cos(angles), np.sin(angles)


def rotate(x, cos, sin):
    """The kernel: x_i and x_(i + d/2) are a pair, as in Llama."""
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def test_the_table_is_that_of_the_recipe(assert_table):
    assert_table(cache(512), RECIPE, atol=512 * 2.0**-23)  # an angle of 512 in float32 may be off by that


@pytest.mark.parametrize("start", [0, 100])
def test_queries_are_rotated(assert_applied, start):
    q = np.random.default_rng(0).standard_normal((2, 4, 32, 64)).astype(np.float32)
    cos, sin = (part[start : start + 32] for part in cache(256))
    assert_applied(q, rotate(q, cos, sin), RECIPE, pairs="half", start=start)
