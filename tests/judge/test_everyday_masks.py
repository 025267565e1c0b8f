"""Everyday matrices: files that made the judge crash, masks, and tables that must still be named."""

import numpy as np
import pytest

import pecli
from tests.judge.answers import angles, assert_identified, bloom_slopes, cache, distances, get_slopes, sinusoid

BLOOM = [8, 16, 32, 56, 64, 71, 112]


@pytest.mark.parametrize("heads", BLOOM)
def test_bloom_s_slopes_are_named(ask, heads):
    np.save("slopes.npy", bloom_slopes(heads))
    assert_identified(pecli.identify("slopes.npy"), "alibi", heads=heads, bias_max=8)
    ask("inspect", "slopes.npy", "--identify").ends(0).says(f"heads={heads}")


@pytest.mark.parametrize("heads", BLOOM)
@pytest.mark.parametrize("form", ["bloom", "dense"])
@pytest.mark.sample(3)
def test_bloom_s_own_bias_is_named(form, heads):
    steps = np.arange(20)[None] if form == "bloom" else -distances(20)
    assert_identified(
        pecli.identify(bloom_slopes(heads)[:, None, None] * steps.astype("float32")), "alibi", heads=heads
    )


@pytest.mark.parametrize("heads", BLOOM)
def test_bloom_s_slopes_are_float32_s_rounding(ask, heads):
    np.save("slopes.npy", bloom_slopes(heads))
    answer = ask("compare", "slopes.npy", f"alibi:heads={heads},form=slopes").never("internal error")
    if not np.array_equal(bloom_slopes(heads), np.float32(get_slopes(heads))):
        answer.ends(1).says("float32", "rounding").never("no formula", "no fault", "rows 8 to")
        ask("compare", "slopes.npy", f"alibi:heads={heads},form=slopes", *answer.tolerance).ends(0)


@pytest.mark.parametrize("heads", BLOOM)
def test_bloom_s_own_bias_is_compared(ask, heads):
    np.save("bias.npy", bloom_slopes(heads)[:, None, None] * np.arange(20, dtype="float32")[None])
    answer = ask("compare", "bias.npy", f"alibi:heads={heads},bias=key-position").never("internal error")
    answer.never("no formula", "no fault", "shape")


def alibi(heads, size):
    return (get_slopes(heads)[:, None, None] * -distances(size)).astype("float32")


MULTI_HEAD = {
    "alibi:heads=8,len=20": (lambda: alibi(8, 20), "alibi", {"heads": 8}),
    "alibi:heads=12,len=9": (lambda: alibi(12, 9), "alibi", {"heads": 12}),
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "arrow", "parquet", "json", "h5", "npz", "safetensors"])
@pytest.mark.parametrize("recipe", MULTI_HEAD)
@pytest.mark.sample(3)
def test_a_bias_of_several_heads_is_named_in_every_format(ask, recipe, suffix):
    make, encoding, keys = MULTI_HEAD[recipe]
    ask("generate", recipe, "-o", f"bias.{suffix}").ends(0)
    np.save("bias.npy", make())
    ask("compare", f"bias.{suffix}", "bias.npy", "--ulp", 4).ends(0)
    assert_identified(pecli.identify(f"bias.{suffix}"), encoding, **keys)
    ask("inspect", f"bias.{suffix}", "--identify").ends(0)


BLOCKS = np.kron(np.eye(4), np.ones((8, 8)))
MATRICES = {
    "identity": np.eye(64),
    "identity of float32": np.eye(48, dtype="float32"),
    "identity of integers": np.eye(32, dtype="int32"),
    "small identity": np.eye(5),
    "wide identity": np.eye(64, 128),
    "tall identity": np.eye(128, 64, dtype="float32"),
    "reversed identity": np.eye(16)[:, ::-1],
    "sliding window": (distances(64) < 4).astype("float32"),
    "causal window": np.tril((distances(32) < 4).astype("float32")),
    "blocks": BLOCKS,
    "wide blocks": np.kron(np.eye(4), np.ones((8, 16))),
    "blocks of heads": np.tile(BLOCKS, (4, 1, 1)).astype("float32"),
    "scaled identity": 0.5 * np.eye(32),
}
MASKS = {
    "causal": np.tril(np.ones((64, 64), "float32")),
    "small causal": np.tril(np.ones((8, 8))),
    "future": np.triu(np.ones((64, 64))),
    "bool": np.tril(np.ones((64, 64), bool)),
    "integers": np.tril(np.ones((64, 64), "int64")),
    "batch": np.tril(np.ones((1, 1, 64, 64), "float32")),
    "heads": np.tile(np.tril(np.ones((64, 64), "float32")), (4, 1, 1)),
    "minus infinity": np.triu(np.full((64, 64), -np.inf, "float32"), 1),
    "smallest": np.triu(np.full((64, 64), np.finfo("float32").min, "float32"), 1),
    "-1e9": np.triu(np.full((64, 64), -1e9, "float32"), 1),
    "padding": (np.arange(64) < np.array([10, 30, 64, 50])[:, None]).astype("float32"),
    "half": np.where(np.arange(64) < 32, 0.0, 1.0)[None].repeat(64, 0),
    **MATRICES,
}


@pytest.mark.parametrize("case", MASKS)
def test_two_distinct_values_are_a_mask(ask, case):
    np.save("mask.npy", MASKS[case])
    found = pecli.identify("mask.npy")
    assert (found.recipe, found.confidence) == (None, "unknown"), repr(found)
    ask("inspect", "mask.npy", "--identify").ends(0).says("unknown", "mask", "two values|two distinct values").never(
        "padding is"
    )


@pytest.mark.parametrize("case", MATRICES)
def test_a_matrix_of_two_values_is_compared_without_a_crash(ask, case):
    values = np.squeeze(MATRICES[case])
    np.save("mask.npy", values)
    width = values.shape[-1]
    answer = ask("compare", "mask.npy", f"sinusoidal:dim={width}").never("internal error")
    answer.ends(2).says("must be even") if width % 2 else answer.ends(1)


@pytest.mark.parametrize("shape", [(64, 64), (100, 32), (64, 128), (4, 16, 16)])
@pytest.mark.parametrize("value", [1.0, 0.5, -3.0])
def test_one_value_everywhere_is_no_table_of_positions(ask, shape, value):
    np.save("constant.npy", np.full(shape, value, "float32"))
    found = pecli.identify("constant.npy")
    assert (found.recipe, found.confidence) == (None, "unknown"), repr(found)
    ask("inspect", "constant.npy", "--identify").ends(0).says("unknown", "one value|every value")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_nothing_is_likely_that_leaves_more_than_a_hundredth_unexplained(share):
    noise = np.random.default_rng(1).standard_normal((128, 32)).astype("float32")
    chosen = np.random.default_rng(2).random((128, 32)) < share
    found = pecli.identify(np.where(chosen, sinusoid(128, 32), noise))
    assert found.confidence == "unknown", repr(found)


@pytest.mark.parametrize("values", ["array", "npy", "table"])
def test_pairs_of_cosine_and_sine_are_named(ask, values):
    made = np.stack([*cache(angles(64, 32)).values()], axis=-1)
    np.save("pairs.npy", made)
    own = pecli.table("rope:dim=32,len=64,layout=pairs")
    given = {"array": made, "npy": "pairs.npy", "table": own["cos_sin"]}[values]
    assert_identified(pecli.identify(given), "rope", dim=32, base=10000, layout="pairs")
    assert pecli.compare(made, "rope:dim=32").equal


def test_fewer_keys_of_a_symmetric_bias_are_no_exchanged_axes(ask):
    np.save("bias.npy", alibi(8, 24)[:, :, :16])
    ask("compare", "bias.npy", "alibi:heads=8,len=24").ends(1).says("columns 16 to 23 are missing").never("exchanged")


def test_a_bias_less_the_identity_does_not_look_drawn(ask):
    np.save("bias.npy", alibi(8, 24) - np.eye(24, dtype="float32"))
    ask("compare", "bias.npy", "alibi:heads=8,len=24").ends(1).says(
        "differs where query and key are at the same position"
    ).never("drawn")


def test_heads_of_other_sizes_do_not_repeat_one_another(ask):
    weights = np.exp(alibi(12, 24).astype("float64"))
    np.save("bias.npy", (weights / weights.sum(-1, keepdims=True)).astype("float16"))
    ask("compare", "bias.npy", "alibi:heads=12,len=24,dtype=bfloat16").ends(1).never("repeat")


@pytest.mark.parametrize("heads", [8, 12])
def test_distances_from_another_key_are_told_and_named(ask, heads):
    slopes = get_slopes(heads)[:, None, None]
    np.save("bias.npy", (slopes * np.arange(-32, 0)).astype("float32"))
    said = "positions of the keys end at -1 where 0 was expected"
    ask("compare", "bias.npy", f"alibi:heads={heads},bias=last-key,len=32,queries=1").ends(1).says(said)
    ask("identify", "bias.npy").says(f"alibi:heads={heads},bias=key-position,len=32,start=-32").never("rope")
    np.save("bias.npy", (slopes * np.arange(-63, -47)).astype("float32"))
    ask("compare", "bias.npy", f"alibi:heads={heads},bias=last-key,len=16,queries=1").says("keys end at -48 where 0")


def test_the_first_heads_of_more_have_no_bias_max_of_their_own(ask):
    np.save("bias.npy", (get_slopes(32)[:31, None, None] * np.arange(32)).astype("float32"))
    ask("compare", "bias.npy", "alibi:heads=32,bias=key-position,len=32").says("heads 0 to 30 of 32").never("7.75")
    ask("identify", "bias.npy").says("slopes of heads 0 to 30 of 32").never("7.75")


def test_no_tolerance_accepts_exchanged_axes(ask):
    bias = get_slopes(16)[:, None, None] * -distances(40) + np.triu(np.full((40, 40), -np.inf), 1)
    np.save("bias.npy", bias.swapaxes(1, 2))
    answer = ask("compare", "bias.npy", "alibi:heads=16,mask=causal,dtype=float64").says("hides the keys before")
    answer.says("besides, float64 rounding").never("harmless", "accepts")


def test_slopes_of_fewer_heads_that_stand_twice_are_told(ask):
    np.save("slopes.npy", np.tile(get_slopes(8), 2).astype("float32"))
    np.save("expected.npy", get_slopes(16).astype("float32"))
    ask("compare", "slopes.npy", "expected.npy").ends(1).says("slopes of 8 heads where 16 were expected")
    ask("identify", "slopes.npy").says("alibi:heads=8", "2 copies of it")


def test_slopes_that_are_zero_but_for_one_are_told(ask):
    np.save("slopes.npy", np.array([0.5, *[0] * 7], "float32"))
    ask("compare", "slopes.npy", "alibi:heads=8,form=slopes").says("heads 1 to 7 are zero").never("mask")


def test_the_last_head_alone_is_named(ask):
    np.save("bias.npy", alibi(8, 12)[7])
    ask("compare", "bias.npy", "alibi:heads=8,len=12").says("this is head 7 of 8")
