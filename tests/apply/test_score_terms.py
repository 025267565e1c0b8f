"""What a score is the sum of, and what multiplies it: of T5, DeBERTa, BERT, and of configs."""

import numpy as np
import pytest

import pecli

RNG = np.random.default_rng(11)
HEADS, N, WIDTH = 2, 6, 4
Q, K = RNG.normal(size=(2, 1, HEADS, N, WIDTH))
PRODUCTS = Q @ K.swapaxes(-1, -2)


def scores(subject, **options):
    return pecli.apply(subject, {"q": Q, "k": K}, scores=True, **options)


def by_position(recipe, terms):
    """The terms of positions written out, before division."""
    table = pecli.table(recipe, length=N, dtype="float64")
    vectors, index = table["vector"], table["index"]
    total = np.zeros_like(PRODUCTS)
    for h, i, j in np.ndindex(HEADS, N, N):
        rows = vectors[index[i, j]]
        r = rows if len(rows) == WIDTH else rows.reshape(HEADS, WIDTH)[h]
        total[0, h, i, j] = Q[0, h, i] @ r * ("q" in terms) + K[0, h, j] @ r * ("k" in terms)
    return total


def test_t5s_products_are_not_divided():
    recipe = f"t5:heads={HEADS}"
    bias = pecli.table(recipe, length=N, dtype="float64")["bias"]
    found = scores(recipe)
    np.testing.assert_allclose(found["scores"], PRODUCTS + bias, rtol=0, atol=1e-13)
    assert "not divided" in " ".join(found.notes)
    divided = scores(recipe, scale="sqrt")
    np.testing.assert_allclose(divided["scores"], PRODUCTS / 2 + bias, rtol=0, atol=1e-13)
    np.testing.assert_allclose(scores(recipe, scale="0.1")["scores"], PRODUCTS / 10 + bias, rtol=0, atol=1e-13)


def test_others_are_divided_and_say_so():
    found = scores("alibi:heads=2")
    bias = pecli.table("alibi:heads=2", length=N, dtype="float64")["bias"]
    np.testing.assert_allclose(found["scores"], PRODUCTS / 2 + bias, rtol=0, atol=1e-13)
    assert "the products are divided by sqrt(4)" in found.notes


@pytest.mark.parametrize(("word", "terms", "count"), [
    ("c2p+p2c", "qk", 3), ("c2p", "q", 2), ("p2c", "k", 2), ("none", "", 1), (None, "qk", 3),
])  # fmt: skip
def test_deberta_has_the_terms_that_are_named(word, terms, count):
    recipe = "deberta:buckets=4,max-distance=8,shifted=true,std=1"
    text = f"{recipe},dim={HEADS * WIDTH}" + (f",pos-att-type={word}" if word else "")
    expected = (PRODUCTS + by_position(text, terms)) / np.sqrt(count * WIDTH)
    np.testing.assert_allclose(scores(text)["scores"], expected, rtol=0, atol=1e-13)


def test_a_projection_without_its_term_is_refused(tmp_path):
    np.save(tmp_path / "w.npy", np.eye(8))
    text = f"deberta:buckets=4,max-distance=8,dim=8,pos-att-type=c2p,pos-query-proj={tmp_path / 'w.npy'}"
    with pytest.raises(pecli.PecliError, match="has no effect with pos-att-type=c2p"):
        scores(text)


@pytest.mark.parametrize(("kind", "terms"), [("", "q"), (",kind=key", "q"), (",kind=key-query", "qk")])
def test_berts_relative_key_query_has_a_third_term(kind, terms):
    text = f"shaw:dim={WIDTH},clip=3,backward=true{kind}"
    expected = (PRODUCTS + by_position(text, terms)) / np.sqrt(WIDTH)
    np.testing.assert_allclose(scores(text)["scores"], expected, rtol=0, atol=1e-13)


T5 = {"model_type": "t5", "num_heads": HEADS, "d_kv": WIDTH}


def test_a_config_with_an_encoder_and_a_decoder_says_which_was_taken(tmp_path, capsys):
    found = scores(T5)
    assert "the encoder's positions are taken: --layer-type decoder for the other's" in found.notes
    chosen = scores(T5, layer_type="decoder")
    assert not any("are taken" in note for note in chosen.notes)
    bias = pecli.table(f"t5:heads={HEADS},bidirectional=false", length=N, dtype="float64")["bias"]
    np.testing.assert_allclose(chosen["scores"], PRODUCTS + bias, rtol=0, atol=1e-13)
    assert abs(found["scores"] - chosen["scores"]).max() > 1e-3


@pytest.mark.parametrize(("more", "scale"), [
    ({"model_type": "llama"}, 0.5),
    ({"model_type": "granite", "attention_multiplier": 0.3}, 0.3),
    ({"model_type": "gemma3_text", "query_pre_attn_scalar": 9, "num_hidden_layers": 1}, 1 / 3),
    ({"model_type": "gemma4_text", "global_head_dim": 4, "num_hidden_layers": 1}, 1.0),
])  # fmt: skip
def test_a_configs_own_scale_is_used(more, scale):
    config = {"hidden_size": 8, "num_attention_heads": 2, "head_dim": 4, **more}
    kind = {"layer_type": "sliding_attention"} if "gemma" in more["model_type"] else {}
    found = scores(config, pairs="half", **kind)
    plain = scores("rope:dim=4", pairs="half", scale="1")
    np.testing.assert_allclose(found["scores"], plain["scores"] * scale, rtol=0, atol=1e-13)


def test_what_queries_and_keys_do_not_give_is_refused():
    config = {"model_type": "gemma2", "hidden_size": 8, "num_attention_heads": 2, "head_dim": 4}
    with pytest.raises(pecli.PecliError, match="caps at 50"):
        scores(config, pairs="half", softmax=True)
    q = RNG.normal(size=(1, 2, 6, 4))
    with pytest.raises(pecli.PecliError, match="cosines"):
        pecli.apply("window:grid=2x3,version=2,heads=2", {"q": q, "k": q}, scores=True)
    with pytest.raises(pecli.PecliError, match="for scores of queries and keys"):
        pecli.apply("alibi:heads=2", RNG.normal(size=(2, 6, 6)), scale="1")
