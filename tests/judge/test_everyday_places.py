"""Everyday places: rows, columns and heads that stand elsewhere, copies, and rows that a cache does not hold yet."""

import numpy as np
import pytest

import pecli
from tests.judge.answers import angles, cache, distances, get_slopes, half, sinusoid

TABLE = {name: half(values).astype("float32") for name, values in cache(angles(64, 32)).items()}
BIAS = (-get_slopes(8)[:, None, None] * distances(16)).astype("float32")
BINARY = np.asarray(pecli.table("binary:dim=8", len=64)["pe"])


def changed(values, change):
    """A copy of an array, or of each of several, that a function has changed."""
    if isinstance(values, dict):
        return {name: changed(one, change) for name, one in values.items()}
    made = values.copy()
    found = change(made)
    return made if found is None else found


def emptied(values):
    values[50:] = 0


def flipped(values):
    values[:, 16:] = values[:, :15:-1]


def hidden(values):
    values[[0, 4, 6], 3, 5] = -np.inf


def repeated(values):
    values[6:] = values[5]


PLACES = [  # the first finding
    (TABLE, changed(TABLE, emptied), "rows 50 to 63 are zero in the expected table"),
    (changed(TABLE, emptied), TABLE, "rows 50 to 63 are zero"),
    (changed(TABLE, lambda values: np.stack([[values] * 3] * 2)), "rope:dim=32,layout=half",
     "6 equal copies of one table, as of a batch"),
    (changed(TABLE, flipped), "rope:dim=32", "columns 16 to 31 hold what was expected at columns 0 to 15, backwards"),
    (changed(BIAS, hidden), "alibi:heads=8",
     "3 of 2,048 values do not fit, all of them in heads 0, 4 and 6; the first is -inf at [0, 3, 5], expected -1"),
    (changed(BIAS.astype("float16"), repeated), "alibi:heads=8,dtype=float16", "heads 6 to 7 repeat head 5"),
    (changed(BINARY, lambda values: np.roll(values, 3, 0)), "binary:dim=8",
     "the rows are shifted cyclically by 3: row 3 holds row 0"),
    (cache(angles(8, 32))["cos"][7:], "rope:dim=32", "positions start at 7 where 0 was expected"),
    (sinusoid(8, 32)[7], "sinusoidal:dim=32", "positions start at 7 where 0 was expected"),
]  # fmt: skip


@pytest.mark.parametrize(("actual", "expected", "first"), PLACES)
def test_the_place_is_named(actual, expected, first):
    assert pecli.compare(actual, expected).findings[0].text == first


def test_a_table_is_no_row_of_its_quantised_one():
    quantised = changed(TABLE, lambda values: np.round(values * 127).astype("int8"))
    said = repr(pecli.compare(TABLE, quantised))
    assert "repeat" not in said, said
