"""Rotation of queries and keys, in blocks, each value rounded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.apply.addition import FrameworkRows, rounded
from pecli.apply.cosines import (
    OF_LAYOUT,
    OF_MODEL,
    HeadPairs,
    Integers,
    Points,
    Rotations,
    ScaledRotations,
    columns,
    complex_points,
    inverse_of,
    members,
    rotations_of,
    scatter_pairs,
)
from pecli.apply.exact import (
    CANDIDATE_ERROR,
    Floats,
    Places,
    StoredRows,
    ValueRows,
    double_double_sums,
    exact_sums,
    largest_size,
    round_candidates,
)
from pecli.apply.tensors import (
    ApplyOptions,
    ApplyResult,
    Tensor,
    Tile,
    axes_notes,
    keys_of,
    open_rows,
    roles_note,
    table_rows,
    tiles,
)
from pecli.engine.threads import Scratch, default_threads, run_tasks
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.double_double import DoubleDouble
from pecli.numbers.dtypes import storage
from pecli.numbers.rounding import narrow, widen
from pecli.spec.hooks import Effect
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import Array, InMemory, Tabular
from pecli.tables.figures import pair_norms
from pecli.tables.parts import ConcatTable
from pecli.tables.sources import NamedSource
from pecli.tables.table import Table

# Bytes of computed blocks that a cache keeps.
CACHE_BYTES = 1 << 25

# Values rotated in one block, whose cosines are computed together: few calls of NumPy, see `tiles`.
BLOCK_VALUES = 1 << 18

# Divisor of the block for types other than float32, whose rounding makes copies.
COPY_DIVISOR = 4

# Values of a block that is rotated by double-double numbers.
DOUBLE_DOUBLE_VALUES = 1 << 13

# Doubtful sums deferred until all blocks are done, since deciding them has a high fixed cost.
MAX_DEFERRED_SUMS = 1 << 12


class Doubt(NamedTuple):
    """Sums whose rounding is in doubt: vector and pair, their own member x, the other member y, and c + i s."""

    vector: Integers
    pair: Integers
    is_second: Integers
    x: Floats
    y: Floats
    point: Points


class RotationTask(NamedTuple):
    """Rotation of one tensor, whose name the output has, and the type of the output."""

    tensor: Tensor
    dtype: str


class RotatedTensors(Tabular):
    """Tensors rotated by a rotary table; a row is a vector.

    Parameters
    ----------
    rotations : Rotations
        The cosines and sines, row by row.
    tasks : sequence of RotationTask
        What is rotated.
    pairing : HeadPairs
        Which columns are a pair.
    backward : bool
        Whether the rotation is transposed.
    rows : (batches, n) int64 ndarray, optional
        Which row of the table each position of each batch has; by default row s for position s.
    parts : tuple of int
        Pairs of blocks of columns that have halves of their own; empty for one block.
    metadata : mapping, optional
        What a file of them says.
    """

    def __init__(
        self,
        rotations: Rotations,
        tasks: Sequence[RotationTask],
        pairing: HeadPairs,
        *,
        backward: bool = False,
        rows: NDArray[np.int64] | None = None,
        parts: tuple[int, ...] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.rotations, self.pairing, self.backward, self.rows = rotations, pairing, backward, rows
        self.tasks = {task.tensor.name: task for task in tasks}
        self.width = 2 * rotations.pairs
        for task in tasks:
            if task.tensor.width < self.width:
                rule = f"has vectors of {task.tensor.width}, and the table rotates {self.width} columns"
                raise BadParameter("input", task.tensor.name, rule)
        self.arrays: tuple[Array, ...] = tuple(task.tensor.like(task.tensor.name, task.dtype) for task in tasks)
        self.metadata = metadata or {}
        self.input_columns, self.output_columns = (
            columns(self.width, pairs, parts) for pairs in (pairing.from_pairs, pairing.to_pairs)
        )
        all_columns, both = np.arange(self.width), (self.input_columns, self.output_columns)
        self.pair_columns = np.array([[all_columns[side] for side in pair] for pair in both])
        self.block_rows = 1 << (max(1, BLOCK_VALUES // max(task.tensor.width for task in tasks)).bit_length() - 1)
        kept = max(2, CACHE_BYTES // (self.block_rows * self.width * 8))
        self._block, self._doubled_block = lru_cache(kept)(self._computed), lru_cache(kept)(self._computed_doubled)

    def _computed(self, number: int) -> tuple[Points, float]:
        """Return the points of a block, and the maximum of abs(c) + abs(s), scaled up by the points' error.

        Points that are off by d in the plane move a sum by abs(x, y) d, at most sqrt(2) d times the larger of both.
        """
        points = self.rotations.approximate(number * self.block_rows, min((number + 1) * self.block_rows, self._last))
        with np.errstate(all="ignore"):
            bound = float((np.abs(points.real) + np.abs(points.imag)).max(initial=0.0))
        size = bound * self.rotations.coarse + 1.5 * self.rotations.loose / CANDIDATE_ERROR
        return (np.conjugate(points, out=points) if self.backward else points), size

    def _computed_doubled(self, number: int) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return the cosines and sines of a block as double-double numbers, and their error, (n, pairs) each."""
        first = number * self.block_rows
        shape = min(self.block_rows, self._last - first), self.rotations.pairs
        rows, pairs = (index.reshape(-1) for index in np.indices(shape))
        c, s, error = self.rotations.doubled(rows + first, pairs)
        c, s = (DoubleDouble(part.hi.reshape(shape), part.lo.reshape(shape)) for part in (c, s))
        return c, -s if self.backward else s, error.reshape(shape)

    @cached_property
    def _last(self) -> int:
        if self.rows is not None:
            return int(self.rows.max()) + 1
        return max(task.tensor.side("s") for task in self.tasks.values())

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write vectors; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        self._fill(start, stop, out, 1)

    def read_rows(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return vectors, computed on all cores."""
        out = self.empty(names, start, stop)
        self._fill(start, stop, out, default_threads())
        return out

    def _fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]], threads: int) -> None:
        for name, target in out.items():
            task, doubts = self.tasks[name], list[Doubt]()
            rows = self.block_rows if task.dtype == "float32" else max(1, self.block_rows // COPY_DIVISOR)
            parts = sorted(  # heads after each other whose positions, and so the cosines, are the same
                tiles(task.tensor, start, stop, rows, self.rows is None),
                key=lambda tile: tile.positions.start if tile.positions else 0,
            )
            run_tasks([partial(self._rotate, task, tile, target, start, doubts) for tile in parts], threads)
            self._decide(task, start, target, doubts)

    def _rotate(
        self, task: RotationTask, tile: Tile, out: NDArray[Any], first: int, doubts: list[Doubt], own: Scratch
    ) -> None:
        """Rotate vectors; `out` begins with vector `first`."""
        tensor, count = task.tensor, tile.stop - tile.start
        points, size = self._points(tensor, tile)
        stored = tensor.view.held(tile.start, tile.stop)
        if stored is None:
            buffer = own.get(f"vectors {tensor.dtype}", count * tensor.width, storage(tensor.dtype).type)
            stored = buffer.reshape(count, tensor.width)
            tensor.view.fill(tile.start, tile.stop, stored)
        vectors = tile.of(widen(stored, tensor.dtype) if tensor.dtype == "bfloat16" else stored, tile.start)
        z = own.get("pairs", count * self.rotations.pairs, np.complex128).reshape(*tile.shape, self.rotations.pairs)
        flat = z.view(np.float64)  # x0 y0 x1 y1 ..
        target = tile.of(out, first)
        in_place = task.dtype != "float64" and self.pairing.to_pairs == "interleaved"
        packed = own.get(f"rotated {task.dtype}", flat.size + 1, out.dtype.type)
        rotated = target[..., : self.width] if in_place else packed[:-1].reshape(flat.shape)
        with np.errstate(all="ignore"):
            bound = largest_size(vectors[..., : self.width]) * size
            if self.pairing.from_pairs == "half":
                z.real, z.imag = vectors[..., self.input_columns[0]], vectors[..., self.input_columns[1]]
            else:
                np.copyto(flat, vectors[..., : self.width])
            if task.dtype == "float64" and isfinite(bound):
                unsure = self._rotate_double_double(tile, tensor, z, rotated)
            else:
                np.multiply(z, points, out=z)
                places = round_candidates(flat, bound, task.dtype, rotated, own)
                unsure = self._doubtful(places, tile, vectors, points)
        if not in_place:
            scatter_pairs(packed, target, self.output_columns)
        if tensor.width > self.width:
            narrow(vectors[..., self.width :].astype(np.float64), None, task.dtype, target[..., self.width :])
        if sum(len(doubt.vector) for doubt in unsure) > MAX_DEFERRED_SUMS:
            self._decide(task, first, out, unsure)
        else:
            doubts += unsure

    def _rotate_double_double(self, tile: Tile, tensor: Tensor, z: Points, rotated: NDArray[Any]) -> list[Doubt]:
        """Rotate pairs z (*shape, pairs) by double-double numbers into `rotated`; return the sums in doubt."""
        vectors = np.arange(tile.start, tile.stop, dtype=np.int64)
        rows = tensor.rows(vectors, self.rows)
        z, rotated = z.reshape(len(rows), -1), rotated.reshape(len(rows), -1)
        doubts = list[Doubt]()
        for number in np.unique(rows // self.block_rows).tolist():
            selected = np.flatnonzero(rows // self.block_rows == number)
            for part in np.array_split(selected, max(1, len(selected) * self.width // DOUBLE_DOUBLE_VALUES)):
                at, (cosine, sine, error) = rows[part] - number * self.block_rows, self._doubled_block(number)
                x, y, c, s, point_error = z.real[part], z.imag[part], cosine[at], sine[at], error[at]
                for second, (own, other, signed_sine) in enumerate(((x, y, -s), (y, x, s))):
                    values, unsure = double_double_sums(own, other, c, signed_sine, point_error, "float64")
                    rotated[part, second::2] = values
                    row, pair = unsure.nonzero()
                    if len(row):
                        x_own, x_other = own[row, pair], other[row, pair]
                        point = complex_points(c.hi[row, pair], s.hi[row, pair])
                        doubts.append(Doubt(vectors[part[row]], pair, np.full(len(row), second), x_own, x_other, point))
        return doubts

    def _doubtful(self, places: Places, tile: Tile, vectors: NDArray[Any], points: Points) -> list[Doubt]:
        """Return the operands of the sums at some places of a tile."""
        if not len(places):
            return []
        line, place, column = np.unravel_index(places, (*tile.shape, self.width))
        pair, second = np.divmod(column, 2)
        x, y = (vectors[line, place, self.pair_columns[0, member, pair]] for member in (second, 1 - second))
        point = points[place, pair] if points.ndim == 2 else points[line, 0, pair]
        vector = tile.start + line * tile.shape[1] + place
        return [Doubt(vector, pair, second, x.astype(np.float64), y.astype(np.float64), point)]

    def _decide(self, task: RotationTask, start: int, out: NDArray[Any], doubts: list[Doubt]) -> None:
        """Round each doubtful sum by itself, and write it."""
        if not doubts:
            return
        vectors, pairs, second, x, y, points = map(np.concatenate, zip(*doubts, strict=True))
        rows = task.tensor.rows(vectors, self.rows)
        negative = (second == 1) == self.backward  # x c - y s of first members, y c + x s of second ones

        def doubled(places: Places) -> tuple[DoubleDouble, DoubleDouble, Floats]:
            c, s, error = self.rotations.doubled(rows[places], pairs[places])
            sign = np.where(negative[places], -1.0, 1.0)
            return c, DoubleDouble(s.hi * sign, s.lo * sign), error

        signed_sine = np.where(second, points.imag, -points.imag)
        out[vectors - start, self.pair_columns[1, second, pairs]] = exact_sums(
            x, points.real, y, signed_sine, np.arange(len(x)), doubled, task.dtype, self.rotations.coarse,
            self.rotations.loose,
        )  # fmt: skip

    def _points(self, tensor: Tensor, tile: Tile) -> tuple[Points, float]:
        """Return the points of a tile's rows of the table, which broadcast to (*shape, pairs), and see `_computed`."""
        if tile.positions is not None:
            number, first = divmod(tile.positions.start, self.block_rows)
            points, size = self._block(number)
            points = points[first : first + len(tile.positions)]
            return (points[:, None] if tile.by_line else points), size
        rows = tensor.rows(np.arange(tile.start, tile.stop, dtype=np.int64), self.rows)
        numbers, bound = rows // self.block_rows, 0.0
        found = np.empty((len(rows), self.rotations.pairs), np.complex128)
        for number in np.unique(numbers).tolist():
            selected = np.flatnonzero(numbers == number)
            points, size = self._block(number)
            bound = max(bound, size)
            found[selected] = points[rows[selected] - number * self.block_rows]
        return found, bound


def head_width(recipe: Recipe) -> int | None:
    """Return the head width of a rotary recipe; None if the recipe has none."""
    width = recipe.values.get("dim")
    return width if isinstance(width, int) else None


def _check_widths(source: NamedSource, recipe: Recipe | None, tensors: Sequence[Tensor], pairs: int) -> None:
    """Raise BadParameter if the vectors are wider or narrower than the recipe's heads."""
    width = None if recipe is None else head_width(recipe)
    for tensor in tensors if width is not None else ():
        if tensor.width != width:
            part = f": of a part of a head say dim={tensor.width},rotary-dim={2 * pairs}" * (tensor.width > 2 * pairs)
            rule = f"has vectors of {tensor.width}, and {shorten(source.text)} is for heads of {width} columns{part}"
            raise BadParameter("input", tensor.name, rule)


def rotate(
    source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions, effect: Effect, recipe: Recipe | None = None
) -> ApplyResult:
    """Return queries and keys rotated by a rotary source; see :func:`pecli.apply.apply.apply`."""
    if options.scale is not None:
        raise BadParameter("scale", options.scale, "is for embeddings, and for scores of queries and keys (--scores)")
    pairing, note = pairing_of(source, options.pairs)
    table, rows = open_rows(source, tensors, options, "split")
    if not {"cos", "sin"} <= {*table}:
        raise BadRecipe(f"{shorten(source.text)} holds {', '.join(table)}: cos and sin are needed to turn pairs")
    rotations = rotations_of(table)
    _check_widths(source, recipe, tensors, rotations.pairs)
    backward = options.way != "forward"
    parts_of = table.plan.parts if isinstance(table, Table) and isinstance(table.plan, Waves) else ()
    pairing = pairing.inverse() if backward else pairing
    names = " ".join(tensor.name for tensor in tensors)
    applied = source.text if isinstance(options.positions, np.ndarray) else table.recipe or source.text
    facts = {"applied": applied, "pairs": str(pairing), "way": options.way}
    facts |= {"rotated": names, "rotary-dim": str(2 * rotations.pairs)} if not parts_of else {}
    how = {"backward": backward, "rows": rows, "parts": parts_of, "metadata": facts}
    keys = keys_of(tensors) if effect.factor else []
    notes_of = (effect.note, roles_note(tensors)) if effect.factor else ()
    notes = (*filter(None, (note, *notes_of)), *axes_notes(tensors))
    companion = _cosines_and_positions(table, rows, options.dtype or tensors[0].dtype)

    def exact(dtype: str | None) -> Tabular:
        """Return the real values rounded to a type, by default each tensor's own."""
        found: dict[bool, RotatedTensors] = {}
        for key in (False, True):
            selected = [RotationTask(t, dtype or t.dtype) for t in tensors if (t in keys) == key]
            if selected:
                scaled = _with_factor(rotations, table, effect, key)
                scaled = inverse_of(scaled) if options.way == "inverse" else scaled
                found[key] = RotatedTensors(scaled, selected, pairing, **how)
        if len(found) == 1:
            return next(iter(found.values()))
        return ConcatTable([(t.name, found[t in keys], t.name) for t in tensors], facts)

    if options.arithmetic == "exact":
        return ApplyResult(exact(options.dtype), notes, companion=companion)
    if options.way != "forward" or len(parts_of) > 1 or effect.factor:
        raise BadParameter("arithmetic", options.arithmetic, "is for plain rotations of queries and keys")
    emulated = table
    if source.recipe is not None:  # cos and sin are computed in float32, and rounded to the type of the arithmetic
        table_options = table_rows(source, tensors, options)[0]
        emulated = source.open(**table_options, dtype=options.arithmetic, layout="split", arithmetic="float32")
    steps = {}
    for tensor in tensors:
        steps[tensor.name] = rotation_steps(tensor, emulated, pairing, rows, options.arithmetic)
    made = FrameworkRows(exact("float64"), steps, options.arithmetic, options.dtype or tensors[0].dtype)
    return ApplyResult(made, notes, worst=lambda: made.worst, companion=companion)


def rotation_steps(
    tensor: Tensor,
    table: Tabular,
    pairing: HeadPairs,
    rows: Integers | None,
    arithmetic: str,
) -> tuple[Callable[[int, int], Floats], Callable[[Floats], Floats]]:
    """Return how a framework rotates a tensor, and the norms of its pairs: q cos + rotate_half(q) sin.

    cos and sin are computed in float32, as ``generate --arithmetic float32`` does, and rounded to the type.

    Parameters
    ----------
    tensor : Tensor
        Queries or keys.
    table : Tabular
        cos and sin (n, pairs), of the type of the arithmetic.
    pairing : HeadPairs
        Which columns rotate together.
    rows : (b, n) int64 ndarray, optional
        Which row of the table each position of each batch has.
    arithmetic : str
        The type of every step.
    """
    width = 2 * table.array("cos").shape[1]

    def steps(start: int, stop: int) -> Floats:
        numbers = np.arange(start, stop, dtype=np.int64)
        where = tensor.rows(numbers, rows)
        low = int(where.min())
        values = table.read_rows(["cos", "sin"], low, int(where.max()) + 1)
        cos, sin = (widen(values[name], table.array(name).dtype)[where - low] for name in values)
        vectors = rounded(tensor.read(start, stop), arithmetic)
        out = vectors.copy()
        x, y = members(vectors, width, pairing.from_pairs)
        first, second = members(out, width, pairing.to_pairs)
        with np.errstate(all="ignore"):
            first[...] = rounded(rounded(x * cos, arithmetic) + rounded(-y * sin, arithmetic), arithmetic)
            second[...] = rounded(rounded(y * cos, arithmetic) + rounded(x * sin, arithmetic), arithmetic)
        return out

    def sizes(exact: Floats) -> Floats:
        return pair_norms(exact, width, pairing.to_pairs == "interleaved")

    return steps, sizes


def _cosines_and_positions(table: Tabular, rows: NDArray[np.int64] | None, dtype: str) -> Tabular:
    """Return positions, cosines and sines: of every row, or of every row of every batch."""
    if rows is None:
        return table.as_type(dtype) if isinstance(table, Table) else table
    count = table.array("cos").rows
    values = {name: table.read_rows([name], 0, count)[name][rows] for name in ("cos", "sin")}
    where = table.position(0, count)
    return InMemory({"positions": rows if where is None else where[rows], **values})


def _with_factor(rotations: Rotations, table: Tabular, effect: Effect, key: bool) -> Rotations:
    """Return the rotations of queries or keys, which a factor multiplies or divides."""
    if effect.factor is None or (key and not effect.opposed):
        return rotations
    if not isinstance(table, Table):
        return ScaledRotations(rotations, StoredRows(table, effect.factor), divides=key)
    assert isinstance(table.plan, Waves)
    (factor,) = (array for array in table.plan.companions if array.name == effect.factor)
    return ScaledRotations(rotations, ValueRows(table, effect.factor, factor.at), divides=key)


def pairing_of(source: NamedSource, pairs: str | None) -> tuple[HeadPairs, str]:
    """Return the pairing and its origin; a guess could hide the fault that is looked for."""
    if pairs is not None:
        return HeadPairs.parse(pairs), ""
    if source.model_pairing:
        found = HeadPairs.parse(OF_MODEL[source.model_pairing])
        return found, f"pairs {found}, as the model has them"
    layout = source.given.get("layout")
    if layout is None and source.recipe is None:
        recipe = source.open().recipe
        layout = split_recipe(recipe)[1].get("layout") if recipe else None
    if layout in OF_LAYOUT:
        return HeadPairs.parse(OF_LAYOUT[layout]), f"pairs {OF_LAYOUT[layout]}, as the layout {layout} has them"
    raise BadRecipe(
        f"{shorten(source.text)} does not say which columns rotate together: give --pairs half (x_i with x_(i+d/2), "
        "as Llama) or --pairs interleaved (x_2i with x_(2i+1), as GPT-J)"
    )
