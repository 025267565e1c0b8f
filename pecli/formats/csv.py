"""csv: a row for each position, a column for each value: the shortest decimal that reads back to it.

It holds no recipe.  Files of any origin are read: commas, semicolons, tabs or blanks, with a line of names or without.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Tabular
from pecli.errors import BadFile, BadParameter
from pecli.formats.columns import KEYS, Column, ColumnTable, TableColumns, labels_of, row_axes, stem_of, wide_names
from pecli.formats.decimals import infer, is_number, is_whole, parse, shortest, spelled
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.blocks import Buffer, Task, fill, in_turn, tasks
from pecli.formats.io.output import Output
from pecli.formats.io.source import InputFile, RawFile, undone
from pecli.formats.stored import MOST_ARRAYS
from pecli.numbers.limits import limit, size_text
from pecli.numbers.text import LONGEST_NUMBER
from pecli.numbers.types import real_pairs

BLOCK_BYTES = 1 << 17  # a value takes sixteen times its size as Python's text


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write line after line."""
    columns = TableColumns(table, "csv")
    count = sum(math.prod(row_axes(array)) for array in columns.arrays) + len(columns.keys)
    if count > MOST_ARRAYS:
        rule = f"holds at most {MOST_ARRAYS:,} columns, and this table has {count:,}: use npy or hdf5 (.h5)"
        raise BadParameter("format", "csv", rule)
    values = sum(array.rows * max(1, array.row_bytes // 16) for array in columns.arrays)
    return Draft(lambda output: _write(columns, output, options), None, 2 * values)


def _write(columns: TableColumns, output: Output, options: WriteOptions) -> None:
    names = [name for name, _ in columns.keys]
    for array in columns.arrays:
        names += wide_names(array)
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow(map(written_name, names))
    output.write(head.getvalue().encode())

    def make(task: Task, buffer: Buffer) -> tuple[bytes, int]:
        values = fill(columns.table, task, buffer)
        cells = [shortest(column) for column in columns.numbers(task.start, task.stop)]
        rows = task.stop - task.start
        blocks = [[[text] for text in column] for column in cells]
        for array in columns.arrays:
            texts = shortest(real_pairs(values[array.name]))
            width = len(texts) // rows
            blocks.append([texts[row * width : (row + 1) * width] for row in range(rows)])
        lines = [",".join([cell for block in blocks for cell in block[row]]) for row in range(rows)]
        return ("\n".join(lines) + "\n").encode(), sum(v.nbytes for v in values.values())

    with in_turn(tasks(columns.arrays, BLOCK_BYTES), make, options, BLOCK_BYTES, 2) as results:
        for text in results:
            output.write(text)


SHOWN = 40  # characters of a cell in a message

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet computes


def written_name(name: str) -> str:
    """Return a name as a header has it: no spreadsheet takes it for a formula, whose author may be anybody."""
    return f"'{name}" if name.lstrip("'").startswith(FORMULA) else name


def read_name(name: str) -> str:
    """Return the name that a header's cell stands for."""
    return name[1:] if name.startswith("'") and name.lstrip("'").startswith(FORMULA) else name


def column_types(
    source: InputFile, names: Sequence[str], rows: Mapping[int, Sequence[str]], more: Mapping[str, str]
) -> dict[str, str]:
    """Return the type of each column with numbers, one for all columns of an array; what has none is left out.

    Parameters
    ----------
    source : InputFile
        The file, for messages.
    names : sequence of str
        Of all columns.
    rows : mapping of int to sequence of str
        Some rows by their numbers.
    more : mapping of str to str
        For some columns a number found elsewhere.

    Raises
    ------
    BadFile
        If a column has numbers and something else.
    """
    labels = labels_of(names)
    texts: dict[str, list[str]] = {}
    for place, name in enumerate(names):
        column = {number: row[place] for number, row in rows.items()}
        numbers = {number for number, text in column.items() if is_number(text)}
        if len(numbers) < len(column):
            if all(math.isnan(float(column[number])) for number in numbers):  # words, and gaps that pandas calls nan
                continue
            wrong = next(number for number in column if number not in numbers)
            raise source.bad(cell_fault(column[wrong], wrong, name, "float64"))
        texts[name] = [*column.values(), *([more[name]] if name in more else [])]
    types = {name: infer(texts[name]) for name in labels if name in texts}
    arrays: dict[tuple[str, bool], list[str]] = {}
    for name in texts:
        if name not in labels:
            arrays.setdefault(stem_of(name), []).append(name)
    for (_, parts), members in arrays.items():  # parts of complex values are two float64
        dtype = "float64" if parts else infer([text for name in members for text in texts[name]])
        types.update(dict.fromkeys(members, dtype))
    return {name: types[name] for name in names if name in types}


def cell_fault(text: str, row: int, name: str, dtype: str) -> str:
    """Return what is wrong with a cell of a column of this type; nothing where it is right."""
    where = f"in row {row}, column '{name[:SHOWN]}'"
    if not text.strip():
        return f"has no value {where}: it is damaged, or has a gap to fill first"
    if not is_number(text):
        return f"holds '{text[:SHOWN]}' {where}, where a number should stand"
    if dtype == "int64" and not is_whole(text):
        return f"holds '{text[:SHOWN]}' {where}, where its first and last rows have whole numbers"
    try:
        parse([text], dtype)
    except OverflowError:
        return f"holds '{text[:SHOWN]}' {where}, which is beyond the largest {dtype}"
    return ""


PIECE = 1 << 20
SHORT_LINE = 1 << 12
LONGEST_LINE = 16 << 20  # bytes
VALUES_AT_ONCE = 1 << 16  # Python's text of a value takes sixty bytes
SAMPLE_ROWS = 64
SAMPLE_VALUES = 20_000
SKIPPED = re.compile(rb"(?:[ \t]*+\r?\n|#[^\r\n]*+\r?\n)++")  # blank lines and comments
MARK = b"\xef\xbb\xbf"  # what some programs put before UTF-8


class CsvTable(ColumnTable):
    """An open csv file; its rows are found by the places of every so many lines, taken on opening."""

    def __init__(self, source: InputFile) -> None:
        self.source, self._file = source, RawFile(source)
        with undone(self.close):
            at, first, after = self._first_line()
            self._separator = next((mark for mark in ",;\t" if mark in first), None)
            self._names = self._header(first)
            named = not all(is_number(name) for name in self._names)
            if not named:
                self._names = [f"array{index}" for index in range(len(self._names))]
            self._places_of = {name: index for index, name in enumerate(self._names)}
            if len(self._names) > MOST_ARRAYS:
                raise self.source.bad(f"has {len(self._names):,} columns, and {MOST_ARRAYS:,} are the most")
            if len(self._places_of) < len(self._names):
                raise source.bad("has two columns of one name: give each its own")
            self._stride = max(1, VALUES_AT_ONCE // len(self._names))
            self._end = self._last_byte()
            self._places, self._count = self._lines(after if named else at)
            if not self._count:
                raise source.bad("has no rows of numbers")
            self._types = self._infer()
            columns = [Column(name, dtype) for name, dtype in self._types.items()]
            super().__init__(source, "csv", columns, self._count, {})

    def read_columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return entries `start` to `stop` of the named columns."""
        found = {name: np.empty(stop - start, self._types[name]) for name in names}
        by_type: dict[str, list[str]] = {}
        for name in found:
            by_type.setdefault(self._types[name], []).append(name)
        for first, rows in self._rows(start, stop):
            for dtype, alike in by_type.items():
                values = self._parsed(first, rows, alike, dtype)
                for index, name in enumerate(alike):
                    found[name][first - start : first - start + len(rows)] = values[:, index]
        return found

    def _parsed(self, first: int, rows: list[list[str]], names: list[str], dtype: str) -> NDArray[Any]:
        places = [self._places_of[name] for name in names]
        try:
            values = parse([row[place] for row in rows for place in places], dtype)
        except (ValueError, OverflowError):
            for number, row in enumerate(rows, first):
                for name, place in zip(names, places, strict=True):
                    fault = cell_fault(row[place], number, name, dtype)
                    if fault:
                        raise self.source.bad(fault) from None
            raise
        return values.reshape(len(rows), len(names))

    def _rows(self, start: int, stop: int) -> Iterator[tuple[int, list[list[str]]]]:
        """Yield rows as text, some at a time, with the number of the first."""
        for mark in range(start // self._stride, -(-stop // self._stride)):
            first = mark * self._stride
            end = self._places[mark + 1] if mark + 1 < len(self._places) else self._end
            if end - self._places[mark] > limit(LONGEST_LINE) + VALUES_AT_ONCE * LONGEST_NUMBER:
                raise self._too_long()
            data = self._file.read(self._places[mark], end - self._places[mark])
            try:
                lines = data.decode().split("\n")
            except UnicodeDecodeError:
                raise self.source.bad("is no text in UTF-8") from None
            low, high = max(start, first), min(stop, first + self._stride)
            rows = [line.split(self._separator) for line in lines[low - first : high - first]]
            for index, row in enumerate(rows):
                if len(row) != len(self._names):
                    raise self.source.bad(
                        f"has {len(row)} values in row {low + index} and {len(self._names)} columns: it is damaged"
                    )
            yield low, rows

    def _line(self, at: int) -> tuple[str, int]:
        """Return the line that begins at a place, and where the next begins."""
        data, piece = b"", SHORT_LINE
        while b"\n" not in data and at + len(data) < self.source.size:
            if len(data) > limit(LONGEST_LINE):
                raise self._too_long()
            data += self._file.read(at + len(data), min(piece, self.source.size - at - len(data)))
            piece = min(2 * piece, PIECE)
        line = data.split(b"\n", 1)[0]
        try:
            return line.decode().strip("\r"), at + len(line) + 1
        except UnicodeDecodeError:
            raise self.source.bad("is no text in UTF-8") from None

    def _too_long(self) -> BadFile:
        return self.source.bad(f"has lines too long for a table: of one {size_text(limit(LONGEST_LINE))}")

    def _first_line(self) -> tuple[int, str, int]:
        """Return the first line that is neither blank nor a comment: its place, its text, the next place."""
        at = len(MARK) if self.source.head.startswith(MARK) else 0
        while at < self.source.size:
            if skipped := SKIPPED.match(self._file.read(at, min(PIECE, self.source.size - at))):
                at += skipped.end()
                continue
            line, after = self._line(at)
            if "\r" in line:
                raise self.source.bad("ends its lines with carriage returns alone: save it with newlines")
            if line.strip() and not line.startswith("#"):
                return at, line, after
            at = after
        raise self.source.bad("has no rows of numbers")

    def _header(self, line: str) -> list[str]:
        if self._separator is None:
            return line.split()
        try:
            return [read_name(name.strip()) for name in next(csv.reader([line], delimiter=self._separator))]
        except csv.Error:  # a name of more than 128 KiB
            raise self.source.bad("has a first line that names no columns: it is no table, or damaged") from None

    def _last_byte(self) -> int:
        """Return where the last line ends, blank ones left out."""
        end = self.source.size
        while end:
            low = max(0, end - PIECE)
            text = self._file.read(low, end - low).rstrip()
            if text:
                return low + len(text)
            end = low
        return 0

    def _lines(self, begin: int) -> tuple[list[int], int]:
        """Return where every so many lines begin, and how many lines there are."""
        places, count = ([begin], 1) if begin < self._end else ([], 0)
        last = begin
        for low in range(begin, self._end, PIECE):
            piece = np.frombuffer(self._file.read(low, min(PIECE, self._end - low)), np.uint8)
            starts = np.flatnonzero(piece == ord("\n")) + low + 1
            first = -count % self._stride
            places += starts[first :: self._stride].tolist()
            count += len(starts)
            if len(starts):
                last = int(starts[-1])
            elif low + len(piece) - last > limit(LONGEST_LINE):
                raise self._too_long()
        return places, count

    def _infer(self) -> dict[str, str]:
        """Return the type of each column that holds numbers, from the first and the last rows."""
        count = max(1, min(SAMPLE_ROWS, SAMPLE_VALUES // len(self._names), self._count))
        rows: dict[int, list[str]] = {}
        for start, stop in ((0, count), (self._count - count, self._count)):
            for first, part in self._rows(start, stop):
                rows.update(enumerate(part, first))
        types = column_types(self.source, self._names, rows, {})
        labels = labels_of(self._names)
        doubtful = [name for name, dtype in types.items() if dtype == "int64" and name not in labels]
        if doubtful and len(rows) < self._count:
            fractions = self._fractions(doubtful)
            if fractions:
                types = column_types(self.source, self._names, rows, fractions)
        return types

    def _fractions(self, names: Sequence[str]) -> dict[str, str]:
        """Return a number that is no integer, for each column that has one though its first and last rows have none."""
        left = {name: self._places_of[name] for name in names}
        found: dict[str, str] = {}
        for _, rows in self._rows(0, self._count):
            for name, place in list(left.items()):
                text = next((row[place] for row in rows if not is_whole(row[place]) and is_number(row[place])), None)
                if text is not None:
                    found[name] = text
                    del left[name]
            if not left:
                break
        return found

    def take_type(self, dtype: str) -> bool:
        """Read decimals as `dtype`; see :meth:`pecli.formats.stored.StoredTable.take_type`."""
        names = [name for name, held in self._types.items() if held == "float64" and name not in KEYS]
        places = [self._places_of[name] for name in names]
        for _, rows in self._rows(0, self._count) if names else ():
            if not spelled([row[place] for row in rows for place in places], dtype):
                return False
        self._types.update(dict.fromkeys(names, dtype))
        self._gather([Column(name, held) for name, held in self._types.items()], self._count)
        kept = {array.name for array in self.arrays}
        self.arrays = tuple(found.array for name, found in self._gathered.items() if name in kept)
        return bool(names)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
