"""Rotation of queries and keys: the pairs of a head, the cosines and sines that rotate them, and the blocks of vectors.

A pair (x, y) at position p with frequency w becomes (x c - y s, x s + y c), c = m cos(p w), s = m sin(p w),
m the magnitude.  The inverse of a rotation is its transposed matrix over m^2, its gradient the transposed matrix.
Cosines and sines are exact, stored, scaled or inverted; each value is rounded once.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from math import isfinite, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.apply import exact
from pecli.apply.addition import FrameworkRows, Steps
from pecli.apply.tensors import ApplyOptions, ApplyResult, Tensor, Tile, axes_notes, open_rows, roles_of, table_rows
from pecli.engine.rotation_tables import join
from pecli.engine.runs import fill_points, plane_error
from pecli.engine.threads import Scratch, default_threads, run_tasks
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.double_double import DoubleDouble, add, divide, multiply
from pecli.numbers.dtypes import storage
from pecli.numbers.rounding import Floats, Integers, narrow, nearest, widen
from pecli.spec.hooks import Effect
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import Array, InMemory, Tabular
from pecli.tables.figures import pair_norms
from pecli.tables.parts import ConcatTable
from pecli.tables.sources import NamedSource
from pecli.tables.table import Table

PAIRINGS = ("half", "interleaved")
# Pairing implied by a stored layout; other layouts imply none.
OF_LAYOUT = {"half": "half", "concat": "half", "interleaved": "interleaved"}

# A model's pairing, as its config is read.
OF_MODEL = {"half": "half", "adjacent": "interleaved", "deinterleave": "interleaved:half"}


class HeadPairs(NamedTuple):
    """Pairing of columns in the input and output vectors.

    Attributes
    ----------
    from_pairs, to_pairs : {"half", "interleaved"}
        In the input, and in the output: x_i with x_(i + d/2), or x_2i with x_(2i+1).
    """

    from_pairs: str
    to_pairs: str

    @classmethod
    def parse(cls, text: str) -> HeadPairs:
        """Return the pairing for "half", "interleaved" or "interleaved:half".

        Raises
        ------
        BadParameter
            For another word.
        """
        from_pairs, colon, to_pairs = text.partition(":")
        to_pairs = to_pairs if colon else from_pairs
        if from_pairs not in PAIRINGS or to_pairs not in PAIRINGS:
            raise BadParameter("pairs", text, "must be half, interleaved or interleaved:half")
        return cls(from_pairs, to_pairs)

    def __str__(self) -> str:
        return self.from_pairs if self.from_pairs == self.to_pairs else f"{self.from_pairs}:{self.to_pairs}"

    def inverse(self) -> HeadPairs:
        """Return the inverse pairing."""
        return HeadPairs(self.to_pairs, self.from_pairs)


Columns = slice | Integers


def columns(width: int, pairing: str, parts: tuple[int, ...] = ()) -> tuple[Columns, Columns]:
    """Return the columns of the first and of the second members of the pairs among the first `width`.

    half:        [a0 a1 b0 b1 | rest] -> a, b; of parts (1, 2), blocks with halves of their own:
                 [a0 b0 | a1 a2 b1 b2 | rest]
    interleaved: [a0 b0 a1 b1 | rest] -> a, b
    """
    if pairing == "interleaved":
        return slice(0, width, 2), slice(1, width, 2)
    if len(parts) < 2:
        return slice(0, width // 2), slice(width // 2, width)
    counts = np.array(parts)
    first = np.arange(width // 2) + np.repeat(np.cumsum(counts) - counts, counts)  # past the second members before
    return first, first + np.repeat(counts, counts)


def members(vectors: NDArray[Any], width: int, pairing: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return views of the first and second members of the pairs in the first `width` columns, (.., width/2) each."""
    first, second = columns(width, pairing)
    return vectors[..., first], vectors[..., second]


def scatter_pairs(pairs: NDArray[Any], target: NDArray[Any], destination: tuple[Columns, Columns]) -> None:
    """Scatter interleaved pairs to the columns of their first and second members.

    Parameters
    ----------
    pairs : (k + 1,) ndarray
        The pairs of each row of `target` in turn, and one number that is not used.
    target : (.., m) ndarray
        The output, of the same type.
    destination : (columns, columns)
        Columns of the first and of the second members.

    Notes
    -----
    Numbers at every other place are gathered one by one.  Many at once are cut out of pairs that are seen as integers
    of twice the width, whose lower half is the first member; seen from one number further on, it is the second.
    """
    size = pairs.itemsize
    shape = *target.shape[:-1], (len(pairs) - 1) // (2 * prod(target.shape[:-1]))
    if size == 8 or sys.byteorder != "little":
        target[..., destination[0]], target[..., destination[1]] = (pairs[k:-1:2].reshape(shape) for k in (0, 1))
        return
    bits = target.view(f"u{size}")
    for k in (0, 1):
        bits[..., destination[k]] = np.ndarray(shape, f"u{2 * size}", pairs, offset=k * size)


Points = NDArray[np.complex128]


class Rotations(ABC):
    """Cosines and sines of rows at the requested accuracy; exact as stored unless a subclass differs.

    Attributes
    ----------
    pairs : int
        Pairs of columns.
    coarse : float
        Factor of `CANDIDATE_ERROR`: 1 if the parts of `rows` are correctly rounded or exact.
    loose : float
        Further error of the points of `near`, in the complex plane.
    """

    pairs: int
    coarse: float = 1.0
    loose: float = 0.0

    @abstractmethod
    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows `start` to `stop`, (n, pairs) complex128, an array of the caller's own."""

    def approximate(self, start: int, stop: int) -> Points:
        """Return `rows` to within `loose`, where that is less work."""
        return self.rows(start, stop)

    @abstractmethod
    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places (k,), as double-double numbers, and a bound on the absolute error of each."""


class ExactRotations(Rotations):
    """The real cosines and sines of a recipe's rotary plan.

    Parameters
    ----------
    table : Table
        Float64, of a rotary encoding in the layout split.
    """

    def __init__(self, table: Table) -> None:
        plan = table.plan
        assert isinstance(plan, Waves)
        self.table, self.plan, self.pairs = table, plan, plan.width
        self.points = exact.WavePoints(plan, table.part)
        self.loose = plane_error(self.points.run[0]) if self.points.run is not None else 0.0
        self.where = exact.bands_of(plan, "sin")

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows; see `Rotations`."""
        found = np.empty((stop - start, self.pairs), np.complex128)
        self.table.fill(start, stop, {"cos": found.real, "sin": found.imag})
        return found

    def approximate(self, start: int, stop: int) -> Points:
        """Return c + i s of rows as products of a rotation table, not rounded to float64; see `Rotations`."""
        if self.points.run is None:
            return self.rows(start, stop)
        frequencies, multiples = self.points.run
        found = np.empty((stop - start, self.pairs), np.complex128)
        fill_points(frequencies, multiples[start:stop], found)
        return found

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Rotations`."""
        return self.points.doubled(rows, self.where[:, pairs])


class StoredRotations(Rotations):
    """Cosines and sines of a file, exact as stored.

    Parameters
    ----------
    table : Tabular
        With arrays cos and sin (n, pairs).
    """

    def __init__(self, table: Tabular) -> None:
        self.cos, self.sin = (exact.StoredRows(table, name) for name in ("cos", "sin"))
        self.pairs = self.cos.width

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows; see `Rotations`."""
        return join(self.cos.rows(start, stop), self.sin.rows(start, stop))

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Rotations`."""
        (c, error), (s, _) = (part.doubled(rows, pairs) for part in (self.cos, self.sin))
        return c, s, error


# Factors and squares between this and its reciprocal neither overflow nor lose digits.
MAX_RATIO = 2.0**400


class ScaledRotations(Rotations):
    """Rotations whose cosines and sines a number above zero for each row and pair multiplies or divides.

    Parameters
    ----------
    rotations : Rotations
        What is scaled.
    scale : ExactRows
        The numbers, (n, pairs) or (n, 1).
    divides : bool
        Whether they divide.
    """

    def __init__(self, rotations: Rotations, scale: exact.ExactRows, divides: bool) -> None:
        self.rotations, self.scale, self.divides = rotations, scale, divides
        self.pairs = rotations.pairs
        # two more roundings of scaled ones; of inverse ones the square errs by 8u, the quotient by 12u, the sums by 15u
        self.coarse = rotations.coarse + 1

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows, by float64 where nothing overflows; see `Rotations`."""
        points, size = self.rotations.rows(start, stop), self.scale.rows(start, stop)
        if ((size > 1 / MAX_RATIO) & (size < MAX_RATIO)).all():
            with np.errstate(all="ignore"):
                for part in (points.real, points.imag):
                    (np.divide if self.divides else np.multiply)(part, size, out=part)
            return points
        rows, pairs = (index.reshape(-1) for index in np.indices(points.shape))
        c, s, _ = self.doubled(rows + start, pairs)
        return join(c.hi, s.hi).reshape(points.shape)

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Rotations`."""
        c, s, error = self.rotations.doubled(rows, pairs)
        scale, scale_error = self.scale.doubled(rows, pairs)
        with np.errstate(all="ignore"):
            change = divide if self.divides else multiply
            found = change(c, scale), change(s, scale)
            # the operation errs by at most 15u^2 of the result, the scale by its own relative error
            relative = 2.0**-98 + 2 * scale_error / scale.hi
            largest = np.maximum(*(np.abs(part.hi) for part in found))
            return *found, largest * relative + 2 * error * (1 / scale.hi if self.divides else scale.hi)


class SquaredLengths(exact.ExactRows):
    """c^2 + s^2 of each pair of rotations: of a recipe the square of the magnitude."""

    def __init__(self, rotations: Rotations) -> None:
        self.rotations = rotations

    def rows(self, start: int, stop: int) -> Floats:
        """Return rows; see `ExactRows`."""
        points = self.rotations.rows(start, stop)
        with np.errstate(all="ignore"):
            return np.asarray(points.real * points.real + points.imag * points.imag)

    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values; see `ExactRows`."""
        c, s, error = self.rotations.doubled(rows, columns)
        square = add(multiply(c, c), multiply(s, s))
        # the sum errs by at most 10u^2 of itself, and by 2 (|c| + |s|) times the error of c and s
        return square, 2.0**-102 * square.hi + 3 * error * np.sqrt(square.hi)


def inverse_of(rotations: Rotations) -> Rotations:
    """Return the inverse of each pair's matrix, without its transposition: that of a rotation alone is itself."""
    if isinstance(rotations, ExactRotations) and all(size == 1 for size in rotations.plan.magnitudes):
        return rotations
    return ScaledRotations(rotations, SquaredLengths(rotations), divides=True)


# Bytes of computed blocks that a cache keeps.
CACHE_BYTES = 1 << 25

# Values rotated in one block, whose cosines are computed together: few calls of NumPy, see `Tensor.tiles`.
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


class RotatedTensors(Tabular):
    """Tensors rotated by a rotary table; a row is a vector.

    Parameters
    ----------
    rotations : Rotations
        The cosines and sines, row by row.
    tensors : sequence of Tensor
        What is rotated.
    dtype : str, optional
        Of the outputs, which have the tensors' names and, by default, their types.
    pairing : HeadPairs
        Which columns are a pair.
    backward : bool
        Whether the rotation is transposed.
    rows : (batches, n) int64 ndarray, optional
        Which row of the table each position of each batch has; by default row s for position s.
    parts : tuple of int
        Pairs of blocks of columns that have halves of their own; empty for one block.
    leading : int
        Columns before those that rotate.
    metadata : mapping, optional
        What a file of them says.
    """

    def __init__(
        self, rotations: Rotations, tensors: Sequence[Tensor], dtype: str | None, pairing: HeadPairs, *,
        backward: bool = False, rows: NDArray[np.int64] | None = None, parts: tuple[int, ...] = (), leading: int = 0,
        metadata: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.rotations, self.pairing, self.backward, self.rows = rotations, pairing, backward, rows
        self.tensors = {tensor.name: tensor for tensor in tensors}
        self.width, self.leading = 2 * rotations.pairs, leading
        for tensor in tensors:
            if tensor.width < self.width:
                raise tensor.misfit(f"the table rotates {self.width} columns")
        self.arrays: tuple[Array, ...] = tuple(tensor.like(tensor.name, dtype) for tensor in tensors)
        self.metadata = metadata or {}
        self.input_columns, self.output_columns = (
            columns(self.width, pairs, parts) for pairs in (pairing.from_pairs, pairing.to_pairs)
        )
        all_columns, both = np.arange(self.width), (self.input_columns, self.output_columns)
        self.pair_columns = np.array([[all_columns[side] for side in pair] for pair in both])
        self.block_rows = 1 << (max(1, BLOCK_VALUES // max(tensor.width for tensor in tensors)).bit_length() - 1)
        kept = max(2, CACHE_BYTES // (self.block_rows * self.width * 8))
        self._block, self._doubled_block = lru_cache(kept)(self._computed), lru_cache(kept)(self._computed_doubled)

    def _computed(self, number: int) -> tuple[Points, float]:
        """Return the points of a block, and the maximum of abs(c) + abs(s), scaled up by the points' error.

        Points that are off by d in the plane move a sum by abs(x, y) d, at most sqrt(2) d times the larger of both.
        """
        points = self.rotations.approximate(number * self.block_rows, min((number + 1) * self.block_rows, self._last))
        with np.errstate(all="ignore"):
            bound = float((np.abs(points.real) + np.abs(points.imag)).max(initial=0.0))
        size = bound * self.rotations.coarse + 1.5 * self.rotations.loose / exact.CANDIDATE_ERROR
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
        return max(tensor.side("s") for tensor in self.tensors.values())

    def read_rows(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return vectors, computed on all cores."""
        out = self.empty(names, start, stop)
        self.fill(start, stop, out, default_threads())
        return out

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]], threads: int = 1) -> None:
        """Write vectors, computed by `threads` threads; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for name, target in out.items():
            tensor, dtype, doubts = self.tensors[name], self.array(name).dtype, list[Doubt]()
            rows = self.block_rows if dtype == "float32" else max(1, self.block_rows // COPY_DIVISOR)
            parts = sorted(  # heads after each other whose positions, and so the cosines, are the same
                tensor.tiles(start, stop, rows, self.rows is None),
                key=lambda tile: tile.positions.start if tile.positions else 0,
            )
            run_tasks([partial(self._rotate, tensor, dtype, tile, target, start, doubts) for tile in parts], threads)
            self._decide(tensor, dtype, start, target, doubts)

    def _rotate(
        self, tensor: Tensor, dtype: str, tile: Tile, out: NDArray[Any], first: int, doubts: list[Doubt], own: Scratch
    ) -> None:
        """Rotate vectors; `out` begins with vector `first`."""
        count = tile.stop - tile.start
        points, size = self._points(tensor, tile)
        stored = tensor.view.held(tile.start, tile.stop)
        if stored is None:
            buffer = own.get(f"vectors {tensor.dtype}", count * tensor.width, storage(tensor.dtype).type)
            stored = buffer.reshape(count, tensor.width)
            tensor.view.fill(tile.start, tile.stop, stored)
        whole = tile.of(widen(stored, tensor.dtype) if tensor.dtype == "bfloat16" else stored, tile.start)
        end = self.leading + self.width
        vectors, target = whole[..., self.leading : end], tile.of(out, first)[..., self.leading : end]
        z = own.get("pairs", count * self.rotations.pairs, np.complex128).reshape(*tile.shape, self.rotations.pairs)
        flat = z.view(np.float64)  # x0 y0 x1 y1 ..
        in_place = dtype != "float64" and self.pairing.to_pairs == "interleaved"
        packed = own.get(f"rotated {dtype}", flat.size + 1, out.dtype.type)
        rotated = target if in_place else packed[:-1].reshape(flat.shape)
        with np.errstate(all="ignore"):
            bound = exact.largest_size(vectors) * size
            if self.pairing.from_pairs == "half":
                z.real, z.imag = vectors[..., self.input_columns[0]], vectors[..., self.input_columns[1]]
            else:
                np.copyto(flat, vectors)
            if dtype == "float64" and isfinite(bound):
                unsure = self._rotate_double_double(tile, tensor, z, rotated)
            else:
                np.multiply(z, points, out=z)
                places = exact.round_candidates(flat, bound, dtype, rotated, own)
                unsure = self._doubtful(places, tile, vectors, points)
        if not in_place:
            scatter_pairs(packed, target, self.output_columns)
        for still in (slice(self.leading), slice(end, None)):
            narrow(whole[..., still].astype(np.float64), None, dtype, tile.of(out, first)[..., still])
        if sum(len(doubt.vector) for doubt in unsure) > MAX_DEFERRED_SUMS:
            self._decide(tensor, dtype, first, out, unsure)
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
                    values, unsure = exact.double_double_sums(own, other, c, signed_sine, point_error, "float64")
                    rotated[part, second::2] = values
                    row, pair = unsure.nonzero()
                    if len(row):
                        x_own, x_other = own[row, pair], other[row, pair]
                        point = join(c.hi[row, pair], s.hi[row, pair])
                        doubts.append(Doubt(vectors[part[row]], pair, np.full(len(row), second), x_own, x_other, point))
        return doubts

    def _doubtful(self, places: Integers, tile: Tile, vectors: NDArray[Any], points: Points) -> list[Doubt]:
        """Return the operands of the sums at some places of a tile."""
        if not len(places):
            return []
        line, place, column = np.unravel_index(places, (*tile.shape, self.width))
        pair, second = np.divmod(column, 2)
        x, y = (vectors[line, place, self.pair_columns[0, member, pair]] for member in (second, 1 - second))
        point = points[place, pair] if points.ndim == 2 else points[line, 0, pair]
        vector = tile.start + line * tile.shape[1] + place
        return [Doubt(vector, pair, second, x.astype(np.float64), y.astype(np.float64), point)]

    def _decide(self, tensor: Tensor, dtype: str, start: int, out: NDArray[Any], doubts: list[Doubt]) -> None:
        """Round each doubtful sum by itself, and write it."""
        if not doubts:
            return
        vectors, pairs, second, x, y, points = map(np.concatenate, zip(*doubts, strict=True))
        rows = tensor.rows(vectors, self.rows)
        negative = (second == 1) == self.backward  # x c - y s of first members, y c + x s of second ones

        def doubled(places: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
            c, s, error = self.rotations.doubled(rows[places], pairs[places])
            sign = np.where(negative[places], -1.0, 1.0)
            return c, DoubleDouble(s.hi * sign, s.lo * sign), error

        signed_sine = np.where(second, points.imag, -points.imag)
        out[vectors - start, self.leading + self.pair_columns[1, second, pairs]] = exact.exact_sums(
            x, points.real, y, signed_sine, np.arange(len(x)), doubled, dtype, self.rotations.coarse,
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
            if part and tensor.width % (2 * pairs) == 0:
                part += f"; of heads side by side reshape to (.., {tensor.width // (2 * pairs)}, {2 * pairs})"
            raise tensor.misfit(f"{shorten(source.text)} is for heads of {width} columns{part}")


def rotate(
    source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions, effect: Effect, recipe: Recipe | None = None
) -> ApplyResult:
    """Return queries and keys rotated by a rotary source; see :func:`pecli.apply.apply.apply`."""
    pairing, note = pairing_of(source, options.pairs)
    table, rows = open_rows(source, tensors, options, "split")
    if not {"cos", "sin"} <= {*table}:
        raise BadRecipe(f"{shorten(source.text)} holds {', '.join(table)}: cos and sin are needed to turn pairs")
    rotations = ExactRotations(table) if isinstance(table, Table) else StoredRotations(table)
    _check_widths(source, recipe, tensors, rotations.pairs)
    backward = options.way != "forward"
    parts_of = table.plan.parts if isinstance(table, Table) and isinstance(table.plan, Waves) else ()
    pairing = pairing.inverse() if backward else pairing
    names = " ".join(tensor.name for tensor in tensors)
    applied = source.text if isinstance(options.positions, np.ndarray) else table.recipe or source.text
    facts = {"applied": applied, "pairs": str(pairing), "way": options.way}
    last, leading = 2 * rotations.pairs, source.model_leading
    facts |= {"rotary-dim": str(last)} if not parts_of else {}
    facts |= {"leading": str(leading)} if leading else {"rotated": names} if not parts_of else {}
    how = {"backward": backward, "rows": rows, "parts": parts_of, "leading": leading, "metadata": facts}
    keys, roles = roles_of(tensors) if effect.factor else ([], "")
    behind = f"the last {last} columns of a head rotate, as the model has them" if leading else ""
    notes = (*filter(None, (behind, note, effect.note if effect.factor else "", roles)), *axes_notes(tensors))
    companion = _cosines_and_positions(table, rows, options.dtype or tensors[0].dtype)

    def rounded(dtype: str | None) -> Tabular:
        """Return the real values rounded to a type, by default each tensor's own."""
        found: dict[bool, RotatedTensors] = {}
        for key in (False, True):
            if selected := [tensor for tensor in tensors if (tensor in keys) == key]:
                scaled = _with_factor(rotations, table, effect, key)
                scaled = inverse_of(scaled) if options.way == "inverse" else scaled
                found[key] = RotatedTensors(scaled, selected, dtype, pairing, **how)
        if len(found) == 1:
            return next(iter(found.values()))
        return ConcatTable([(t.name, found[t in keys], t.name) for t in tensors], facts)

    if options.arithmetic == "exact":
        return ApplyResult(rounded(options.dtype), notes, companion=companion)
    if options.way != "forward" or len(parts_of) > 1 or effect.factor:
        raise BadParameter("arithmetic", options.arithmetic, "is for plain rotations of queries and keys")
    emulated = table
    if source.recipe is not None:  # cos and sin are computed in float32, and rounded to the type of the arithmetic
        table_options = table_rows(source, tensors, options)[0]
        emulated = source.open(**table_options, dtype=options.arithmetic, layout="split", arithmetic="float32")
    steps = {}
    for tensor in tensors:
        steps[tensor.name] = rotation_steps(tensor, emulated, pairing, rows, options.arithmetic, leading)
    made = FrameworkRows(rounded("float64"), steps, options.arithmetic, options.dtype or tensors[0].dtype)
    return ApplyResult(made, notes, worst=lambda: made.worst, companion=companion)


def rotation_steps(
    tensor: Tensor, table: Tabular, pairing: HeadPairs, rows: Integers | None, arithmetic: str, leading: int = 0
) -> Steps:
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
    leading : int
        Columns before those that rotate.
    """
    width = 2 * table.array("cos").shape[1]

    def steps(start: int, stop: int) -> Floats:
        numbers = np.arange(start, stop, dtype=np.int64)
        where = tensor.rows(numbers, rows)
        low = int(where.min())
        values = table.read_rows(["cos", "sin"], low, int(where.max()) + 1)
        cos, sin = (widen(values[name], table.array(name).dtype)[where - low] for name in values)
        vectors = nearest(tensor.read(start, stop), arithmetic)
        out = vectors.copy()
        x, y = members(vectors[:, leading:], width, pairing.from_pairs)
        first, second = members(out[:, leading:], width, pairing.to_pairs)
        with np.errstate(all="ignore"):
            first[...] = nearest(nearest(x * cos, arithmetic) + nearest(-y * sin, arithmetic), arithmetic)
            second[...] = nearest(nearest(y * cos, arithmetic) + nearest(x * sin, arithmetic), arithmetic)
        return out

    def sizes(truth: Floats) -> Floats:
        norms = pair_norms(truth[:, leading:], width, pairing.to_pairs == "interleaved")
        return np.concatenate([np.abs(truth[:, :leading]), norms], axis=1)

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
        return ScaledRotations(rotations, exact.StoredRows(table, effect.factor), divides=key)
    assert isinstance(table.plan, Waves)
    (factor,) = (array for array in table.plan.companions if array.name == effect.factor)
    return ScaledRotations(rotations, exact.ValueRows(table, effect.factor, factor.at), divides=key)


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
