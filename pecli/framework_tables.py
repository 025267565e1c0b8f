"""Tables behind the modules of every framework: exact values, first and last position, trained arrays, rotation.

No framework is known here: arrays are NumPy's, bfloat16 as its bits, and what is done with tensors is written once in
what all of them have: slices, + - x, and functions that are named as NumPy's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from numpy.typing import NDArray

from pecli import api
from pecli.apply.rotation import head_width
from pecli.errors import BadParameter
from pecli.spec.declaration import Family
from pecli.spec.plans import Bias
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table, rows_of

# Lock of growing tables, shared by all, since a module that owns a lock cannot be copied or pickled.
GROWING = threading.RLock()

PAIRS = ("half", "interleaved")
# Roles of a plan's arrays that a model trains.
TRAINED = ("parameter", "vector")


class Stored(NamedTuple):
    """One array: values as stored, and their type."""

    values: NDArray[Any]
    dtype: str


class FrameworkTable:
    """The exact table of one family, made anew for each type and length.

    Parameters
    ----------
    subject : recipe, path of a config, or config
    family : Family
        That the module is for.
    length : int, optional
        Positions 0 to length - 1; the encoding's own where it ends or the config says one.
    grow : bool
        Whether positions past the length make a longer table.

    Attributes
    ----------
    before : int
        Rows of a trained table before position 0, as OPT's two; `length` counts them, and row `before` is position 0.

    Raises
    ------
    BadParameter
        For another family, or where no length is known.
    """

    def __init__(self, subject: Any, family: Family, length: int | None, grow: bool) -> None:
        self.source, self.grow = api.source_of(subject), grow
        recipe = self.source.recipe
        if recipe is None or recipe.encoding.family is not family:
            what = "a file" if recipe is None else recipe.encoding.family.word
            raise BadParameter("subject", self.source.text, f"is {what}: this module is for {family.word} ones")
        self.recipe: Recipe = recipe
        low = recipe.domain.low
        self.before = 0 if low is None or not recipe.encoding.facts.learned else max(0, -int(low))
        self.length = self.before + (length if length is not None else self._known())
        self.width = self._width()

    def _known(self) -> int:
        """Return the length that the encoding or the config defines."""
        high, rows = self.recipe.domain.high, rows_of(self.recipe)
        stated = self.source.given.get("len", self.source.model_length)
        if stated is not None:
            return int(stated)
        if rows is None and high is None:
            raise BadParameter("length", None, "must be given: nothing else says how many positions there are")
        return rows or int(high or 0) + 1

    @property
    def trained(self) -> tuple[str, ...]:
        """Names of the trained arrays: a whole absolute table, or the plan's arrays with a trained role."""
        if not self.recipe.encoding.facts.learned:
            return ()
        if self.recipe.encoding.family is Family.ABSOLUTE:
            return ("pe",)
        return tuple(fixed.name for fixed in self.recipe.plan.fixed if fixed.role in TRAINED)

    @property
    def by_index(self) -> bool:
        """Whether a bias is looked up in trained numbers."""
        plan = self.recipe.plan
        return isinstance(plan, Bias) and plan.index is not None and self.trained == ("weight",)

    def table(self, dtype: str, length: int | None = None, **options: Any) -> Table:
        """Return the table in a type."""
        start = {"start": -self.before} if self.before else {}
        found = self.source.open(length=length or self.length, dtype=dtype, **start, **options)
        assert isinstance(found, Table)
        return found

    def constants(self, dtype: str, length: int | None = None) -> dict[str, Stored]:
        """Return the untrained arrays, each rounded once from the real values."""
        if self.by_index:
            return _stored(self.table(dtype, length, form="index"))
        return _stored(self.table(dtype, length), self.trained)

    def _width(self) -> int | None:
        if self.recipe.encoding.family is Family.ROTARY:
            return head_width(self.recipe)
        return self.table("float32").arrays[0].shape[-1] if self.recipe.encoding.family is Family.ABSOLUTE else None

    def check_width(self, width: int) -> None:
        """Raise BadParameter for vectors whose width differs from the recipe's."""
        if self.width is not None and width != self.width:
            rule = f"has vectors of {width}, and {self.source.text} is for {self.width} columns"
            raise BadParameter("input", None, rule)

    def start(self, dtype: str) -> dict[str, Stored]:
        """Return the initial values of the trained arrays, drawn from the recipe's seed."""
        names = self.trained
        if not names:
            return {}
        form = "parameters" if isinstance(self.recipe.plan, Bias) else None
        made = _stored(self.table(dtype, form=form))
        return {name: made[name] for name in names}

    def cover(self, first: int, last: int, reach: Callable[[int], None]) -> None:
        """Make the table hold positions `first` to `last`; IndexError where it begins after the first."""
        self.check_first(first)
        reach(last)

    def check_first(self, first: int) -> None:
        """Raise IndexError for a first position before the table: an index below 0 would take rows from the end."""
        if first < 0:
            raise IndexError(f"position {first - self.before} lies before the table of {self.source.text}")

    def query_rows(self, queries: int, keys: int | None, reach: Callable[[int], None]) -> tuple[slice, int]:
        """Return the rows of the last `queries` of `keys` positions, and the number of keys; the table reaches them."""
        keys = queries if keys is None else keys
        self.cover(keys - queries, keys - 1, reach)
        return slice(keys - queries, keys), keys

    def reach(self, last: int, make: Callable[[int], None]) -> None:
        """Make a longer table, by at least half, if position `last` lies past this one.

        Parameters
        ----------
        last : int
        make : callable
            Makes and keeps the arrays of a length. The length counts from then on: another thread that sees it finds
            the arrays as long.

        Raises
        ------
        IndexError
            Where the module may not grow.
        PecliError
            Where the encoding has no value there.
        """
        if last < self.length:
            return
        if not self.grow:
            raise IndexError(f"position {last - self.before} lies past the {self.length} of {self.source.text}")
        with GROWING:
            if last < self.length:
                return
            high, wanted = self.recipe.domain.high, max(last + 1, self.length * 3 // 2)
            length = wanted if high is None else max(last + 1, min(wanted, int(high) + 1))
            make(length)  # which refuses what has no value
            self.length = length


def _stored(table: Table, without: tuple[str, ...] = ()) -> dict[str, Stored]:
    return {a.name: Stored(table.read(a.name), a.dtype) for a in table.arrays if a.name not in without}


def rotated_pairs(x: Any, cos: Any, sin: Any, pairs: str, xp: Any) -> Any:
    """Return x (batch, heads, n, dim) of any framework with its first columns rotated.

    Parameters
    ----------
    x : tensor
        Of (n, dim) too, where the positions are no batch.
    cos, sin : (n, pairs) or (batch, n, pairs) tensor
        Of the positions; those of a batch are the same for all heads.
    pairs : {"half", "interleaved"}
        Whether x_i turns with x_(i + d/2), or x_2i with x_(2i+1).
    xp : module
        Functions of the framework's tensors, as NumPy names them: concatenate, stack and reshape.

    Raises
    ------
    BadParameter
        For another word.
    """
    if pairs not in PAIRS:
        raise BadParameter("pairs", pairs, "must be half or interleaved")
    if len(cos.shape) == 3:
        cos, sin = cos[:, None], sin[:, None]
    m = cos.shape[-1]
    a, b = (x[..., :m], x[..., m : 2 * m]) if pairs == "half" else (x[..., 0 : 2 * m : 2], x[..., 1 : 2 * m : 2])
    parts = (a * cos - b * sin, b * cos + a * sin)
    if pairs == "half":
        made = xp.concatenate(parts, -1)
    else:
        shape = xp.shape(parts[0]) if hasattr(xp, "shape") else parts[0].shape  # keras.ops: sides that are not known
        made = xp.reshape(xp.stack(parts, -1), (*shape[:-1], 2 * m))
    return made if 2 * m == x.shape[-1] else xp.concatenate((made, x[..., 2 * m :]), -1)
