"""What a source does to tensors, by the family of its encoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.addition import AddedRows
from pecli.application.inverse import Undone
from pecli.application.pairing import OF_LAYOUT, OF_MODEL, HeadPairs
from pecli.application.reals import InputScale, Reals, StoredRows, rows_of
from pecli.application.rotation import RotatedTensors, Turned
from pecli.application.tensors import Tensor
from pecli.application.turning import ExactTurns, StoredTurns, Turns
from pecli.declare.encoding import Family
from pecli.declare.tabular import Tabular
from pecli.encodings.recipe import split_recipe
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.positions import Positions
from pecli.numbers.text import shorten
from pecli.sources.sources import NamedSource
from pecli.tables.conversion import convert
from pecli.tables.table import Table


@dataclass(frozen=True)
class Wish:
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
        Of the outputs (default: that of each input).
    """

    pairs: str | None = None
    start: str | None = None
    positions: Positions | NDArray[np.int64] | None = None
    scale: Decimal | str | None = None
    way: str = "forward"
    dtype: str | None = None


@dataclass(frozen=True)
class Application:
    """The outputs, and how they were made.

    Attributes
    ----------
    outputs : Tabular
        One array for each input, by its name; computed when they are read.
    notes : tuple of str
        What was taken for granted, a sentence each: axes, pairing, positions.
    """

    outputs: Tabular
    notes: tuple[str, ...] = field(default=())


def apply(source: NamedSource, tensors: Sequence[Tensor], wish: Wish) -> Application:
    """Return what a source does to tensors.

    Parameters
    ----------
    source : NamedSource
        A recipe, a file or a model's config.
    tensors : sequence of Tensor
        Queries and keys for a rotary source, embeddings for an absolute one.
    wish : Wish
        How.

    Raises
    ------
    BadParameter, BadRecipe
        If source, tensors and wishes do not fit, in one sentence.
    """
    family = _family(source)
    if family is Family.ROTARY:
        return _rotated(source, tensors, wish)
    for name, value in (
        ("pairs", wish.pairs),
        ("inverse", wish.way == "inverse"),
        ("gradient", wish.way == "gradient"),
    ):
        if value:
            raise BadParameter(name, value if name == "pairs" else "true", "is for rotary tables")
    if family is Family.ABSOLUTE:
        return _added(source, tensors, wish)
    raise BadRecipe(f"{shorten(source.text)} is {family.word}: what it does to tensors is not known")


def _family(source: NamedSource) -> Family:
    """Return the family of a source; of a file, by its recipe or its arrays."""
    if source.recipe is not None:
        return source.recipe.encoding.family
    names = [array.name for array in source.open().arrays]
    return Family.ROTARY if names != ["pe"] and len(names) != 1 else _family_of_file(source)


def _family_of_file(source: NamedSource) -> Family:
    table = source.open()
    if table.recipe is not None:
        from pecli.encodings import find

        return find(split_recipe(table.recipe)[0]).family
    (array,) = table.arrays
    stacked = len(array.shape) == 3 and array.shape[0] == 2
    return Family.ROTARY if stacked or array.name in ("cos_sin", "sin_cos", "cis") else Family.ABSOLUTE


def _length(tensors: Sequence[Tensor]) -> int:
    return max(tensor.side("s") for tensor in tensors)


def _where(source: NamedSource, tensors: Sequence[Tensor], wish: Wish) -> tuple[dict[str, Any], Any]:
    """Return the options of the source's table, and which of its rows each position of each batch has."""
    length = _length(tensors)
    if wish.positions is None:
        given = source.given
        if wish.start is None and given.keys() & {"len", "positions"}:
            return {}, None
        return {"length": length, **({} if wish.start is None else {"start": wish.start})}, None
    if wish.start is not None:
        raise BadParameter("start", wish.start, "cannot stand with positions")
    if isinstance(wish.positions, Positions):
        if wish.positions.count != length:
            raise BadParameter(
                "positions", f"({wish.positions.count} positions)", f"must be {length}, one for each row"
            )
        return {"positions": wish.positions}, None
    batches, count = wish.positions.shape
    if count != length or any(tensor.side("b") != batches for tensor in tensors):
        sides = f"{batches} x {count}"
        raise BadParameter("positions", f"({sides})", f"must have a row for each batch and {length} columns")
    distinct, rows = np.unique(wish.positions, return_inverse=True)
    return {"positions": Positions.listed(distinct.tolist())}, rows.reshape(batches, count)


def _rotated(source: NamedSource, tensors: Sequence[Tensor], wish: Wish) -> Application:
    if wish.scale is not None:
        raise BadParameter("input-scale", wish.scale, "is for absolute tables, whose rows are added")
    pairing, said = _pairing(source, wish)
    turns, rows = _turns(source, tensors, wish)
    if wish.way == "inverse":
        turns = Undone(turns)
    back = wish.way != "forward"
    turned = [Turned(tensor, tensor.name, wish.dtype or tensor.dtype) for tensor in tensors]
    made = RotatedTensors(turns, turned, pairing.back() if back else pairing, back=back, rows=rows)
    return Application(made, (said, *(f"{t.name} has the axes {t.axes}" for t in tensors)))


def _turns(source: NamedSource, tensors: Sequence[Tensor], wish: Wish) -> tuple[Turns, Any]:
    options, rows = _where(source, tensors, wish)
    if source.recipe is not None:
        table = source.open(**options, dtype="float64", layout="split")
        assert isinstance(table, Table)
        return ExactTurns(table), rows
    table = convert(source.open(), layout="split")
    if {array.name for array in table.arrays} != {"cos", "sin"}:
        raise BadRecipe(f"{shorten(source.text)} holds {', '.join(table.keys())}: cos and sin are needed to turn pairs")
    return StoredTurns(table), _stored_rows(table, tensors, wish)


def _stored_rows(table: Tabular, tensors: Sequence[Tensor], wish: Wish) -> NDArray[np.int64] | None:
    """Return which rows of a file the positions have: those that it says have them, or else of that number."""
    length = _length(tensors)
    if wish.positions is None and wish.start is None:
        return None
    if isinstance(wish.positions, np.ndarray):
        wanted = wish.positions
    elif wish.positions is not None:
        wanted = wish.positions.numbers(0, length)[None]
    else:
        wanted = np.arange(length, dtype=np.int64)[None] + int(str(wish.start))
    known = table.position(0, table.arrays[0].rows)
    if known is None:
        return np.asarray(wanted, np.int64)
    place = np.searchsorted(known, wanted)
    if (place >= len(known)).any() or (known[np.minimum(place, len(known) - 1)] != wanted).any():
        rule = f"has positions that the file lacks: it has {known[0]} to {known[-1]}"
        raise BadParameter("positions", "(a list)", rule)
    return np.asarray(place, np.int64)


def _pairing(source: NamedSource, wish: Wish) -> tuple[HeadPairs, str]:
    """Return the pairing, and where it comes from: guessing it is the very fault that is to be found."""
    if wish.pairs is not None:
        return HeadPairs.parse(wish.pairs), f"pairs {wish.pairs}, as given"
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
        f"{shorten(source.text)} does not say which columns turn together: give --pairs half (x_i with x_(i+d/2), "
        "as Llama) or --pairs interleaved (x_2i with x_(2i+1), as GPT-J)"
    )


def _added(source: NamedSource, tensors: Sequence[Tensor], wish: Wish) -> Application:
    if len(tensors) != 1:
        raise BadParameter("input", ", ".join(t.name for t in tensors), "must be one tensor: its rows are added to")
    (tensor,) = tensors
    options, rows = _where(source, tensors, wish)
    if rows is not None:
        raise BadParameter("positions", "(of each batch)", "are for rotary tables: give one list")
    if source.recipe is not None:
        table = source.open(**options, dtype="float64")
        assert isinstance(table, Table)
        reals: Reals = rows_of(table)
    else:
        stored = source.open()
        reals = StoredRows(stored, stored.arrays[0].name)
    scale = InputScale.root(tensor.width) if wish.scale == "sqrt" else InputScale.of(Decimal(wish.scale or 1))
    made = AddedRows(reals, tensor, scale, tensor.name, wish.dtype or tensor.dtype)
    return Application(made, (f"{tensor.name} has the axes {tensor.axes}",))


__all__ = ["Application", "Mapping", "Wish", "apply"]
