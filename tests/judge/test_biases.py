"""Biases, indices, masks and codes as other programs keep them: a file in, what it is said to be out."""

import math

import numpy as np
import pytest

from pecli.judge.biases import identify_bias
from pecli.tables.foreign import table_of


def told(values=None, **arrays):
    """What a file of these arrays is said to be."""
    return identify_bias(table_of({"array": values} if values is not None else arrays))


def distances(n, queries=None):
    return np.arange(n) - np.arange(n - (queries or n), n)[:, None]


def slopes(heads, most=8):
    whole = 2 ** int(math.log2(heads))
    first = [2.0 ** (-most * k / whole) for k in range(1, whole + 1)]
    return np.array(first + [2.0 ** (-most * k / (2 * whole)) for k in range(1, 2 * (heads - whole), 2)])


def alibi(heads=8, n=24, kind="f4", most=8, queries=None):
    return (-slopes(heads, most)[:, None, None] * np.abs(distances(n, queries))).astype(kind)


def hidden(bias, low=-np.inf):
    return np.where(distances(bias.shape[-1], bias.shape[-2]) > 0, low, bias).astype(bias.dtype)


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 8, 12, 16, 32, 56, 64, 71])
@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_alibi_of_any_number_of_heads_and_type_is_sure(heads, kind):
    found = told(alibi(heads, 17, kind))
    dtype = {"f2": ",dtype=float16", "f4": "", "f8": ",dtype=float64"}[kind]
    assert (found.recipe, found.confidence) == (f"alibi:heads={heads},len=17{dtype}", "sure")
