"""Reading JSON: pecli's own, or nested lists, or an object of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Array
from pecli.formats.common.decimals import infer, parse, spelled
from pecli.formats.common.facts import axes_of, plain
from pecli.formats.common.input import InputFile
from pecli.formats.common.stored import StoredTable, safe_shape, stored_array
from pecli.numbers.limits import limit, size_text
from pecli.numbers.types import ITEM_BYTES, REAL, real_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST = 64 << 20  # of a file, which is read whole and takes 16 times its size in memory


class JsonTable(StoredTable):
    """A JSON file, read whole: pecli's own, or nested lists, or an object of them."""

    def __init__(self, source: InputFile) -> None:
        if source.size > limit(LARGEST):
            raise source.bad(f"has {source.size:,} bytes, and of JSON {size_text(limit(LARGEST))}: use another format")
        self._wanted: str | None = None  # type of decimals that say none
        content = _loaded(source)
        facts = content if isinstance(content, dict) else {}
        self._values: dict[str, NDArray[Any]] = {}
        arrays = self._arrays(source, content)
        metadata = facts.get("metadata")
        recipe = facts.get("recipe")
        super().__init__(
            source,
            "json",
            arrays,
            recipe if isinstance(recipe, str) else None,
            {k: v for k, v in metadata.items() if isinstance(v, str)} if isinstance(metadata, dict) else {},
        )
        self.take_scales()

    def _arrays(self, source: InputFile, content: Any) -> list[Array]:
        held = content.get("arrays", content) if isinstance(content, dict) else {"array": content}
        if not isinstance(held, dict):
            return []
        return [array for name, value in held.items() for array in self._array(source, plain(name), value)]

    def take_type(self, dtype: str) -> bool:
        """Read decimals as `dtype`; see :meth:`pecli.formats.common.stored.StoredTable.take_type`."""
        before, self._wanted = self._values, dtype
        self._values = {}
        kept = {array.name for array in self.arrays}
        arrays = [array for array in self._arrays(self.source, _loaded(self.source)) if array.name in kept]
        if all(array.dtype != dtype for array in arrays):
            self._values = before
            return False
        self.arrays = tuple(arrays)
        return True

    def _array(self, source: InputFile, name: str, value: Any) -> Iterator[Array]:
        about = value if isinstance(value, dict) else {}
        nested = about.get("values") if about else value
        if not isinstance(nested, list):
            return
        shape, texts = _flat(source, name, nested)
        stated = about.get("dtype")
        if stated is not None and (not isinstance(stated, str) or stated not in ITEM_BYTES or stated == "bfloat16"):
            raise source.bad(f"says '{name}' to be of type '{stated}', which JSON has not: it is damaged")
        try:
            dtype = str(stated or infer(texts))
            if stated is None and dtype == "float64" and self._wanted and spelled(texts, self._wanted):
                dtype = self._wanted
            values = parse(texts, real_type(dtype))
        except ValueError:
            raise source.bad(f"holds something that is no number in '{name}'") from None
        except OverflowError as error:
            raise source.bad(f"holds '{str(error)[:40]}' in '{name}', which is beyond the largest {dtype}") from None
        if dtype in REAL:
            if shape[-1] != 2:
                raise source.bad(f"holds complex values in '{name}' that are no pairs: it is damaged")
            shape, values = shape[:-1], values.view(dtype)
        if about.get("shape", list(map(str, shape))) != list(map(str, shape)):
            raise source.bad(f"says another shape for '{name}' than its lists have: it is damaged")
        array = stored_array(name, shape, dtype, axes_of({"arrays": {name: about}}, name))
        self._values[name] = values.reshape(array.rows, *array.row_shape)
        yield array

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Copy rows of one array."""
        out[...] = self._values[array.name][start:stop]


def _loaded(source: InputFile) -> Any:
    """Return the content with every number as the text that it was."""
    try:
        with open(source.path, encoding="utf-8-sig") as file:
            return json.load(file, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise source.bad("is no JSON: it is truncated or damaged; make it again") from error


def _flat(source: InputFile, name: str, nested: list[Any]) -> tuple[tuple[int, ...], list[str]]:
    """Return the shape of nested lists and their leaves; lists of unequal length are refused."""
    shape: list[int] = []
    level: list[Any] = [nested]
    while level and all(isinstance(entry, list) for entry in level):
        sizes = {len(entry) for entry in level}
        if len(sizes) != 1:
            raise source.bad(f"has lists of unequal length in '{name}': make them equal")
        shape.append(sizes.pop())
        level = [leaf for entry in level for leaf in entry]
    if any(not isinstance(leaf, str) for leaf in level):
        raise source.bad(f"mixes numbers with other things in '{name}'")
    if safe_shape(shape) is None:
        raise source.bad(f"has {len(shape)} levels of lists in '{name}', and 32 are the most: it is no table")
    return tuple(shape), level
