"""JSON: one object with the recipe, and the arrays as nested lists of the shortest decimals that read back.

Infinity is the string inf; recipe and metadata are keys of their own.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Array, Tabular, array_of
from pecli.formats.columns import row_axes
from pecli.formats.decimals import infer, json_texts, parse, spelled
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.blocks import Buffer, Task, fill, in_turn, tasks
from pecli.formats.io.output import Output
from pecli.formats.io.source import InputFile, RawFile, undone
from pecli.formats.layout import with_positions
from pecli.formats.stored import MOST_ARRAYS, StoredTable, axes_of, plain, plain_facts, safe_shape, texts
from pecli.numbers.limits import limit, size_text
from pecli.numbers.types import ITEM_BYTES, REAL, real_pairs, real_type

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


BLOCK_BYTES = 1 << 17  # a value takes sixteen times its size as Python's text


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
        _write_values(table, array, output, options)
        output.write(b"}")
    output.write(b"\n}}\n")


def _write_values(table: Tabular, array: Array, output: Output, options: WriteOptions) -> None:
    if not array.rows:
        output.write(b"[]")
        return
    shape = row_axes(array)
    spans = [math.prod(array.shape[level : array.lead]) for level in range(array.lead)]  # rows within each bracket

    def make(task: Task, buffer: Buffer) -> tuple[bytes, int]:
        values = fill(table, task, buffer)[array.name]
        texts = json_texts(real_pairs(values))
        for size in reversed(shape):
            texts = [f"[{','.join(texts[at : at + size])}]" for at in range(0, len(texts), size)]
        lines = []
        for row, text in enumerate(texts, task.start):
            opened = sum(row % span == 0 for span in spans)
            closed = sum((row + 1) % span == 0 for span in spans)
            comma = "" if row + 1 == array.rows else ","
            lines.append(f"{'[' * opened}{text}{']' * closed}{comma}")
        return "\n".join(["", *lines]).encode(), values.nbytes

    with in_turn(tasks([array], BLOCK_BYTES), make, options, BLOCK_BYTES, 2) as results:
        for text in results:
            output.write(text)


SMALL, PIECE = 1 << 12, 1 << 18  # bytes of the first look at a list, and of the others: some thirty times it in memory
LONGEST = 16 << 20  # bytes of one value, such as a text
DEEPEST = 900  # levels of brackets, which Python's own reader takes
MOST_LEVELS = 32  # of lists
KNOWN_LEVELS = 3  # of objects: the file, its arrays, what is said of one
TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
WORD = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"\[\]{},:]+', re.DOTALL)
SPACE = re.compile(rb"[ \t\r\n]*")
EMPTY = re.compile(rb"\[\s*\]")


class Lists:
    """Nested lists: their shape, and where in the file so many of their leaves begin.

    Attributes
    ----------
    leaves : int
        How many there are; a list without any counts as one.
    depth : int
        Levels of lists.
    plain : bool
        Whether they hold no objects.
    """

    def __init__(self, file: RawFile) -> None:
        self._file, self.leaves, self.depth, self.plain = file, 1, 0, True
        self._pieces: list[
            tuple[int, int, int, int, int]
        ] = []  # first leaf, offset, bytes, brackets open before, after
        self._sides: list[int] = []  # leaves of the first list of each level, 0 until it ends
        self._opened: list[int] = []  # lists of each level
        self._even, self._empty = True, 0

    def take(self, offset: int, piece: bytes, before: int, depths: NDArray[np.int32]) -> None:
        """Take the next piece, texts blanked, with the brackets that are open before it and after each byte."""
        import numpy as np

        marks = np.frombuffer(piece, np.uint8)
        self._pieces.append((self.leaves - 1, offset, len(piece), before, int(depths[-1])))
        self.depth = max(self.depth, int(depths.max()))
        self.plain = self.plain and b"{" not in piece
        self._empty += len(EMPTY.findall(piece))
        at = np.flatnonzero((marks == ord("[")) | (marks == ord("]")))
        # exactly one comma stands between two leaves, whatever brackets stand there too
        leaves = self.leaves - 1 + np.cumsum(marks == ord(","))
        opens, levels, seen = marks[at] == ord("["), depths[at], leaves[at]
        for level in range(1, min(self.depth, MOST_LEVELS) + 1):
            self._check(level, seen[opens & (levels == level)], seen[~opens & (levels == level - 1)] + 1)
        self.leaves = int(leaves[-1]) + 1

    def _check(self, level: int, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """See whether the lists of a level begin and end after as many leaves as the first one has."""
        import numpy as np

        if level > len(self._opened):
            self._opened.append(0)
            self._sides.append(0)
        if len(ends) and not self._sides[level - 1]:
            self._sides[level - 1] = int(ends[0])
        first, side = self._opened[level - 1], self._sides[level - 1]
        self._opened[level - 1] += len(begins)
        regular = (begins == (first + np.arange(len(begins))) * side).all() and not (len(ends) and (ends % side).any())
        self._even = self._even and bool(regular)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The sizes; None where lists of one level are of unequal length, or numbers stand beside lists."""
        if not self._even or any(n * side != self.leaves for n, side in zip(self._opened, self._sides, strict=True)):
            return None
        sides = [*self._sides, 1]
        shape = tuple(outer // inner for outer, inner in pairwise(sides))
        if not self._empty:
            return shape
        return (*shape[:-1], 0) if self._empty == self.leaves else None

    def texts(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, list[Any]]]:
        """Yield leaves `start` to `stop`, a piece of the file at a time, each with the number of its first.

        Numbers are the texts that they were; ValueError where the file is no JSON.
        """
        stop = self.leaves if stop is None else stop
        ends = [*(piece[0] for piece in self._pieces[1:]), self.leaves]
        for index in range(bisect_right(ends, start), bisect_left(ends, stop) + 1):
            (first, offset, size, before, after), end = self._pieces[index], ends[index]
            text = self._file.read(offset, size).decode()
            found = _flat(json_of("[" * before + (text[:-1] if after else text) + "]" * after))
            if len(found) + (end - first if self._empty else 0) != end - first:
                raise ValueError("values are missing")
            low, high = max(start, first), min(stop, end)
            yield low, found[low - first : high - first]

    def small(self) -> Any:
        """Return what the lists hold, where that is one piece; else nothing."""
        return json_of(self._file.read(*self._pieces[0][1:3]).decode()) if len(self._pieces) == 1 else []


class Leaf:
    """A number that stands in no list: an array of no axes, with the face of :class:`Lists`."""

    leaves, depth, plain = 1, 0, True
    shape: tuple[int, ...] | None = ()

    def __init__(self, text: str) -> None:
        self._text = text

    def texts(self, *_: int) -> Iterator[tuple[int, list[Any]]]:
        """Yield the number's text."""
        yield 0, [self._text]


def json_of(text: str) -> Any:
    """Return what JSON says, with every number as the text that it was."""
    return json.loads(text, parse_float=str, parse_int=str, parse_constant=str)


def _flat(nested: list[Any]) -> list[Any]:
    while any(isinstance(entry, list) for entry in nested):
        if not all(isinstance(entry, list) for entry in nested):
            raise ValueError("numbers stand beside lists")
        nested = list(chain.from_iterable(nested))
    return nested


class Walk:
    """A place in a JSON file that moves on."""

    def __init__(self, file: RawFile) -> None:
        self._file, self._data, self._at = file, b"", 0
        self._offset = 3 if file.source.head.startswith(b"\xef\xbb\xbf") else 0  # of what is held

    def content(self) -> Any:
        """Return what the file holds; :class:`Lists` for lists, ValueError where it is no JSON."""
        found = self._value(0)
        if self._mark():
            raise ValueError("something stands behind the end")
        return found

    def _value(self, level: int) -> Any:
        mark = self._mark()
        if mark == b"{" and level < KNOWN_LEVELS:
            return self._object(level)
        if mark not in (b"[", b"{"):
            return json_of(self._word())
        lists, before = Lists(self._file), 0
        for offset, piece, depths in self._pieces():
            if mark == b"[":
                lists.take(offset, piece, before, depths)
            before = int(depths[-1])
        return lists if mark == b"[" else {}  # what lies so deep says nothing of arrays

    def _object(self, level: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        mark = self._step()
        while self._mark() != b"}" or found:
            if mark not in (b"{", b",") or self._mark() != b'"':
                raise ValueError("a key should stand here")
            key = json_of(self._word())
            if self._step() != b":":
                raise ValueError("a colon should stand here")
            found[key] = self._value(level + 1)
            if len(found) > MOST_ARRAYS:
                raise self._file.source.bad(f"holds more than {MOST_ARRAYS:,} names, which are the most")
            mark = self._step()
            if mark == b"}":
                return found
        self._step()
        return found

    def _mark(self) -> bytes:
        """Return the next byte that is no blank, and stay before it; nothing at the end of the file."""
        while True:
            blanks = SPACE.match(self._data, self._at)
            self._at = blanks.end() if blanks else self._at
            if self._at < len(self._data) or not self._more():
                return self._data[self._at : self._at + 1]

    def _step(self) -> bytes:
        mark = self._mark()
        self._at += 1
        return mark

    def _word(self) -> str:
        """Return a text, a number or a name, and go behind it."""
        while True:
            found = WORD.match(self._data, self._at)
            if (found is None or found.end() == len(self._data)) and self._more():
                continue
            if found is None:
                raise ValueError("a value should stand here")
            self._at = found.end()
            return found[0].decode()

    def _more(self) -> bool:
        """Read on, keeping what is still to come; whether there was more."""
        self._data, self._offset, self._at = self._data[self._at :], self._offset + self._at, 0
        if len(self._data) > limit(LONGEST):
            raise self._file.source.bad(f"holds something too long for a number, of which {size_text(limit(LONGEST))}")
        end = self._offset + len(self._data)
        count = min(max(PIECE, len(self._data)), self._file.source.size - end)
        self._data += self._file.read(end, count)
        return count > 0

    def _pieces(self) -> Iterator[tuple[int, bytes, NDArray[np.int32]]]:
        """Go behind the brackets that open here; yield what is in them, texts blanked, in pieces that end after commas.

        With each come its offset in the file and how many brackets are open after each of its bytes.
        """
        import numpy as np

        steps = np.zeros(256, np.int8)
        steps[[ord("["), ord("{")]], steps[[ord("]"), ord("}")]] = 1, -1
        depth, look = 0, SMALL
        while True:
            plain = TEXT.sub(lambda found: b"t" * len(found[0]), self._data[self._at : self._at + look])
            quote = plain.find(b'"')  # a text that goes on
            plain = plain if quote < 0 else plain[:quote]
            depths = depth + np.cumsum(steps[np.frombuffer(plain, np.uint8)], dtype=np.int32)
            if depths.max(initial=0) > DEEPEST:
                raise ValueError("too many brackets are open")
            ends = np.flatnonzero(depths == 0)
            cut = int(ends[0]) + 1 if len(ends) else plain.rfind(b",") + 1
            if cut:
                yield self._offset + self._at, plain[:cut], depths[:cut]
                self._at += cut
                depth = int(depths[cut - 1])
                if len(ends):
                    return
            elif look < len(self._data) - self._at:
                look *= 2
                continue
            if (not cut or self._at + PIECE > len(self._data)) and not self._more() and not cut:
                raise ValueError("brackets are left open")
            look = PIECE


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
        """Read decimals as `dtype`; see :meth:`pecli.formats.stored.StoredTable.take_type`."""
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
