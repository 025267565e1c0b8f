"""Layers of Keras that hold pecli's tables: exact constants, rounded once to the layer's type, checked at their ends.

>>> from pecli.keras import RotaryLayer  # doctest: +SKIP
>>> q = RotaryLayer("rope:dim=64,base=500000", 4096).rotate(q, "half", offset=17)  # doctest: +SKIP

They work on every backend, and are saved with a model by their recipes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from pecli.framework_tables import FrameworkTable, Stored, rotated_pairs
from pecli.numbers.rounding import widen
from pecli.spec.declaration import Family

__all__ = ["AbsoluteLayer", "BiasLayer", "RelativeLayer", "RotaryLayer", "TableLayer"]


def _tensor(stored: Stored) -> Any:
    if stored.dtype == "bfloat16":  # every one is a float32, from which nothing is rounded
        return ops.convert_to_tensor(widen(*stored).astype("float32"), dtype="bfloat16")
    return ops.convert_to_tensor(stored.values)


class TableLayer(keras.layers.Layer):
    """A table of one family: constants in the layer's compute type, and weights for what a model trains.

    Parameters
    ----------
    subject : recipe, path of a config, or config
    length : int, optional
        Positions 0 to length - 1; by default those that the config, or a trained table, has.
    grow : bool
        Whether a longer table is made when a position lies past the end; else that raises IndexError. Of positions that
        are not known while a function is traced, rows past the end are NaN.
    **layer
        Of ``keras.layers.Layer``: name, dtype.
    """

    family: Family

    def __init__(self, subject: Any, length: int | None = None, *, grow: bool = True, **layer: Any) -> None:
        super().__init__(**layer)
        self.held = FrameworkTable(subject, self.family, length, grow)
        self.trained: dict[str, Any] = {}
        for name, stored in self.held.start(self.variable_dtype).items():
            self.trained[name] = self.add_weight(
                name=name, shape=stored.values.shape, dtype=self.variable_dtype, trainable=True,
                initializer=lambda _shape, dtype=None, stored=stored: _tensor(stored),
            )  # fmt: skip
        self._make()
        self.built = True

    def _make(self, length: int | None = None) -> None:
        self.arrays = self.held.constants(self.compute_dtype, length)

    def compute_output_shape(self, shape: Any) -> Any:
        """Return the shape of the input: what is called with shapes that are not known yet is not computed."""
        return shape

    def constant(self, name: str) -> Any:
        """Return an array as a tensor: the constant, or the weight in the compute type."""
        if name in self.trained:
            return ops.cast(self.trained[name], self.compute_dtype)
        return _tensor(self.arrays[name])

    @property
    def length(self) -> int:
        """How many positions it holds at present."""
        return self.held.length

    def reach(self, last: int) -> None:
        """Make the table longer, by at least half, if position `last` lies past it.

        Raises
        ------
        IndexError
            Where it may not grow.
        PecliError
            Where the encoding has no value there.
        """
        self.held.reach(last, self._make)

    def rows(self, names: Sequence[str], positions: Any, offset: Any, count: Any) -> list[Any]:
        """Return rows of arrays, of `positions` of any shape, or of `count` from `offset`.

        Rows of positions that are not known while a function is traced, and lie outside the table, are NaN.
        """
        offset, positions = offset + self.held.before, None if positions is None else positions + self.held.before
        if positions is None:
            if isinstance(offset, int) and isinstance(count, int):
                self.held.cover(offset, offset + count - 1, self.reach)
                return [self.constant(name)[offset : offset + count] for name in names]
            positions = offset + ops.arange(0, count)
        low, high = _ends(positions)
        if low is not None and high is not None:
            self.held.cover(low, high, self.reach)
            return [ops.take(self.constant(name), positions, axis=0) for name in names]
        arrays = [self.constant(name) for name in names]
        inside = ops.logical_and(positions >= 0, positions < arrays[0].shape[0])[..., None]
        found = [ops.take(array, ops.clip(positions, 0, array.shape[0] - 1), axis=0) for array in arrays]
        return [ops.where(inside, one, ops.cast(float("nan"), one.dtype)) for one in found]

    def sides(self, queries: Any, keys: Any) -> None:
        """Make the table reach the keys, where their number is known."""
        if isinstance(queries, int) and isinstance(keys, int):
            self.held.cover(keys - queries, keys - 1, self.reach)

    def get_config(self) -> dict[str, Any]:
        """Return the config stored in a saved model: the recipe, and what differs from the defaults."""
        recipe = str(self.held.recipe)
        return {**super().get_config(), "subject": recipe, "length": self.length, "grow": self.held.grow}


def _side(x: Any, axis: int) -> Any:
    """Return the length of an axis: a number, or a tensor where it is not known while a function is traced."""
    return ops.shape(x)[axis] if x.shape[axis] is None else x.shape[axis]


def _ends(positions: Any) -> tuple[int | None, int | None]:
    """Return the least and the greatest position, where they are known."""
    try:
        found = ops.convert_to_numpy(positions)
        return (int(found.min()), int(found.max())) if found.size else (None, None)
    except Exception:
        return None, None


@keras.saving.register_keras_serializable("pecli")
class AbsoluteLayer(TableLayer):
    """Adds rows of an absolute table to embeddings (batch, n, dim)."""

    family = Family.ABSOLUTE

    def call(self, x: Any, positions: Any = None, offset: int = 0) -> Any:
        """Return x + pe of positions offset .. offset + n - 1, or of `positions` (n) or (batch, n)."""
        self.held.check_width(x.shape[-1])
        return x + self.rows(["pe"], positions, offset, _side(x, -2))[0]


@keras.saving.register_keras_serializable("pecli")
class RotaryLayer(TableLayer):
    """Rotation of queries or keys (batch, heads, n, dim).

    Parameters
    ----------
    pairs : {"half", "interleaved"}
        Whether x_i turns with x_(i+d/2), or x_2i with x_(2i+1), where the layer is called.
    """

    family = Family.ROTARY

    def __init__(self, subject: Any, length: int | None = None, *, pairs: str = "half", **options: Any) -> None:
        super().__init__(subject, length, **options)
        self.pairs = pairs

    def cos_sin(self, positions: Any = None, offset: int = 0, count: Any = 1) -> tuple[Any, Any]:
        """Return cos and sin, (.., dim/2), of `positions` of any shape, or of `count` from `offset`."""
        cos, sin = self.rows(["cos", "sin"], positions, offset, count)
        return cos, sin

    def rotate(self, x: Any, pairs: str, positions: Any = None, offset: int = 0) -> Any:
        """Return x (batch, heads, n, dim) rotated, in its own type; `positions` is (n) or (batch, n)."""
        self.held.check_width(x.shape[-1])
        cos, sin = self.cos_sin(positions, offset, _side(x, -2))
        return ops.cast(rotated_pairs(x, cos, sin, pairs, ops), x.dtype)

    def call(self, x: Any, positions: Any = None, offset: int = 0) -> Any:
        """Return x rotated in the layer's own pairing."""
        return self.rotate(x, self.pairs, positions, offset)

    def get_config(self) -> dict[str, Any]:
        """Return the config stored in a saved model."""
        return {**super().get_config(), "pairs": self.pairs}


@keras.saving.register_keras_serializable("pecli")
class BiasLayer(TableLayer):
    """Adds the bias of queries and keys to logits (batch, heads, q, k), the queries being the last of the keys."""

    family = Family.BIAS

    def bias(self, queries: Any, keys: Any = None) -> Any:
        """Return the bias of the last `queries` of `keys` positions, (heads, q, k)."""
        keys = queries if keys is None else keys
        self.sides(queries, keys)
        if not self.held.by_index:
            return self.constant("bias")[:, keys - queries : keys, :keys]
        index = self.constant("index")[keys - queries : keys, :keys]
        return ops.transpose(ops.take(self.constant("weight"), index, axis=0), (2, 0, 1))

    def call(self, logits: Any) -> Any:
        """Return the logits with the bias added."""
        return logits + self.bias(_side(logits, -2), _side(logits, -1))


@keras.saving.register_keras_serializable("pecli")
class RelativeLayer(TableLayer):
    """Vectors of the distances of queries and keys."""

    family = Family.RELATIVE

    def compute_output_shape(self, shape: Any) -> Any:
        """Return (n, n, dim) of inputs (.., n, dim)."""
        return (shape[-2], shape[-2], self.constant("vector").shape[-1])

    def vectors(self, queries: Any, keys: Any = None) -> Any:
        """Return the vectors of the last `queries` of `keys` positions, (q, k, dim)."""
        keys = queries if keys is None else keys
        self.sides(queries, keys)
        return ops.take(self.constant("vector"), self.constant("index")[keys - queries : keys, :keys], axis=0)

    def call(self, x: Any) -> Any:
        """Return the vectors of the positions of x (.., n, dim): (n, n, dim)."""
        return self.vectors(_side(x, -2))
