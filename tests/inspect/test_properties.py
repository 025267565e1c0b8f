"""Measured properties: what is known of the formulas comes out of the values."""

import json
import math

import numpy as np
import pytest

from pecli import Table
from pecli.formats import open_table
from pecli.inspect.properties import as_dicts, measure_properties


def measured(source):
    table = source if not isinstance(source, str) else Table.parse(source)
    return {p["name"]: p for p in as_dicts(measure_properties(table))}


@pytest.fixture
def saved(tmp_path):
    def save(values, name="x.npy"):
        np.save(tmp_path / name, values)
        return open_table(str(tmp_path / name))

    return save


def test_the_sinusoid_has_the_properties_that_are_said_of_it():
    found = measured("sinusoidal:dim=64,len=256,dtype=float64")
    for name in ("bounded", "unique", "smooth", "relative"):
        assert found[name]["holds"] is True
    assert "score depends on m - n alone" not in found  # which a rotation's does, and an addition's does not
    assert found["relative"]["residual"] < 1e-13
    # neighbours: |PE(p+1) - PE(p)|^2 = sum of 2 - 2 cos w
    w = 10000.0 ** (-np.arange(32) / 32)
    apart = math.sqrt((2 - 2 * np.cos(w)).sum())
    assert found["smooth"]["largest"] == pytest.approx(apart, rel=1e-12)
    for k, cosine in found["similarity by distance"]["cosine"].items():
        assert cosine == pytest.approx(np.cos(k * w).mean(), abs=1e-12)


def test_the_relative_property_is_measured_at_any_width():
    found = measured("sinusoidal:dim=1024,len=8192")
    assert found["relative"]["holds"] is True
    assert found["measured on"]["text"] == "the first 512 of 8,192 rows"


def test_the_relative_property_fails_where_there_is_none():
    assert measured("binary:dim=6,len=64")["relative"]["holds"] is False
    assert measured("integer:dim=2,len=100")["relative"]["holds"] is False
    learned = measured("learned:dim=16,max-len=400,len=400")
    assert learned["relative"]["holds"] is False
    assert learned["relative"]["residual"] > 0.1


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("recipe", ["sinusoidal:dim=4", "rope:dim=4", "learned:dim=1"])
def test_a_table_of_few_rows_claims_nothing_that_takes_more(recipe, rows):
    found = measured(f"{recipe},len={rows}")
    shift = found.get("relative")
    assert (shift is None) == (rows == 1)
    if shift is not None and rows == 2:
        assert shift["holds"] is None
        assert shift["text"].startswith("not measured")


def test_a_residual_that_cannot_be_fitted_is_not_claimed():
    found = measured("learned:dim=64,max-len=40,len=40")["relative"]
    assert found["holds"] is None
    assert found["text"] == ("not measured: needs 66 rows for 64 columns, among the first 2048, and there are 40")


def test_a_wrong_row_breaks_the_score_and_the_shift(saved):
    p, w = np.arange(200.0)[:, None], 10000.0 ** (-np.arange(8) / 8)
    table = np.stack([np.cos(p * w), np.sin(p * w)])
    assert measured(saved(table))["score depends on m - n alone"]["holds"] is True
    table[:, 100:] = table[:, 1:101]  # positions jump
    found = measured(saved(table, "y.npy"))
    assert found["score depends on m - n alone"]["holds"] is False
    assert found["relative"]["holds"] is False


def test_a_magnitude_multiplies_the_norm():
    assert measured("rope:dim=16,len=64")["norm preserved"]["holds"] is True
    found = measured("rope:dim=16,len=64,scaling=yarn,factor=4,original-max=64,dtype=float64")["norm preserved"]
    assert found["holds"] is False
    assert found["magnitude"] == pytest.approx(0.1 * math.log(4) + 1, rel=1e-12)


def test_orthogonality_is_the_mean_product_of_oscillations():
    found = measured("rope:dim=4,len=100,dtype=float64")["orthogonal frequencies"]
    p = np.arange(100)
    expected = abs(np.exp(1j * p * (1 - 0.01)).mean())
    assert found["largest"] == pytest.approx(expected, rel=1e-9)
    assert found["mean"] == pytest.approx(expected, rel=1e-9)


def test_equal_rows_are_found_and_named(saved):
    table = np.random.default_rng(3).standard_normal((50, 4))
    table[31] = table[7]
    found = measured(saved(table))["unique"]
    assert found["holds"] is False
    assert found["rows"] == [7, 31]


def test_integers_are_not_bounded():
    found = measured("integer:dim=2,len=100,dtype=float64")["bounded"]
    assert (found["holds"], found["second"]) == (False, 1)


def test_a_bias_is_measured_by_query_and_key():
    found = measured("alibi:heads=4,len=40")
    assert found["relative"]["holds"] is True
    assert found["bounded"]["holds"] is False
    assert found["bounded"]["second"] == 39 * 0.25
    assert measured("alibi:heads=4,len=40,bias=key-position")["relative"]["holds"] is False
    assert measured("fire:heads=2,threshold=16,len=30")["relative"]["holds"] is False


def test_a_bias_in_a_file_is_recognised(saved):
    distance = np.abs(np.arange(30)[:, None] - np.arange(30)[None, :])
    found = measured(saved(-distance[None] * np.array([0.5, 0.25])[:, None, None]))
    assert found["relative"]["holds"] is True
    shifted = -distance[None] * np.array([0.5, 0.25])[:, None, None]
    shifted[0, 3, 9] -= 1
    found = measured(saved(shifted, "y.npy"))["relative"]
    assert found["holds"] is False
    assert found["differ"] == 2


def test_a_square_pair_of_cosines_and_sines_is_no_bias(saved):
    angles = np.arange(8)[:, None] * 0.3 ** np.arange(8)
    found = measured(saved(np.stack([np.cos(angles), np.sin(angles)])))
    assert found["norm preserved"]["holds"] is True


def test_a_mask_is_counted_and_does_not_spoil_the_rest():
    found = measured("alibi:heads=2,len=10,mask=causal")
    assert found["bounded"]["second"] == 9 * 2**-4
    assert found["relative"]["holds"] is True


def test_huge_tables_cost_no_more():
    found = measured("rope:dim=128,len=2000000000")
    assert found["measured on"] == {
        "name": "measured on", "holds": None, "text": "the first 512 of 2,000,000,000 rows", "rows": 512,
        "of": 2_000_000_000,
    }  # fmt: skip


def test_the_command_prints_properties_as_text_and_json(pecli):
    shown = pecli("inspect", "binary:dim=4,len=16,code=gray", "--properties")
    assert "two rows at random" in shown.stdout
    assert max(map(len, shown.stdout.splitlines()[6:])) <= 80
    found = json.loads(pecli("inspect", "binary:dim=4,len=16", "--properties", "--json").stdout)["properties"]
    assert {p["name"] for p in found} >= {"bounded", "unique", "smooth"}


def test_a_table_of_one_row_has_nothing_to_measure():
    assert measure_properties(Table.parse("sinusoidal:dim=4,len=1")) == []


def test_one_nan_of_a_bias_is_off_its_diagonal_wherever_it_stands(saved):
    for place in ((1, 0, 3), (1, 7, 7), (1, 4, 4)):
        bias = np.zeros((2, 8, 8))
        bias[place] = np.nan
        found = measured(saved(bias, "bias.npy"))["relative"]
        assert found["holds"] is False
        assert found["differ"] in (1, 2)


def test_one_wrong_row_of_many_shows_in_the_scores(saved):
    p, w = np.arange(500.0)[:, None], 10000.0 ** (-np.arange(8) / 8)
    table = np.stack([np.cos(p * w), np.sin(p * w)])
    for row in (18, 333, 497):
        wrong = table.copy()
        wrong[:, row] = table[:, row - 1]
        assert measured(saved(wrong, f"{row}.npy"))["score depends on m - n alone"]["spread"] > 0.02


@pytest.mark.parametrize(("scale", "offset"), [(1e200, 0), (1e-310, 0), (1e-3, 1e7)])
def test_huge_tiny_and_offset_rows_are_as_far_apart_as_they_are(scale, offset, saved):
    values = np.random.default_rng(1).standard_normal((40, 6)) * scale + offset
    centred = (values - offset) / scale
    found = measured(saved(values))["smooth"]
    assert found["largest"] == pytest.approx(scale * np.linalg.norm(np.diff(centred, axis=0), axis=1).max(), rel=1e-6)
    assert found["random"] == pytest.approx(scale * np.sqrt(2 * np.var(centred, axis=0).sum()), rel=1e-6)


def test_values_beyond_a_first_half_of_zeros_grow(saved):
    found = measured(saved(np.where(np.arange(40)[:, None] < 20, 0.0, np.ones((40, 3)))))["bounded"]
    assert (found["holds"], found["first"]) == (False, 0)
    distance = np.abs(np.subtract.outer(range(20), range(20)))
    found = measured(saved(np.where(distance > 12, -5.0, 0.0)[None], "y.npy"))["bounded"]
    assert (found["holds"], found["first"]) == (False, 0)


def test_the_fast_pairs_that_are_alike_are_not_called_slow(saved):
    angle = np.outer(np.arange(100.0), [1, 1, 0.3])
    found = measured(saved(np.stack([np.cos(angle), np.sin(angle)])))["orthogonal frequencies"]
    assert "1 of 3 exceed 0.5, all of pairs that turn 15.8 times or less" in found["text"]
