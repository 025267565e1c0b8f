"""What stands behind the modules of every framework, with NumPy's arrays in the place of tensors."""

import numpy as np
import pytest

import pecli
from pecli.errors import BadParameter
from pecli.framework_tables import FrameworkTable, rotated_pairs
from pecli.spec.declaration import Family

OPT = {"model_type": "opt", "hidden_size": 16, "num_attention_heads": 2, "max_position_embeddings": 32}


def test_the_length_is_the_models_the_encodings_or_must_be_given():
    assert FrameworkTable("rope:dim=8,len=12", Family.ROTARY, None, True).length == 12
    assert FrameworkTable("rope:dim=8", Family.ROTARY, 5, True).length == 5
    assert FrameworkTable("sincos2d:dim=8,grid=2x3", Family.ABSOLUTE, None, False).length == 6
    with pytest.raises(BadParameter, match="nothing else says how many positions there are"):
        FrameworkTable("rope:dim=8", Family.ROTARY, None, True)


@pytest.mark.parametrize(("subject", "said"), [("alibi:heads=2", "bias"), (np.zeros((4, 8), np.float32), "a file")])
def test_a_table_of_another_family_is_refused(subject, said):
    with pytest.raises(BadParameter, match=f"is {said}.*: this module is for rotary ones"):
        FrameworkTable(subject, Family.ROTARY, 8, True)


def test_untrained_arrays_are_exact_in_every_type():
    held = FrameworkTable("rope:dim=8,len=12", Family.ROTARY, None, True)
    assert (held.trained, held.by_index, held.width) == ((), False, 8)
    assert held.start("float32") == {}
    for dtype in ("float32", "float16", "float64"):
        stored = held.constants(dtype, 20)
        assert list(stored) == ["cos", "sin"]
        exact = pecli.table("rope:dim=8,len=20", dtype=dtype)
        assert all(np.array_equal(one.values, exact[name]) and one.dtype == dtype for name, one in stored.items())


def test_trained_tables_start_from_their_seed():
    held = FrameworkTable("learned:dim=4,len=3,seed=5", Family.ABSOLUTE, None, False)
    assert held.trained == ("pe",)
    assert np.array_equal(held.start("float32")["pe"].values, pecli.table("learned:dim=4,len=3,seed=5")["pe"])
    assert held.constants("float32") == {}
    buckets = FrameworkTable("t5:heads=2", Family.BIAS, 6, True)
    assert buckets.by_index
    assert buckets.start("float32")["weight"].values.shape == (32, 2)
    assert list(buckets.constants("float32")) == ["index"]


def test_rows_before_position_0_count_in_the_length():
    held = FrameworkTable(OPT, Family.ABSOLUTE, None, False)
    assert (held.before, held.length) == (2, 34)
    with pytest.raises(IndexError, match="position -3 lies before the table"):
        held.check_first(-1)
    with pytest.raises(IndexError, match="position 40 lies past the 34"):
        held.reach(42, lambda length: None)


def test_widths_are_checked():
    held = FrameworkTable("sinusoidal:dim=8", Family.ABSOLUTE, 4, True)
    held.check_width(8)
    with pytest.raises(BadParameter, match="has vectors of 6, and sinusoidal:dim=8 is for 8 columns"):
        held.check_width(6)


def test_a_table_grows_by_half_at_least_and_no_further_than_its_encoding():
    held, made = FrameworkTable("rope:dim=8", Family.ROTARY, 10, True), []
    held.reach(9, made.append)
    held.reach(10, made.append)
    held.reach(100, made.append)
    assert (made, held.length) == ([15, 101], 101)
    rows, keys = held.query_rows(3, 120, lambda last: held.reach(last, made.append))
    assert (rows, keys, held.length) == (slice(117, 120), 120, 151)
    assert held.query_rows(5, None, lambda last: None) == (slice(0, 5), 5)


@pytest.mark.parametrize("pairs", ["half", "interleaved"])
def test_pairs_are_rotated_and_further_columns_kept(pairs):
    x, exact = np.arange(36.0, dtype=np.float32).reshape(6, 6) / 7, pecli.table("rope:dim=4,len=6")
    made = rotated_pairs(x, exact["cos"], exact["sin"], pairs, np)
    expected = pecli.apply("rope:dim=4", x[:, :4], pairs=pairs)["array"]
    np.testing.assert_allclose(made[:, :4], expected, atol=1e-6)
    assert np.array_equal(made[:, 4:], x[:, 4:])
    with pytest.raises(BadParameter, match="must be half or interleaved"):
        rotated_pairs(x, exact["cos"], exact["sin"], "split", np)
