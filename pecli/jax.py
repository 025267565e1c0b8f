"""Functions of JAX over pecli's tables: exact constants, rounded once to their type, and checked at their ends.

>>> from pecli.jax import RotaryTable  # doctest: +SKIP
>>> q = RotaryTable("rope:dim=64,base=500000", 4096).rotate(q, "half", offset=17)  # doctest: +SKIP

A table is a pytree whose leaves are its trained arrays, so that it goes through `jit`, `vmap`, `grad`, `scan` and
`shard_map` as an argument; what is computed is a constant of what `jax.jit` compiles, and nothing trains it. Positions
that are traced cannot be checked; what lies past the end is then NaN, never another position's value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pecli.framework_tables import FrameworkTable, Stored, rotated_pairs
from pecli.spec.declaration import Family

__all__ = ["AbsoluteTable", "BiasTable", "RelativeTable", "RotaryTable", "array"]


def array(stored: Stored) -> jax.Array:
    """Return values of a table as an array of their type; bfloat16 from its bits."""
    values = stored.values
    return jnp.asarray(values.view(jnp.bfloat16) if stored.dtype == "bfloat16" else values)


def _traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)


@dataclass(frozen=True, repr=False)
class Definition:
    """What a pytree keeps of a table besides its leaves; tables of one definition are compiled alike.

    The text has the length: a function that was compiled for a table is compiled anew when that has grown.
    """

    text: str
    recipe: str
    grow: bool
    root: Constant = field(compare=False)

    def __repr__(self) -> str:
        return self.text


class Constant:
    """A constant table of one family; trained arrays start from `start`, and are passed in by the caller.

    Parameters
    ----------
    subject : recipe, path of a config, or config
    length : int, optional
        Positions 0 to length - 1; by default those that the config, or a trained table, has.
    dtype : type or str, optional
        float32 by default; float64 needs ``jax_enable_x64``.
    grow : bool
        Whether a longer table is made when a position lies past the end; else that raises IndexError.

    Attributes
    ----------
    start : dict of str to jax.Array
        What training begins with.
    """

    family: Family

    def __init_subclass__(cls) -> None:
        """Make each kind of table a pytree."""
        jax.tree_util.register_pytree_with_keys(cls, cls._leaves, cls._of_leaves)

    def __init__(self, subject: Any, length: int | None = None, *, dtype: Any = "float32", grow: bool = True) -> None:
        self.root = self
        self.held, self.dtype = FrameworkTable(subject, self.family, length, grow), jnp.dtype(dtype).name
        self.start = {name: array(stored) for name, stored in self.held.start(self.dtype).items()}
        self._make()

    def _leaves(self) -> tuple[tuple[tuple[Any, jax.Array], ...], Definition]:
        keys = (jax.tree_util.GetAttrKey(name) for name in self.start)
        made = Definition(repr(self), str(self.held.recipe), self.held.grow, self.root)
        return (*zip(keys, self.start.values(), strict=True),), made

    @classmethod
    def _of_leaves(cls, definition: Definition, leaves: Any) -> Constant:
        """Return a table with other trained values; constants, and growing, stay those of the definition's."""
        made, root = object.__new__(cls), definition.root
        made.root, made.held, made.dtype = root, root.held, root.dtype
        made.start = dict(zip(root.start, leaves, strict=True))
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.held.recipe.short}, {self.length} positions, {self.dtype})"

    @property
    def arrays(self) -> dict[str, jax.Array]:
        """The computed arrays."""
        return self.root.constants

    def _make(self, length: int | None = None) -> None:
        with jax.ensure_compile_time_eval():  # a table that grows while a function is traced is still a constant
            self.constants = {name: array(stored) for name, stored in self.held.constants(self.dtype, length).items()}

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
        self.held.reach(last, self.root._make)

    def places(self, positions: Any, offset: Any, count: int) -> jax.Array:
        """Return the rows of the requested positions, checked where their values are known."""
        offset, positions = offset + self.held.before, None if positions is None else positions + self.held.before
        if positions is None:
            if not _traced(offset) and isinstance(count, int):  # which is no symbol of `jax.export`
                self.held.cover(int(offset), int(offset) + count - 1, self.reach)
            return offset + jnp.arange(count)
        if not _traced(positions):
            places = np.asarray(positions)  # which is not staged, as jnp.asarray would be within a traced function
            if places.size:
                self.held.cover(int(places.min()), int(places.max()), self.reach)
        return jnp.asarray(positions)

    def rows(self, name: str, places: jax.Array, trained: Any = None) -> jax.Array:
        """Return rows of an array; NaN for rows that it does not have."""
        values = self.arrays[name] if trained is None else trained
        found: jax.Array = jnp.take(values, jnp.where(places < 0, values.shape[0], places), axis=0, mode="fill")
        return found


class AbsoluteTable(Constant):
    """Rows of an absolute table."""

    family = Family.ABSOLUTE

    def __call__(self, x: Any, positions: Any = None, offset: Any = 0, pe: Any = None) -> jax.Array:
        """Return x (.., n, dim) + pe of positions offset .. offset + n - 1, or of `positions` (n) or (batch, n).

        `pe` is the trained table, where it is trained: `start["pe"]` at first.
        """
        self.held.check_width(x.shape[-1])
        places = self.places(positions, offset, x.shape[-2])
        if self.held.trained and pe is None:
            pe = self.start["pe"]
        found: jax.Array = x + self.rows("pe", places, pe)
        return found.astype(x.dtype)


class RotaryTable(Constant):
    """Cosines and sines of positions, and the rotation of queries and keys by them."""

    family = Family.ROTARY

    def __call__(self, positions: Any = None, offset: Any = 0, count: int = 1) -> tuple[jax.Array, jax.Array]:
        """Return cos and sin, (.., dim/2), of `positions` of any shape, or of `count` from `offset`."""
        places = self.places(positions, offset, count)
        return self.rows("cos", places), self.rows("sin", places)

    def rotate(self, x: Any, pairs: str, positions: Any = None, offset: Any = 0) -> jax.Array:
        """Return x (batch, heads, n, dim) rotated; `pairs` is "half" (x_i, x_(i+d/2)) or "interleaved" (x_2i, x_2i+1).

        `positions` is (n) or (batch, n). The result has the type of x.
        """
        self.held.check_width(x.shape[-1])
        cos, sin = self(positions, offset, x.shape[-2])
        made: jax.Array = rotated_pairs(x, cos, sin, pairs, jnp)
        return made.astype(x.dtype)


class BiasTable(Constant):
    """The bias of queries and keys, (heads, q, k), for logits (batch, heads, q, k)."""

    family = Family.BIAS

    def __call__(self, queries: int, keys: int | None = None, weight: Any = None) -> jax.Array:
        """Return the bias of the last `queries` of `keys` positions, as in decoding with a cache.

        `weight` holds the trained numbers, where they are looked up: `start["weight"]` at first.
        """
        rows, keys = self.held.query_rows(queries, keys, self.reach)
        if not self.held.by_index:
            return self.arrays["bias"][:, rows, :keys]
        numbers = self.start["weight"] if weight is None else weight
        return jnp.transpose(numbers[self.arrays["index"][rows, :keys]], (2, 0, 1))


class RelativeTable(Constant):
    """Vectors of the distances of queries and keys."""

    family = Family.RELATIVE

    def __call__(self, queries: int, keys: int | None = None, vector: Any = None) -> jax.Array:
        """Return the vectors of the last `queries` of `keys` positions, (q, k, dim).

        `vector` holds the trained ones: `start["vector"]` at first.
        """
        rows, keys = self.held.query_rows(queries, keys, self.reach)
        vectors = {**self.arrays, **self.start}["vector"] if vector is None else vector
        return vectors[self.arrays["index"][rows, :keys]]
