"""Modules that `pecli list NAME --code` prints, run as they stand, without pecli, in the frameworks that are there."""

import importlib.util
import json
import os

import numpy as np
import pytest

from pecli import CATALOGUE, Recipe, table
from pecli.teach.code import FRAMEWORKS, code_of
from pecli.testing import assert_applied

if "KERAS_BACKEND" not in os.environ:
    os.environ["KERAS_BACKEND"] = next((n for n in ("jax", "torch", "tensorflow") if importlib.util.find_spec(n)), "")
YARN = "rope:dim=16,scaling=yarn,factor=4,original-max=32"
ROTARY = [
    "rope:dim=16,base=500000",
    "rope:dim=16,rotary-dim=8",
    "rope:dim=16,scaling=linear,factor=4",
    "rope:dim=16,scaling=ntk,factor=4",
    "rope:dim=16,scaling=ntk-by-parts,factor=4,original-max=32",
    "rope:dim=16,scaling=llama3,factor=8,original-max=64",
    "rope:dim=16,scaling=dynamic,factor=4,max-position=32,seq-len=64",
    YARN,
]
ROWS = [
    "sinusoidal:dim=16",
    "sinusoidal:dim=16,convention=fairseq,pad-row=1",
    "sinusoidal:dim=16,order=sin-cos,shift=1,base=500",
    "sinusoidal:dim=16,order=cos-sin",
    "learned:dim=8,std=0.02,seed=5,max-len=64",
    "learned:dim=8,max-len=64",
]
BIASES = ["alibi:heads=12", "alibi:heads=4,bias-max=4"]
BUCKETS = ["t5:heads=2", "t5:heads=2,buckets=8,max-distance=20,bidirectional=false"]
PRINTED = [text for text in (*ROTARY, *ROWS, *BIASES, *BUCKETS) if "pad-row" not in text]
N = 64


def module(text, framework):
    """What the printed text defines."""
    if framework != "numpy":
        pytest.importorskip(framework, reason=f"{framework} is not installed: make frameworks runs this")
    recipe = Recipe.parse(text)
    space = {}
    exec(code_of(recipe, framework), space)
    return space


@pytest.mark.parametrize("text", PRINTED)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_table_is_the_exact_one(text, framework):
    found = module(text, framework)["table"](N)
    exact = table(text, length=N)
    expected = [exact["index"]] if "index" in exact else list(dict(exact).values())
    for got, want in zip(found if isinstance(found, tuple) else [found], expected, strict=True):
        assert got.shape == want.shape
        assert np.allclose(got, want, rtol=2**-23, atol=1e-14), np.abs(got - want).max()
        assert got.dtype == want.dtype or got.dtype.kind == "i"


def tensors(framework):
    """How a framework's tensors are made of arrays, and arrays of them."""
    if framework == "torch":
        import torch

        return torch.from_numpy, lambda x: x.detach().numpy()
    import keras

    return keras.ops.convert_to_tensor, keras.ops.convert_to_numpy


@pytest.mark.parametrize("framework", FRAMEWORKS[1:])
def test_the_modules_do_what_they_say(framework):
    pytest.importorskip(framework, reason=f"{framework} is not installed: make frameworks runs this")
    into, out = tensors(framework)
    rng = np.random.default_rng(1)
    q, x, logits = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3, 5, 16), (2, 5, 16), (1, 2, 3, 9)))
    turn = module("rope:dim=16,rotary-dim=8", framework)["Rotary"]
    assert_applied(q, out(turn(N)(into(q), offset=7)), "rope:dim=16,rotary-dim=8", pairs="half", start=7)
    turned = out(module(YARN, framework)["Rotary"](N, interleaved=True)(into(q)))
    assert_applied(q, turned, YARN, pairs="interleaved")
    rows = module("sinusoidal:dim=16", framework)["PositionalEncoding"](N)
    assert_applied(x, out(rows(into(x), offset=7)), "sinusoidal:dim=16", start=7)
    trained = module("learned:dim=16,max-len=64", framework)["LearnedPositions"](N)
    assert_applied(x, out(trained(into(x), offset=7)), "learned:dim=16,max-len=64", start=7)
    bias = out(module("alibi:heads=2", framework)["Bias"](N)(into(logits)))
    assert np.allclose(bias - logits, table("alibi:heads=2,len=9")["bias"][:, 6:], atol=1e-5)
    given = module("t5:heads=2,std=0.5", framework)["Bias"](2, N)
    index, numbers = table("t5:heads=2,len=9")["index"][6:], out(given.weight)
    assert np.allclose(out(given(into(logits))) - logits, numbers[index].transpose(2, 0, 1), atol=1e-6)


def test_numpys_rotation_is_the_exact_one():
    space = module("rope:dim=16,rotary-dim=8", "numpy")
    q = np.random.default_rng(1).standard_normal((2, 3, 5, 16)).astype(np.float32)
    for pairs in ("half", "interleaved"):
        made = space["rotate"](q, *space["table"](5, 7), interleaved=pairs == "interleaved")
        assert_applied(q, made, "rope:dim=16,rotary-dim=8", pairs=pairs, start=7)


OTHERS = [
    "sinusoidal:dim=16,pad-row=1",
    "alibi:heads=2,bias=key-position",
    "t5:heads=2,scale=2",
    "learned:dim=4,init=uniform",
    "rope:dim=8,scaling=dynamic,factor=2,max-position=8",
]


@pytest.mark.parametrize("text", OTHERS)
def test_what_the_module_does_not_know_is_loaded(text):
    assert code_of(Recipe.parse(text), "numpy").startswith("# pecli generate")


@pytest.mark.parametrize("name", ["fourier", "shaw", "rope2d"])
def test_the_lines_that_load_a_table_do(name, pecli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = Recipe.parse(CATALOGUE[name].example)
    command, _, lines = code_of(recipe, "numpy").partition("\n")
    words = command.removeprefix("# pecli ").split()
    assert pecli(*words).returncode == 0
    space = {}
    exec(lines, space)
    exact = table(str(recipe), length=None if recipe.rows else 2048)
    assert all((space["tables"][array] == values).all() for array, values in dict(exact).items())


def test_the_command_prints_it(pecli):
    said = pecli("list", "rope:dim=64,base=500000", "--code", "torch").stdout
    assert "DIM, BASE = 64, 500000.0" in said
    assert "pecli" not in said.replace("rope:dim=64,base=500000", "")
    assert max(map(len, said.splitlines())) <= 120
    found = json.loads(pecli("list", "shaw", "--code", "numpy", "--json").stdout)
    assert found["framework"] == "numpy"
    assert "np.load" in found["code"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rope", "--code", "mlx"], "unknown framework 'mlx': known: numpy, torch, keras"),
        (["--code", "torch"], "explain needs SOURCE"),
        (["zzz", "--code", "torch"], "zzz"),
    ],
)
def test_what_cannot_be_printed_is_said(words, says, refuses):
    refuses("list", *words, says=says)
