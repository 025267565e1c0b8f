"""Trained tables in other people's programs, with the same start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.code import knows, module, number

TABLE = '''
DIM, STD, SEED = {dim}, {std}, {seed}


def table(length, dtype=np.float32):
    """Return the first values, (length, DIM): one Philox word each, by the inverse of the normal distribution."""
    words = np.random.Philox(key=np.array([SEED, 0], np.uint64), counter=0).random_raw(length * DIM)
    middle = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    normal = NormalDist().inv_cdf
    return (STD * np.array([normal(u) for u in middle.tolist()])).reshape(length, DIM).astype(dtype)
'''
TAILS = {
    "torch": '''
class LearnedPositions(torch.nn.Module):
    """Adds trained rows to embeddings (batch, length, dim)."""

    def __init__(self, length):
        super().__init__()
        self.pe = torch.nn.Parameter(torch.from_numpy(table(length)))

    def forward(self, x, offset=0):
        return x + self.pe[offset : offset + x.shape[-2]]
''',
    "keras": '''
class LearnedPositions(keras.layers.Layer):
    """Adds trained rows to embeddings (batch, length, dim)."""

    def __init__(self, length, **options):
        super().__init__(**options)
        start = table(length)
        self.pe = self.add_weight(shape=start.shape, initializer=lambda shape, dtype=None: ops.convert_to_tensor(start))

    def call(self, x, offset=0):
        return x + ops.convert_to_tensor(self.pe)[offset : offset + ops.shape(x)[-2]]

    def compute_output_shape(self, shape):
        return shape
''',
}


def code(recipe: Recipe, framework: str) -> str | None:
    """Return a module whose start is the same normal values; None for another start."""
    values: Mapping[str, Any] = recipe.values
    if not knows(recipe, ("dim", "std", "seed", "max_len")):
        return None
    std = number(values["std"] or values["dim"] ** -0.5)
    made = TABLE.format(dim=values["dim"], std=std, seed=values["seed"])
    return module(recipe, framework, made, TAILS, "from statistics import NormalDist\n\n")
