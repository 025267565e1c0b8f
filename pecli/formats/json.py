"""JSON: one object with the recipe, and the arrays as nested lists of the shortest decimals that read back.

Infinity is the string inf; recipe and metadata are keys of their own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.formats.columns import labels_of, row_axes
from pecli.formats.decimals import json_texts, narrowed, spelled
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.blocks import Buffer, Task, fill, write_texts
from pecli.formats.io.output import Output
from pecli.formats.io.source import InputFile, whole
from pecli.formats.layout import with_positions
from pecli.formats.stored import StoredTable, axes_of, plain, plain_facts, texts
from pecli.numbers.bounds import LARGEST_JSON
from pecli.numbers.decimals import shorten
from pecli.numbers.dtypes import ITEM_BYTES, REAL, real_pairs, real_type
from pecli.spec.tabular import Array, Tabular, array_of


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write row after row."""
    values = sum(array.bytes // 16 for array in table.arrays)
    return Draft(lambda output: _write(with_positions(table), output, options), None, 2 * values)


def _write(table: Tabular, output: Output, options: WriteOptions) -> None:
    recipe = None if table.recipe is None else plain(table.recipe)
    facts = {"recipe": recipe, "metadata": dict(sorted(plain_facts(table.metadata).items()))}
    head = json.dumps(facts, ensure_ascii=False, allow_nan=False)
    output.write(f'{head[:-1]}, "arrays": {{'.encode())
    for index, array in enumerate(table.arrays):
        about = {"dtype": array.dtype, "shape": array.shape, "axes": array.axes}
        text = json.dumps(about, ensure_ascii=False)
        comma = "," if index else ""
        output.write(f'{comma}\n{json.dumps(array.name)}: {text[:-1]}, "values": '.encode())
        write_nested(table, array, output, options, json_texts)
        output.write(b"}")
    output.write(b"\n}}\n")


def write_nested(
    table: Tabular, array: Array, output: Output, options: WriteOptions, texts_of: Callable[[NDArray[Any]], list[str]],
    brackets: tuple[str, str] = ("[", "]"), comma: str = ",",
) -> None:  # fmt: skip
    """Write the values of an array, a line for each row, nested as its axes are."""
    left, right = brackets
    spans = [math.prod(array.shape[level : array.lead]) for level in range(array.lead)]  # rows within each bracket

    def make(task: Task, buffer: Buffer) -> tuple[bytes, int]:
        values = fill(table, task, buffer)[array.name]
        texts = texts_of(real_pairs(values))
        for size in reversed(row_axes(array)):
            texts = [f"{left}{comma.join(texts[at : at + size])}{right}" for at in range(0, len(texts), size)]
        lines = []
        for row, text in enumerate(texts, task.start):
            opened = sum(row % span == 0 for span in spans)
            closed = sum((row + 1) % span == 0 for span in spans)
            end = "" if row + 1 == array.rows else ","
            lines.append(f"{left * opened}{text}{right * closed}{end}")
        return "\n".join(["", *lines]).encode(), values.nbytes

    write_texts([array], make, options, output)


MAX_LEVELS = 32  # of lists
TEXTS = re.compile(rb'(?<=[\[,\s])"(-?)(inf|nan)"(?=[,\]\n])')  # infinity and NaN in a list, as `json_texts` has them
# Characters of a number as text; NumPy gives every item of an array the length of the longest.
MAX_NUMBER = 400
LONG_TEXT = re.compile(rb'"[^"]{%d}' % MAX_NUMBER)
NAMES = {b"inf": b"Infinity", b"nan": b"NaN"}  # what Python's reader calls them


DAMAGED = "is not JSON, though it begins like it: it is damaged"
# What NumPy, PyTorch and JAX print otherwise than JSON has it; rows of JSON on a line each want commas too.
PRINTED = (
    (re.compile(rb"^[\w.]+\("), b""),  # tensor(, array(
    (re.compile(rb"\](?:,[^\[\]]*)?\)\Z"), b"]"),  # , dtype=float32)
    (re.compile(rb"\binf\b"), b"Infinity"),
    (re.compile(rb"\bnan\b"), b"NaN"),
    (re.compile(rb"(?<=\d)\.(?!\d)"), b".0"),
    (re.compile(rb"(?<=[\w.])\s+(?=[-+\w.])"), b","),
    (re.compile(rb"(?<=[\]}])\s*(?=[\[{])"), b","),
    (re.compile(rb"(?<=[\[,\s])\+"), b""),
)


class JsonTable(StoredTable):
    """An open JSON file, read as a whole by the standard library: pecli's own, nested lists, or an object of lists.

    Arrays as NumPy and PyTorch print them, data frames, and a list or a row on each line are read as well.
    """

    def __init__(self, source: InputFile) -> None:
        self.source = source
        data = TEXTS.sub(lambda found: found[1] + NAMES[found[2]], whole(source, "JSON", LARGEST_JSON))
        self._has_words = (
            any(word in data for word in (b"true", b"false", b"null")) or LONG_TEXT.search(data) is not None
        )
        try:
            content = json.loads(data)
        except RecursionError as error:
            raise source.bad(DAMAGED) from error
        except ValueError as error:
            content = self._printed(data, error)
        content = _unframed(content)
        self._values: dict[str, NDArray[Any]] = {}
        self._untyped: set[str] = set()
        facts = content if isinstance(content, dict) else {}
        if "_diffusers_version" in facts:
            name = facts.get("_class_name", "a model")
            raise source.bad(f"is diffusers' config of {name}, which is not read: give a recipe, such as rope-axes")
        held = facts.get("arrays", facts) if facts else {"array": content}
        held = held if isinstance(held, dict) else {}
        arrays = [array for name, value in held.items() for array in self._array(plain(name), value)]
        del data
        if not arrays and isinstance(content, dict):
            raise source.bad("holds no array of numbers, and no model_type, which a model's config.json has")
        metadata = facts.get("metadata")
        known = texts(metadata) if isinstance(metadata, dict) else {}
        super().__init__(source, arrays, texts(facts).get("recipe"), known)
        self.take_scales()

    def _printed(self, data: bytes, error: ValueError) -> Any:
        """Return the nested lists of an array that a program printed, which is JSON but for this error."""
        if b"..." in data:
            remedy = "print it whole, as after np.set_printoptions(threshold=10**9)"
            raise self.source.bad(f"is shortened with '...': {remedy}, or save it as npy")
        for pattern, other in PRINTED:
            data = pattern.sub(other, data.strip())
        for text in (data, b"[" + data + b"]"):
            with suppress(ValueError, RecursionError):
                return json.loads(text)
        if not isinstance(error, json.JSONDecodeError):  # bytes that are no text
            raise self.source.bad(DAMAGED)
        what = f"{error.msg[:1].lower()}{error.msg[1:]} (line {error.lineno}, column {error.colno})"
        more = "; rows of numbers are read as csv" * data.startswith(b"[")  # of another language, as Julia
        raise self.source.bad(f"is not JSON: {what}{more}")

    def _array(self, name: str, value: Any) -> Iterator[Array]:
        about = value if isinstance(value, dict) else {"values": value}
        lists, stated = about.get("values"), about.get("dtype")
        if not isinstance(lists, list) and about.get("shape") != []:
            return
        if stated is not None and (not isinstance(stated, str) or stated not in ITEM_BYTES or stated == "bfloat16"):
            raise self.source.bad(f"says '{name}' to be of type '{stated}', which JSON has not: it is damaged")
        values = self._of_lists(name, lists)
        shape, dtype = values.shape, stated or ("int64" if values.dtype == np.int64 else "float64")
        if dtype in REAL:
            if shape[-1:] != (2,):
                raise self.source.bad(f"holds complex values in '{name}' that are not pairs: it is damaged")
            shape = shape[:-1]
        if about.get("shape", list(shape)) != list(shape):
            raise self.source.bad(f"says another shape for '{name}' than its lists have: it is damaged")
        values = self._typed(name, values, real_type(dtype))
        self._values[name] = values if dtype not in REAL else values.reshape(-1).view(dtype).reshape(shape)
        if stated is None:
            self._untyped.add(name)
        yield array_of(name, shape, dtype, axes_of({"arrays": {name: about}}, name))

    def _of_lists(self, name: str, lists: Any) -> NDArray[Any]:
        """Return nested lists as an array of integers or float64."""
        if self._has_words and _has_word(lists):
            raise self.source.bad(f"holds {_word_of(lists)} among the numbers of '{name}'")
        try:
            values = np.array(lists)
        except ValueError:
            raise self.source.bad(f"has lists of unequal length in '{name}': make them equal") from None
        if values.ndim > MAX_LEVELS:
            rule = f"has {values.ndim} levels of lists in '{name}', at most {MAX_LEVELS} are allowed: it is not a table"
            raise self.source.bad(rule)
        if values.dtype.kind in "iuf":
            return values
        try:
            return values.astype(np.float64)  # texts, and integers beyond 64 bits
        except OverflowError:
            raise self.source.bad(f"holds an integer in '{name}' that is beyond the largest float64") from None
        except (ValueError, TypeError):
            raise self.source.bad(f"holds something that is not a number in '{name}'") from None

    def _typed(self, name: str, values: NDArray[Any], dtype: str) -> NDArray[Any]:
        """Return values in the dtype that the file declares."""
        kind = np.dtype(dtype).kind
        if kind == "f":
            wide = values.astype(np.float64, copy=False).reshape(-1)
            narrow = narrowed(wide, dtype)
            beyond = np.isinf(narrow) & ~np.isinf(wide)
        else:
            low, high = (0, 1) if kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            if values.dtype.kind not in "iu" and values.size:
                raise self.source.bad(f"holds something that is not a number of type {dtype} in '{name}'")
            wide = values.reshape(-1)
            beyond = (wide < low) | (wide > high)
            narrow = wide.astype(dtype)
        if beyond.any():
            wrong = wide[beyond.argmax()]
            raise self.source.bad(f"holds '{wrong}' in '{name}', which is beyond the largest {dtype}")
        return narrow.reshape(values.shape)

    is_text = True

    def take_type(self, dtype: str) -> bool:
        """Read decimals as `dtype`; see :meth:`pecli.formats.stored.StoredTable.take_type`."""
        decimals = [array.name for array in self.arrays if array.name in self._untyped and array.dtype == "float64"]
        taken = {name for name in decimals if spelled(self._values[name].reshape(-1), dtype)}
        for name in taken:
            self._values[name] = self._typed(name, self._values[name], dtype)
        self.arrays = tuple(replace(a, dtype=dtype) if a.name in taken else a for a in self.arrays)
        return bool(taken)

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array."""
        out[...] = self._values[array.name].reshape(array.rows, *array.row_shape)[start:stop]


def _unframed(content: Any) -> Any:
    """Return the rows of a data frame, as pandas writes it by rows, by columns or in parts, without its labels."""
    if isinstance(content, dict) and content.keys() == {"schema", "data"}:
        content = content["data"]
    is_frame = isinstance(content, dict) and bool(content)
    if is_frame and _are_counted(content):
        inner = list(content.values())
        of_rows = all(isinstance(row, dict) and not _are_counted(row) for row in inner)
        if of_rows or _is_flat([inner]):  # the rows by number, or as JavaScript writes a typed array
            content, is_frame = inner, False
    if is_frame and content.keys() == {"columns", "index", "data"}:  # in parts
        if not isinstance(content["columns"], list) or not isinstance(content["data"], list):
            return content
        names, rows = list(map(str, content["columns"])), content["data"]
    elif isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
        names = ["" if name == "index" else name for name in content[0]]  # as pandas calls its index
        rows = [list(row.values()) for row in content if row.keys() == content[0].keys()]
        rows = rows if len(rows) == len(content) else []
        if rows and any(isinstance(value, list) for value in rows[0]):  # all other values are labels
            rows = [[number for value in row if isinstance(value, list) for number in value] for row in rows]
            names = list(map(str, range(len(rows[0]))))
    elif is_frame and all(isinstance(column, dict) for column in content.values()):
        names, columns = list(content), list(content.values())
        rows = [list(row) for row in zip(*(column.values() for column in columns), strict=False)]
        rows = rows if all(column.keys() == columns[0].keys() for column in columns) else []
    else:
        return content
    labels = labels_of(names)
    kept = [place for place, name in enumerate(names) if name not in labels]
    is_table = len(rows) > 1 and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    return [[row[place] for place in kept] for row in rows] if is_table and _is_flat(rows) else content


def _are_counted(names: Iterable[str]) -> bool:
    """Whether names are 0, 1, 2 and so on."""
    return all(name == str(place) for place, name in enumerate(names))


def _is_flat(rows: list[list[Any]]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for row in rows for value in row)


def _word_of(nested: Any) -> str:
    """Return the first thing that is no number, as JSON has it."""
    while isinstance(nested, list):
        nested = next(one for one in nested if _has_word(one))
    return shorten(json.dumps(nested))


def _has_word(nested: Any) -> bool:
    """Return whether nested lists hold true, false, null or a text longer than any number."""
    if isinstance(nested, list):
        return any(map(_has_word, nested))
    return nested is None or isinstance(nested, bool) or (isinstance(nested, str) and len(nested) > MAX_NUMBER)
