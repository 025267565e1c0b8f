"""pecli.keras beside the real framework, on whichever backend it has; skipped with a word where that is absent."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

if "KERAS_BACKEND" not in os.environ:
    found = [name for name in ("jax", "torch", "tensorflow") if importlib.util.find_spec(name)]
    os.environ["KERAS_BACKEND"] = found[0] if found else "numpy"
keras = pytest.importorskip("keras", reason="Keras is not installed: make frameworks runs this")

from pecli import table, widen  # noqa: E402
from pecli.errors import PecliError  # noqa: E402
from pecli.keras import AbsoluteLayer, BiasLayer, RelativeLayer, RotaryLayer  # noqa: E402
from pecli.testing import assert_applied, assert_table  # noqa: E402

Q = np.random.default_rng(1).standard_normal((2, 3, 6, 8)).astype(np.float32)


def values(tensor):
    return keras.ops.convert_to_numpy(keras.ops.cast(tensor, "float32"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "mixed_bfloat16"])
def test_every_type_is_rounded_once_from_the_real_values(dtype):
    made = AbsoluteLayer("sinusoidal:dim=16", 300, dtype=dtype)(np.zeros((1, 300, 16), np.float32))
    name = dtype.removeprefix("mixed_")
    assert name in str(made.dtype)
    assert (values(made)[0] == widen(table("sinusoidal:dim=16,len=300", dtype=name).read("pe"), name)).all()


def test_queries_of_cached_decoding_turn_as_in_the_whole():
    layer = RotaryLayer("rope:dim=8", 64)
    whole = values(layer(Q))
    assert_applied(Q, whole, "rope:dim=8", pairs="half")
    assert_applied(Q, values(layer.rotate(Q, "interleaved", offset=9)), "rope:dim=8", pairs="interleaved", start=9)
    places = np.array([[0, 1, 2, 3, 4, 5], [7, 8, 9, 10, 11, 80]])
    assert_applied(Q, values(layer(Q, positions=places)), "rope:dim=8", pairs="half", positions=places)
    assert np.allclose(values(layer(Q[:, :, 4:], offset=4)), whole[:, :, 4:], atol=1e-6)


def test_it_grows_or_raises():
    layer, x = AbsoluteLayer("sinusoidal:dim=4", 8), np.zeros((2, 5, 4), np.float32)
    assert_table(values(layer(x, offset=7))[0], "sinusoidal:dim=4,start=7")
    assert layer.length == 12
    with pytest.raises(IndexError, match="past the 8"):
        AbsoluteLayer("sinusoidal:dim=4", 8, grow=False)(x, offset=7)
    with pytest.raises(IndexError, match="before the table"):
        layer(x, positions=np.array([-1, 0, 1, 2, 3]))
    with pytest.raises(IndexError, match="position -6 lies before the table"):
        layer(x, offset=-6)
    with pytest.raises(IndexError, match="position -2 lies before the table"):
        BiasLayer("alibi:heads=2", 8).bias(6, 4)
    with pytest.raises((PecliError, RuntimeError), match="has no value in learned"):  # as Keras wraps it
        AbsoluteLayer("learned:dim=4,max-len=8")(x, offset=7)


def test_biases_and_vectors_of_decoding_are_the_last_rows_of_the_whole():
    bias = BiasLayer("alibi:heads=4", 16)
    assert (values(bias.bias(2, 40)) == values(bias.bias(40))[:, 38:]).all()
    assert_table(values(bias.bias(10)), "alibi:heads=4")
    assert (values(bias(np.zeros((1, 4, 2, 10), np.float32)))[0] == values(bias.bias(2, 10))).all()
    trained = BiasLayer("t5:heads=2,buckets=8,max-distance=16,std=0.5", 6)
    assert_table(values(trained.bias(6)), table("t5:heads=2,buckets=8,max-distance=16,std=0.5,len=6").only(["bias"]))
    assert [tuple(w.shape) for w in trained.trainable_weights] == [(8, 2)]
    vectors = RelativeLayer("shaw:dim=4,clip=3", 5)
    assert (values(vectors.vectors(2, 9)) == values(vectors(np.zeros((1, 9, 4))))[7:]).all()


def test_a_model_is_trained_saved_and_read_back(tmp_path):
    inputs = keras.Input((8, 4))
    rows = AbsoluteLayer("learned:dim=4,max-len=8,seed=3")
    hidden = RotaryLayer("rope:dim=4", 8, pairs="interleaved")(rows(inputs)[:, None])
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    assert (values(rows.trained["pe"]) == table("learned:dim=4,max-len=8,seed=3,len=8")["pe"]).all()
    model.compile("sgd", "mse")
    x = np.random.default_rng(1).standard_normal((4, 8, 4)).astype(np.float32)
    model.fit(x, np.ones((4, 1, 8, 1)), verbose=0)
    assert (values(rows.trained["pe"]) != table("learned:dim=4,max-len=8,seed=3,len=8")["pe"]).any()
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert np.allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), atol=1e-6)


# Keras layers, pecli's and the printed ones, on inputs whose length is not known, on every backend that is there.

SCRIPT = '''
import sys

import keras
import numpy as np
from keras import ops

from pecli import Recipe, table
from pecli.teach.code import code_of  # noqa: E402
from pecli.keras import AbsoluteLayer, BiasLayer, RelativeLayer, RotaryLayer

rng, folder = np.random.default_rng(0), sys.argv[1]


def printed(text, name):
    space = {}
    exec(code_of(Recipe.parse(text), "keras"), space)
    return space[name]


def trained(layer, shape, lengths, expected):
    """Predict with several lengths; compare with what the table says."""
    x = keras.Input(shape=shape)
    made = layer(x)
    assert tuple(made.shape) == (None, *shape) or isinstance(layer, RelativeLayer), made.shape
    model = keras.Model(x, made)
    for n in lengths:
        values = rng.normal(size=(2, *(n if side is None else side for side in shape))).astype(np.float32)
        found = model.predict(values, verbose=0)
        np.testing.assert_allclose(found, expected(values, n), atol=2e-6)
        found = keras.ops.convert_to_numpy(model(values))
        np.testing.assert_allclose(found, expected(values, n), atol=2e-6)


def rotated(x, n, pairs="half"):
    held = table("rope:dim=8", length=n)
    cos, sin = held["cos"], held["sin"]
    if pairs == "interleaved":
        a, b = x[..., 0::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)
    a, b = x[..., :4], x[..., 4:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def added(x, n):
    return x + table("sinusoidal:dim=8", length=n)["pe"]


def biased(x, n):
    return x + table("alibi:heads=2", length=n)["bias"]


LENGTHS = (5, 9)
trained(AbsoluteLayer("sinusoidal:dim=8", 32), (None, 8), LENGTHS, added)
trained(printed("sinusoidal:dim=8", "PositionalEncoding")(32), (None, 8), LENGTHS, added)
for pairs in ("half", "interleaved"):
    layer = RotaryLayer("rope:dim=8", 32, pairs=pairs)
    trained(layer, (2, None, 8), LENGTHS, lambda x, n: rotated(x, n, pairs))
    layer = printed("rope:dim=8", "Rotary")(32, interleaved=pairs == "interleaved")
    trained(layer, (2, None, 8), LENGTHS, lambda x, n: rotated(x, n, pairs))
trained(BiasLayer("alibi:heads=2", 32), (2, None, None), LENGTHS, biased)
trained(printed("alibi:heads=2", "Bias")(32), (2, None, None), LENGTHS, biased)
learned = AbsoluteLayer("learned:dim=8,max-len=16")
trained(learned, (None, 8), LENGTHS, lambda x, n: x + table("learned:dim=8,max-len=16", length=16)["pe"][:n])
layer = printed("learned:dim=8,max-len=16", "LearnedPositions")(16)
trained(layer, (None, 8), LENGTHS, lambda x, n: x + ops.convert_to_numpy(layer.pe)[:n])
buckets = BiasLayer("t5:heads=2", 32)
index = table("t5:heads=2", length=32)["index"]
numbers = lambda one, n: ops.convert_to_numpy(one)[index[:n, :n]].transpose(2, 0, 1)
trained(buckets, (2, None, None), LENGTHS, lambda x, n: x + numbers(buckets.trained["weight"], n))
drawn = printed("t5:heads=2", "Bias")(2, 32)
trained(drawn, (2, None, None), LENGTHS, lambda x, n: x + numbers(drawn.weight, n))

words = keras.Input(shape=(None,), dtype="int32")  # the example of everybody's first model
x = keras.layers.Embedding(20, 8)(words)
x = AbsoluteLayer("sinusoidal:dim=8", 32)(x)
model = keras.Model(words, keras.layers.Dense(1)(x))
model.compile("sgd", "mse")
for n in LENGTHS:
    model.fit(rng.integers(0, 20, (4, n)), np.ones((4, n, 1)), verbose=0)

long = AbsoluteLayer("sinusoidal:dim=8", 4)
x = keras.Input(shape=(None, 8))
found = keras.Model(x, long(x)).predict(np.zeros((1, 6, 8), np.float32), verbose=0)
exact = added(np.zeros((1, 6, 8)), 6)
inside = ~np.isnan(found)
np.testing.assert_allclose(found[inside], exact[inside], atol=1e-6)  # grown, or NaN: never another position's
assert inside[:, :4].all()

x = rng.normal(size=(2, 9, 8)).astype(np.float32)  # every layer, in every precision, trained, saved and read back
for dtype in ("float32", "mixed_float16", "mixed_bfloat16"):
    inputs = keras.Input((None, 8))
    rows = AbsoluteLayer("sinusoidal:dim=8", 4, dtype=dtype)(inputs)
    rows = AbsoluteLayer("learned:dim=8,max-len=16,std=1", dtype=dtype)(rows)
    heads = RotaryLayer("rope:dim=8", 16, dtype=dtype)(ops.expand_dims(rows, 1))
    logits = BiasLayer("alibi:heads=1", 16, dtype=dtype)(ops.matmul(heads, ops.swapaxes(heads, -1, -2)))
    weights = ops.softmax(BiasLayer("t5:heads=1,std=1", 16, dtype=dtype)(logits))
    model = keras.Model(inputs, keras.layers.Dense(1, dtype=dtype)(ops.matmul(weights, heads)))
    model.compile("sgd", "mse")
    model(x)  # by which a table of 4 positions grows, so that those traced afterwards are inside
    model.fit(x, np.ones((2, 1, 9, 1)), verbose=0)
    made = model(x)
    assert dtype.removeprefix("mixed_") in str(made.dtype)
    path = f"{folder}/{dtype}.keras"
    model.save(path)
    again = keras.models.load_model(path)
    equal = ops.convert_to_numpy(ops.equal(made, again(x)))
    assert equal.all(), dtype
    again.fit(x, np.ones((2, 1, 9, 1)), verbose=0)
print("done")
'''


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_layers_take_inputs_of_any_length(backend, tmp_path):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": root, "TF_CPP_MIN_LOG_LEVEL": "3"}
    words = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "done", done.stderr[-3000:]
