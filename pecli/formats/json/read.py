"""Reading JSON in pieces: pecli's own, or nested lists, or an object of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Array, array_of
from pecli.formats.common.decimals import infer, parse, spelled
from pecli.formats.common.facts import axes_of, plain, texts
from pecli.formats.common.input import InputFile, RawFile, undone
from pecli.formats.common.stored import StoredTable, safe_shape
from pecli.formats.json.walk import MOST_LEVELS, Leaf, Lists, Walk
from pecli.numbers.types import ITEM_BYTES, REAL, real_type

if TYPE_CHECKING:
    from numpy.typing import NDArray


class JsonTable(StoredTable):
    """An open JSON file: pecli's own, or nested lists, or an object of them."""

    sequential = True

    def __init__(self, source: InputFile) -> None:
        self.source, self._file = source, RawFile(source)
        self._lists: dict[str, Lists | Leaf] = {}
        self._untyped: set[str] = set()
        with undone(self.close):
            with self._sound():
                content = Walk(self._file).content()
            facts = content if isinstance(content, dict) else {}
            held = facts.get("arrays", facts) if facts else {"array": content}
            held = held if isinstance(held, dict) else {}
            arrays = [array for name, value in held.items() for array in self._array(plain(name), value)]
            recipe, metadata = facts.get("recipe"), facts.get("metadata")
            super().__init__(
                source,
                "json",
                arrays,
                recipe if isinstance(recipe, str) else None,
                texts(metadata) if isinstance(metadata, dict) else {},
            )
            self.take_scales()

    @contextmanager
    def _sound(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, RecursionError) as error:
            raise self.source.bad("is no JSON: it is truncated or damaged; make it again") from error

    def _array(self, name: str, value: Any) -> Iterator[Array]:
        said = value if isinstance(value, dict) else {"values": value}
        lists, about = said.get("values"), {key: self._small(held) for key, held in said.items() if key != "values"}
        if isinstance(lists, str) and about.get("shape") == []:
            lists = Leaf(lists)
        if not isinstance(lists, Lists | Leaf):
            return
        shape, stated = self._shape(name, lists), about.get("dtype")
        if stated is not None and (not isinstance(stated, str) or stated not in ITEM_BYTES or stated == "bfloat16"):
            raise self.source.bad(f"says '{name}' to be of type '{stated}', which JSON has not: it is damaged")
        dtype = stated or self._inferred(name, lists)
        if dtype in REAL:
            if shape[-1:] != (2,):
                raise self.source.bad(f"holds complex values in '{name}' that are no pairs: it is damaged")
            shape = shape[:-1]
        if about.get("shape", list(map(str, shape))) != list(map(str, shape)):
            raise self.source.bad(f"says another shape for '{name}' than its lists have: it is damaged")
        self._lists[name] = lists
        if stated is None:
            self._untyped.add(name)
        yield array_of(name, shape, dtype, axes_of({"arrays": {name: about}}, name))

    def _small(self, held: Any) -> Any:
        with self._sound():
            return held.small() if isinstance(held, Lists) else held

    def _shape(self, name: str, lists: Lists | Leaf) -> tuple[int, ...]:
        if lists.depth > MOST_LEVELS:
            rule = f"has {lists.depth} levels of lists in '{name}', and {MOST_LEVELS} are the most: it is no table"
            raise self.source.bad(rule)
        if not lists.plain:
            raise self.source.bad(f"mixes numbers with other things in '{name}'")
        shape = lists.shape
        if shape is None or safe_shape(shape) is None:
            raise self.source.bad(f"has lists of unequal length in '{name}': make them equal")
        return shape

    def _texts(self, name: str, lists: Lists | Leaf, *span: int) -> Iterator[tuple[int, list[str]]]:
        """Yield leaves as texts, all or from one to another, with the number of the first of each piece."""
        with self._sound():
            for first, found in lists.texts(*span):
                if any(not isinstance(leaf, str) for leaf in found):
                    raise self.source.bad(f"mixes numbers with other things in '{name}'")
                yield first, found

    def _inferred(self, name: str, lists: Lists | Leaf) -> str:
        """Return the type of leaves that say none: int64 where all are integers that it holds."""
        try:
            return max((infer(found) for _, found in self._texts(name, lists)), key=("int64", "float64").index)
        except ValueError:
            raise self._no_number(name) from None

    def _no_number(self, name: str) -> Exception:
        return self.source.bad(f"holds something that is no number in '{name}'")

    def take_type(self, dtype: str) -> bool:
        """Read decimals as `dtype`; see :meth:`pecli.formats.common.stored.StoredTable.take_type`."""
        taken = {
            array.name
            for array in self.arrays
            if array.name in self._untyped and array.dtype == "float64"
            and all(spelled(found, dtype) for _, found in self._texts(array.name, self._lists[array.name]))
        }  # fmt: skip
        self.arrays = tuple(
            Array(a.name, a.shape, dtype, a.axes, a.lead) if a.name in taken else a for a in self.arrays
        )
        return bool(taken)

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array."""
        import numpy as np

        lists, stored = self._lists[array.name], real_type(array.dtype)
        if not out.size:
            return
        width = lists.leaves // array.rows
        values = np.empty(out.size * (2 if array.dtype in REAL else 1), stored)
        for first, found in self._texts(array.name, lists, start * width, stop * width):
            try:
                values[first - start * width :][: len(found)] = parse(found, stored)
            except ValueError:
                raise self._no_number(array.name) from None
            except OverflowError as error:
                beyond = f"which is beyond the largest {array.dtype}"
                raise self.source.bad(f"holds '{str(error)[:40]}' in '{array.name}', {beyond}") from None
        out[...] = values.view(out.dtype).reshape(out.shape)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
