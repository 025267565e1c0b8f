"""Where and how two tables differ, where no parameter explains it: arrays in, findings out."""

import numpy as np
import pytest

import pecli
from pecli.judge.located import located
from pecli.spec.tabular import InMemory
from pecli.tables.views import matched_views

ROWS, DIM = 256, 32
PLACES = np.arange(ROWS)
ANGLES = PLACES[:, None] / 10000.0 ** (np.arange(0, DIM, 2) / DIM)
TABLE = np.stack([np.sin(ANGLES), np.cos(ANGLES)], 2).reshape(ROWS, DIM).astype(np.float32)
PAIR = {"cos": np.cos(ANGLES).astype(np.float32), "sin": np.sin(ANGLES).astype(np.float32)}
BIAS = -np.abs(np.arange(24)[:, None] - np.arange(24)) * (2.0 ** -np.arange(1, 9))[:, None, None].astype(np.float32)
MASK = np.triu(np.full((8, 8), -np.inf), 1)
RNG = np.random.default_rng(11)


def put(values, index, value):
    changed = values.copy()
    changed[index] = value
    return changed


def moved(first, other, count):
    order = PLACES.copy()
    order[first : first + count], order[other : other + count] = (
        PLACES[other : other + count],
        PLACES[first : first + count],
    )
    return order


def said(actual, expected):
    both = ({"": given[0]} if isinstance(given, list) and given else dict(given) for given in (actual, expected))
    return [finding.text for finding in located(matched_views(*map(InMemory, both)))]


ORDERS = {
    "rows 43 to 86 are missing, later rows have moved up by 44": np.delete(PLACES, range(43, 87)),
    "row 17 is missing, later rows have moved up by 1": np.delete(PLACES, 17),
    "rows 200 to 255 are missing": PLACES[:200],
    "rows 5 to 9 repeat row 4": np.where((PLACES >= 5) & (PLACES <= 9), 4, PLACES),
    "rows 100 to 255 repeat row 99": np.minimum(PLACES, 99),
    "the rows are reversed": PLACES[::-1],
    "rows 20 to 40 are reversed": np.r_[0:20, 40:19:-1, 41:ROWS],
    "rows 10 to 19 are exchanged with rows 30 to 39": moved(10, 30, 10),
    "rows 7 and 90 are exchanged": moved(7, 90, 1),
    "only every second row is there: row 1 holds what was expected at row 2": PLACES[::2],
    "only every 3rd row is there: row 1 holds what was expected at row 3": PLACES[::3],
    "every row is there twice: row 2 holds what was expected at row 1": PLACES // 2,
    "rows from 64 on repeat the first 64: row 64 is row 0 again": PLACES % 64,
    "row 17 is repeated, later rows have moved down by 1": np.insert(PLACES, 17, 17)[:ROWS],
    "the rows are shifted cyclically by -3: row 0 holds row 3": np.roll(PLACES, -3),
    "the rows are those of a grid of 16 x 16 whose axes are exchanged": PLACES.reshape(16, 16).T.ravel(),
    "rows 0 to 2 are missing": PLACES[3:],
    "rows 5 to 9 hold what was expected at rows 105 to 109": np.where(
        (PLACES >= 5) & (PLACES < 10), PLACES + 100, PLACES
    ),
}


@pytest.mark.parametrize("text", ORDERS)
def test_an_order_of_the_rows_is_named(text):
    order = ORDERS[text]
    assert said({name: values[order] for name, values in PAIR.items()}, PAIR) == [text]


def test_rows_without_any_rule_are_in_another_order():
    order = RNG.permutation(ROWS)
    (text,) = said([TABLE[order]], [TABLE])
    assert text.startswith("the rows are in another order: row ")


def test_a_table_that_starts_later_goes_on_after_the_last_expected_row():
    later = (3 + PLACES[:, None]) / 10000.0 ** (np.arange(0, DIM, 2) / DIM)
    actual = np.stack([np.sin(later), np.cos(later)], 2).reshape(ROWS, DIM).astype(np.float32)
    text = "row 0 holds what was expected at row 3, and so on"
    assert said([actual], [TABLE]) == [text]


SWAPPED = np.arange(DIM)
SWAPPED[[3, 20]] = 20, 3
CHANGES = {
    "rows 100 to 255 are zero": put(TABLE, slice(100, None), 0),
    "rows 100 to 255 are NaN": put(TABLE, slice(100, None), np.nan),
    "the columns are half-split where interleaved ones were expected": np.concatenate(
        [TABLE[:, 0::2], TABLE[:, 1::2]], 1
    ),
    "the two halves of the columns are exchanged": np.roll(TABLE, DIM // 2, 1),
    "neighbouring columns are exchanged": TABLE.reshape(ROWS, -1, 2)[:, :, ::-1].reshape(TABLE.shape),
    "the columns are reversed": TABLE[:, ::-1],
    "the columns are shifted cyclically by 3: column 3 holds column 0": np.roll(TABLE, 3, 1),
    "columns 3 and 20 are exchanged": TABLE[:, SWAPPED],
    "column 7 is zero": put(TABLE, (slice(None), 7), 0),
    "columns 30 and 31 are missing": TABLE[:, :30],
    "0.5 is added to all values": TABLE + np.float32(0.5),
    "all values are 2 times the expected ones": 2 * TABLE,
    "the sign of all values is changed": -TABLE,
    "the sign of the values of every second column is changed": np.where(np.arange(DIM) % 2, TABLE, -TABLE),
    "the values of rows 50 to 99 are 2 times the expected ones": put(TABLE, slice(50, 100), 2 * TABLE[50:100]),
    "the values of column 5 are 4 times the expected ones": put(TABLE, (slice(None), 5), 4 * TABLE[:, 5]),
    "all values are the absolute values of the expected ones": np.abs(TABLE),
    "all values are right, rounded to 2 decimals": np.round(TABLE, 2),
    "all values are rounded to float16": TABLE.astype(np.float16).astype(np.float32),
    "all values are cut to bfloat16 instead of rounded": (TABLE.view(np.uint32) & 0xFFFF0000).view(np.float32),
    "all values are cut to integers": np.trunc(TABLE).astype(np.int8),
    "transposed": TABLE.T,
    "all values are 1": np.ones_like(TABLE),
    "the bytes of all values are swapped: the file has the other byte order (float32)": TABLE.byteswap(),
    "[30, 7] is NaN, expected 0.5830268": put(TABLE, (30, 7), np.nan),
    "[3, 5] is -inf, expected 0.5827536": put(TABLE, (3, 5), -np.inf),
    "[3, 5] is 0.1, expected 0.5827536": put(TABLE, (3, 5), 0.1),
    "the values of every second row from row 1 on are zero": put(TABLE, slice(1, None, 2), 0),
}


@pytest.mark.parametrize("text", CHANGES)
def test_a_change_of_a_table_is_named(text):
    assert said([CHANGES[text]], [TABLE]) == [text]


HEADS = {
    "the values of head 3 are 3 times the expected ones": put(BIAS, 3, 3 * BIAS[3]),
    "the heads are reversed": BIAS[::-1],
    "heads 2 and 5 are exchanged": BIAS[[0, 1, 5, 3, 4, 2, 6, 7]],
    "head 2 is zero": put(BIAS, 2, 0),
    "6 of 8 heads: heads 0 to 5": BIAS[:6],
    "has the shape (8, 12, 12) where (8, 24, 24) was expected": BIAS[:, :12, :12],
    "rows 0 to 11 are missing": BIAS[:, 12:],
}


@pytest.mark.parametrize("text", HEADS)
def test_a_change_of_heads_is_named(text):
    assert said([HEADS[text]], [BIAS]) == [text]


def test_complex_values_are_told_by_their_parts():
    turns = np.exp(1j * ANGLES).astype(np.complex64)
    assert said([turns.conj()], [turns]) == ["imag: the sign of all values is changed"]
    assert said([turns.imag + 1j * turns.real], [turns]) == ["real and imag are exchanged"]


def test_a_table_that_is_shorter_and_narrower():
    assert said([TABLE[:100, :20]], [TABLE]) == ["has the shape (100, 20) where (256, 32) was expected"]
    every = "only every second head is there: head 1 holds what was expected at head 2"
    assert said([BIAS[::2]], [BIAS]) == [every]


def test_arrays_that_do_not_differ_are_left_out():
    cos, sin = PAIR["cos"], PAIR["sin"]
    assert said({"cos": sin, "sin": cos}, PAIR) == ["cos and sin are exchanged"]
    assert said({"cos": cos, "sin": cos}, PAIR) == ["sin holds the values of cos"]
    assert said({"cos": cos, "sin": -sin}, PAIR) == ["sin: the sign of all values is changed"]
    text = "cos[3, 5] is 0.1, expected 0.9858035"
    assert said({"cos": put(cos, (3, 5), 0.1), "sin": sin}, PAIR) == [text]


def test_a_reshape_in_the_place_of_a_transposition_is_named():
    values = TABLE.reshape(64, 4, DIM)
    (text,) = said([values.reshape(4, 64, DIM)], [values.transpose(1, 0, 2).copy()])
    assert text == "reshaped instead of transposed: the expected values stand in the order of the axes (1, 0, 2)"


def test_what_a_finding_leaves_is_counted():
    actual = {name: np.delete(values, 17, 0) for name, values in PAIR.items()}
    actual["cos"].ravel()[1000:1012] = np.nextafter(actual["cos"].ravel()[1000:1012], np.float32(0))
    cause = "row 17 is missing, later rows have moved up by 1"
    assert said(actual, PAIR) == [cause, "the rest is rounding, at most 1 ulp"]
    actual["sin"][50, 2] = 0.25
    assert said(actual, PAIR)[:2] == [cause, f"sin[50, 2] is 0.25, expected {PAIR['sin'][51, 2]!s}"]


def test_a_place_is_said_of_what_is_not_recognised():
    actual = TABLE.copy()
    actual[70:112, :4] += RNG.uniform(0.001, 0.02, (42, 4)).astype(np.float32)
    (text,) = said([actual], [TABLE])
    assert text.startswith("differs in rows 70 to 111, columns 0 to 3, by at most 0.0")
    assert text.endswith("(168 values)")


def test_equal_tables_have_no_finding():
    assert said([TABLE], [TABLE]) == []
    assert said([put(TABLE, (1, 1), np.nan)], [put(TABLE, (1, 1), np.nan)]) == []
    assert said([], []) == []


def test_values_where_all_were_to_be_masked_are_located() -> None:
    ramp = np.arange(144.0).reshape(4, 6, 6)
    (found, *_) = pecli.compare(ramp, "alibi:heads=4,mask=causal").findings
    assert found.text


def test_a_mask_that_is_transposed_is_not_a_rounding():
    assert said([MASK.T], [MASK]) == ["transposed, or the mask is on the other side of the diagonal"]


@pytest.mark.parametrize("seed", range(40))
def test_small_arrays_of_any_kind_end_in_a_finding(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 6, rng.integers(1, 4)))
    makers = [
        lambda: rng.integers(0, 2, shape),
        lambda: rng.integers(0, 2, shape).astype(bool),
        lambda: rng.normal(size=shape),
        lambda: np.where(rng.random(shape) < 0.3, np.nan, 1.0),
        lambda: np.where(rng.random(shape) < 0.3, -np.inf, 0.0),
        lambda: np.zeros(shape, np.float16),
        lambda: rng.normal(size=shape) + 1j,
    ]
    one, other = (makers[k]() for k in rng.integers(0, len(makers), 2))
    findings = located(matched_views(InMemory({"": one}), InMemory({"": other})))
    assert bool(findings) or one.dtype.kind == "c" or np.array_equal(one, other, equal_nan=True)


def test_noise_in_some_heads_is_no_change_of_bytes() -> None:
    expected = np.array(pecli.table("alibi:heads=12,len=64")["bias"])
    actual = expected.copy()
    actual[:4] = np.random.default_rng(0).standard_normal(actual[:4].shape) * 0.02
    found = [one.text for one in pecli.compare(actual, expected).findings]
    assert (
        found[0] == "the values of array, heads 0 to 3, look drawn at random or trained:"
        " neighbouring rows and columns are hardly related"
    )
    assert not any("bytes" in text or "sign" in text for text in found)


@pytest.mark.parametrize("factor", [1.0, 1.1, 3.3])
def test_one_wrong_value_among_roundings_is_no_other_order_of_columns(factor: float) -> None:
    angles = np.outer(np.arange(512, dtype=np.float32), 10000 ** -(np.arange(0, 64, 2, dtype=np.float32) / 64))
    computed = np.cos(np.concatenate([angles, angles], axis=1)) * np.float32(factor)
    expected = np.array(pecli.table("rope:dim=64,len=512,layout=half")["cos"]) * np.float32(factor)
    computed[7, 1] = 0
    found = [one.text for one in pecli.compare({"cos": computed}, {"cos": expected}).findings]
    assert "cos[7, 1] is 0, expected" in found[0]
    assert not any("exchanged" in text or "columns" in text for text in found)


def test_a_mask_on_the_past_is_not_said_to_be_transposed_alone() -> None:
    causal = np.triu(np.full((64, 64), -np.inf, np.float32), 1)
    found = pecli.compare(causal.T.copy(), causal).findings
    seen = "pairs are seen where the key is not before the query"
    assert found[0].text == f"{seen}; expected: where the key is not after the query (causal)"
    bias = np.array(pecli.table("alibi:heads=8,len=64")["bias"]) + causal.T
    (first, *_) = pecli.compare(bias, "alibi:heads=8,len=64,mask=causal").findings
    assert first.text.startswith("the mask hides the keys before the query: a mask on the past, or")
    assert "0 where the key is not before the query" in str(pecli.identify(causal.T.copy()))
