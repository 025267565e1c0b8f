"""Inputs as models have them: padded batches, position streams, heads side by side, values; against plain NumPy."""

import json

import numpy as np
import pytest

import pecli
from tests.support.commands import command

RNG = np.random.default_rng(5)
BATCH, HEADS, N, WIDTH = 2, 4, 6, 8
Q, K, V = RNG.normal(size=(3, BATCH, HEADS, N, WIDTH))
SCORES = Q @ K.swapaxes(-1, -2) / np.sqrt(WIDTH)
SEEN = np.array([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
CAUSAL = np.tril(np.ones((N, N), bool))


def softmax(x):
    with np.errstate(invalid="ignore"):
        weights = np.exp(x - x.max(-1, keepdims=True))
        return np.nan_to_num(weights / weights.sum(-1, keepdims=True))


def angles(positions, dim=WIDTH, base=10000.0):
    return np.asarray(positions, float)[..., None] * base ** (-np.arange(0, dim, 2) / dim)


def rotated(x, angle):
    """Half-split pairs of x (b, h, n, d) rotated by angles that spread over (b, h, n, d/2)."""
    c, s, (a, b) = np.cos(angle), np.sin(angle), np.split(x, 2, -1)
    return np.concatenate((a * c - b * s, b * c + a * s), -1)


def alibi(positions):
    """BLOOM's bias of positions (b, n): slope times key minus query."""
    slopes = 2.0 ** (-8 * np.arange(1, HEADS + 1) / HEADS)
    return slopes[:, None, None] * -np.abs(positions[:, None, :, None] - positions[:, None, None, :])


@pytest.mark.parametrize("causal", [False, True])
def test_a_padded_batch_has_its_own_positions_and_hides_padding(causal):
    positions = np.maximum(np.cumsum(SEEN, 1) - 1, 0)
    seen = SEEN[:, None, None, :].astype(bool) & (CAUSAL if causal else True)
    options = {"positions": positions, "key_mask": SEEN, "causal": causal}
    bias = alibi(positions)
    logits = np.where(seen, RNG.normal(size=SCORES.shape), -0.5)
    added = pecli.apply("alibi:heads=4", {"x": logits}, dtype="float64", **options)["x"]
    np.testing.assert_allclose(added, np.where(seen, logits + bias, -np.inf), rtol=0, atol=1e-14)
    found = pecli.apply("alibi:heads=4", {"q": Q, "k": K, "v": V}, scores=True, softmax=True, **options)["output"]
    weights = softmax(np.where(seen, SCORES + bias, -np.inf))
    np.testing.assert_allclose(found, weights @ V, rtol=0, atol=1e-13)


def test_a_query_that_sees_no_key_has_weights_of_zero():
    made = pecli.apply("alibi:heads=4", {"q": Q, "k": K}, scores=True, causal=True, softmax=True, key_mask=SEEN)
    assert not made["scores"][0, :, :2].any()
    assert np.allclose(made["scores"][0, :, 2:].sum(-1), 1)


@pytest.mark.parametrize("subject", ["rope:dim=8", "config"])
@pytest.mark.parametrize("axes", ["bhsd", "bshd", "bs(hd)"])
def test_values_are_weighed_in_the_axes_of_the_inputs(subject, axes):
    config = {"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2}
    turn = angles(np.arange(N))
    group = {"q": Q, "k": K[:, :2], "v": V[:, :2]}
    weights = softmax(rotated(Q, turn) @ rotated(np.repeat(K[:, :2], 2, 1), turn).swapaxes(-1, -2) / np.sqrt(WIDTH))
    expected = weights @ np.repeat(V[:, :2], 2, 1)

    def laid(x):
        x = x if axes == "bhsd" else x.swapaxes(1, 2)
        return x.reshape(*x.shape[:2], -1) if axes == "bs(hd)" else x

    made = pecli.apply(
        config if subject == "config" else subject, {name: laid(x) for name, x in group.items()},
        axes=axes, pairs="half", scores=True, softmax=True,
    )  # fmt: skip
    np.testing.assert_allclose(made["output"], laid(expected), rtol=0, atol=1e-13)
    part, whole = made.outputs.read_rows(["output"], 3, 9)["output"], made["output"]
    np.testing.assert_allclose(part, whole.reshape(-1, whole.shape[-1])[3:9], rtol=0, atol=1e-14)


def test_heads_side_by_side_are_rotated_where_they_are():
    x = Q.swapaxes(1, 2).reshape(BATCH, N, -1)
    expected = rotated(Q, angles(np.arange(N))).swapaxes(1, 2).reshape(x.shape)
    for axes in ("bs(hd)", "bs(4d)"):
        made = pecli.apply("rope:dim=8", {"x": x}, axes=axes, pairs="half")["x"]
        np.testing.assert_allclose(made, expected, rtol=0, atol=1e-14)
    with pytest.raises(pecli.PecliError, match="divide the 32 columns"):
        pecli.apply("rope:dim=8", {"x": x}, axes="bs(5d)", pairs="half")
    with pytest.raises(pecli.PecliError, match=r"give it as bs\(12d\)"):
        pecli.apply("transformer-xl:dim=32", {"q": x, "k": x}, axes="bs(hd)", scores=True)


QWEN = {
    "model_type": "qwen2_vl", "hidden_size": 32, "num_attention_heads": 4, "rope_theta": 10000.0,
    "rope_scaling": {"type": "mrope", "mrope_section": [2, 1, 1]},
}  # fmt: skip


@pytest.mark.parametrize("subject", ["mrope:dim=8,sections=2+1+1", QWEN])
def test_a_batch_of_position_streams(subject):
    streams = RNG.integers(0, 40, size=(3, BATCH, N))
    stream = np.array([0, 0, 1, 2])
    turn = np.take_along_axis(angles(streams), stream[None, None, None], 0)[0][:, None]
    made = pecli.apply(subject, {"q": Q, "k": K}, pairs="half", positions=streams)
    np.testing.assert_allclose(made["q"], rotated(Q, turn), rtol=0, atol=1e-13)
    found = pecli.apply(subject, {"q": Q[:, :, -2:], "k": K}, pairs="half", positions=streams, scores=True)["scores"]
    expected = rotated(Q, turn)[:, :, -2:] @ rotated(K, turn).swapaxes(-1, -2) / np.sqrt(WIDTH)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_text_alone_of_a_config_with_streams_says_so():
    notes = " ".join(pecli.apply(QWEN, {"q": Q}).notes)
    assert "sections 2+1+1" in notes
    assert "(streams, batch, position)" in notes
    with pytest.raises(pecli.PecliError, match="takes one"):
        pecli.apply("rope:dim=8", {"q": Q}, pairs="half", positions=np.zeros((3, 2, 6), int))


PHI3 = {
    "model_type": "phi3", "hidden_size": 32, "num_attention_heads": 4, "max_position_embeddings": 64,
    "original_max_position_embeddings": 16,
    "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.1, 3.2, 4.3]},
}  # fmt: skip


@pytest.mark.parametrize(("length", "factors"), [(None, "short"), (16, "short"), (17, "long")])
def test_the_length_of_the_sequence_chooses_longropes_factors(length, factors):
    size = np.sqrt(1 + np.log(64 / 16) / np.log(16))
    turn = angles(np.arange(N)) / PHI3["rope_scaling"][f"{factors}_factor"]
    made = pecli.apply(PHI3, {"q": Q}, length=length)["q"]
    np.testing.assert_allclose(made, size * rotated(Q, turn), rtol=0, atol=1e-13)


def test_a_length_on_which_nothing_depends_is_refused():
    with pytest.raises(pecli.PecliError, match="has no effect"):
        pecli.apply("rope:dim=8", {"q": Q}, pairs="half", length=64)


def test_the_four_terms_of_absolute_positions():
    pe = pecli.table("sinusoidal:dim=8,len=6", dtype="float64")["pe"]
    made = pecli.apply("sinusoidal:dim=8", {"q": Q[:, :, 2:], "k": K}, scores=True)
    expected = (Q[:, :, 2:] + pe[2:]) @ (K + pe).swapaxes(-1, -2) / np.sqrt(8)
    np.testing.assert_allclose(made["scores"], expected, rtol=0, atol=1e-13)
    assert any("q.k + q.p + p.k + p.p" in note for note in made.notes)


def test_music_transformers_vectors_are_shaws_without_later_keys():
    """Huang et al. 2018, section 3.4.1: rows -(N-1) to 0 of E, skewed."""
    vector = pecli.table("shaw:dim=8,clip=5,right=0", length=N, dtype="float64")["vector"]
    products = Q @ vector.T  # (b, h, n, N)
    padded = np.pad(products, [(0, 0)] * 3 + [(1, 0)]).reshape(BATCH, HEADS, N + 1, N)[:, :, 1:]
    expected = softmax(np.where(CAUSAL, (Q @ K.swapaxes(-1, -2) + padded) / np.sqrt(8), -np.inf)) @ V
    inputs = {"q": Q, "k": K, "v": V}
    made = pecli.apply("shaw:dim=8,clip=5,right=0", inputs, scores=True, causal=True, softmax=True)
    np.testing.assert_allclose(made["output"], expected, rtol=0, atol=1e-13)


def test_debertas_opposite_row_is_the_papers():
    """He et al. 2020, equation 4: K_j Q_r(delta(j, i)), where the code takes delta(i, j)."""
    text = "deberta:buckets=0,max-distance=3,dim=8,std=1,p2c-row=paper"
    vector = pecli.table(text, length=N, dtype="float64")["vector"]
    delta = np.clip(np.arange(N)[:, None] - np.arange(N) + 3, 0, 5)
    c2p = np.einsum("bhid,ijd->bhij", Q, vector[delta])
    p2c = np.einsum("bhjd,ijd->bhij", K, vector[delta.T])
    expected = (Q @ K.swapaxes(-1, -2) + c2p + p2c) / np.sqrt(3 * 8)
    made = pecli.apply(text, {"q": Q, "k": K}, scores=True)
    np.testing.assert_allclose(made["scores"], expected, rtol=0, atol=1e-13)
    assert any("as in the paper" in note for note in made.notes)


def test_opts_padding_has_position_minus_1():
    config = {"model_type": "opt", "hidden_size": 32, "word_embed_proj_dim": 32, "max_position_embeddings": 64}
    positions = np.cumsum(SEEN, 1) * SEEN - 1
    x = RNG.normal(size=(BATCH, N, 32))
    recipe = pecli.read_config(config).layers["all"]
    weight = pecli.table("learned:dim=32,max-len=64,rows-offset=2,start=-2,len=66", dtype="float64")["pe"]
    made = pecli.apply("learned:dim=32,max-len=64,rows-offset=2", x, positions=positions)["array"]
    np.testing.assert_allclose(made, x + weight[positions + 2], rtol=0, atol=1e-15)
    assert recipe.params["rows-offset"] == "2"
    assert pecli.apply(config, x, positions=positions)["array"].shape == x.shape


def test_bits_of_bfloat16_are_read_from_npy_with_a_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bits = (Q.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    np.save("q.npy", bits)
    line = ["apply", "rope:dim=8", "q.npy", "--pairs", "half", "-o", "out.safetensors"]
    assert command(line).returncode == 2
    assert command([*line, "--dtype", "bfloat16"]).returncode == 0
    expected = pecli.apply("rope:dim=8", pecli.widen(bits, "bfloat16"), pairs="half", dtype="bfloat16")["array"]
    with pecli.open_table("out.safetensors") as made:
        np.testing.assert_array_equal(made["q"].reshape(Q.shape), expected)


def test_the_command_reads_masks_streams_and_scales(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arrays = {"q": Q, "k": K, "v": V, "mask": SEEN, "streams": np.stack([np.tile(np.arange(N), (2, 1))] * 3)}
    for name, values in arrays.items():
        np.save(f"{name}.npy", values)
    (tmp_path / "config.json").write_text(json.dumps(QWEN))
    line = ["apply", "config.json", "q.npy", "k.npy", "v.npy", "--positions", "@streams.npy", "--scores", "--softmax",
            "--mask", "causal+@mask.npy", "--scale", "0.3", "-o", "out.npy"]  # fmt: skip
    assert command(line).returncode == 0
    options = {"positions": arrays["streams"], "causal": True, "key_mask": SEEN, "softmax": True, "scale": "0.3"}
    expected = pecli.apply(QWEN, {"q": Q, "k": K, "v": V}, scores=True, **options)["output"]
    np.testing.assert_array_equal(np.load("out.npy"), expected)
    for mask in ("mask.npy", "causal+", "late"):
        assert command([*line[:-4], "--mask", mask]).returncode == 2


@pytest.mark.parametrize("arithmetic", ["exact", "float32"])
def test_the_last_columns_of_a_whole_head_rotate_where_a_model_has_them_last(arithmetic):
    """DeepSeek's heads have 32 columns without positions before the 16 that rotate."""
    config = {
        "model_type": "deepseek_v3", "hidden_size": 256, "num_attention_heads": 4, "qk_rope_head_dim": 16,
        "qk_nope_head_dim": 32, "max_position_embeddings": 256,
    }  # fmt: skip
    q = np.random.default_rng(3).standard_normal((2, 4, 9, 48)).astype(np.float32)
    whole = pecli.apply(config, q, arithmetic=arithmetic)
    part = pecli.apply(config, np.ascontiguousarray(q[..., 32:]), arithmetic=arithmetic)
    assert "the last 16 columns of a head rotate, as the model has them" in whole.notes
    np.testing.assert_array_equal(whole["array"], np.concatenate([q[..., :32], part["array"]], axis=-1))
