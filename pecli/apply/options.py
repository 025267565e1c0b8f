"""Options and result of an application; which rows of the table the inputs need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.apply.tensors import Tensor
from pecli.errors import BadParameter, UnknownName
from pecli.numbers.decimals import parse_integer, parse_number, parse_position
from pecli.numbers.positions import Positions
from pecli.spec.tabular import Tabular
from pecli.tables.sources import NamedSource

WAYS = ("forward", "inverse", "gradient")
LEAST_SCALE = Decimal("1e-30")


@dataclass(frozen=True)
class ApplyOptions:
    """What is asked of an application.

    Attributes
    ----------
    pairs : str, optional
        Which columns turn together, for a rotary source: "half", "interleaved", or "taken:given".
    start : str, optional
        Position of the first row of the inputs (default: what the source says, or 0).
    positions : Positions or (batches, n) int64 ndarray, optional
        Of every row of the inputs, or of every row of every batch.
    scale : Decimal or "sqrt", optional
        What multiplies an embedding before rows are added.
    way : {"forward", "inverse", "gradient"}
        Of a rotation: turn, undo it (transposed, over the square of the magnitude), or its gradient (transposed).
    dtype : str, optional
        Of the outputs (default: that of each input; of scores float64).
    scores : bool
        Whether queries and keys are multiplied.
    causal : bool
        Whether keys after the query get minus infinity.
    softmax : bool
        Whether logits or scores become weights.
    arithmetic : {"exact", "float32", "bfloat16"}
        Of a rotation or an addition: the real values, or what a framework's steps make of them.
    score_scale : Decimal or "sqrt", optional
        What multiplies the products of queries and keys (default: what the model or the encoding says), "sqrt" for
        1/sqrt(d).
    """

    pairs: str | None = None
    start: str | None = None
    positions: Positions | NDArray[np.int64] | None = None
    scale: Decimal | str | None = None
    way: str = "forward"
    dtype: str | None = None
    scores: bool = False
    causal: bool = False
    softmax: bool = False
    arithmetic: str = "exact"
    score_scale: Decimal | str | None = None

    def __post_init__(self) -> None:
        """Raise UnknownName for another way: it would turn like a gradient."""
        if self.way not in WAYS:
            raise UnknownName("way", self.way, WAYS)

    @property
    def first(self) -> Decimal:
        """Position of the first row, 0 where none is said; :class:`BadParameter` where it is no number."""
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


def longest(tensors: Sequence[Tensor]) -> int:
    """Return the number of positions of the longest tensor."""
    return max(tensor.side("s") for tensor in tensors)


def table_rows(source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions) -> tuple[dict[str, Any], Any]:
    """Return the options of the source's table, and which of its rows each position of each batch has."""
    length = longest(tensors)
    if options.positions is None:
        given = source.given
        if options.start is None and given.keys() & {"len", "positions"}:
            return {}, None
        return {"length": length, **({} if options.start is None else {"start": options.start})}, None
    if options.start is not None:
        raise BadParameter("start", options.start, "cannot stand with positions")
    if isinstance(options.positions, Positions):
        if options.positions.count != length:
            raise BadParameter(
                "positions", f"({options.positions.count} positions)", f"must be {length}, one for each row"
            )
        return {"positions": options.positions}, None
    batches, count = options.positions.shape
    if count != length or any(tensor.side("b") != batches for tensor in tensors):
        sides = f"{batches} x {count}"
        raise BadParameter("positions", f"({sides})", f"must have a row for each batch and {length} columns")
    distinct, rows = np.unique(options.positions, return_inverse=True)
    return {"positions": Positions.listed(distinct.tolist())}, rows.reshape(batches, count)


def stored_rows(table: Tabular, tensors: Sequence[Tensor], options: ApplyOptions) -> NDArray[np.int64] | None:
    """Return which rows of a file the positions of each batch have: those that it says, or else of that number.

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
            raise BadParameter("position", int(outside[-1]), rule)
        return None if options.positions is None and options.start is None else np.asarray(wanted, np.int64)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    if (known[place] != wanted).any():
        rule = f"has positions that the file lacks: it has {known[order[0]]} to {known[order[-1]]}"
        raise BadParameter("positions", None, rule)
    return np.asarray(place, np.int64)


def axes_notes(tensors: Sequence[Tensor]) -> list[str]:
    """Return a sentence for each tensor on what its axes were taken for."""
    return [f"{tensor.name} has the axes {tensor.axes}" for tensor in tensors]


def keys_of(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors that hold keys: those whose names begin with k, or else the second of two."""
    named = [tensor for tensor in tensors if tensor.name.lower().startswith("k")]
    return named or list(tensors[1:2])


def roles_note(tensors: Sequence[Tensor]) -> str:
    """Return what the tensors were taken for, where queries and keys are treated in different ways."""
    keys = keys_of(tensors)
    return "; ".join(f"{tensor.name} holds {'keys' if tensor in keys else 'queries'}" for tensor in tensors)


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


def parse_scale(given: object, name: str = "input-scale") -> Decimal | str | None:
    """Return what inputs, or scores, are multiplied by: a number, "sqrt", or None.

    Raises
    ------
    BadParameter
        If it is no number, or of a size that no model has.
    """
    if given is None or given == "sqrt":
        return given and str(given)
    scale = parse_number(name, str(given))
    if scale and not LEAST_SCALE <= abs(scale) <= 1 / LEAST_SCALE:
        raise BadParameter(name, str(given), "must be 0, or 1e-30 to 1e30 in size")
    return scale
