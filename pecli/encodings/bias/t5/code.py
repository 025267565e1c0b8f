"""T5's buckets in other people's programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.code import knows, module, number

TABLE = '''
BUCKETS, MAX_DISTANCE, BIDIRECTIONAL = {buckets}, {most}, {both}


def table(length):
    """Return the bucket of each query and key, (length, length): which of the trained numbers belongs to them."""
    distance = np.arange(length) - np.arange(length)[:, None]  # key minus query
    side = BUCKETS // 2 if BIDIRECTIONAL else BUCKETS
    size = np.abs(distance) if BIDIRECTIONAL else np.maximum(-distance, 0)
    exact = side // 2
    steps = np.log(np.maximum(size, exact) / exact) / np.log(MAX_DISTANCE / exact) * (side - exact)
    far = np.minimum(exact + np.floor(steps + 1e-12).astype(np.int64), side - 1)  # a whole step stays one
    return np.where(size < exact, size, far) + side * (BIDIRECTIONAL & (distance > 0))
'''
TAILS = {
    "torch": '''
class Bias(torch.nn.Module):
    """Adds trained numbers to logits (batch, heads, queries, keys), the queries being the last of the keys."""

    def __init__(self, heads, length, std={std}):
        super().__init__()
        self.weight = torch.nn.Parameter(std * torch.randn(BUCKETS, heads))
        self.register_buffer("index", torch.from_numpy(table(length)), persistent=False)

    def forward(self, logits):
        queries, keys = logits.shape[-2:]
        return logits + self.weight[self.index[keys - queries : keys, :keys]].permute(2, 0, 1)
''',
    "keras": '''
class Bias(keras.layers.Layer):
    """Adds trained numbers to logits (batch, heads, queries, keys), the queries being the last of the keys."""

    def __init__(self, heads, length, std={std}, **options):
        super().__init__(**options)
        self.weight = self.add_weight(shape=(BUCKETS, heads), initializer=keras.initializers.RandomNormal(0.0, std))
        self.index = table(length)

    def call(self, logits):
        queries, keys = ops.shape(logits)[-2:]
        index = ops.convert_to_tensor(self.index)[keys - queries : keys, :keys]
        return logits + ops.transpose(ops.take(self.weight, index, axis=0), (2, 0, 1))

    def compute_output_shape(self, shape):
        return shape
''',
}


def code(recipe: Recipe, framework: str) -> str | None:
    """Return a module that makes the buckets, and trains a number for each; None where more is asked for."""
    values: Mapping[str, Any] = recipe.values
    if not knows(recipe, ("heads", "buckets", "max_distance", "bidirectional", "std", "seed")):
        return None
    made = TABLE.format(buckets=values["buckets"], most=values["max_distance"], both=values["bidirectional"])
    tails = {name: text.replace("{std}", number(values["std"])) for name, text in TAILS.items()}
    return module(recipe, framework, made, tails)
