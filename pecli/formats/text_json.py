"""JSON: one object with the recipe and the arrays as nested lists of shortest decimals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pecli.formats.base import COMPLEX, INTEGERS, REALS, Draft, Format, Options, Rules
from pecli.formats.columns import PARTS, parts, row_axes
from pecli.formats.decimals import infer, json_texts, parse
from pecli.formats.hdf5 import with_positions
from pecli.formats.output import Output
from pecli.formats.pump import Buffer, Ordered, Task, fill, tasks
from pecli.formats.stored import Source, StoredTable, safe_shape, stored_array
from pecli.tabular import Array, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_BYTES = 1 << 17  # a value takes sixteen times its size as Python's text
LARGEST = 256 << 20  # of a file that is read, since JSON must be read whole
RULES = Rules("json", (*REALS, *COMPLEX, *INTEGERS))


def draft(table: Tabular, options: Options) -> Draft:
    """Write row after row."""
    RULES.check(table)
    values = sum(array.bytes // 16 for array in table.arrays)
    return Draft(lambda output: _write(with_positions(table), output, options), None, 2 * values)


def _write(table: Tabular, output: Output, options: Options) -> None:
    facts = {"recipe": table.recipe, "metadata": dict(sorted(table.metadata.items()))}
    head = json.dumps(facts, ensure_ascii=False, allow_nan=False)
    output.write(f'{head[:-1]}, "arrays": {{'.encode())
    for index, array in enumerate(table.arrays):
        about = {"dtype": array.dtype, "shape": array.shape, "axes": array.axes}
        text = json.dumps(about, ensure_ascii=False)
        comma = "," if index else ""
        output.write(f'{comma}\n{json.dumps(array.name)}: {text[:-1]}, "values": '.encode())
        _write_values(table, array, output, options)
        output.write(b"}")
    output.write(b"\n}}\n")


def _write_values(table: Tabular, array: Array, output: Output, options: Options) -> None:
    if not array.rows:
        output.write(b"[]")
        return
    shape = row_axes(array)
    spans = [math.prod(array.shape[level : array.lead]) for level in range(array.lead)]  # rows within each bracket

    def make(task: Task, buffer: Buffer) -> tuple[bytes, int]:
        values = fill(table, task, buffer)[array.name]
        texts = json_texts(parts(values))
        for size in reversed(shape):
            texts = [f"[{','.join(texts[at : at + size])}]" for at in range(0, len(texts), size)]
        lines = []
        for row, text in enumerate(texts, task.start):
            opened = sum(row % span == 0 for span in spans)
            closed = sum((row + 1) % span == 0 for span in spans)
            comma = "" if row + 1 == array.rows else ","
            lines.append(f"{'[' * opened}{text}{']' * closed}{comma}")
        return "\n".join(["", *lines]).encode(), values.nbytes

    with Ordered(tasks([array], BLOCK_BYTES), make, min(options.threads, 2), BLOCK_BYTES) as results:
        for text, size in results:
            output.write(text)
            options.progress(size)


class JsonTable(StoredTable):
    """A JSON file, read whole: pecli's own, or nested lists, or an object of them."""

    def __init__(self, source: Source) -> None:
        if source.size > LARGEST:
            raise source.bad(f"has {source.size:,} bytes, and JSON is read whole up to {LARGEST:,}: use another format")
        try:
            with open(source.path, encoding="utf-8-sig") as file:
                content = json.load(file, parse_float=str, parse_int=str, parse_constant=str)
        except (ValueError, RecursionError) as error:
            raise source.bad("is no JSON: it is truncated or damaged; make it again") from error
        facts = content if isinstance(content, dict) else {}
        held = facts.get("arrays", facts) if isinstance(content, dict) else {"array": content}
        self._values: dict[str, NDArray[Any]] = {}
        arrays = (
            [array for name, value in held.items() for array in self._array(source, name, value)]
            if isinstance(held, dict)
            else []
        )
        metadata = facts.get("metadata")
        recipe = facts.get("recipe")
        super().__init__(
            source,
            "json",
            arrays,
            recipe if isinstance(recipe, str) else None,
            {k: v for k, v in metadata.items() if isinstance(v, str)} if isinstance(metadata, dict) else {},
        )
        self.take_positions("position")

    def _array(self, source: Source, name: str, value: Any) -> Iterator[Array]:
        about = value if isinstance(value, dict) else {}
        nested = about.get("values") if about else value
        if not isinstance(nested, list):
            return
        shape, texts = _flat(source, name, nested)
        try:
            dtype = str(about.get("dtype") or infer(texts))
            values = _values(texts, dtype)
        except (ValueError, TypeError, OverflowError):
            raise source.bad(f"holds something that is no number in '{name}'") from None
        if dtype in PARTS:
            shape = shape[:-1]
        stated = about.get("shape")
        if stated is not None and safe_shape([int(size) for size in stated]) != shape:
            raise source.bad(f"says another shape for '{name}' than its lists have: it is damaged")
        axes = about.get("axes")
        array = stored_array(name, shape, dtype, axes if isinstance(axes, list) else ())
        self._values[name] = values.reshape(array.rows, *array.row_shape)
        yield array

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Copy rows of one array."""
        out[...] = self._values[array.name][start:stop]


def _values(texts: list[str], dtype: str) -> NDArray[Any]:
    if dtype in PARTS:
        return parse(texts, PARTS[dtype]).view(dtype)
    return parse(texts, dtype)


def _flat(source: Source, name: str, nested: list[Any]) -> tuple[tuple[int, ...], list[str]]:
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
    return tuple(shape), level


JSON = Format(
    name="json",
    title="JSON",
    suffixes=(".json",),
    draft=draft,
    open=JsonTable,
    dtypes=RULES.dtypes,
    stores="nested lists of the shortest decimals that read back to the same float; infinity is the string inf",
    metadata="the keys recipe and metadata",
)
