"""What an engineer of inference servers and a teaching assistant met: a wrong sentence or a silence each."""

import json
from pathlib import Path

import numpy as np
import pytest

import pecli
from pecli.testing import assert_applied
from tests.judge.answers import angles, cache, frequencies, sinusoid

CAUSAL = np.tril(np.ones((32, 32), bool))
QUERY, KEY = np.indices((32, 32))
DOCUMENT = np.repeat([0, 1, 2], [10, 12, 10])
Q = np.random.default_rng(0).normal(size=(2, 4, 16, 64)).astype("float32")


def bfloat16(values):
    bits = np.asarray(values, "float32").view("uint32")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view("float32")


def rotated(x, w=None):
    turns = np.outer(np.arange(x.shape[-2]), frequencies(x.shape[-1]) if w is None else w)
    half, width = turns.shape[1], x.shape[-1]
    a, b, c, s = x[..., :half], x[..., half : 2 * half], np.cos(turns), np.sin(turns)
    return np.concatenate([a * c - b * s, b * c + a * s, x[..., 2 * half : width]], axis=-1).astype("float32")


def fault(x, y, recipe="rope:dim=64", **options):
    with pytest.raises(AssertionError) as raised:
        assert_applied(x, y.astype("float32"), recipe, **options)
    return str(raised.value).splitlines()[1].strip()


# masks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("low", [-np.inf, -1e9, float(np.finfo("float32").min)])
def test_an_additive_mask_is_told_from_a_boolean_one(ask, low):
    np.save("b.npy", CAUSAL)
    np.save("a.npy", np.where(CAUSAL, 0, low).astype("float32"))
    np.save("m.npy", CAUSAL.astype("float32"))
    answer = ask("compare", "a.npy", "b.npy").ends(1)
    answer.says("different: the mask holds 0 and -", "where true (seen) and false were expected: the same pairs")
    ask("compare", "b.npy", "a.npy").says("true (seen) and false where 0 and -", "the same pairs are masked")
    ask("compare", "m.npy", "a.npy").says("1 (seen) and 0 where 0 and -").never("is missing")
    np.save("n.npy", ~CAUSAL)
    ask("compare", "n.npy", "a.npy").says("0 stands where 1 was expected").never("the same pairs")


def test_rows_whose_keys_are_all_masked_are_not_equal_after_a_softmax(ask):
    seen = CAUSAL & (KEY >= 2)
    for name, low in (("inf", -np.inf), ("few", -1e4)):
        np.save(f"{name}.npy", np.where(seen, 0, low).astype("float32"))
        np.save(f"{name}_whole.npy", np.where(CAUSAL, 0, low).astype("float32"))
    ask("compare", "few.npy", "inf.npy").says("but for 2 rows where all keys are masked (-inf gives nan)")
    ask("compare", "few_whole.npy", "inf_whole.npy").says("equal after a softmax").never("but for")


MASKS = {
    "documents": (CAUSAL & (DOCUMENT[:, None] == DOCUMENT), "within 3 packed documents, where the key is not after"),
    "blocks": (DOCUMENT[:, None] == DOCUMENT, "within 3 packed documents"),
    "prefix": (CAUSAL | (KEY < 6), "or is one of the first 6 (a prefix)"),
    "left padding": (CAUSAL & (KEY >= 5), "(causal), except for keys 0 to 4"),
    "sinks": (CAUSAL & ((QUERY - KEY < 8) | (KEY < 4)), "(a causal sliding window of 8 with attention sinks)"),
    "window": (CAUSAL & (QUERY - KEY < 8), "(a causal sliding window of 8)"),
    "strict": (np.tril(CAUSAL, -1), "strictly causal"),
}


@pytest.mark.parametrize(("mask", "words"), MASKS.values(), ids=MASKS)
def test_masks_are_compared_in_what_they_show(ask, mask, words):
    np.save("m.npy", mask)
    np.save("causal.npy", CAUSAL)
    answer = ask("compare", "m.npy", "causal.npy").ends(1)
    answer.says("different: pairs are seen ", words, "; expected: where the key is not after the query (causal)")
    ask("identify", "m.npy").says("unknown: a mask of two values", words)


def test_a_mask_of_the_first_keys_is_no_sliding_window(ask):
    np.save("first.npy", np.tril(np.ones((4, 12), bool)))
    np.save("last.npy", np.tril(np.ones((4, 12), bool), 8))
    first = ask("identify", "first.npy").says("(causal), the queries counted as the first of the keys")
    first.never("sliding window")
    ask("compare", "first.npy", "last.npy").says(
        "the queries counted as the first of the keys; expected: where the key"
    )


# narrow types --------------------------------------------------------------------------------------


def test_frequencies_and_angles_in_narrow_types_are_not_harmless(ask):
    steps = np.arange(0, 128, 2, dtype="float16")
    np.save("inv.npy", 1 / np.float16(1e4) ** (steps / np.float16(128)))
    ask("compare", "inv.npy", "rope:dim=128").says("different: the frequencies were computed in float16")
    turns = np.outer(np.arange(300), frequencies(128, 5e5))
    np.save("angles.npy", bfloat16(np.concatenate([turns, turns], axis=1)))
    answer = ask("compare", "angles.npy", "rope:dim=128,base=500000")
    answer.says("the file holds the angles of the expected table, rounded to bfloat16").never("exact rounding")


def test_a_bias_rounded_to_bfloat16_is_not_equal_after_a_softmax(ask):
    bias = 2.0 ** -np.arange(1, 9)[:, None, None] * np.arange(600)
    np.save("exact.npy", bias.astype("float32"))
    np.save("coarse.npy", bfloat16(bias))
    ask("compare", "coarse.npy", "alibi:heads=8").says("after a causal softmax, but for rounding by up to 1")
    ask("compare", "exact.npy", "alibi:heads=8").says("equal after a causal softmax").never("but for")


def test_values_that_were_cut_are_told_from_rounded_ones(ask):
    for name, values in cache(angles(64, 64)).items():
        np.save(f"{name}.npy", (values.astype("float32").view("uint32") & 0xFFFF0000).view("float32"))
        np.save(f"{name}_rounded.npy", bfloat16(values))
    np.savez("cut.npz", cos=np.load("cos.npy"), sin=np.load("sin.npy"))
    np.savez("rounded.npz", cos=np.load("cos_rounded.npy"), sin=np.load("sin_rounded.npy"))
    ask("compare", "cut.npz", "rope:dim=64").says("different: values were cut instead of rounded to bfloat16")
    ask("compare", "rounded.npz", "rope:dim=64").says("different: values were rounded to bfloat16")


def test_bits_are_those_of_the_type_that_fits_best(ask):
    weights = np.random.default_rng(1).normal(0, 0.02, (512, 64)).astype("float32")
    np.save("w.npy", weights)
    np.save("bits.npy", weights.astype("float16").view("int16"))
    ask("compare", "bits.npy", "w.npy").says("different: the integers are the bits of float16 values")


def test_printed_float32_values_are_no_float32_phases(ask):
    values = sinusoid(20, 16).astype("float32").astype("float64").round(10)
    Path("t.json").write_text(json.dumps(values.tolist()))
    ask("compare", "t.json", "sinusoidal:dim=16").says("but harmless: rounding to float32, and to 10 decimals")


# layouts and rows ----------------------------------------------------------------------------------


def test_another_rotary_width_does_not_exchange_sines_and_cosines(ask):
    config = {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 64, "n_positions": 2048}
    Path("gptj.json").write_text(json.dumps(config))
    turns = np.outer(np.arange(64), frequencies(256))
    np.save("t.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=1).astype("float32"))
    ask("compare", "t.npy", "gptj.json").says("rotary width 256 where 64 was expected").never("exchanged")


def test_a_second_fault_beside_equal_cosines_is_told(ask):
    turns = np.outer(np.arange(1, 257), frequencies(64)).astype("float32")
    np.savez("c.npz", cos=np.cos(turns), sin=np.cos(turns))
    answer = ask("compare", "c.npz", "rope:dim=64").says("sin holds the cosines where the sines were expected")
    answer.says("positions start at 1 where 0 was expected")


def test_the_nearest_recipe_of_falling_rows_begins_at_the_last_position(ask):
    turns = np.abs(np.arange(-63, 64.0))[:, None] * frequencies(64)
    np.save("t.npy", np.stack([np.sin(turns), np.cos(turns)], axis=-1).reshape(127, 64).astype("float32"))
    ask("identify", "t.npy").says("nearly sinusoidal:dim=64,len=127,start=63,step=-1: rows 64 to 126")


def test_a_changed_row_is_no_adapter(ask):
    rows = np.random.default_rng(0).normal(size=(197, 192)).astype("float32")
    np.save("a.npy", rows)
    rows[0] += 1
    np.save("b.npy", rows)
    ask("compare", "b.npy", "a.npy").ends(1).says("row 0").never("rank", "lora")


def test_the_divisors_of_frequencies_are_told_from_their_reciprocals(ask):
    recipe = "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192"
    scaled = pecli.table(recipe, length=1, start=1, layout="angles", dtype="float64")["angles"].ravel()
    for name, values in (("d", frequencies(128, 5e5) / scaled), ("r", scaled / frequencies(128, 5e5))):
        np.save(f"{name}.npy", values.astype("float32"))
    ask("compare", "d.npy", recipe).says("the file holds the divisors", "the expected ones")
    ask("compare", "r.npy", recipe).says("the reciprocals of the divisors of its frequencies").never(
        "the expected ones"
    )


def test_angles_without_whole_turns_or_without_a_cosine_are_told(ask):
    turns = np.outer(np.arange(64), frequencies(64))
    np.save("t.npy", np.mod(turns, 2 * np.pi).astype("float32"))
    ask("compare", "t.npy", "rope:dim=64").says("whole turns were taken off the angles, which lie in 0 to 2 pi")
    table = np.stack([np.sin(turns), turns], axis=-1).reshape(64, 64)
    np.save("s.npy", table.astype("float32"))
    ask("compare", "s.npy", "sinusoidal:dim=64").says("hold the angles: no cosine was taken of them")


def test_a_reshaped_table_is_told_by_compare_as_well(ask):
    np.save("t.npy", sinusoid(50, 32).reshape(32, 50).astype("float32"))
    answer = ask("compare", "t.npy", "sinusoidal:dim=32").ends(1)
    answer.says("the array was reshaped, the values are in the same order", "as (50, 32) it is the expected table")


def test_a_grid_that_no_recipe_states_is_that_of_the_file(ask):
    for recipe in ("sincos2d:dim=64,grid=12x20", "sincos2d:dim=64,grid=12x20,prefix=1"):
        np.save("t.npy", pecli.table(recipe)["pe"])
        ask("compare", "t.npy", "sincos2d:dim=64").ends(0)


# features ------------------------------------------------------------------------------------------


def test_frequencies_of_nerf_that_do_not_double_are_told(ask):
    x = np.linspace(-1, 1, 64)[:, None, None] * np.pi
    tables = {"doubling": x * 2.0 ** np.arange(6)[:, None], "counted": x * np.arange(1, 7)[:, None]}
    tables["rows"] = np.arange(64)[:, None, None] * np.pi * 2.0 ** np.arange(6)[:, None]
    for name, turns in tables.items():
        np.save(f"{name}.npy", np.concatenate([np.sin(turns), np.cos(turns)], 2).reshape(64, 12).astype("float32"))
    for expected in ("nerf:bands=6,grid=64", "doubling.npy"):
        ask("compare", "counted.npy", expected).says("different: frequencies are k + 1 (1, 2, 3, ..) where they")
        ask("compare", "rows.npy", expected).says("different: coordinates are the numbers of rows and columns")


def test_weekdays_over_6_begin_again_after_7_rows(ask):
    days = np.arange(70) % 7
    for name, period in (("right", 7), ("wrong", 6)):
        turns = 2 * np.pi * days / period
        np.savez(f"{name}.npz", dow_sin=np.sin(turns), dow_cos=np.cos(turns))
    said = "one turn takes 6 rows where 7 were expected, the angle jumps at rows 7, 14"
    ask("compare", "wrong.npz", "right.npz").says(said)
    ask("identify", "wrong.npz").says("the angle jumps at rows 7, 14").never("several rows")


def test_features_newest_first_are_reversed(ask):
    turns = 2 * np.pi * np.arange(240) / 24
    table = np.stack([np.sin(turns), np.cos(turns)], axis=1)
    np.save("up.npy", table)
    np.save("down.npy", table[::-1])
    ask("compare", "down.npy", "up.npy").says("different: the rows are reversed").never("ahead", "other way")


def test_a_cosine_that_is_a_copy_of_the_sine_is_told(ask):
    hours, days = 2 * np.pi * np.arange(240) / 24, 2 * np.pi * (np.arange(240) // 24) / 7
    names = {"hour_sin": np.sin(hours), "hour_cos": np.sin(hours), "dow_sin": np.sin(days), "dow_cos": np.cos(days)}
    np.savez("f.npz", **names)
    ask("identify", "f.npz").says("one turn takes 7 steps of 24 rows", "hour_cos and hour_sin hold the same values")


# files ---------------------------------------------------------------------------------------------


def test_a_header_of_one_or_two_numbers_is_no_row(ask):
    turns = 2 * np.pi * np.arange(48) / 24
    hours = np.stack([np.sin(turns), np.cos(turns)], axis=1)
    for name, head, rows in (
        ("slopes", "0", 2.0 ** -np.arange(1, 9)[:, None]),
        ("inv_freq", "0", frequencies(64)[:, None]),
        ("hours", "0,1", hours),
        ("rows", "", np.array([[0, 1], [0.5, 0.25], [0.125, 1], [0.5, 1.0]])),
    ):
        lines = [",".join(f"{v:.17g}" if name == "rows" else repr(v) for v in row) for row in rows.tolist()]
        Path(f"{name}.csv").write_text("\n".join([head] * bool(head) + lines) + "\n")
    ask("compare", "slopes.csv", "alibi:heads=8").ends(0)
    ask("identify", "inv_freq.csv").says("rope:dim=64", "inv_freq")
    ask("identify", "hours.csv").says("one turn takes 24 rows").never("jumps")
    ask("inspect", "rows.csv").says("4 x 2")


def test_data_frames_and_rows_in_json_are_read(ask):
    table = sinusoid(20, 16)
    columns = {
        str(k): {str(row): value for row, value in enumerate(column)} for k, column in enumerate(table.T.tolist())
    }
    records = [{f"d{k}": value for k, value in enumerate(row)} for row in table.tolist()]
    contents = {
        "columns": columns,
        "records": records,
        "split": {"columns": list(range(16)), "index": list(range(20)), "data": table.tolist()},
        "rows": {str(k): row for k, row in enumerate(table.tolist())},
        "numbered": [{"position": k, **row} for k, row in enumerate(records)],
        "index": {str(k): row for k, row in enumerate(records)},
        "table": {"schema": {}, "data": [{"index": k, **row} for k, row in enumerate(records)]},
    }
    texts = {name: json.dumps(content) for name, content in contents.items()}
    texts["lines"] = "\n".join(map(json.dumps, records))
    for name, text in texts.items():
        Path(f"{name}.json").write_text(text)
        ask("identify", f"{name}.json").says("sinusoidal:dim=16,len=20")
        ask("compare", f"{name}.json", "sinusoidal:dim=16").says("same|harmless")


# applied tensors -----------------------------------------------------------------------------------


def test_axes_that_would_be_right_are_told():
    said = fault(Q.swapaxes(1, 2).copy(), rotated(Q).swapaxes(1, 2), pairs="half")
    assert said.endswith("a vector of head h has position h; if that is meant, it is right with axes='bshd'")
    x = np.random.default_rng(0).normal(size=(32, 2, 64)).astype("float32")
    said = fault(x, x + sinusoid(32, 64)[:, None], "sinusoidal:dim=64")
    assert said.endswith("if the axes are (positions, batch, width), exchange the first two")


@pytest.mark.filterwarnings("error")
def test_what_was_done_to_pairs_is_told():
    weights = 1 + 0.1 * np.random.default_rng(1).normal(size=64)
    said = "each column is multiplied by a number of its own before the rotation, as of a norm's weight"
    assert said in fault(Q, rotated(Q * weights), pairs="half")
    turns = np.outer(np.arange(16), frequencies(64))
    added = Q + np.concatenate([np.cos(turns), np.sin(turns)], axis=1)
    assert "one vector is added at each position, where pairs should be rotated" in fault(Q, added, pairs="half")
    wide = rotated(Q, frequencies(64)[:16])
    assert "32 columns were rotated, and 64 were expected, with exponents over 64" in fault(Q, wide, pairs="half")
    twice = rotated(Q, frequencies(64) / 16)
    said = fault(Q, twice, "rope:dim=64,scaling=linear,factor=4", pairs="half")
    assert "the factor 4 was applied twice: factor 16" in said
    scores = np.random.default_rng(0).normal(size=(1, 8, 6, 6)).astype("float32")
    bias = np.array(pecli.table("alibi:heads=8,len=6,mask=causal")["bias"])
    assert "a causal mask where none was expected" in fault(scores, scores + bias, "alibi:heads=8")


def test_positions_of_alibi_in_a_narrow_type_are_told(ask):
    narrow = bfloat16(np.arange(700))
    np.save("k.npy", (2.0 ** (-np.arange(1, 17) / 2)[:, None, None] * narrow).astype("float32"))
    answer = ask("compare", "k.npy", "alibi:heads=16,bias=key-position,queries=1,len=700").ends(1)
    answer.says("different: positions of keys were rounded to bfloat16")


def test_a_right_map_with_channels_first_is_harmless(ask):
    matrix = np.random.default_rng(0).normal(size=(16, 2)).astype("float32")
    np.save("B.npy", matrix)
    y, x = ((2 * np.arange(side, dtype="float32") + 1) / side - 1 for side in (10, 14))
    at = np.stack(np.broadcast_arrays(x[None], y[:, None]), axis=-1)
    turns = np.float32(2 * np.pi) * (at @ matrix.T)
    np.save("pe.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=-1).transpose(2, 0, 1)[None])
    answer = ask("compare", "pe.npy", "fourier:dim=32,matrix=B.npy,coordinates=centres,grid=10x14")
    answer.says("the channels come before the grid", "rounding of float32 phases", "harmless").never("differs in")


def test_another_period_of_several_harmonics_is_told(ask):
    turns = 2 * np.pi * np.arange(1096)[:, None] * np.arange(1, 6) / 365
    np.save("t.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=1))
    matrix = "+".join(f"{k / 365.25:.17g}" for k in range(1, 6))
    answer = ask("compare", "t.npy", f"fourier:dim=10,matrix={matrix}").ends(1)
    answer.says("different: columns 0 and 5: one turn takes 365 rows where 365.25 were expected")


def test_rounded_numbers_of_a_recipe_are_harmless(ask):
    turns = 2 * np.pi * np.arange(730)[:, None] * np.arange(1, 4) / 7
    np.save("t.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=1))
    matrix = "+".join(f"{k / 7:.12f}" for k in range(1, 4))
    answer = ask("compare", "t.npy", f"fourier:dim=6,matrix={matrix}").ends(1)
    answer.says("different, but harmless: less than a rounding to float32").never("cyclic")


def test_weights_of_buckets_are_told_from_their_bias(ask):
    np.save("w.npy", np.random.default_rng(0).normal(size=(32, 8)).astype("float32"))
    said = "different: the file holds what the expected table is made of: weight for each bucket and head"
    ask("compare", "w.npy", "t5:heads=8").ends(1).says(said)
    ask("compare", "w.npy", "t5:heads=8,weights=w.npy,len=20").ends(1).says(said)


def test_pairs_that_do_not_turn_are_told(ask):
    table = cache(angles(100, 32), "half")
    wide = {name: np.pad(v, ((0, 0), (0, 32)), constant_values=float(name == "cos")) for name, v in table.items()}
    np.savez("c.npz", **wide)
    answer = ask("compare", "c.npz", "rope:dim=64,rotary-dim=32").ends(1)
    answer.says("different: columns 32 to 63 are of pairs that do not turn: cosine 1 and sine 0")


# printed tables and fixed point ----------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["repeated", "missing", "exchanged", "value"])
def test_wrong_rows_of_a_printed_table_are_told(ask, fault):
    table = sinusoid(256, 32, dtype="float64")
    rows = table.copy()
    if fault == "repeated":
        rows[10] = rows[9]
    if fault == "missing":
        rows[17] = np.nan
    if fault == "exchanged":
        rows[[20, 21]] = rows[[21, 20]]
    if fault == "value":
        rows[5, 3] = 0.5
    np.savetxt("t.csv", rows, fmt="%.6f", delimiter=",")
    words = {
        "repeated": ("row 10 repeats row 9", "in row 10;"),
        "missing": ("row 17 is nan", "in row 17;"),
        "exchanged": ("rows 20 and 21 are exchanged", "in rows 20 and 21;"),
        "value": ("array[5, 3] is 0.5", "1 value does not fit, in row 5;"),
    }[fault]
    answer = ask("compare", "t.csv", "sinusoidal:dim=32").ends(1)
    answer.says(f"different: {words[0]}", "all others are right, rounded to 6 decimals")
    ask("identify", "t.csv").says("sinusoidal:dim=32,len=256", words[1]).never("another rounding")


def test_flattened_and_short_printed_tables_are_right(ask):
    np.savetxt("t.txt", sinusoid(256, 32, dtype="float64").ravel(), fmt="%.6f")
    ask("identify", "t.txt").says("sinusoidal:dim=32,len=256", "printed with 6 decimals").never("another rounding")
    ask("compare", "t.txt", "sinusoidal:dim=32").says("flattened: 256 rows of 32", "right, rounded").never("missing")
    np.savetxt("cos.txt", np.cos(angles(256, 64)).ravel(), fmt="%.6f")
    ask("compare", "cos.txt", "rope:dim=64,len=256").ends(1)
    np.savetxt("slopes.txt", 2.0 ** -np.arange(1, 9), fmt="%f")
    answer = ask("compare", "slopes.txt", "alibi:heads=8,form=slopes").says(
        "all values are right, rounded to 6 decimals"
    )
    answer.never("bfloat16")


def test_printed_tables_are_neither_scaled_nor_drawn(ask):
    turns = angles(128, 32)
    np.savetxt("t.csv", np.concatenate([np.cos(turns), np.sin(turns)], axis=1), fmt="%.3f", delimiter=",")
    ask("identify", "t.csv").says("rope:dim=32").never("factor", "llama3")
    turns = np.outer(np.arange(128), 1 / frequencies(64))
    np.savetxt("u.csv", np.stack([np.sin(turns), np.cos(turns)], 2).reshape(128, 64), fmt="%.6f", delimiter=",")
    ask("compare", "u.csv", "sinusoidal:dim=64").says("exponent 2i/d where -2i/d was expected").never("drawn")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda v: np.clip(np.round(v * 32768), -32768, 32767), "32768 times the expected ones, rounded to whole numbers, and held to -32768 .. 32767"),
        (lambda v: np.floor(v * 32767), "32767 times the expected ones, rounded down to whole numbers"),
        (lambda v: np.trunc(v * 4096), "4096 times the expected ones, cut to whole numbers"),
        (lambda v: np.round(v * 127 + 128), "127 times the expected ones plus 128, rounded to whole numbers"),
        (lambda v: np.floor(v * 16384) / 16384, "rounded down to multiples of 1/16384"),
        (lambda v: np.clip(np.round(v * 32768), -32768, 32767) / 32768, "rounded to multiples of 1/32768, and held to -1 .. 0.999969"),
    ],
    ids=["saturated", "floor", "cut", "zero point", "steps", "saturated steps"],
)  # fmt: skip
def test_fixed_point_is_told(ask, make, words):
    values = make(sinusoid(256, 32, dtype="float64"))
    np.save("t.npy", values.astype("int32") if (values == np.rint(values)).all() else values)
    ask("compare", "t.npy", "sinusoidal:dim=32").ends(1).says(f"different: all values are {words}")
    ask("identify", "t.npy").says(f"nearly sinusoidal:dim=32: all values are {words}")


def test_the_scale_of_quantised_weights_is_that_of_all_values(ask):
    weights = np.random.default_rng(0).normal(0, 0.02, (128, 48)).astype("float32")
    np.save("w.npy", weights)
    np.save("q.npy", np.round(weights * 127 / np.abs(weights).max()).astype("int8"))
    ask("compare", "q.npy", "w.npy").says("1628.44 times the expected ones, rounded to whole numbers").never(
        "other values"
    )
    step = np.abs(weights).max(0, keepdims=True) / 127
    np.save("c.npy", (np.round(weights / step) * step).astype("float32"))
    ask("compare", "c.npy", "w.npy").says("quantised to 8 bits: the values of each column are whole multiples")


# grids and maps --------------------------------------------------------------------------------------


def test_crops_of_grids_and_maps_are_told(ask):
    table = pecli.table("sincos2d:dim=64,grid=24x24")["pe"]
    drawn = np.random.default_rng(0).normal(0, 0.02, (1, 576, 64)).astype("float32")
    for name, whole in (("sincos", table), ("drawn", drawn)):
        np.save(f"{name}.npy", whole)
        np.save(f"{name}_part.npy", whole.reshape(24, 24, 64)[8:16, 4:12].reshape(*whole.shape[:-2], 64, 64))
        answer = ask("compare", f"{name}_part.npy", f"{name}.npy")
        answer.says("different: a crop of the expected 24 x 24 grid: rows 8 to 15 and columns 4 to 11")
    maps = drawn.reshape(1, 24, 24, 64).transpose(0, 3, 1, 2)
    np.save("map.npy", maps)
    np.save("part.npy", maps[:, :, 2:12, 3:13])
    ask("compare", "part.npy", "map.npy").says("24 x 24 grid: rows 2 to 11 and columns 3 to 12").never("head", "drawn")
    np.save("large.npy", maps.repeat(2, -1).repeat(2, -2))
    ask("compare", "large.npy", "map.npy").says(
        "the expected 24 x 24 grid was resized to 48 x 48 by nearest neighbours"
    )
    noise = np.random.default_rng(1).normal(0, 0.001, maps.shape).astype("float32")
    np.save("tuned.npy", maps + noise)
    ask("compare", "tuned.npy", "map.npy").says("unrelated numbers, such as noise, of standard deviation 0.001")


def test_shifted_crops_are_no_rotations_and_no_adapters(ask):
    grid = pecli.table("sincos2d:dim=64,grid=24x24")["pe"].reshape(24, 24, 64)
    for name, part in {"middle": grid[8:16, 8:16], "beside": grid[8:16, 9:17], "first": grid[:8, :8]}.items():
        np.save(f"{name}.npy", part.reshape(-1, 64))
    for name in ("beside", "first"):
        ask("compare", f"{name}.npy", "middle.npy").ends(1).never("judged with base", "rank", "positions are")


def test_a_transposed_table_of_few_decimals_is_told(ask):
    np.savetxt("t.csv", sinusoid(90, 32, dtype="float64").T, fmt="%.3f", delimiter=",")
    answer = ask("compare", "t.csv", "sinusoidal:dim=32,len=90").ends(1)
    answer.says("different: rows and columns are exchanged", "all values are right, rounded to 3 decimals")


def test_parameters_without_effect_are_not_told(ask):
    steps = np.array([999, 850, 700, 350, 20])
    np.savetxt("steps.txt", steps, fmt="%d")
    turns = (steps - 1)[:, None] * frequencies(64)
    np.save("t.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=1).astype("float32"))
    ask("compare", "t.npy", "sinusoidal:dim=64,convention=diffusers-unet,positions=@steps.txt").ends(1).never("odd")


def sines_and_cosines(angles):
    return np.concatenate([np.sin(angles), np.cos(angles)], -1).reshape(len(angles), -1)


def test_other_coordinates_of_the_cells_of_a_grid_are_told(ask):
    rows, columns = np.indices((12, 16)).reshape(2, -1)
    matrix = np.random.default_rng(0).normal(0, 1, (16, 2)).round(6)
    np.save("B.npy", matrix)
    for said, x, y in (
        ("those of the cells' corners, not of their centres", columns / 8 - 1, rows / 6 - 1),
        ("coordinates lie in 0 .. 1 where -1 .. 1", (columns + 0.5) / 16, (rows + 0.5) / 12),
    ):
        np.save("t.npy", sines_and_cosines(2 * np.pi * np.stack([x, y], 1) @ matrix.T))
        ask("compare", "t.npy", "fourier:matrix=B.npy,grid=12x16,coordinates=centres,dim=32").says(said)
    numbers = np.stack([columns, rows], 1)[:, :, None] * np.pi * 2.0 ** np.arange(6)
    np.save("numbers.npy", sines_and_cosines(numbers))
    answer = ask("compare", "numbers.npy", "nerf:bands=6,grid=12x16,coordinates=corners,order=by-axis")
    answer.says("coordinates are the numbers of rows and columns, 0, 1, 2 and so on")


def test_rotated_tensors_and_a_recipe_without_a_layout_are_three_sources(ask):
    drawn = np.random.default_rng(0).normal(size=(2, 4, 32, 64)).astype("float32")
    np.save("q.npy", drawn)
    np.save("other.npy", drawn[::-1])
    ask("compare", "other.npy", "q.npy", "rope:dim=64").ends(1).says("different: 3 of 3 pairs")


@pytest.mark.parametrize("digits", ["%.6g", "%.8g"])
@pytest.mark.parametrize("recipe", ["sinusoidal:dim=96", "sincos2d:convention=mae,dim=96,grid=14x14,prefix=1"])
def test_values_of_few_significant_digits_are_right(ask, recipe, digits):
    values = pecli.table(recipe, dtype="float32", **({"len": 197} if "grid" not in recipe else {}))["pe"]
    np.savetxt("t.csv", values, fmt=digits, delimiter=",")
    ask("compare", "t.csv", recipe).ends(1).says("harmless", f"to {digits[2]} significant digits").never("grid was")


def test_angles_in_two_columns_hide_no_order_of_their_rows(ask):
    parts = np.arange(256).reshape(8, 32)[[0, 7, 1, 6, 2, 5, 3, 4]].ravel()
    np.save("t.npy", np.tile(parts[:, None] * frequencies(64), 2)[:, None, None].astype("float32"))
    answer = ask("compare", "t.npy", "rope:dim=64,layout=angles").ends(1)
    answer.says("different: parts of 32 rows stand in the order 0, 7, 1, 6", "each value stands in two columns")


def test_a_window_whose_patches_were_counted_across_is_told(ask):
    rows, columns = np.divmod(np.arange(40), 5)  # 8 rows of 5, of a window of 5 x 8
    offsets = [side[:, None] - side for side in (rows, columns)]
    np.save("t.npy", (offsets[0] + 4) * 15 + offsets[1] + 7)
    answer = ask("compare", "t.npy", "window:grid=5x8").ends(1)
    answer.says("different: the patches are counted as 8 rows of 5, where 5 rows of 8 were expected")


@pytest.mark.parametrize(
    ("turned", "said"), [(False, "linear in the wavelength"), (True, "the ramp runs the other way")]
)
def test_llama3_ramps_over_the_wavelength_are_told(ask, turned, said):
    plain = frequencies(128, 5e5)
    share = np.clip((2 * np.pi / plain - 2048) / (8192 - 2048), 0, 1)
    share = np.where(turned & (share > 0) & (share < 1), 1 - share, share)
    np.savez("t.npz", **cache(np.arange(1024)[:, None] * plain / (1 + 7 * share)))
    answer = ask("compare", "t.npz", "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192")
    answer.ends(1).says(f"different: {said}|different: the ramp is {said}")


def test_sections_of_a_narrow_table_are_told_where_a_part_of_it_repeats(ask):
    recipe = "mrope:dim=128,sections=24+20+20,sequence=4+1x8x12+12,base=5000000"
    ask("generate", f"{recipe},dtype=bfloat16,layout=half", "-o", "t.safetensors").ends(0)
    answer = ask("compare", "t.safetensors", f"{recipe},section-order=interleaved").ends(1)
    answer.says("section-order chunked where interleaved was expected").never("repeat")


def test_another_base_beside_another_exponent_is_told(ask):
    places, columns = np.arange(96)[:, None], np.arange(48)
    angle = places / 1000 ** (columns / 48)
    np.save("t.npy", np.where(columns % 2, np.cos(angle), np.sin(angle)).astype("float32").round(7))
    answer = ask("compare", "t.npy", "sinusoidal:dim=48").ends(1)
    answer.says("different: base 1000 where 10000 was expected", "column j has exponent j/d where 2 (j // 2)/d")
