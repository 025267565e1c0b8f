"""Everyday shapes: layouts that nobody wrote, fewer rows or heads than expected, one head of many."""

import h5py
import numpy as np
import pytest

import pecli
from pecli.cli.identify import Counted
from pecli.formats import open_table
from pecli.judge.compare import identified
from pecli.judge.interpolation import WAYS
from tests.judge.answers import (
    LAYOUTS,
    UNKNOWN,
    angles,
    assert_identified,
    bloom_slopes,
    cache,
    distances,
    frequencies,
    get_slopes,
    llama_config,
    sinusoid,
)

LAYOUT = ("swapping", "neighbours stand", "two halves stand", "layout half where", "layout interleaved where")
"""What is said of a layout where nobody wrote one."""


def bfloat16(values):
    return (values.astype("float32").view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def put(values, where, value):
    values = values.copy()
    values[where] = value
    return values


ANGLES = {  # what was done to the angles, and what is to be said
    "base": (lambda: angles(200, 32, 500.0), ("base 500",)),
    "start": (lambda: angles(200, 32, start=1), ("start at 1",)),
    "linear scaling": (lambda: angles(200, 32) / 4, ("linear", "4")),
    "ntk scaling": (lambda: angles(200, 32, 10000.0 * 4 ** (32 / 30)), ("ntk", "4")),
    "degrees": (lambda: np.degrees(angles(200, 32)), ("degrees",)),
    "exponent": (lambda: np.arange(200)[:, None] * 10000.0 ** (-2 * np.arange(0, 32, 2) / 32), ("exponent",)),
    "over d - 2": (lambda: np.arange(200)[:, None] * 10000.0 ** (-np.arange(16) / 15), ("exponent|max-timescale",)),
    "backwards": (lambda: angles(200, 32)[::-1], ("backwards|step -1|reversed",)),
    "clamped": (lambda: np.minimum(np.arange(200), 127)[:, None] * frequencies(32), ("127",)),
    "row missing": (lambda: np.delete(angles(201, 32), 77, axis=0), ("77",)),
}  # fmt: skip
VALUES = {  # the same of the values
    "exchanged": (lambda t: {"cos": t["sin"], "sin": t["cos"]}, ("exchanged",)),
    "negated sine": (lambda t: {"cos": t["cos"], "sin": -t["sin"]}, ("sign", "sin")),
    "magnitude": (lambda t: {k: (v * np.float32(1.2)) for k, v in t.items()}, ("1.2",)),
    "cut": (lambda t: {k: bfloat16(v) for k, v in t.items()}, ("bfloat16",)),
    "zero row": (lambda t: {k: put(v, np.s_[50], 0) for k, v in t.items()}, ("50",)),
    "one value": (lambda t: {"cos": put(t["cos"], np.s_[31, 7], 7), "sin": t["sin"]}, ("[31, 7]", "7")),
    "twice the same": (lambda t: {"cos": t["cos"], "sin": t["cos"]}, ("sin", "cos")),
}  # fmt: skip


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("case", ANGLES)
@pytest.mark.sample(4)
def test_a_layout_that_nobody_wrote_is_no_finding_beside_wrong_angles(ask, case, layout):
    make, said = ANGLES[case]
    np.savez("cache.npz", **cache(make(), layout))
    ask("compare", "cache.npz", "rope:dim=32,base=10000").ends(1).says(*said).never(*LAYOUT, *UNKNOWN)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("case", VALUES)
def test_a_layout_that_nobody_wrote_is_no_finding_beside_wrong_values(ask, case, layout):
    change, said = VALUES[case]
    np.savez("cache.npz", **change(cache(angles(200, 32), layout)))
    ask("compare", "cache.npz", "rope:dim=32,base=10000").ends(1).says(*said).never(*LAYOUT, *UNKNOWN)


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_a_layout_that_nobody_wrote_is_the_file_s_own(ask, layout):
    for rows in (1, 2, 100):
        np.savez("cache.npz", **cache(angles(rows, 32), layout))
        ask("compare", "cache.npz", "rope:dim=32").ends(0).says("same")


@pytest.mark.parametrize(("layout", "written"), [("half", "interleaved"), ("interleaved", "half")])
def test_another_layout_than_the_one_written_is_the_finding(ask, layout, written):
    np.savez("cache.npz", **cache(angles(100, 32), layout))
    ask("compare", "cache.npz", f"rope:dim=32,layout={written}").ends(1).says("half|halves", "interleaved|neighbours")
    ask("compare", "cache.npz", f"rope:dim=32,layout={layout}").ends(0).says("same")


MISSING = "missing|only b has|only the recipe"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cache_with_fewer_rows_is_right_as_far_as_it_reaches(ask, layout):
    np.savez("cache.npz", **cache(angles(433, 64, 500000.0), layout))
    recipe = "rope:dim=64,base=500000,len=866"
    answer = ask("compare", "cache.npz", recipe).ends(1)
    answer.says("433", "866|865", "rows", MISSING).never(*LAYOUT, *UNKNOWN, "none was expected")
    answer = ask("inspect", "cache.npz", "--verify", "--recipe", recipe).ends(1)
    answer.says("433", "866|865", "rows").never(*LAYOUT, *UNKNOWN, "0 of")


@pytest.mark.parametrize("form", ["concat", "stack", "complex", "pairs", "cos"])
def test_one_array_with_fewer_rows_is_right_as_far_as_it_reaches(ask, form):
    table = cache(angles(433, 64))
    made = {
        "concat": lambda: np.concatenate([*table.values()], axis=1),
        "stack": lambda: np.stack([*table.values()]),
        "complex": lambda: (table["cos"] + 1j * table["sin"]).astype("complex64"),
        "pairs": lambda: np.stack([*table.values()], axis=-1),
        "cos": lambda: table["cos"],
    }
    np.save("cache.npy", made[form]())
    ask("compare", "cache.npy", "rope:dim=64,len=866").ends(1).says("433", "866|865", "rows").never(*LAYOUT, *UNKNOWN)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_mistake_in_a_cache_with_fewer_rows_is_named(ask, layout):
    np.savez("cache.npz", **cache(angles(433, 64, 500.0), layout))
    answer = ask("compare", "cache.npz", "rope:dim=64,len=866").ends(1)
    answer.says("base 500", "433", "866|865").never(*LAYOUT, *UNKNOWN)


@pytest.mark.parametrize("rows", [60, 140])
def test_rows_that_are_missing_or_too_many_are_said(ask, rows):
    np.save("pe.npy", sinusoid(rows, 32))
    answer = ask("compare", "pe.npy", "sinusoidal:dim=32,len=100").ends(1)
    answer.says(f"{min(rows, 100)}", f"{max(rows, 100)}|{max(rows, 100) - 1}", "rows").never(*UNKNOWN)


@pytest.mark.parametrize("layout", ["split", "half"])
def test_a_cache_shorter_than_its_model_s_longest_text_is_right(ask, tmp_path, layout):
    llama_config(tmp_path / "config.json", length=866)
    np.savez("cache.npz", **cache(angles(433, 64), layout))
    ask("compare", "cache.npz", "config.json").ends(0).says("same")


def test_a_file_that_was_cut_is_not_verified_and_says_which_rows_are_missing(ask):
    table = pecli.table("sinusoidal:dim=32,len=3600")
    with h5py.File("cut.h5", "w") as file:
        file.attrs["pecli_recipe"] = table.recipe
        file["pe"] = sinusoid(3000, 32)
    answer = ask("inspect", "cut.h5", "--verify").ends(1)
    answer.says("rows", "3000|3,000", "3599|3,599|3600|3,600").never(" 0 of ", *UNKNOWN)


@pytest.mark.parametrize(("mine", "expected"), [(8, 16), (16, 8), (71, 72), (12, 16)])
@pytest.mark.parametrize("form", ["dense", "slopes"])
def test_fewer_or_more_heads_are_said_to_be_so(ask, mine, expected, form):
    slopes = get_slopes(mine).astype("float32")
    values = slopes if form == "slopes" else (get_slopes(mine)[:, None, None] * -distances(20)).astype("float32")
    np.save("bias.npy", values)
    answer = ask("compare", "bias.npy", f"alibi:heads={expected},form={form}").ends(1)
    answer.says("heads", f"{mine}", f"{expected}").never("bias-max", "row 71", *UNKNOWN)


@pytest.mark.parametrize("heads", [56, 71, 112])
def test_heads_that_are_no_power_of_two_are_counted_right(heads):
    for values in (bloom_slopes(heads), bloom_slopes(heads)[:, None, None] * np.arange(20, dtype="float32")):
        found = pecli.identify(values)
        assert_identified(found, "alibi", heads=heads, bias_max=8)
        assert "missing" not in repr(found)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 9, 31])
@pytest.mark.parametrize("lead", [(), (1,), (1, 1)])
def test_the_square_bias_of_one_head_is_read_as_such(ask, size, lead):
    np.save("bias.npy", (-distances(size) / 256).astype("float32").reshape(*lead, size, size))
    ask("compare", "bias.npy", "alibi:heads=1").ends(0).says("same").never(*UNKNOWN)
    ask("inspect", "bias.npy", "--verify", "--recipe", "alibi:heads=1").ends(0)


@pytest.mark.parametrize("size", [3, 5, 7, 8])
@pytest.mark.parametrize("head", [0, 3, 7])
def test_one_head_of_eight_is_said_to_be_that(ask, size, head):
    np.save("bias.npy", (get_slopes(8)[head] * -distances(size)).astype("float32"))
    answer = ask("compare", "bias.npy", "alibi:heads=8").ends(1)
    answer.says(f"head {head} of 8").never("bias-max", *UNKNOWN)


@pytest.mark.parametrize("size", [3, 5, 7])
def test_the_distances_of_one_head_are_still_distances(ask, size):
    np.save("bias.npy", (-np.abs(np.arange(1 - size, size)) / 256).astype("float32")[None])
    ask("compare", "bias.npy", "alibi:heads=1,form=distance").ends(0).says("same")
    ask("compare", "bias.npy", "alibi:heads=1").ends(0).says("same")


def test_a_file_without_arrays_is_no_crash():
    assert pecli.identify({}).confidence == "unknown"
    assert not pecli.inspect({}).arrays
    for pair in (({}, "rope:dim=64"), ("alibi:heads=2", {})):
        with pytest.raises(pecli.PecliError, match="holds no array"):
            pecli.compare(*pair)


def test_cosines_and_sines_of_other_names_are_compared(pecli, tmp_path):
    table = cache(angles(64, 32))
    np.savez(tmp_path / "a.npz", cos_cached=table["cos"], sin_cached=table["sin"])
    np.savez(tmp_path / "b.npz", **table)
    assert pecli("compare", "a.npz", "b.npz").stdout.startswith("same: ")
    np.savez(tmp_path / "c.npz", cos=table["sin"], sin=table["cos"])
    assert "exchanged" in pecli("compare", "a.npz", "c.npz").stdout.splitlines()[0]


def test_half_as_many_rows_as_columns_are_no_transposed_table(pecli, tmp_path):
    np.savez(tmp_path / "t.npz", **{name: np.tile(v, 2) for name, v in cache(angles(64, 96)).items()})
    lines = pecli("compare", "t.npz", "rope:dim=128").stdout.splitlines()
    assert lines[0] == "different: dim 96 where 128 was expected" and "missing" not in "".join(lines), lines


Q = np.random.default_rng(4).normal(size=(2, 3, 40, 32))


def rotated(x, base=10000.0, sign=1, pairs="half", dim=32):
    """Return (.., n, d) rotated in its first `dim` columns, by a loop over pairs."""
    out = x.copy()
    for k, w in enumerate(base ** (-np.arange(0, dim, 2) / dim)):
        i, j = (k, k + dim // 2) if pairs == "half" else (2 * k, 2 * k + 1)
        c, s = np.cos(np.arange(x.shape[-2]) * w), sign * np.sin(np.arange(x.shape[-2]) * w)
        out[..., i], out[..., j] = x[..., i] * c - x[..., j] * s, x[..., j] * c + x[..., i] * s
    return out.astype(np.float32)


@pytest.mark.parametrize("base", [10000.0, 1000000.0])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"pairs": "interleaved"}, "interleaved pairs were rotated where half-split ones were expected"),
        ({"sign": -1}, "the sine has the wrong sign"),
        ({"dim": 16}, "16 columns were rotated, and 32 were expected"),
    ],
)
def test_two_rotated_tensors_tell_how_one_was_rotated(wrong, words, base, pecli, tmp_path):
    np.save(tmp_path / "a.npy", rotated(Q, base, **wrong))
    np.save(tmp_path / "b.npy", rotated(Q, base))
    first = pecli("compare", "a.npy", "b.npy").stdout.splitlines()[0]
    assert words in first and first.endswith(f"base {base:.0f})"), first


def test_tensors_with_one_equal_row_are_no_rotations(pecli, tmp_path):
    other = np.random.default_rng(5).normal(size=Q.shape)
    other[:, :, 0] = Q[:, :, 0]
    np.save(tmp_path / "a.npy", Q.astype(np.float32))
    np.save(tmp_path / "b.npy", other.astype(np.float32))
    assert "rotat" not in pecli("compare", "a.npy", "b.npy").stdout


def to_bfloat16(values):
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


@pytest.mark.parametrize(
    ("steps", "alone"),
    [
        *((steps, False) for steps in ("frequencies", "angles", "frequencies and angles", "positions and angles")),
        *((steps, True) for steps in ("frequencies", "angles", "positions and angles")),
    ],
)
def test_the_steps_that_were_rounded_to_bfloat16_are_named_in_float32_files(steps, alone, pecli, tmp_path):
    w = np.float32(1) / np.float32(10000) ** (np.arange(0, 64, 2, dtype=np.float32) / np.float32(64))
    w = to_bfloat16(w) if "frequencies" in steps else w
    p = np.arange(1024, dtype=np.float32)
    p = to_bfloat16(p) if "positions" in steps else p
    angles = np.tile(p[:, None] * w, 2)
    angles = to_bfloat16(angles) if "angles" in steps else angles
    np.savez(tmp_path / "t.npz", cos=np.cos(angles), sin=np.sin(angles))
    first = pecli("compare", "t.npz::cos" if alone else "t.npz", "rope:dim=64").stdout.splitlines()[0]
    assert "bfloat16" in first and all(step in first for step in steps.split(" and ")), first
    said = pecli("identify", "t.npz").stdout
    assert said.startswith(f"rope:dim=64,len=1024,layout=half (sure: {steps} rounded to bfloat16)"), said


def test_what_is_missing_is_said_before_harmless_rounding(pecli, tmp_path):
    table = cache(angles(100, 64).astype("float32"))
    np.savez(tmp_path / "short.npz", cos=table["cos"], sin=table["sin"][:90])
    np.savez(tmp_path / "cosines.npz", cos=table["cos"])
    lines = pecli("compare", "short.npz", "rope:dim=64,len=100").stdout.splitlines()
    assert lines[0].startswith("different: sin: 90 rows where 100 were expected: rows 90 to 99 are missing"), lines
    assert pecli("compare", "cosines.npz", "rope:dim=64").stdout.startswith("different: only B has 'sin'")


def test_rows_that_are_put_in_front_move_the_others(pecli, tmp_path):
    table = np.random.default_rng(3).normal(size=(64, 16)).astype("float32")
    np.save(tmp_path / "b.npy", table)
    np.save(
        tmp_path / "a.npy", np.concatenate([np.random.default_rng(4).normal(size=(2, 16)), table[:62]]).astype("f4")
    )
    first = pecli("compare", "a.npy", "b.npy").stdout.splitlines()[0]
    assert first == "different: rows 0 and 1 are not among the expected ones, later rows have moved down by 2"


@pytest.mark.parametrize("expected", ["recipe", "file"])
def test_two_arrays_where_one_was_expected(expected):
    two = cache(angles(128, 44, 30000))
    one = np.concatenate([two["cos"], two["sin"]], 1)
    found = pecli.compare(
        two, "rope:dim=44,base=30000,layout=concat" if expected == "recipe" else {"cos_sin_cache": one}
    )
    assert found.findings[0].text == "cos and sin stand in two arrays, where one array was expected (concat)"


def test_frequencies_of_a_checkpoint_beside_a_config(ask, tmp_path):
    llama_config(tmp_path / "config.json", 96, 1000000.0)
    np.save(tmp_path / "inv_freq.npy", (10000.0 ** (-np.arange(0, 96, 2) / 96)).astype("f4"))
    ask("compare", "inv_freq.npy", "config.json").says("base 10000 where 1000000 was expected").ends(1)


@pytest.mark.parametrize(("have", "want", "said"), [
    ("f4", "f2", "the expected values were rounded to float16, these were not: up to"),
    ("f2", "f4", "the values were rounded to float16, the expected ones were not: up to"),
])  # fmt: skip
def test_trained_numbers_of_two_types_differ_by_their_rounding(have, want, said):
    numbers = np.random.default_rng(3).normal(size=(50, 16))
    found = pecli.compare(numbers.astype(have), numbers.astype("f4").astype(want))
    assert found.findings[0].text.startswith(said)


def test_a_filter_bank_is_no_wave():
    """Triangles whose columns hold two numbers at most: a cosine was fitted to each."""
    places, centres = np.arange(201), np.linspace(0, 200, 42)[1:-1]
    bank = np.maximum(0, 1 - np.abs(places - centres[:, None]) / 4.9)
    assert "cosines" not in str(pecli.identify(bank.astype("f4")))


def test_complex_values_are_compared_with_cosines_and_sines(ask):
    phases = np.outer(np.arange(512), frequencies(64, 1e6))
    np.save("cis.npy", np.exp(1j * phases).astype(np.complex64))
    np.savez("parts.npz", cos=np.cos(phases), sin=np.sin(phases))
    np.savez("other.npz", cos=np.cos(phases / 4), sin=np.sin(phases / 4))
    ask("compare", "cis.npy", "parts.npz").ends(1).says("harmless").never("other values", "not counted")
    ask("compare", "cis.npy", "other.npz").ends(1).says("linear scaling (factor 4)|factor 4")


def test_integers_that_hold_the_bits_of_bfloat16_are_read_as_such(ask):
    phases = np.outer(np.arange(256), frequencies(64, 1e6))
    values = np.concatenate([np.cos(phases), np.sin(phases)], axis=1).astype(np.float32)
    bits = ((values.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)
    np.save("cache.npy", bits)
    recipe = "rope:dim=64,base=1000000,layout=concat"
    ask("identify", "cache.npy").says(
        f"{recipe.replace(',layout', ',len=256,layout')},dtype=bfloat16", "bits of bfloat16"
    )
    ask("compare", "cache.npy", f"{recipe},dtype=bfloat16").ends(1).says("bits of bfloat16").never("accepts it")
    ask("compare", "cache.npy", "rope:dim=64,base=500000,layout=concat").says("bits of bfloat16", "base 1000000 where")


def test_rotated_queries_that_differ_by_rounding_are_harmless(ask):
    x = np.random.default_rng(0).normal(size=(1, 4, 400, 64)).astype(np.float32)
    for kind in (np.float32, np.float64):
        phases = np.outer(np.arange(400, dtype=kind), frequencies(64).astype(kind))
        y = (x[..., :32] + 1j * x[..., 32:]) * np.exp(1j * phases)
        np.save(f"{kind.__name__}.npy", np.concatenate([y.real, y.imag], axis=-1).astype(np.float32))
    ask("compare", "float32.npy", "float64.npy").ends(1).says("different, but harmless", "if both were rotated")


def test_a_half_split_cache_whose_last_columns_are_cut_is_told(ask):
    cut = {name: array[:, :96] for name, array in cache(angles(640, 128, 5e5), "half").items()}
    np.savez("rank0.npz", **cut)
    ask("identify", "rank0.npz").says(
        "nearly rope:dim=128,base=500000,len=640,layout=half: columns 96 to 127 are missing"
    )


def test_bytes_of_another_type_are_read_as_what_they_are(ask):
    table = sinusoid(200, 128).astype("float32")
    np.save("double.npy", table.view(np.float64))
    ask("identify", "double.npy").says("sinusoidal:dim=128,len=200 (sure", "those of float32 values, read as float64")
    ask("compare", "double.npy", "sinusoidal:dim=128,len=200").ends(1).says("different: the bytes are those of float32")


def test_a_padded_batch_of_bloom_is_told_beside_one_without_padding(ask):
    slopes, positions = get_slopes(8)[:, None, None], np.stack([np.maximum(np.arange(40) - 9, 0), np.arange(40)])
    padded, plain = (np.concatenate([slopes * one for one in at]) for at in (positions, positions[[1, 1]]))
    np.save("padded.npy", padded.astype("float32"))
    np.save("plain.npy", plain.astype("float32"))
    ask("identify", "padded.npy").says(
        "nearly alibi:heads=8", "padding at position 0: the first 9 of 40 keys of batch index 0"
    )
    ask("compare", "padded.npy", "plain.npy").ends(1).says(
        "different: padding at position 0: the first 9 of 40 keys of batch index 0"
    )


def test_time_steps_without_their_thousand_are_told(ask):
    for name, steps in (("have.npy", np.linspace(1, 1 / 28, 28)), ("want.npy", np.linspace(1000, 1000 / 28, 28))):
        phases = steps.astype("f4")[:, None] * frequencies(256).astype("f4")
        np.save(name, np.concatenate([np.cos(phases), np.sin(phases)], axis=1))
    ask("compare", "have.npy", "want.npy").ends(1).says("different: every position is 0.001 times the expected one")


@pytest.mark.parametrize(("tokens", "said"), [("first", "resized"), ("last", "is last where it was expected first")])
def test_grids_with_a_class_token_are_compared_with_the_usual_one(ask, tokens, said):
    y, x = np.divmod(np.arange(14 * 14.0), 14)
    grid = np.concatenate([part(p[:, None] * frequencies(32)) for p in (x, y) for part in (np.sin, np.cos)], axis=1)
    if tokens == "first":
        w = WAYS[2].weights(14, 18)
        grid = np.einsum("ih,jw,hwc->ijc", w, w, grid.reshape(14, 14, -1)).reshape(18 * 18, -1)
    zero = np.zeros((1, grid.shape[1]))
    np.save("pos.npy", np.concatenate([zero, grid] if tokens == "first" else [grid, zero]).astype("float32"))
    side = 18 if tokens == "first" else 14
    ask("identify", "pos.npy").says(f"nearly sincos2d:dim=64,grid={side}x{side},prefix=1", said)


def test_trained_numbers_beside_a_class_token_of_zeros_are_told(ask):
    trained = np.random.default_rng(0).normal(0, 0.02, (1, 197, 64)).astype("float32")
    np.savez("vit.npz", cls_token=np.zeros((1, 1, 64), "float32"), pos_embed=trained)
    ask("identify", "vit.npz").says("the values of pos_embed look drawn at random or trained")


def test_columns_of_sines_and_cosines_in_a_text_are_those_of_one_table(ask):
    table = sinusoid(40, 4)
    for name, rows in (("right.csv", np.arange(40)), ("sorted.csv", np.argsort(table[:, 0]))):
        np.savetxt(name, table[rows], fmt="%.5f", delimiter=",", header="sin0,cos0,sin1,cos1", comments="")
    ask("compare", "right.csv", "sinusoidal:dim=4").ends(1).says("rounded to 5 decimals").never("two arrays")
    ask("compare", "right.csv", "sinusoidal:dim=4", "--digits", "5").ends(0)
    ask("compare", "sorted.csv", "sinusoidal:dim=4").ends(1).says("the rows are in another order")


def test_a_column_of_row_numbers_is_not_among_the_expected_ones(ask):
    np.save("features.npy", np.column_stack([np.arange(100), sinusoid(100, 16)]))
    ask("compare", "features.npy", "sinusoidal:dim=16").ends(1).says("column 0 numbers the rows")


def test_a_spreadsheet_with_decimal_commas_and_row_numbers_is_read(ask):
    rows = (";".join([str(k), *(f"{v:.5f}".replace(".", ",") for v in row)]) for k, row in enumerate(sinusoid(12, 6)))
    with open("Tabelle.csv", "w") as file:
        file.write("\n".join(["Position;d0;d1;d2;d3;d4;d5", *rows, ""]))
    ask("identify", "Tabelle.csv").says("sinusoidal:dim=6,len=12 (sure: 5 decimals)")


def test_rising_frequencies_are_told_of_an_unknown_table(ask):
    phases = np.outer(np.arange(64, dtype="f4"), (10000.0 ** (np.arange(0, 64, 2) / 64)).astype("f4"))
    np.savez("rope.npz", **{name: np.tile(getattr(np, name)(phases), 2) for name in ("cos", "sin")})
    ask("identify", "rope.npz").says("nearly rope:dim=64: exponent 2i/d where -2i/d was expected")


def test_two_arrays_of_the_same_angles_belong_together(ask):
    phases = np.tile(np.outer(np.arange(256), frequencies(128, 5e5)), 2).astype("float32")
    np.savez("rope.npz", cos=phases, sin=phases)
    ask("identify", "rope.npz").says(
        "'cos' and 'sin' hold the same values: rope:dim=128,base=500000", "angles in radians"
    ).never("do not belong together")


def test_channels_of_one_value_are_no_mask(ask):
    np.save("pos.npy", np.broadcast_to((np.arange(64) % 2)[None, :, None, None], (1, 64, 20, 20)).astype("float32"))
    ask("identify", "pos.npy").says("each of 64 channels holds one of them, all positions are the same").never("mask")


def test_half_split_columns_beside_sines_and_cosines_in_one_array_are_not_interleaved(ask):
    table = pecli.table("rope2d:dim=64,grid=16x12,convention=dinov3,layout=half")
    np.save("timm.npy", np.concatenate([table["sin"], table["cos"]], axis=1))
    recipe = "rope2d:convention=dinov3,dim=64,grid=16x12"
    ask("compare", "timm.npy", f"{recipe},layout=half").ends(1).says("harmless")
    ask("compare", "timm.npy", f"{recipe},layout=interleaved").ends(1).says("half where interleaved was").never(
        "harmless"
    )


def test_rows_that_are_cut_off_leave_the_others_counted(ask):
    np.save("short.npy", sinusoid(100, 64) * np.float32(1 + 2e-7))
    ask("compare", "short.npy", "sinusoidal:dim=64,len=128").ends(1).says("rows 100 to 127 are missing", "max abs")


def test_buffers_that_were_never_filled_are_zero(ask):
    np.savez("rotary.npz", cos=np.zeros((2048, 64), "float32"), sin=np.zeros((2048, 64), "float32"))
    ask("identify", "rotary.npz").says("unknown: every value is 0").never("t5")


def test_a_base_that_overflowed_is_told(ask):
    with np.errstate(over="ignore"):
        w = np.float32(1) / np.float16(500000) ** (np.arange(32) / 32).astype("float32")
    angles = np.arange(256)[:, None] * np.tile(w, 2)
    np.savez("rope.npz", cos=np.cos(angles).astype("float16"), sin=np.sin(angles).astype("float16"))
    ask("identify", "rope.npz").says("nearly rope:dim=64: pairs 1 to 31 do not rotate", "overflowed to infinity")


def test_rows_that_do_not_fit_are_those_of_an_array(ask):
    angles = np.arange(512)[:, None] * 10000.0 ** (-np.arange(32) / 32)
    cos = np.cos(angles)
    cos[300] = np.nan
    np.savez("rope.npz", cos=cos, sin=np.sin(angles))
    ask("identify", "rope.npz").says("32 of 32,768 values do not fit: row 300 of cos, NaN")


def columns(names, table, decimals):
    rows = (",".join([str(k), *(f"{v:.{decimals}f}" for v in row)]) for k, row in enumerate(table))
    with open("table.csv", "w") as file:
        file.write("\n".join([names, *rows, ""]))


def test_columns_of_a_spreadsheet_are_one_table_whatever_they_are_called(ask):
    for names in (
        "pos,a,b,c,d", "t,c1,c2,c3,c4", "pos,sin(w0),cos(w0),sin(w1),cos(w1)", "k,sin_a,cos_a,sin_b,cos_b",
        "i,even0,odd0,even1,odd1",
    ):  # fmt: skip
        columns(names, sinusoid(30, 4), 5)
        ask("identify", "table.csv").says("sinusoidal:dim=4,len=30 (sure: 5 decimals)")
        ask("compare", "table.csv", "sinusoidal:dim=4", "--digits", "5").ends(0)
    wrong = sinusoid(30, 4)
    wrong[7, 1] *= -1
    columns("pos,a,b,c,d", wrong, 5)
    ask("compare", "table.csv", "sinusoidal:dim=4").says("different: array[7, 1] is -0.7539, expected 0.7539").ends(1)


def test_columns_of_measurements_are_no_table(ask):
    x = np.linspace(0, 1, 50)
    columns("epoch,train_loss,val_loss,accuracy", np.stack([np.exp(-x), 1.1 * np.exp(-x), 0.9 * x], axis=1), 4)
    ask("identify", "table.csv").says("unknown: epoch: values from 0 to 49")


def test_a_first_row_that_pandas_took_for_names_is_told(ask):
    rows = [",".join(f"{v:.6f}" for v in row) for row in sinusoid(30, 4)]
    with open("table.csv", "w") as file:
        file.write("\n".join(["0.0,1.0,0.0.1,1.0.1", *rows[1:], ""]))
    ask("identify", "table.csv").says(
        "sinusoidal:dim=4,len=29,start=1 (sure: 6 decimals)", "the names of the columns are numbers"
    )


def test_rows_of_a_trained_table_that_were_tiled_are_told(ask):
    trained = np.random.default_rng(0).normal(0, 0.02, (128, 64)).astype("float32")
    np.save("pos.npy", np.concatenate([trained, trained, trained[:50]]))
    ask("identify", "pos.npy").says("rows 128 to 305 repeat rows 0 to 127")


def test_columns_of_sines_and_cosines_are_those_of_a_rope_where_one_is_expected(ask):
    columns("position,sin0,cos0,sin1,cos1", sinusoid(30, 4), 5)
    ask("compare", "table.csv", "rope:dim=4", "--digits", "5").ends(0)


def test_hours_with_a_period_of_23_are_told(ask):
    for name, period in (("have.csv", 23), ("want.csv", 24)):
        turns = 2 * np.pi * np.arange(24) / period
        rows = (f"{k},{np.sin(x):.4f},{np.cos(x):.4f}" for k, x in enumerate(turns))
        with open(name, "w") as file:
            file.write("\n".join(["hour,hour_sin,hour_cos", *rows, ""]))
    ask("compare", "have.csv", "want.csv").says(
        "different: hour_sin and hour_cos: one turn takes 23 rows where 24 were expected"
    )


def test_days_of_a_year_are_found_whatever_the_base(ask):
    days = np.array([13, 23, 28, 38, 43, 48, 58, 83, 93, 128, 133, 148, 208, 238, 308, 358])
    np.save("dates.npy", sinusoid(400, 32, base=1000)[days].astype("float32"))
    ask("identify", "dates.npy").says("sinusoidal:dim=32,base=1000,positions=13+23+28", "(sure")


def test_features_of_a_random_matrix_in_float32_are_harmless(ask):
    matrix = np.random.default_rng(0).normal(0, 1, (16, 2)).astype("float32")
    side = (2 * (np.arange(8, dtype="float32") + 0.5) / 8 - 1).astype("float32")
    points = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    phases = np.float32(2 * np.pi) * (points @ matrix.T)
    np.save("B.npy", matrix)
    np.save("pe.npy", np.concatenate([np.sin(phases), np.cos(phases)], 1))
    recipe = "fourier:dim=32,matrix=B.npy,coordinates=centres,grid=8x8"
    ask("compare", "pe.npy", recipe).says("different, but harmless: rounding of float32 phases")
    wrong = np.load("pe.npy")
    wrong[3, 5] += 1e-4
    np.save("pe.npy", wrong)
    ask("compare", "pe.npy", recipe).never("harmless")


def test_attention_weights_and_an_initialisation_are_told(ask):
    random = np.random.default_rng(0)
    logits = np.exp(random.normal(0, 1, (4, 48, 48)))
    np.save("attention.npy", (logits / logits.sum(axis=-1, keepdims=True)).astype("float32"))
    ask("identify", "attention.npy").says("unknown", "each row sums to 1, as attention weights do")
    np.save("wpe.npy", random.normal(0, 0.02, (512, 64)).astype("float32"))
    ask("identify", "wpe.npy").says("drawn from a normal distribution of deviation 0.02", "initialisation")
    np.save("wpe.npy", random.uniform(-0.1, 0.1, (512, 64)).astype("float32"))
    ask("identify", "wpe.npy").says("drawn from a uniform distribution from -0.1 to 0.1")
    np.save("wpe.npy", (random.normal(0, 0.02, (512, 64)) * np.linspace(1, 1.3, 64)).astype("float32"))
    ask("identify", "wpe.npy").says("drawn at random or trained").never("initialisation")


@pytest.mark.parametrize(
    ("size", "levels", "said"), [(32, 127, "each block of 32"), (96, 127, "each row"), (96, 7, "4 bits")]
)
def test_quantised_values_are_told(ask, size, levels, said):
    trained = np.random.default_rng(0).normal(0, 0.02, (128, 96)).astype("float32")
    blocks = trained.reshape(-1, size)
    step = np.abs(blocks).max(axis=1, keepdims=True) / levels
    np.save("full.npy", trained)
    np.save("narrow.npy", (np.rint(blocks / step) * step).reshape(trained.shape).astype("float32"))
    ask("compare", "narrow.npy", "full.npy").says("different: quantised to", said)


def test_a_cache_quantised_in_blocks_is_told_whatever_its_arrays_share(ask):
    angles = np.outer(np.arange(512), 1e6 ** (-np.arange(32) / 32)).repeat(2, 0).reshape(512, 64)  # half-split
    blocks = [part(angles).reshape(-1, 32) for part in (np.cos, np.sin)]
    steps = [np.float16(np.abs(one).max(axis=1, keepdims=True) / 127).astype(float) for one in blocks]
    held = [np.rint(b / np.where(s, s, 1)) * s for b, s in zip(blocks, steps, strict=True)]
    np.savez("cache.npz", **{k: v.reshape(512, 64).astype("f4") for k, v in zip(("cos", "sin"), held, strict=True)})
    ask("compare", "cache.npz", "rope:dim=64,base=1000000").says("quantised to 8 bits", "each row").never("noise")


def test_columns_of_any_names_are_one_table_for_every_command(ask):
    columns("pos,a,b,c,d", sinusoid(30, 4), 5)
    np.save("table.npy", sinusoid(30, 4))
    np.savetxt("other.csv", sinusoid(30, 4), fmt="%.5f", delimiter=",", header="u,v,w,x", comments="")
    for expected in ("table.npy", "other.csv", "sinusoidal", "sinusoidal:dim=4"):
        ask("compare", "table.csv", expected, "--digits", "5").ends(0)
    ask("verify", "table.csv", "sinusoidal").says("different: all values are right, rounded to 5 decimals")


def test_columns_are_read_as_one_table_in_a_terminal_too(ask):
    columns("pos,a,b,c,d", sinusoid(30, 4), 5)
    with open_table("table.csv") as table:
        read = Counted(table, lambda count: None)
        assert identified(read).recipe == "sinusoidal:dim=4,len=30"
