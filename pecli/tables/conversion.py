"""A table seen in another type or layout, block by block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.deferred import NDArray
from pecli.numbers.dtypes import COMPLEX, DTYPES, REAL, known_dtype, real_type, storage
from pecli.spec.recipe import join_recipe, split_recipe
from pecli.spec.tabular import Tabular, View
from pecli.tables.layouts import check_layout, layout_arrays, layout_views
from pecli.tables.table import Table


class Converted(View):
    """The values of a table in another type.

    Parameters
    ----------
    source : Tabular
        What is read; float and complex arrays are converted, integers stay.
    dtype : str
        The type of the values, one of `DTYPES`; rounded to nearest, ties to even.
    """

    def __init__(self, source: Tabular, dtype: str) -> None:
        for array in source.arrays:
            if array.dtype in REAL and dtype not in COMPLEX:
                raise BadParameter("dtype", dtype, f"has no complex type for {array.name}: use float32 or float64")
        types = {**dict.fromkeys(DTYPES, dtype), **dict.fromkeys(REAL, COMPLEX.get(dtype, ""))}
        super().__init__(source, [replace(a, dtype=types.get(a.dtype, a.dtype)) for a in source.arrays])
        # rounding twice is not rounding once: the values are no longer those of the recipe with another type
        if self.arrays == source.arrays:
            self.recipe = source.recipe
        elif source.recipe is not None:
            self.metadata = {**source.metadata, "converted_from": source.recipe}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for name, values in self.source.read_rows(out, start, stop).items():
            convert_into(values, self.source.array(name).dtype, self.array(name).dtype, out[name])


class Rearranged(View):
    """The cos and sin of a rotary table in another layout.

    Parameters
    ----------
    source : Tabular
        A rotary table, in the layout `before`; an npy file's stacked pair is one array (2, n, K).
    before, after : str
        Layouts, of `LAYOUTS`; "angles" holds no cos and sin and is neither.
    """

    def __init__(self, source: Tabular, before: str, after: str) -> None:
        self.before, self.after, first = before, after, source.arrays[0]
        self._stacked = len(source.arrays) == 1 and before in ("split", "half", "interleaved")
        if self._stacked and not (len(first.shape) == 3 and first.shape[0] == 2):
            raise BadParameter("from-layout", before, f"needs cos and sin, and {first.name} has shape {first.shape}")
        n = first.shape[1] if self._stacked else first.shape[0]
        columns = first.shape[-2] if before == "pairs" else first.shape[-1]
        self._width = columns // 2 if before in ("half", "interleaved", "concat", "sin-cos") else columns
        dtype = real_type(first.dtype)
        if after == "complex" and dtype not in COMPLEX:
            raise BadParameter("layout", after, f"needs float32 or float64 values, and these are {dtype}: give dtype=")
        super().__init__(source, layout_arrays(after, n, self._width, dtype))
        expected = layout_arrays(before, n, self._width, dtype)
        if not self._stacked and [a.shape for a in expected] != [a.shape for a in source.arrays]:
            have = ", ".join(f"{a.name} {a.shape}" for a in source.arrays)
            raise BadParameter("from-layout", before, f"does not fit the arrays {have}")
        self._names = [a.name for a in expected]
        if source.recipe is not None:
            name, keys = split_recipe(source.recipe)
            keys["layout"] = after
            if after == "split":
                del keys["layout"]
            self.recipe = join_recipe(name, keys)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the source's positions."""
        return None if self._stacked else self.source.position(start, stop)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        found = dict(layout_views(self.before, self._width, self._read(start, stop)))
        for part, view in layout_views(self.after, self._width, out):
            view[...] = found[part]

    def _read(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        names = [a.name for a in self.source.arrays]
        if not self._stacked:
            return dict(zip(self._names, self.source.read_rows(names, start, stop).values(), strict=True))
        n = self.source.arrays[0].shape[1]
        return {
            part: self.source.read_rows(names, offset + start, offset + stop)[names[0]]
            for part, offset in (("cos", 0), ("sin", n))
        }


def convert(
    source: Tabular, *, dtype: str | None = None, layout: str | None = None, from_layout: str | None = None
) -> Tabular:
    """Return the source in another type and layout, None for as it is.

    Raises
    ------
    UnknownName, BadParameter, BadRecipe
        For a word that is none, or a layout that does not fit the arrays or is not known.
    """
    if isinstance(source, Table) and dtype is not None:  # computed anew: rounded once, from the real value
        source, dtype = source.as_type(known_dtype(dtype)), None
    stated = None if source.recipe is None else source_layout(source)
    if from_layout is not None and stated not in (None, from_layout):
        raise BadParameter("from-layout", from_layout, f"contradicts the source's own recipe, which says {stated}")
    if layout is not None:
        before = from_layout or source_layout(source)
        for option, word in (("layout", layout), ("from-layout", before)):
            check_layout(option, word)
            if word == "angles" and layout != before:
                raise BadParameter(option, word, "holds angles, not cos and sin: generate that table instead")
        if layout != before:
            if dtype is not None and layout == "complex":
                source, dtype = Converted(source, dtype), None
            source = Rearranged(source, before, layout)
    if dtype is not None:
        source = Converted(source, known_dtype(dtype))
    return source


def source_layout(source: Tabular) -> str:
    """Return the layout that a table's recipe states, or that the names and values of its arrays leave no doubt of."""
    if source.recipe is not None:
        return split_recipe(source.recipe)[1].get("layout", "split")
    only = source.arrays[0]
    if only.dtype in REAL:
        return "complex"
    if only.name == "sin_cos":
        return "sin-cos"
    if only.name == "cos_sin":
        return "pairs" if len(only.shape) == 3 else "concat"
    if (found := _pair_layout(source)) is not None:
        return found
    raise BadRecipe("the layout of this table is not known: give pecli convert --from-layout, such as split or half")


# Rows of a pair that are looked at; the row of position 0 shows nothing.
PAIR_ROWS = 64


def _pair_layout(source: Tabular) -> str | None:
    """Return the layout of arrays named cos and sin by their columns: which are equal, if any; None if all are."""
    shapes = {array.name: array.shape for array in source.arrays}
    if shapes.keys() != {"cos", "sin"} or shapes["cos"] != shapes["sin"] or len(shapes["cos"]) != 2:
        return None
    found = [*source.read_rows(["cos", "sin"], 0, min(PAIR_ROWS, shapes["cos"][0])).values()]
    if all((part == part[:, :1]).all() for part in found):
        return "split" if shapes["cos"][1] == 1 else None
    middle = shapes["cos"][1] // 2
    if all(np.array_equal(part[:, :middle], part[:, middle:]) for part in found):
        return "half"
    return "interleaved" if all(np.array_equal(part[:, ::2], part[:, 1::2]) for part in found) else "split"


def convert_into(values: NDArray[Any], before: str, after: str, out: NDArray[Any]) -> None:
    """Write values of one type into `out` of another, rounded once."""
    from pecli.numbers.rounding import narrow, widen

    if before == after or after not in (*DTYPES, *REAL):
        out[...] = values
    elif before in REAL:
        convert_into(values.real, REAL[before], REAL[after], out.real)
        convert_into(values.imag, REAL[before], REAL[after], out.imag)
    else:
        out[...] = narrow(widen(values, before), None, after)
    assert out.dtype == storage(after)
