"""What two more users met, an engineer who ports models and a data scientist: a wrong sentence or a silence each."""

import json
from pathlib import Path

import numpy as np
import pytest

import pecli
from pecli.testing import assert_applied
from tests.judge.answers import angles, cache, frequencies, sinusoid

RNG = np.random.default_rng(5)
X = RNG.normal(size=(2, 32, 128)).astype("float32")
PE = sinusoid(32, 128)
Q = RNG.normal(size=(1, 4, 32, 64)).astype("float32")


def rotated(x):
    turns, half = angles(x.shape[-2], x.shape[-1]), x.shape[-1] // 2
    a, b, c, s = x[..., :half], x[..., half:], np.cos(turns), np.sin(turns)
    return np.concatenate([a * c - b * s, b * c + a * s], axis=-1).astype("float32")


def fault(x, y, recipe="sinusoidal:dim=128", **options):
    with pytest.raises(AssertionError) as raised:
        assert_applied(x, y.astype("float32"), recipe, **options)
    return str(raised.value).splitlines()[1].strip()


SUM = X + PE
WHOLE = (SUM - SUM.mean(-1, keepdims=True)) / SUM.std(-1, keepdims=True)


@pytest.mark.parametrize(("made", "said"), [
    (X * np.sqrt(128) + PE, "the inputs are multiplied by 11.3137 (the square root of the width) before"),
    (SUM * 8, "the sum is multiplied by 8"),
    (X * PE, "the table is multiplied with the inputs"),
    (np.broadcast_to(PE, X.shape), "the inputs are missing: the outputs are what should be added to them"),
    (SUM + RNG.normal(size=128), "one vector is added to all rows besides"),
    (WHOLE, "a layer normalisation was applied to the sum"),
    (np.where(np.arange(32)[:, None], X, SUM), "nothing was added to rows 1 to 31"),
    (X + PE[::-1], "what was added: "),
])  # fmt: skip
def test_what_was_computed_instead_of_a_sum_is_told(made, said):
    text = fault(X, made)
    assert said in text
    assert "cut to integers" not in text


def test_embeddings_with_the_sequence_first_are_told():
    x = RNG.normal(size=(50, 4, 64)).astype("float32")
    assert "positions run along the batch" in fault(x, x + sinusoid(50, 64)[:, None], "sinusoidal:dim=64")


def test_scores_that_were_scaled_or_normalised_are_told():
    scores, bias = RNG.normal(size=(4, 16, 16)), np.asarray(pecli.table("alibi:heads=4,len=16")["bias"])
    scores = scores.astype("float32")
    weights = np.exp(scores + bias)
    assert "multiplied by 0.125 before" in fault(scores, scores / 8 + bias, "alibi:heads=4")
    assert "softmax" in fault(scores, weights / weights.sum(-1, keepdims=True), "alibi:heads=4")


def test_a_table_added_to_zeros_is_right():
    for recipe, rows in (("sinusoidal:dim=64", 50), ("sincos2d:dim=64,grid=7x7", 49)):
        zeros = np.zeros((rows, 64), "float32")
        assert_applied(zeros, pecli.apply(recipe, zeros)["array"], recipe)


@pytest.mark.parametrize(("where", "said"), [
    (np.s_[:, :, 24:], "rows 24 to 31 are zero"), (np.s_[:, 3], "head 3 is zero"),
    (np.s_[..., 32:], "columns 32 to 63 are zero"), (np.s_[0, 1, 5], "the values of head 1, row 5 are zero"),
])  # fmt: skip
def test_zeros_are_no_norm(where, said):
    made = rotated(Q)
    made[where] = 0
    assert fault(Q, made, "rope:dim=64", pairs="half", start=0) == said


def bucket(distance, buckets=32, most=128, both=True):
    first, size = (buckets // 2 * (distance > 0), buckets // 2) if both else (0, buckets)
    far = np.abs(distance) if both else np.maximum(-distance, 0)
    large = size // 2 + (np.log(np.maximum(far, 1) / (size // 2)) / np.log(most / (size // 2)) * (size // 2)).astype(
        int
    )
    return first + np.where(far < size // 2, far, np.minimum(large, size - 1))


@pytest.mark.parametrize(("index", "said"), [
    ({"most": 64}, "max-distance 64 where 128 was expected"), ({"buckets": 16}, "16 buckets where 32 were expected"),
    ({"both": False}, "causal where bidirectional was expected"),
])  # fmt: skip
def test_another_index_of_the_same_weights_is_told(ask, index, said):
    distance, weights = np.arange(64) - np.arange(64)[:, None], RNG.normal(size=(32, 4)).astype("float32")
    np.save("w.npy", weights)
    np.save("bias.npy", np.moveaxis(weights[bucket(distance, **index)], 2, 0))
    np.save("last.npy", weights[bucket(distance)])
    ask("compare", "bias.npy", "t5:heads=4,weights=w.npy").says(f"different: {said}").never(
        "trained numbers are others"
    )
    answer = ask("compare", "last.npy", "t5:heads=4,weights=w.npy").says("different: the heads are the last axis")
    answer.says("64 x 64 x 4 against 4 x 64 x 64").never("int64")


def test_twice_the_width_is_told(ask):
    np.savez("c.npz", **cache(angles(256, 128), "half"))
    ask("compare", "c.npz", "rope:dim=64").says("different: dim 128 where 64 was expected")
    said = "different: rotary width 128 where 64 was expected"
    ask("compare", "c.npz", "rope:dim=128,partial=0.5").says(said, "256 x 128 against 256 x 64")


def test_a_scaling_whose_magnitude_is_one_is_no_other(ask):
    recipe = "rope:dim={},scaling=yarn,factor=40,original-max=4096,mscale=0.707,mscale-all-dim=0.707"
    ask("generate", recipe.format(192), "--len", "256", "--layout", "half", "-o", "c.npz").ends(0)
    ask("compare", "c.npz", recipe.format(64)).says("different: dim 192 where 64 was expected").never("ntk-by-parts")


def test_the_order_that_a_config_leaves_open_is_no_fault(ask):
    config = {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 64, "n_positions": 2048, "n_layer": 28}
    with open("gptj.json", "w") as file:
        json.dump(config, file)
    turns = np.outer(np.arange(64), frequencies(256)[:32])
    np.save("g.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=1).astype("float32"))
    ask("compare", "g.npy", "gptj.json").says("exponent over the head's width 256").never("exchanged")
    ask("compare", "g.npy", "rope:dim=256,rotary-dim=64").says("exponent over the head's width 256").never("exchanged")
    turns = angles(64, 64)
    np.save("right.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=1).astype("float32"))
    ask("compare", "right.npy", "rope:dim=64").says("layout sin-cos, taken from the file")


def test_what_was_done_to_all_values_is_named_rightly(ask):
    np.save("plus.npy", sinusoid(64, 64) + 1)
    ask("identify", "plus.npy").says("nearly sinusoidal:dim=64: 1 is added to all values").never("noise")
    np.save("whole.npy", sinusoid(20, 8).astype("int32"))
    ask("compare", "whole.npy", "sinusoidal:dim=8").says("different: all values are cut to integers").never("bits")


def test_other_trained_numbers_are_no_sum(ask):
    i, j = np.divmod(np.arange(16), 4)
    index = (i[:, None] - i + 3) * 7 + j[:, None] - j + 3
    for k in (0, 1):
        np.save(f"b{k}.npy", np.moveaxis(np.random.default_rng(k).normal(0, 0.02, size=(49, 3))[index], 2, 0))
    ask("compare", "b1.npy", "b0.npy").says("and the trained numbers are others").never("plus those of")


def test_a_grid_that_was_enlarged_by_its_nearest_values_is_told(ask):
    small = np.asarray(pecli.table("sincos2d:dim=64,grid=14x14")["pe"]).astype("float32")
    np.save("small.npy", small)
    np.save("large.npy", small.reshape(14, 14, 64).repeat(2, 0).repeat(2, 1).reshape(784, 64))
    said = "14 x 14 grid was resized to 28 x 28 by nearest neighbours"
    ask("compare", "large.npy", "sincos2d:dim=64,grid=28x28").says(f"different: a {said}")
    ask("compare", "large.npy", "small.npy").says(f"different: the expected {said}")


def test_rows_of_position_0_are_no_mask(ask):
    np.save("zero.npy", np.tile(sinusoid(1, 64), (100, 1)))
    ask("identify", "zero.npy").says("unknown: every row is the same", "of position 0").never("mask of two")


def test_a_series_is_no_other_one(ask):
    table = np.concatenate(
        [f(np.outer(np.arange(200), 1e4 ** (-np.arange(32) / 31))) for f in (np.sin, np.cos)], axis=1
    )
    np.save("pooled.npy", (table[::2] + table[1::2]) / 2)
    np.save("half.npy", table[:100])
    answer = ask("compare", "pooled.npy", "half.npy").never("another series")
    answer.says("different: the recipe's first 200 rows were resized to 100 by linear interpolation")


def test_a_narrow_type_is_told_though_the_other_was_rounded_too(ask):
    exact = np.random.default_rng(0).normal(size=(500, 64))
    np.save("m16.npy", exact.astype("float16"))
    np.save("m32.npy", exact.astype("float32"))
    ask("compare", "m16.npy", "m32.npy").says("different: the values were rounded to float16", "--ulp 1 accepts it")
    ask("compare", "m16.npy", "m32.npy", "--ulp", 1).ends(0)


def test_printed_float32_is_harmless(ask):
    turns = 2 * np.pi * np.arange(48) / 24
    hours = np.stack([np.sin(turns), np.cos(turns)], axis=1)
    for name, values in {"a64": hours, "a32": hours.astype("float32")}.items():
        lines = [",".join(map(str, row)) for row in values]
        with open(f"{name}.csv", "w") as file:
            file.write("\n".join(["hour_sin,hour_cos", *lines]))
    answer = ask("compare", "a32.csv", "a64.csv").says("but harmless: the values were rounded to float32")
    ask("compare", "a32.csv", "a64.csv", *answer.tolerance).ends(0)


def test_positions_of_savetxt_are_doubles(ask):
    at = np.sort(np.random.default_rng(0).uniform(0, 100, 80))
    np.savetxt("t.csv", at)
    turns = np.outer(at, frequencies(64))
    np.save("t.npy", np.stack([np.sin(turns), np.cos(turns)], axis=2).reshape(80, 64))
    answer = ask("identify", "t.npy", "--positions", "@t.csv").ends(0).says("sinusoidal:dim=64")
    answer.says("sure: float64 arithmetic").never("too many digits")


@pytest.mark.parametrize(("cut", "said"), [(np.rint, "rounded to whole"), (np.trunc, "cut to whole")])
def test_fixed_point_numbers_are_told_and_nothing_else(ask, cut, said):
    made = cache(angles(256, 64), "half")
    np.savez("c.npz", **{name: cut(v * np.float32(32767)).astype("int16") for name, v in made.items()})
    answer = ask("compare", "c.npz", "rope:dim=64").says("different: all values are 32767 times the expected ones")
    answer.says(said).never("other values", "more reasons")


def test_an_adapter_that_was_merged_twice_is_told(ask):
    rng = np.random.default_rng(0)
    weights, update = rng.normal(0, 0.05, (256, 96)), rng.normal(size=(256, 4)) @ rng.normal(size=(4, 96)) * 0.005
    np.save("once.npy", (weights + update).astype("float32"))
    np.save("twice.npy", (weights + 2 * update).astype("float32"))
    ask("compare", "twice.npy", "once.npy").says("different: the difference is a matrix of rank 4")


def test_quantised_weights_of_ordinary_size_are_told(ask):
    weights = (np.random.default_rng(3).normal(size=(1024, 384)) * 0.02).astype("float32")
    step = np.abs(weights).max() / 127
    np.save("w.npy", weights)
    np.save("q.npy", (np.round(weights / step) * step).astype("float32"))
    ask("compare", "q.npy", "w.npy").says("different: quantised to 8 bits: the values of the array are whole multiples")


def test_a_kind_that_differs_in_few_values_is_told(ask):
    ask("generate", "query-scale:kind=ministral,length=64,len=1024", "-o", "f.npy").ends(0)
    ask("compare", "f.npy", "query-scale:kind=llama4,length=64,len=1024").says(
        "kind ministral where llama4 was expected"
    )


def test_frequencies_are_compared_with_a_recipe_of_any_length(ask):
    np.save("inv_freq.npy", (80000.0 ** (-np.arange(64) / 64)).astype("float32"))
    for length in ("", ",len=256"):
        answer = ask("compare", "inv_freq.npy", f"rope:dim=128,scaling=ntk,factor=8{length}")
        answer.says("different: plain base 80000 where base 10000 with ntk scaling (factor 8) was expected")


def test_rotations_by_scaled_frequencies_are_told(ask):
    recipe = "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192"
    x = np.random.default_rng(0).normal(size=(2, 64, 128)).astype("float32")
    for pairs in ("half", "interleaved"):
        np.save(f"{pairs}.npy", pecli.apply(recipe, x[None], pairs=pairs)["array"][0])
    answer = ask("compare", "interleaved.npy", "half.npy")
    answer.says("different: interleaved pairs were rotated where half-split ones were expected", "of llama 3")


def test_times_that_were_rounded_or_begin_again_are_told(ask):
    seconds = 1714999800 + 60 * np.arange(390)
    hours = np.arange(96) % 24
    for name, of in {
        "single": seconds.astype("float32") / 86400,
        "double": seconds / 86400,
        "largest": hours / 23,
    }.items():
        turns = 2 * np.pi * (of.astype(float) % 1 if name != "largest" else of)
        np.save(f"{name}.npy", np.stack([np.sin(turns), np.cos(turns)], axis=1))
    ask("compare", "single.npy", "double.npy").says("unevenly", "positions or times were rounded")
    answer = ask("compare", "largest.npy", "sinusoidal:dim=2,scale=0.26179938779914943,len=96")
    answer.says("one turn takes 23 rows where 24 were expected, the angle jumps at rows 24, 48 and 72")


def test_features_of_a_grid_from_0_to_1_are_told(ask):
    matrix = np.random.default_rng(0).normal(size=(16, 2))
    np.save("B.npy", matrix)
    y, x = np.meshgrid((np.arange(12) + 0.5) / 12, (np.arange(16) + 0.5) / 16, indexing="ij")
    turns = 2 * np.pi * np.stack([x, y], axis=-1).reshape(-1, 2) @ matrix.T
    np.save("f.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=1).astype("float32"))
    answer = ask("compare", "f.npy", "fourier:dim=32,matrix=B.npy,grid=12x16,coordinates=centres")
    answer.says("different: coordinates lie in 0 .. 1 where -1 .. 1 was expected")


def test_an_unknown_trained_table_takes_no_longer_than_it_must(ask):
    rows = np.random.default_rng(0).normal(0, 0.02, (2, 64, 384))
    np.save("t.npy", np.stack([rows[0] * (1 - k / 3) + rows[1] * k / 3 for k in range(4)], axis=1).reshape(256, 384))
    ask("identify", "t.npy").says("unknown").never("nearly")


@pytest.mark.parametrize("decimals", [6, 7])
def test_printed_float32_phases_are_harmless(ask, decimals):
    phases = np.arange(300, dtype="float32")[:, None] * frequencies(64).astype("float32")
    np.savetxt("t.csv", np.concatenate([np.sin(phases), np.cos(phases)], axis=1), fmt=f"%.{decimals}f", delimiter=",")
    answer = ask("compare", "t.csv", "sinusoidal:dim=64,order=sin-cos").ends(1)
    answer.says("but harmless: ", f"{decimals} decimals|no more than rounding may leave").never("differs in")
    ask("compare", "t.csv", "sinusoidal:dim=64,order=sin-cos", *answer.tolerance).ends(0)
    down = np.concatenate([np.sin(phases[48::-1]), np.cos(phases[48::-1])], axis=1)
    up = np.concatenate([-np.sin(phases[1:48]), np.cos(phases[1:48])], axis=1)
    np.savetxt("x.csv", np.concatenate([down, up]), fmt=f"%.{decimals}f", delimiter=",")
    ask("compare", "x.csv", "transformer-xl:dim=64,convention=xlnet,len=48").says("but harmless").never("other values")


def test_float32_features_of_given_points_are_harmless(ask):
    matrix = (16 * np.random.default_rng(0).normal(size=(32, 1))).astype("float32")
    at = np.log(np.geomspace(0.01, 50, 200, dtype="float32"))[:, None]
    np.save("W.npy", matrix)
    np.save("at.npy", at)
    phases = at @ matrix.T * np.float32(2 * np.pi)
    np.save("f.npy", np.concatenate([np.sin(phases), np.cos(phases)], axis=1))
    recipe = "fourier:dim=64,matrix=W.npy,points=at.npy"
    ask("compare", "f.npy", recipe).ends(1).says("different, but harmless: rounding of float32 phases")
    np.save("g.npy", np.concatenate([np.sin(1.01 * phases), np.cos(1.01 * phases)], axis=1))
    ask("compare", "g.npy", recipe).ends(1).never("harmless")


def test_weights_at_other_heads_and_buckets_are_told(ask):
    weights = np.random.default_rng(0).normal(size=(32, 32)).astype("float32")
    np.save("w.npy", weights)
    index = pecli.table("t5", length=40, form="index")["index"]
    others = {
        "heads and buckets of the weights are exchanged (transposed)": weights.T,
        "the buckets are in the reverse order": weights[::-1],
        "the numbers are the expected ones, of other heads or buckets": np.roll(weights, 1, axis=0),
    }
    for text, other in others.items():
        np.save("t.npy", other[index].transpose(2, 0, 1))
        ask("compare", "t.npy", "t5:heads=32,weights=w.npy,len=40").ends(1).says(f"different: {text}")
    np.save("w.npy", weights[:, :8])
    np.save("t.npy", weights[:, :8].reshape(8, 32).T[index].transpose(2, 0, 1))
    said = "different: the weights were reshaped to (heads, buckets) where they should be transposed"
    ask("compare", "t.npy", "t5:heads=8,weights=w.npy,len=40").says(said)


def test_a_padded_grid_is_told(ask):
    table = np.zeros((12, 16, 64), "float32")
    table[:10, :13] = pecli.table("detr:dim=64,grid=10x13,normalize=true")["pe"].reshape(10, 13, 64)
    table[:10, 13:] = table[:10, 12:13]
    table[10:] = table[9:10]
    np.save("pos.npy", table.transpose(2, 0, 1)[None])
    answer = ask("compare", "pos.npy", "detr:dim=64,grid=12x16,normalize=true").ends(1)
    answer.says("different: the first 10x13 cells hold the table of grid=10x13, the others are padding")
    answer.says("the channels come before the grid")


@pytest.mark.parametrize(("levels", "over"), [(127, 127), (127, 128), (128, 128)])
def test_int8_with_another_scale_is_told(ask, levels, over):
    angles = np.arange(512)[:, None] * frequencies(128, 1e6)
    parts = {"cos": np.cos(angles), "sin": np.sin(angles)}
    np.savez("t.npz", **{k: (np.clip(np.rint(v * levels), -128, 127) / over).astype("f") for k, v in parts.items()})
    back = f", and multiplied back by 1/{over}" * (levels != over)
    said = f"different: all values are quantised to int8, in steps of 1/{levels}{back}"
    ask("compare", "t.npz", "rope:dim=128,base=1000000").ends(1).says(said)


@pytest.mark.parametrize(("size", "ratio"), [(256, 2), (171, 512 / 171)])
def test_a_longer_table_that_was_shortened_is_told(ask, size, ratio):
    table = pecli.table("sinusoidal:dim=64", length=512)["pe"]
    at = (np.arange(size) + 0.5) * ratio - 0.5
    low = np.floor(at).astype(int)
    share = (at - low)[:, None]
    np.save("t.npy", ((1 - share) * table[low] + share * table[np.minimum(low + 1, 511)]).astype("float32"))
    answer = ask("compare", "t.npy", "sinusoidal:dim=64").ends(1)
    answer.says(f"different: the recipe's first 512 rows were resized to {size} by linear interpolation")


def test_normalised_coordinates_of_another_scale_are_told(ask):
    def half(count, temperature, scale):
        turns = np.arange(1, count + 1)[:, None] / (count + 1e-6) * scale / temperature ** (np.arange(16) / 16)
        return np.stack([np.sin(turns), np.cos(turns)], axis=-1).reshape(count, 32)

    for scale, temperature in ((1, 10000), (1, 20), (100, 10000)):
        y, x = (half(count, temperature, scale) for count in (12, 16))
        both = np.concatenate([np.repeat(y, 16, axis=0), np.tile(x, (12, 1))], axis=1)
        np.save("pos.npy", both.astype("float32"))
        answer = ask("compare", "pos.npy", "detr:dim=64,grid=12x16,normalize=true").ends(1)
        if scale == 1:
            answer.says("coordinate-scale 1 where 2 pi was expected")
        if temperature == 20:
            answer.says("different: temperature 20 where 10000 was expected")


def test_other_coordinates_of_a_given_matrix_are_told(ask):
    matrix = np.random.default_rng(0).normal(size=(16, 2))
    np.save("B.npy", matrix)
    y, x = np.meshgrid(np.arange(12) / 12, np.arange(12) / 12, indexing="ij")
    turns = 2 * np.pi * (2 * np.stack([x, y], axis=-1).reshape(-1, 2) - 1) @ matrix.T
    np.save("f.npy", np.concatenate([np.sin(turns), np.cos(turns)], axis=1).astype("float32"))
    answer = ask("compare", "f.npy", "fourier:dim=32,matrix=B.npy,grid=12x12,coordinates=centres")
    answer.says("different: coordinates are those of the cells' corners, not of their centres")
    np.save("B.npy", matrix[:, :1])
    phases = np.log(np.arange(1, 101))[:, None] * matrix[:, 0]
    np.save("f.npy", np.concatenate([np.sin(phases), np.cos(phases)], axis=1).astype("float32"))
    answer = ask("compare", "f.npy", "fourier:dim=32,matrix=B.npy,log=true,start=1")
    answer.says("different: the factor 2 pi is missing")


def test_entries_of_the_class_token_in_another_order_are_told(ask):
    index = pecli.table("window:grid=6x6,cls=true", form="index")["index"]
    other = index.copy()
    other[0, 1:], other[1:, 0] = 122, 121
    np.save("index.npy", other)
    answer = ask("compare", "index.npy", "window:grid=6x6,cls=true,form=index").ends(1)
    answer.says("different: the class token's entries are T - 2 to patches, T - 3 from patches and T - 1 to itself")
    other[0, 1:] = other[1:, 0] = 121
    np.save("index.npy", other)
    ask("compare", "index.npy", "window:grid=6x6,cls=true,form=index").never("int8")


def test_a_data_frames_index_is_told_first(ask):
    rows = pecli.table("sinusoidal:dim=16", length=50, dtype="float64")["pe"] * (1 + 1e-15)
    lines = [
        ",".join(["", *map(str, range(16))]),
        *(",".join([str(k), *map(repr, r)]) for k, r in enumerate(rows.tolist())),
    ]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    answer = ask("compare", "t.csv", "sinusoidal:dim=16")
    answer.says("the first column, without a name (such as a data frame's index), labels the rows and was left out")


def test_lists_in_the_cells_of_a_csv_are_read(ask):
    rows = pecli.table("sinusoidal:dim=12", length=50, dtype="float64")["pe"]
    texts = {
        "lists": [str(row.tolist()) for row in rows],
        "numbers": ["[" + ", ".join(f"np.float64({value!r})" for value in row.tolist()) + "]" for row in rows],
        "arrays": [np.array2string(row, precision=8) for row in rows],
    }
    for name, cells in texts.items():
        lines = ["pos,pe", *(f'{k},"{cell}"' for k, cell in enumerate(cells))]
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")
        ask("identify", f"{name}.csv").says("sinusoidal:dim=12")
    Path("short.csv").write_text('pos,pe\n0,"[0. 1. ... 0. 1.]"\n1,"[0.8 0.5 ... 0. 1.]"\n')
    ask("identify", "short.csv").ends(2).says("holds arrays with '...', as NumPy shortens them, in column 'pe'")
    Path("uneven.csv").write_text('pos,pe\n0,"[0.5, 1.5]"\n1,"[0.5]"\n')
    ask("identify", "uneven.csv").ends(2).says("lists of different lengths in column 'pe'")
    Path("note.csv").write_text("pos,x,note\n0,0.5,[draft]\n1,0.25,[draft]\n")
    ask("inspect", "note.csv").ends(0).says("x 2 float64")
