"""The same bytes on every machine: SHA-256 of small tables of biases, relative vectors and gates.

What they hold is tested by value elsewhere; a digest that differs here means that an operation is used
whose last bit depends on the processor or on a library's version.
"""

import hashlib
import json
import sys

import numpy as np
import pytest

from pecli import Table
from pecli.encodings.shared.trained import draw
from tests.conftest import DATA

DIGESTS = json.loads((DATA / "reference" / "relations_digests.json").read_text())


@pytest.mark.skipif(sys.byteorder != "little", reason="the digests are of little-endian values")
@pytest.mark.parametrize("recipe", DIGESTS)
def test_values_have_the_bytes_that_are_recorded(recipe):
    table = Table.parse(recipe)
    found = {array.name: hashlib.sha256(table.read(array.name).tobytes()).hexdigest() for array in table.arrays}
    assert found == DIGESTS[recipe]


def philox(counter, key):
    """Four words of Philox4x64-10 in plain integers (Salmon et al. 2011)."""
    mask = (1 << 64) - 1
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(b >> 64) ^ c[1] ^ k[0], b & mask, (a >> 64) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B97F4A7C15) & mask, (k[1] + 0xBB67AE8584CAA73B) & mask]
    return c


def test_drawn_values_are_words_of_philox_by_row_and_column():
    width, seed, stream = 3, 12345, 2
    found = draw(seed, stream, 5, 9, width, "uniform", 2.0)
    for row in range(5, 9):
        for column in range(width):
            number = row * width + column
            word = philox((number // 4 + 1, 0, 0, 0), (seed, stream))[number % 4]  # numpy counts up before it draws
            assert found[row - 5, column] == 2.0 * (2.0 * ((word >> 12) + 0.5) * 2.0**-52 - 1.0)


def test_a_row_does_not_depend_on_how_many_are_drawn():
    for rule in ("normal", "truncated-normal", "uniform", "zeros"):
        whole = draw(1, 0, 0, 50, 7, rule, 0.3)
        np.testing.assert_array_equal(draw(1, 0, 13, 14, 7, rule, 0.3), whole[13:14])
