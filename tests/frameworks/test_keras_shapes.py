"""Keras layers, pecli's and the printed ones, on inputs whose length is not known, on every backend that is there."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("keras", reason="keras is not installed")

SCRIPT = '''
import keras
import numpy as np
from keras import ops

from pecli import Recipe, table
from pecli.keras import AbsoluteLayer, BiasLayer, RelativeLayer, RotaryLayer

rng = np.random.default_rng(0)


def printed(text, name):
    space = {}
    exec(Recipe.parse(text).encoding.hook("code")(Recipe.parse(text), "keras"), space)
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
print("done")
'''


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_layers_take_inputs_of_any_length(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": root, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "done", done.stderr[-3000:]
