"""What `apply` and `convert` refuse of tensors, options and weights, each in one sentence that names the remedy."""

import json
import math

import numpy as np
import pytest

ANGLES = np.arange(9)[:, None] * 10000.0 ** (-np.arange(8) / 8)


@pytest.fixture
def files(tmp_path):
    """Queries q (1, 4, 3, 8), keys and values of other sides, and tables of other shapes."""
    shapes = {
        "q": (1, 4, 3, 8), "k": (1, 4, 3, 8), "k-long": (1, 4, 5, 8), "k-wide": (1, 4, 3, 16), "k-batch": (2, 4, 3, 8),
        "k-heads": (1, 3, 3, 8), "q-long": (1, 4, 7, 8), "v": (1, 4, 2, 8),
        "w": (7, 8), "wide": (1, 4, 3, 5), "logits": (1, 4, 3, 3), "flat": (3, 8),
        "cube": (2, 3, 8), "bias4": (1, 1, 3, 3, 1),
    }  # fmt: skip
    for name, shape in shapes.items():
        np.save(tmp_path / f"{name}.npy", np.ones(shape, np.float32))
    np.savez(tmp_path / "cache.npz", cos_sin=np.hstack([np.cos(ANGLES), np.sin(ANGLES)]))
    np.savez(tmp_path / "bias.npz", bias=np.zeros((4, 3, 3), np.float32))
    np.save(tmp_path / "places.npy", np.array([[0.5, 1, 2]]))
    np.save(tmp_path / "two.npy", np.array([[0, 1, 2], [3, 4, 5]]))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("rope:dim=8 q.npy k.npy --scores --way inverse --pairs half", "--way inverse is for tensors, not for scores"),
        ("rope:dim=8 q.npy k.npy --scale 2 --pairs half", "--scale 2 is for embeddings, and for scores"),
        ("rope:dim=8 q.npy k-wide.npy --scores --pairs half", "has vectors of 16, and q of 8"),
        ("rope:dim=8 q.npy k-batch.npy --scores --pairs half", "has 2 batches, and q 1"),
        ("rope:dim=8 q.npy k-heads.npy --scores --pairs half", "which do not divide the 4 of q"),
        ("rope:dim=8 q-long.npy k.npy --scores --pairs half --mask causal", "q-long is longer than k"),
        ("rope:dim=8 q.npy k.npy v.npy --pairs half", "v holds values: positions act on"),
        (
            "shaw:dim=8,clip=3,value-weights=w.npy q.npy k.npy v.npy --scores --softmax",
            "v has the shape (1, 4, 2, 8), and",
        ),
        ("rope:dim=8 q.npy k.npy --scores --pairs half --mask full", "--mask full must be causal"),
        ("rope:dim=8 q.npy q.npy --pairs half", "two inputs are named q"),
        ("rope:dim=8 q.npy --pairs half --vector 1,2", "--vector 1,2 replaces the inputs"),
        ("alibi:heads=4 --vector 1,2", "--vector is rotated or added to, and alibi does neither"),
        ("rope:dim=8 q.npy --pairs half --steps", "give --vector 1,2,-1,1"),
        ("rope:dim=8 q.npy --pairs half --seed 3", "give --random BxHxSxD too"),
        ("rope:dim=8 q.npy --pairs half --random 1x2x3x8", "replaces the inputs: name no files"),
        ("rope:dim=8 --pairs half --random 1x4x3x8 --kv-heads 3", "must divide the 4 heads"),
        ("rope:dim=8 q.npy --pairs half --positions @places.npy", "batches have whole positions"),
        ("rope:dim=8 q.npy --pairs half --arithmetic float32 --way inverse", "is for plain rotations"),
        ("cache.npz q.npy --pairs half", "has vectors of 8, and the table rotates 16 columns"),
        ("flat.npy q.npy k.npy --scores --pairs half", "--pairs half is for rotary tables"),
        ("alibi:heads=4 logits.npy --axes bhqk --scale 2", "--scale 2 is for embeddings, and for scores"),
        ("alibi:heads=4 logits.npy --axes bhqk --positions 0,1", "must be 3, one for each key"),
        ("alibi:heads=4 logits.npy --axes bhqk --positions @two.npy", "do not fit logits of 1 batches"),
        ("bias.npz logits.npy --axes bhqk --start 2", "is for recipes"),
        ("bias.npz wide.npy --axes bhqk", "it has one number for each query and key"),
        ("bias4.npy flat.npy", "says no recipe, so it is added as rows"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_written(words, says, files, refuses):
    refuses("apply", *words.split(), "-o", "o.npz", says=says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--from-pairs half", "to-pairs is needed: half (Llama in transformers) or interleaved"),
        ("--to-pairs half", "from-pairs is needed"),
        ("--from-pairs half --to-pairs halves", "must be half or interleaved"),
        ("--from-pairs half --to-pairs half", "is what the weights are made for already"),
        ("--from-pairs half --to-pairs interleaved --tensors [", "is no regular expression"),
        ("--from-pairs half --to-pairs interleaved --tensors nothing", "nothing"),
    ],
)
def test_weights_are_not_moved_where_the_pairs_are_not_known(words, says, refuses, tmp_path):
    from safetensors.numpy import save_file

    save_file({"model.layers.0.self_attn.q_proj.weight": np.ones((32, 8), np.float32)}, tmp_path / "w.safetensors")
    refuses("convert", "w.safetensors", "--heads", 4, *words.split(), "-o", "o.safetensors", says=says)


@pytest.mark.parametrize("pairs", ["half", "interleaved"])
def test_each_batch_has_positions_of_its_own(pairs, pecli, tmp_path):
    x = np.random.default_rng(3).normal(size=(2, 4, 3, 8)).astype(np.float32)
    np.save(tmp_path / "q.npy", x)
    np.save(tmp_path / "batches.npy", np.array([[0, 1, 2], [5, 9, 7]]))
    done = pecli("apply", "rope:dim=8", "q.npy", "--pairs", pairs, "--positions", "@batches.npy", "-o", "both.npy")
    assert done.returncode == 0, done.stderr
    for batch, positions in enumerate(("0,1,2", "5,9,7")):
        pecli("apply", "rope:dim=8", "q.npy", "--pairs", pairs, "--positions", positions, "-o", "one.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "both.npy")[batch], np.load(tmp_path / "one.npy")[batch])


def test_a_stored_table_with_a_factor_is_undone_by_its_inverse(pecli, tmp_path):
    x = np.random.default_rng(4).normal(size=(1, 2, 6, 8))
    np.save(tmp_path / "q.npy", x)
    angle = np.arange(6)[:, None] * 10000.0 ** (-np.arange(4) / 4)
    np.savez(tmp_path / "t.npz", cos_sin=1.25 * np.hstack([np.cos(angle), np.sin(angle)]))  # as vLLM keeps them
    for given, way, made in (("q.npy", (), "y.npy"), ("y.npy", ("--way", "inverse"), "z.npy")):
        done = pecli("apply", "t.npz", given, "--pairs", "half", *way, "--dtype", "float64", "-o", made)
        assert done.returncode == 0, done.stderr
    a, b = x[..., :4], x[..., 4:]
    turned = 1.25 * np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), turned, rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), x, rtol=0, atol=1e-14)


def test_scores_of_retnet_are_weighed_by_the_decay_of_each_head(pecli, tmp_path):
    rng = np.random.default_rng(5)
    q, k = (rng.normal(size=(1, 2, 6, 8)) for _ in "qk")
    np.save(tmp_path / "q.npy", q)
    np.save(tmp_path / "k.npy", k)
    made = {}
    for decay in ("none", "dense", "distance"):
        words = (f"retnet:heads=2,head-dim=8,decay={decay}", "q.npy", "k.npy", "--scores", "--pairs", "interleaved")
        done = pecli("apply", *words, "--dtype", "float64", "-o", "s.npy")
        assert done.returncode == 0, done.stderr
        made[decay] = np.load(tmp_path / "s.npy")
    back = np.arange(6)[:, None] - np.arange(6)
    gamma = 1 - np.array([1 / 32, 1 / 64])[:, None, None]
    expected = made["none"] * np.where(back >= 0, gamma ** np.maximum(back, 0), 0)
    for decay in ("dense", "distance"):
        np.testing.assert_allclose(made[decay], expected, rtol=0, atol=1e-6)  # the decay is stored in float32


def test_a_vector_is_worked_out_as_one_object(pecli):
    done = pecli("apply", "rope:dim=4", "--pairs", "half", "--vector", "1,2,-1,1", "--steps", "--start", 3, "--json")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)["steps"][1]["items"][0]
    assert table["columns"] == ["position", "pair", "w", "cos", "sin"]
    expected = [("3", i, w, math.cos(3 * w), math.sin(3 * w)) for i, w in enumerate((1.0, 0.01))]
    assert [tuple(row) for row in table["rows"]] == [pytest.approx(row) for row in expected]
