"""Tensors that a table is applied to, tiles of them and random ones; options and result of an application.

Axes are letters: b batch, h heads, s (or t, tokens of a packed batch) positions, d the vector, last; of logits
q queries and k keys. "bs(hd)" has the heads side by side in one axis, as ONNX and many checkpoints have them;
"bs(12d)" says that there are 12 of them.

A tile holds many vectors whose positions are known together: few large calls of NumPy rather than many small ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter, BadRecipe, UnknownName
from pecli.formats.paths import Kind, kind_of
from pecli.numbers.decimals import parse_integer, parse_number, parse_position
from pecli.numbers.dtypes import DTYPES
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import Integers, widen
from pecli.spec.catalogue import find
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import Array, InMemory, Tabular, shape_text
from pecli.tables.conversion import convert
from pecli.tables.sources import NamedSource
from pecli.tables.views import ArrayView, view_of

WIDTH = "dim"  # of a vector, as recipes call it


def with_width(text: str, widths: Collection[int]) -> str:
    """Return a recipe with the width of the inputs, where it has none of its own; another source as it is.

    Examples
    --------
    >>> with_width("rope:base=500", {64}), with_width("rope:dim=8", {64}), with_width("alibi:heads=2", {64})
    ('rope:base=500,dim=64', 'rope:dim=8', 'alibi:heads=2')
    """
    if kind_of(text) is not Kind.RECIPE or len(widths) != 1:
        return text
    name, given = split_recipe(text)
    width = next((p for p in find(name).options if p.required and p.option == WIDTH), None)
    if width is None or {WIDTH, *width.param.names, "config"} & given.keys():
        return text
    return f"{text}{',' if given else ':'}{WIDTH}={next(iter(widths))}"


AXES = ("bhsd", "bshd", "thd", "bsd", "sd", "d", "bs(hd)", "bhqk", "hqk", "qk")
# Default axes by the number of dimensions.
AXES_BY_RANK = {1: "d", 2: "sd", 3: "bsd", 4: "bhsd"}

# Axes of logits, where the vectors' axes are as given.
AXES_OF_LOGITS = {"sd": "qk", "bsd": "hqk", "bhsd": "bhqk"}


class Tensor(NamedTuple):
    """An array of vectors.

    Attributes
    ----------
    name : str
        What to call it.
    view : ArrayView
        The view that reads its values, one vector a row.
    axes : str
        What each axis is, a letter of "bhstdqk" each; the last is d, of logits k.
    merged : bool
        Whether the caller's array has the heads side by side in its last axis.
    """

    name: str
    view: ArrayView
    axes: str
    merged: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The sides."""
        return self.view.shape

    @property
    def dtype(self) -> str:
        """Type of the values."""
        return self.view.dtype

    @property
    def width(self) -> int:
        """Length of a vector."""
        return self.shape[-1]

    def misfit(self, other: str) -> BadParameter:
        """Return the error for vectors that are not as wide as something else, which `other` says."""
        return BadParameter("input", self.name, f"has vectors of {self.width}, and {other}")

    def side(self, axis: str) -> int:
        """Return the length of an axis; 1 if the tensor lacks it."""
        axis = "t" if axis == "s" and "t" in self.axes else axis
        return self.shape[self.axes.index(axis)] if axis in self.axes else 1

    def places(self, vectors: Integers, axis: str) -> Integers:
        """Return the index along an axis of vectors (n,) int64, counted in C order."""
        axis = "t" if axis == "s" and "t" in self.axes else axis
        if axis not in self.axes:
            return np.zeros_like(vectors)
        at = self.axes.index(axis)
        return vectors // prod(self.shape[at + 1 : -1]) % self.shape[at]

    def rows(self, vectors: Integers, rows: Integers | None) -> Integers:
        """Return the table row of vectors (n,): their position, or the entry of `rows` (b, s) for it."""
        where = self.places(vectors, "s")
        return where if rows is None else rows[self.places(vectors, "b") % len(rows), where]

    def read(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return vectors `start` to `stop`, (n, width) float64, exactly."""
        return widen(self.view.read(start, stop).reshape(stop - start, self.width), self.dtype)

    def of_head(self, batch: int, head: int, start: int, stop: int) -> NDArray[np.float64]:
        """Return the vectors of one head at positions `start` to `stop`, (n, width) float64."""
        heads, length = self.side("h"), self.side("s")
        if self.axes[-2:] == "hd":  # (.., s, h, d)
            at = (batch * length + start) * heads
            return self.read(at, at + (stop - start) * heads)[head::heads]
        at = (batch * heads + head) * length
        return self.read(at + start, at + stop)

    def tiles(self, start: int, stop: int, run: int, aligned: bool) -> Iterator[Tile]:
        """Yield tiles that cover vectors `start` to `stop`: parts of a head, whole heads, or positions of all heads.

        Parameters
        ----------
        run : int
            How many vectors a tile has about; none with positions has them on both sides of a multiple of it.
        aligned : bool
            Whether equal positions have equal rows in every batch; otherwise vectors are taken as they come.
        """
        length, heads = self.side("s"), self.side("h") if self.axes[-2:] == "hd" else 1
        while start < stop:
            place, inside = start // heads % length, start % heads
            left, most = (stop - start) // heads, run - place % run
            if not aligned or inside or not left:
                tile = Tile(start, min(stop, start + (run if not aligned else heads - inside)), (1, 0))
                tile = tile._replace(shape=(1, tile.stop - start))
            elif heads > 1:
                count = min(length - place, most, left, max(1, run // heads))
                tile = Tile(start, start + count * heads, (count, heads), range(place, place + count), True)
            elif place or length > run or left < length:
                count = min(length - place, most, left)
                tile = Tile(start, start + count, (1, count), range(place, place + count))
            else:
                count = min(left, run) // length
                tile = Tile(start, start + count * length, (count, length), range(length))
            yield tile
            start = tile.stop

    def like(self, name: str, dtype: str | None = None, width: int | None = None) -> Array:
        """Return the description of an array of the same axes."""
        shape = (*self.shape[:-1], self.width if width is None else width)
        return Array(name, shape, dtype or self.dtype, tuple(LONG[letter] for letter in self.axes), len(shape) - 1)


HEADS_SIDE_BY_SIDE = re.compile(r"bs\((\d{1,9}|h)d\)")

LONG = {"b": "batch", "h": "head", "s": "position", "t": "token", "d": "channel", "q": "query", "k": "key"}


def tensor_of(
    table: Tabular, name: str, axes: str | None = None, called: str | None = None, dtype: str | None = None
) -> Tensor:
    """Return an array of a table as a tensor, called so or by its name; uint16 is bits where `dtype` is bfloat16.

    Raises
    ------
    BadParameter
        If it holds no floating-point numbers, or the axes do not fit its shape.
    """
    array = table.array(name)
    name, shape = called or name, array.shape
    if "int" in array.dtype and getattr(table, "is_text", False):  # text has no types: 1 is a number as 1.0 is
        table = InMemory({array.name: table.read(array.name).astype(np.float64)})
        array = table.arrays[0]
    if (array.dtype, dtype) == ("uint16", "bfloat16"):
        table = InMemory({array.name: table.read(array.name)})
        array = table.arrays[0]
    if array.dtype not in DTYPES:
        rule = f"is of type {array.dtype}: give numbers of type {', '.join(DTYPES)}"
        if array.dtype == "uint16":
            rule += "; --dtype bfloat16 reads it as the bits of bfloat16"
        raise BadParameter("input", name, rule)
    if not shape or not prod(shape):
        raise BadParameter("input", name, f"has the shape {shape_text(shape)}: it holds no vectors")
    if axes is None:
        if len(shape) not in AXES_BY_RANK:
            raise BadParameter("input", name, f"has the shape {shape_text(shape)}: say its axes, as --axes bhsd")
        axes = AXES_BY_RANK[len(shape)]
    heads = HEADS_SIDE_BY_SIDE.fullmatch(str(axes))
    if axes not in AXES and not heads:
        raise BadParameter("axes", axes, f"must be one of {', '.join(AXES)}")
    if (count := 3 if heads else len(axes)) != len(shape):
        rule = f"names {count} axes, and {name} has the shape {shape_text(shape)}"
        raise BadParameter("axes", axes, rule)
    return Tensor(name, replace(view_of(table, array), name=name, shape=shape, lead=len(shape) - 1), axes)


def as_logits(tensor: Tensor) -> Tensor:
    """Return a tensor as logits, (b, h, q, k), (h, q, k) or (q, k).

    Raises
    ------
    BadParameter
        If its axes are said to be others.
    """
    axes = AXES_OF_LOGITS.get(tensor.axes, tensor.axes)
    if axes not in AXES_OF_LOGITS.values():
        raise BadParameter("axes", axes, "are no logits: bhqk, hqk or qk are; with queries and keys give --scores")
    return tensor._replace(axes=axes)


class Tile(NamedTuple):
    """Vectors that follow each other, counted in C order of their tensor, as a grid of lines.

    Attributes
    ----------
    start, stop : int
        The first vector, and the one after the last.
    shape : (int, int)
        Lines, and vectors in each.
    positions : range, optional
        Of the vectors of a line, or of the lines where these have one position each (`by_line`); None where they
        do not follow each other.
    """

    start: int
    stop: int
    shape: tuple[int, int]
    positions: range | None = None
    by_line: bool = False

    def of(self, rows: NDArray[Any], first: int) -> NDArray[Any]:
        """Return a view of the tile's vectors, (*shape, width), in rows (n, width) that begin with vector `first`."""
        return rows[self.start - first : self.stop - first].reshape(*self.shape, -1)


WAYS = ("forward", "inverse", "gradient")
MIN_SCALE = Decimal("1e-30")


@dataclass(frozen=True)
class ApplyOptions:
    """Options of an application.

    Attributes
    ----------
    pairs : str, optional
        Which columns rotate together, for a rotary source: "half", "interleaved", or "taken:given".
    start : str, optional
        Position of the first row of the inputs (default: what the source says, or 0).
    positions : Positions or int64 ndarray, optional
        Of every row of the inputs; of every row of every batch, (batches, n); or in several streams, as time, height
        and width, (streams, batches, n). For biases, of the keys.
    length : int, optional
        Of the sequence, on which some scalings depend (default: that of the inputs).
    scale : Decimal or "sqrt", optional
        What multiplies embeddings before rows are added, "sqrt" for sqrt(d). Of scores, what multiplies the products
        of queries and keys (default: what the model or the encoding says), "sqrt" for 1/sqrt(d).
    way : {"forward", "inverse", "gradient"}
        Of a rotation: turn, undo it (transposed, over the square of the magnitude), or its gradient (transposed).
    dtype : str, optional
        Of the outputs (default: that of each input; of scores float64).
    scores : bool
        Whether queries and keys are multiplied.
    causal : bool
        Whether keys after the query get minus infinity.
    key_mask : (batches, keys) bool ndarray, optional
        Which keys may be seen; the others, such as padding, get minus infinity.
    softmax : bool
        Whether logits or scores become weights.
    arithmetic : {"exact", "float32", "bfloat16"}
        Of a rotation or an addition: the real values, or what a framework's steps make of them.
    """

    pairs: str | None = None
    start: str | None = None
    positions: Positions | NDArray[np.int64] | None = None
    length: int | None = None
    scale: Decimal | str | None = None
    way: str = "forward"
    dtype: str | None = None
    scores: bool = False
    causal: bool = False
    key_mask: NDArray[np.bool_] | None = None
    softmax: bool = False
    arithmetic: str = "exact"

    def __post_init__(self) -> None:
        """Raise UnknownName for an unknown way, which would otherwise rotate like a gradient."""
        if self.way not in WAYS:
            raise UnknownName("way", str(self.way), WAYS)

    @property
    def first(self) -> Decimal:
        """Position of the first row, 0 by default; :class:`BadParameter` if it is not a number."""
        return parse_position("start", self.start or "0")


@dataclass(frozen=True, repr=False)
class ApplyResult:
    """The outputs, and how they were made.

    Attributes
    ----------
    outputs : Tabular
        One array for each input, by its name, or `scores`; computed when they are read.
    notes : tuple of str
        What was taken for granted, a sentence each: axes, pairing, positions.
    bound : callable, optional
        Of scores and weights: how far from the real numbers what was read so far may be.
    worst : callable, optional
        Of a framework's arithmetic: its largest error so far, in units in the last place.
    companion : Tabular, optional
        Of a rotation: positions, and their cosines and sines.
    """

    outputs: Tabular
    notes: tuple[str, ...] = field(default=())
    bound: Callable[[], float] | None = None
    worst: Callable[[], float] | None = None
    companion: Tabular | None = None

    def keys(self) -> tuple[str, ...]:
        """Return the names of the outputs; with them it is a mapping of names to arrays."""
        return self.outputs.keys()

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one output, computed now."""
        return self.outputs[name]

    def __repr__(self) -> str:
        outputs = ", ".join(f"{a.name} {a.shape} {a.dtype}" for a in self.outputs.arrays)
        return "\n  ".join([f"<ApplyResult: {outputs}>", *self.notes])


def mask_of(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which keys may be seen, (batches, keys), of an attention mask of 0 and 1 whose other axes are 1 long.

    Raises
    ------
    BadParameter
        For other values or more axes.
    """
    shape = values.shape if values.ndim < 3 else (values.shape[0], values.shape[-1])
    if values.ndim == 0 or values.size != prod(shape) or not np.isin(values, (0, 1)).all():
        rule = "must hold 1 for keys that are seen and 0 for others, (batches, keys)"
        raise BadParameter("mask", f"(of the shape {shape_text(values.shape)})", rule)
    return np.asarray(values.reshape(-1, shape[-1]) != 0, np.bool_)


def longest(tensors: Sequence[Tensor]) -> int:
    """Return the number of positions of the longest tensor."""
    return max(tensor.side("s") for tensor in tensors)


def at_length(source: NamedSource, length: int) -> NamedSource:
    """Return a source whose recipe is resolved for a sequence of this length, of which inputs may be a part."""
    if source.recipe is None or not source.recipe.open_parameters:
        return source
    return replace(source, recipe=source.recipe.of_length(length))


def table_rows(source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions) -> tuple[dict[str, Any], Any]:
    """Return the options of the source's table, and the row of each position of each batch."""
    length = longest(tensors)
    if options.positions is None:
        given = source.given
        if options.start is None and given.keys() & {"len", "positions"}:
            return {}, None
        return {"length": length, **({} if options.start is None else {"start": options.start})}, None
    if options.start is not None:
        raise BadParameter("start", options.start, "cannot go with positions=: give one of them")
    if isinstance(options.positions, Positions):
        if options.positions.count != length:
            raise BadParameter("positions", None, f"has {options.positions.count}: give {length}, one for each row")
        return {"positions": options.positions}, None
    batches, count = options.positions.shape
    if count != length or any(tensor.side("b") != batches for tensor in tensors):
        sides = f"{batches} x {count}"
        raise BadParameter("positions", f"({sides})", f"must have a row for each batch and {length} columns")
    distinct, rows = np.unique(options.positions, return_inverse=True)
    return {"positions": Positions.listed(distinct.tolist())}, rows.reshape(batches, count)


def open_rows(
    source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions, layout: str | None = None
) -> tuple[Tabular, Any]:
    """Return the table of a source, float64 where it is computed, and the row of each position of each batch."""
    table_options, rows = table_rows(source, tensors, options)
    if source.recipe is not None:
        return source.open(**table_options, dtype="float64", layout=layout), rows
    table: Tabular = convert(source.open(), layout=layout)
    return table, stored_rows(table, tensors, options)


def stored_rows(table: Tabular, tensors: Sequence[Tensor], options: ApplyOptions) -> NDArray[np.int64] | None:
    """Return the file's row of each position of each batch, by the file's positions or else by row number.

    Raises
    ------
    BadParameter
        If it lacks one of them.
    """
    length, count = longest(tensors), table.arrays[0].rows
    if isinstance(options.positions, np.ndarray):
        wanted = options.positions
    elif options.positions is not None:
        wanted = options.positions.numbers(0, length)[None]
    else:
        wanted = Positions.arange(length, parse_integer("start", options.start or "0")).numbers(0, length)[None]
    known = None if options.positions is None and options.start is None else table.position(0, count)
    if known is None:
        if wanted.dtype.kind == "f":
            raise BadParameter("positions", "(fractional)", "must be whole: the file's rows have no other numbers")
        outside = wanted[(wanted < 0) | (wanted >= count)]
        if outside.size:
            rule = f"lies past the table, which has rows 0 to {count - 1}: give a longer one, or other positions"
            raise BadRecipe(f"position {int(outside[-1])} {rule}")
        return None if options.positions is None and options.start is None else np.asarray(wanted, np.int64)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    if (known[place] != wanted).any():
        rule = f"has positions that the file lacks: it has {known[order[0]]} to {known[order[-1]]}"
        raise BadParameter("positions", None, rule)
    return np.asarray(place, np.int64)


def axes_notes(tensors: Sequence[Tensor]) -> list[str]:
    """Return a sentence on the axes of tensors."""
    by_axes: dict[str, list[str]] = {}
    for tensor in tensors:
        by_axes.setdefault(str(tensor.axes), []).append(tensor.name)
    return [f"axes of {' and '.join(names)}: {axes}" for axes, names in by_axes.items()]


def roles_of(tensors: Sequence[Tensor]) -> tuple[list[Tensor], str]:
    """Return the tensors that hold keys, and the role of each as a note, for encodings that treat them differently.

    Keys are those whose names begin with k, or else the second of two.
    """
    keys = [tensor for tensor in tensors if tensor.name.lower().startswith("k")] or list(tensors[1:2])
    return keys, "; ".join(f"{tensor.name} holds {'keys' if tensor in keys else 'queries'}" for tensor in tensors)


def only_tensor(tensors: Sequence[Tensor], what: str) -> Tensor:
    """Return the only input.

    Raises
    ------
    BadParameter
        If there are several.
    """
    if len(tensors) != 1:
        raise BadParameter("input", ", ".join(t.name for t in tensors), f"must be one tensor: {what}")
    return tensors[0]


def parse_scale(given: object, name: str = "scale") -> Decimal | str | None:
    """Return the scale of inputs or scores: a number, "sqrt", or None.

    Raises
    ------
    BadParameter
        If it is no number, or of a size that no model has.
    """
    if given is None or given == "sqrt":
        return given and str(given)
    scale = parse_number(name, str(given))
    if scale and not MIN_SCALE <= abs(scale) <= 1 / MIN_SCALE:
        raise BadParameter(name, str(given), "must be 0, or 1e-30 to 1e30 in size")
    return scale
