"""Everyday places: rows, columns and heads that stand elsewhere, copies, and rows that a cache does not hold yet."""

import numpy as np
import pytest

import pecli
from tests.judge.answers import angles, cache, distances, frequencies, get_slopes, half, sinusoid

TABLE = {name: half(values).astype("float32") for name, values in cache(angles(64, 32)).items()}
BIAS = (-get_slopes(8)[:, None, None] * distances(16)).astype("float32")
SHORT = sinusoid(128, 16, 5e5, dtype="float64")
WIDE = sinusoid(512, 128).astype("float16")
HEADS = np.random.default_rng(0).normal(size=(2, 6, 8)).astype("float32")
EACH, AGAIN = np.repeat(HEADS, 4, 0)[None], np.tile(HEADS, (4, 1, 1))[None]
SLOPES = get_slopes(32).astype("float16")
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


def swapped(first, second):
    """Exchange two columns, or two rows of a transposed table."""

    def change(values):
        values[:, [first, second]] = values[:, [second, first]]

    return change


def zeroed(values):
    values[28:] = 0


PLACES = [  # the first finding
    (TABLE, changed(TABLE, emptied), "rows 50 to 63 are zero in the expected table"),
    (changed(TABLE, emptied), TABLE, "rows 50 to 63 are zero"),
    (changed(TABLE, lambda values: np.stack([[values] * 3] * 2)), "rope:dim=32,layout=half",
     "6 equal copies of one table, as of a batch"),
    (changed(TABLE, flipped), "rope:dim=32", "columns 16 to 31 hold what was expected at columns 0 to 15, backwards"),
    (changed(BIAS, hidden), "alibi:heads=8",
     "3 of 2,048 values do not fit, all of them in heads 0, 4 and 6; the first is -inf at [0, 3, 5], expected -1"),
    (changed(BIAS.astype("float16"), repeated), "alibi:heads=8,dtype=float16", "heads 6 and 7 repeat head 5"),
    (changed(BINARY, lambda values: np.roll(values, 3, 0)), "binary:dim=8",
     "the rows are shifted cyclically by 3: row 3 holds row 0"),
    (changed(SHORT.T, swapped(53, 54)).T, "sinusoidal:dim=16,base=500000,dtype=float64", "rows 53 and 54 are exchanged"),
    (changed(WIDE, swapped(47, 123)), "sinusoidal:dim=128,dtype=float16", "columns 47 and 123 are exchanged"),
    ((2**2.5 * 2.0 ** -(np.arange(1, 17) / 2)[:, None, None] * np.arange(16)).astype("float32"),
     "alibi:heads=16,bias=key-position,len=16", "all values are 5.656854 (sqrt(32)) times the expected ones"),
    (AGAIN, EACH, "all 2 axis-1 blocks stand in turn, 4 times; expected: each 4 times in a row"),
    (EACH, AGAIN, "each of 2 axis-1 blocks stands 4 times in a row; expected: all 2 in turn, 4 times"),
    (changed(SLOPES, zeroed), "alibi:heads=32,form=slopes,dtype=float16", "heads 28 to 31 are zero"),
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


def test_no_rows_are_stretched_to_others_within_noise():
    steps = 2.0 ** -np.arange(5, 13), np.geomspace(1 / 32, 1 / 512, 8)
    expected, actual = ((1 - some[:, None]) ** np.arange(24) for some in steps)
    said = repr(pecli.compare(actual.astype("float32"), expected.astype("float32")))
    assert "stretched" not in said, said


@pytest.mark.parametrize("recipe", ["sincos2d:dim=32,grid=8x8", "rope2d:dim=32,grid=8x8"])
def test_rows_of_a_grid_that_are_exchanged_are_told(ask, recipe):
    table = pecli.table(recipe)
    arrays = {name: np.array(table[name]) for name in table}
    for values in arrays.values():
        values[[28, 29]] = values[[29, 28]]
    np.savez("x.npz", **arrays)
    ask("compare", "x.npz", recipe).ends(1).says("rows 28 and 29 are exchanged").never("coordinates")


def test_a_nan_at_the_start_of_a_line_of_a_grid_is_a_value():
    frequencies, (y, x) = 1e4 ** (-np.arange(0, 8, 2) / 8), np.divmod(np.arange(36), 6)
    phases = np.concatenate([y[:, None] * frequencies, x[:, None] * frequencies], 1)
    phases[6, 0] = np.nan
    said = pecli.compare({"cos": np.cos(phases), "sin": np.sin(phases)}, "rope2d:dim=16,grid=6x6,dtype=float64")
    assert said.findings[0].text == "cos[6, 0] is NaN, expected 0.5403023058681398"


def test_a_table_of_mostly_nan_is_unknown():
    table = {name: values.astype("float16") for name, values in cache(angles(24, 16)).items()}
    assert (
        pecli.identify(changed(table, lambda values: np.where(np.arange(24)[:, None] > 3, np.nan, values))).recipe
        is None
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.delete(np.arange(512), 350), "row 350 is missing, later rows have moved up by 1"),
        (np.minimum(np.arange(512), 300), "rows 301 to 511 repeat row 300"),
        (np.arange(512) % 256, "rows from 256 on repeat the first 256: row 256 is row 0 again"),
    ],
)
def test_identify_says_how_rows_differ_from_the_nearest_recipe(rows, said):
    found = pecli.identify({name: values[rows] for name, values in cache(angles(512, 64)).items()})
    assert found.confidence == "unknown"
    assert found.measured[0] == f"nearly rope:dim=64,len={len(rows)}: {said}"


@pytest.mark.parametrize("first", [0, 1])
def test_identify_knows_a_cache_behind_padding(first):
    positions = np.concatenate([np.full(6, first), np.arange(34)])
    found = pecli.identify({name: values[positions] for name, values in cache(angles(40, 64)).items()})
    said = "rows 1 to 6 repeat row 0" if first == 0 else "rows 0 to 5 all hold row 1"
    said += ", later rows have moved down by 6"
    assert found.measured[0] == f"nearly rope:dim=64: {said}"


SLIPS = {
    "column j has exponent 2j/d where 2 (j // 2)/d was expected": 1e4 ** (-2 * np.arange(128) / 128),
    "column j has exponent j/d where 2 (j // 2)/d was expected": 1e4 ** (-np.arange(128) / 128),
}


@pytest.mark.parametrize("said", SLIPS)
@pytest.mark.parametrize("rows", [40, 500])
@pytest.mark.parametrize("decimals", [None, 4, 6])
def test_identify_says_which_exponent_of_the_plain_sinusoid_was_taken(said, rows, decimals):
    phases = np.arange(rows)[:, None] * SLIPS[said]
    table = np.where(np.arange(128) % 2 == 0, np.sin(phases), np.cos(phases))
    found = pecli.identify(table.astype("float32") if decimals is None else table.round(decimals))
    assert found.measured[0].startswith("nearly sinusoidal:dim=128:")
    assert said in found.measured[0]


@pytest.mark.parametrize(("change", "said"), [
    (lambda table: table.T.reshape(table.shape).copy(), "reshaped instead of transposed"),
    (lambda table: table.astype("int64"), "all values are cut to integers"),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(256, 64), (300, 32)])
def test_identify_says_what_was_done_to_a_plain_sinusoid(change, said, shape):
    found = pecli.identify(change(sinusoid(*shape)))
    assert said in found.measured[0]
    assert "key minus query" not in str(found)


def test_a_table_of_the_other_byte_order_is_named_and_compared(ask):
    np.save("pe.npy", sinusoid(256, 64).byteswap())
    np.savez("cache.npz", **{name: values.byteswap() for name, values in cache(angles(200, 64)).items()})
    ask("identify", "pe.npy").says("sinusoidal:dim=64,len=256", "the file has the other byte order")
    said = "different: the bytes of all values are swapped: the file has the other byte order"
    ask("compare", "pe.npy", "sinusoidal").ends(1).says(said)
    ask("compare", "cache.npz", "rope:dim=64").ends(1).says(said).never("NaN or infinity in")


def test_identify_compares_a_grid_and_a_bias_with_the_usual_ones():
    y, x = np.divmod(np.arange(144), 12)
    halves = [np.outer(axis + 1.0, frequencies(64)) for axis in (x, y)]
    found = pecli.identify(np.concatenate([f(half) for half in halves for f in (np.sin, np.cos)], 1).astype("float32"))
    assert found.measured[0] == "nearly sincos2d:dim=128,grid=12x12: coordinates start at 1 where 0 was expected"
    distance = np.abs(np.subtract.outer(np.arange(32), np.arange(32)))
    found = pecli.identify((2.0 ** -np.arange(1, 9)[:, None, None] * distance).astype("float32"))
    assert found.measured[0] == "nearly alibi:heads=8: the sign of all values is changed"


def test_identify_compares_nothing_with_a_table_of_unrelated_numbers():
    assert "nearly" not in str(pecli.identify(np.random.default_rng(0).normal(size=(64, 32))))


def test_identify_says_that_the_halves_of_the_rows_are_exchanged():
    found = pecli.identify({name: np.roll(values, 512, 0) for name, values in cache(angles(1024, 64)).items()})
    assert found.measured[0] == (
        "nearly rope:dim=64,len=1024: the rows are shifted cyclically by 512: row 512 holds row 0"
    )


def test_identify_knows_a_sinusoid_in_another_shape():
    found = pecli.identify(sinusoid(100, 64).reshape(64, 100))
    assert found.recipe == "sinusoidal:dim=64,len=100"
    assert "the array was reshaped, the values are in the same order" in found.notes


def test_identify_knows_heads_that_are_reversed():
    bias = -get_slopes(16)[::-1, None, None] * distances(64)
    assert pecli.identify(bias.astype("float32")).measured[0] == "nearly alibi:heads=16: the heads are reversed"


@pytest.mark.parametrize("other", ["rope:dim=64", "file"])
def test_a_mask_beside_a_batch_does_not_hide_its_padding(other):
    positions = np.stack([np.concatenate([np.ones(11), np.arange(37)]), np.arange(48)])
    phases = positions[..., None] * frequencies(64)
    batch = {name: f(phases).astype("float32") for name, f in (("cos", np.cos), ("sin", np.sin))}
    right = {name: np.stack([values[1]] * 2) for name, values in batch.items()} if other == "file" else other
    found = pecli.compare(batch | {"attention_mask": np.ones((2, 48), "int64")}, right)
    assert found.findings[0].text.startswith("batch index 0 differs: left padding by 11")
    assert "equal copies" not in str(found)


def test_one_wrong_channel_is_not_within_the_rest():
    y, x = (axis.ravel() + 1.0 for axis in np.divmod(np.arange(140).reshape(10, 14), 14))
    w = 1e4 ** (-np.arange(16) / 16)
    halves = [np.outer(axis / last * 2 * np.pi, w) for axis, last in ((y, 10), (x, 14))]
    table = np.stack([f(half) for half in halves for f in (np.sin, np.cos)], 2)
    table = np.concatenate([table[:, :, :2].reshape(140, 32), table[:, :, 2:].reshape(140, 32)], 1).T
    table[63] = table[62]
    said = str(pecli.compare(table.reshape(1, 64, 10, 14).astype("float32"), "detr:dim=64,grid=10x14,normalize=true"))
    assert "transposed" not in said
    assert "column 63 repeats column 62" in said


def test_identify_says_that_no_position_is_encoded():
    found = pecli.identify({"cos": np.ones((64, 32), "float32"), "sin": np.zeros((64, 32), "float32")})
    assert found.measured[0].startswith("every angle is 0: cos is 1 and sin is 0 everywhere")


@pytest.mark.parametrize(("heads", "said"), [
    (8, "nearly alibi:heads=8: the slopes count heads from 0: the first slope is 1"),
    (16, "nearly alibi:heads=16: the slopes are 1, 1/2, 1/4 .., each half of the one before"),
])  # fmt: skip
def test_halved_slopes_are_no_frequencies(heads, said):
    assert pecli.identify(2.0 ** -np.arange(heads)).measured[0] == said


@pytest.mark.parametrize(("height", "width", "stride"), [(6, 10, 11), (7, 12, 13), (4, 6, 7)])
def test_identify_says_that_the_strides_of_a_window_index_are_others(height, width, stride):
    y, x = (side[:, None] - side for side in np.divmod(np.arange(height * width), width))
    found = pecli.identify((y + height - 1) * stride + x + width - 1)
    said = f"the index has row stride {stride} where {2 * width - 1} was expected: 2h - 1 instead of 2w - 1"
    assert found.measured[0] == f"nearly window:grid={height}x{width}: {said}"


def test_identify_says_that_both_halves_of_a_grid_hold_one_axis():
    half = np.outer(np.tile(np.arange(16.0), 16), frequencies(64))
    found = pecli.identify(np.concatenate([np.sin(half), np.cos(half)] * 2, 1).astype("float32"))
    assert found.measured[0] == (
        "nearly sincos2d:dim=128,grid=16x16: every pair follows the width: the height is ignored"
    )


def test_identify_says_that_a_sinusoid_was_trained_further():
    noise = np.random.default_rng(3).normal(0, 0.03, (256, 64))
    assert "plus unrelated numbers, such as noise" in pecli.identify(sinusoid(256, 64) + noise).measured[0]


def test_the_row_of_zeros_is_told_where_it_is_last(ask):
    table = np.array(pecli.table("sincos2d:dim=32,grid=6x6,prefix=1")["pe"])
    np.save("t.npy", np.roll(table, -1, 0))
    ask("compare", "t.npy", "sincos2d:dim=32,grid=6x6,prefix=1").says("the row of zeros", "is last where it was")


def test_identify_says_nothing_of_the_nearest_recipe_where_it_leaves_values():
    both = np.concatenate([cache(angles(30, 64))["cos"], np.random.default_rng(0).normal(size=(30, 32))])
    assert "nearly" not in str(pecli.identify({"cos": both}))


@pytest.mark.parametrize(("layout", "kind"), [("half", "float32"), ("interleaved", "float32"), ("half", "float16")])
@pytest.mark.parametrize(("chunks", "said"), [
    (((0, 16), (48, 64)), "rows 16 to 31: positions start at 16 where 48 was expected"),
    (((0, 20), (70, 80)), "rows 20 to 29: positions start at 20 where 70 was expected"),
    (((0, 8), (56, 64), (16, 24)), "rows 8 to 15: positions start at 8 where 56 was expected"),
])  # fmt: skip
def test_rows_of_another_chunk_are_said_with_their_positions(chunks, said, layout, kind):
    def made(positions):
        angles = np.asarray(positions)[:, None] * 10000.0 ** -(np.arange(32) / 32)
        angles = np.tile(angles, 2) if layout == "half" else np.repeat(angles, 2, 1)
        return {"cos": np.cos(angles).astype(kind), "sin": np.sin(angles).astype(kind)}

    places = np.concatenate([np.arange(*chunk) for chunk in chunks])
    findings = pecli.compare(made(np.arange(len(places))), made(places)).findings
    assert findings[0].text.startswith(said)
    assert "other values" not in str(findings)


def test_two_arrays_that_do_not_belong_together_are_named_each():
    found = pecli.identify({"cos": cache(angles(128, 64, 1e6))["cos"], "sin": cache(angles(128, 64))["sin"]})
    assert found.measured == (
        "the arrays do not belong together",
        "'cos' alone is rope:dim=64,base=1000000,len=128",
        "'sin' alone is rope:dim=64,len=128",
    )


def test_a_row_missing_among_cosines_alone_is_no_exchange():
    phases = np.tile(np.outer(np.arange(12000), frequencies(128)), 2)
    table = np.delete(np.cos(phases).astype("float32"), 5000, 0)
    assert pecli.compare(table, "rope:dim=128").findings[0].text.startswith("row 5000 is missing")


@pytest.mark.parametrize(("spoiled", "harmless"), [(None, True), (4, False)])
def test_rows_at_uneven_positions_are_harmless_by_their_own_position(spoiled, harmless):
    steps = np.array([999, 749, 499, 249, 0], "float32")
    phases = steps[:, None] * (1e4 ** (-np.arange(160) / 160)).astype("float32")
    table = np.concatenate([np.cos(phases), np.sin(phases)], 1)
    if spoiled is not None:
        table[spoiled, 3] += 1e-4
    found = pecli.compare(table, "sinusoidal:dim=320,order=cos-sin,positions=999+749+499+249+0")
    assert ("harmless" in found.findings[0].text) == harmless


def test_frequencies_of_base_256_are_slopes_only_for_a_power_of_two():
    assert pecli.identify(256.0 ** (-np.arange(28) / 28)).recipe == "rope:dim=56,base=256"


def test_sines_in_the_place_of_cosines_are_told():
    table = cache(angles(64, 64))
    found = pecli.compare({"x": table["sin"]}, {"x": table["cos"]})
    assert found.findings[0].text == "every column holds sines where cosines were expected"


def test_shards_that_overlap_are_told_where_the_length_is_stated(ask):
    pe = sinusoid(200, 20)
    np.save("t.npy", pe[[*range(101), *range(100, 200)]])
    ask("compare", "t.npy", "sinusoidal:dim=20,len=200").ends(1).says(
        "row 100 is repeated, later rows have moved down by 1"
    )
