"""csv: a row for each position, a column for each value: the shortest decimal that reads back to it.

It holds no recipe.  Files of any origin are read: commas, semicolons, tabs or blanks, with a line of names or without.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadFile, BadParameter
from pecli.formats.arrow import BatchTable, with_gaps
from pecli.formats.columns import KEYS, Column, TableColumns, arrow_array, labels_of, row_axes, stem_of, wide_names
from pecli.formats.decimals import is_number, narrowed, shortest, spelled
from pecli.formats.deferred import pa
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.blocks import Buffer, Task, fill, write_texts
from pecli.formats.io.output import Output
from pecli.formats.io.source import InputFile, whole
from pecli.numbers.bounds import LARGEST_CSV, MAX_ARRAYS
from pecli.numbers.dtypes import real_pairs
from pecli.spec.tabular import Tabular

BLOCK = 8 << 20  # bytes that pyarrow parses at a time; a line must fit, and that of 65,536 columns does
TYPED_TOGETHER = 1 << 20  # values whose type is found at once
SHOWN = 40  # characters of a cell in a message
SKIPPED = re.compile(rb"(?:[ \t]*+\r?\n|#[^\r\n]*+\r?\n)++")  # blank lines and comments
MARK = b"\xef\xbb\xbf"  # what some programs put before UTF-8
NUMBER = re.compile(r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)\s*", re.ASCII | re.IGNORECASE)
DECIMAL_COMMAS = re.compile(
    rb'(?=.*,)(?=.*[;\t])(?:[ \r\n]*+(?:"[^"\n]*+"|-?\d*+(?:,\d++(?:e[-+]?\d++)?)?)[ \r\n]*+(?:[;\t]|$))++',
    re.IGNORECASE,
)
NUMPY_NUMBER = re.compile(r"np\.float\d+\(([^()]*)\)")  # as it stands in a list of NumPy's numbers
MINUS = "\N{MINUS SIGN}".encode()  # which Word and PDF have in place of a hyphen
INTEGER = re.compile(r"[-+]?[0-9]+")
MAX_LOOKED = 1 << 10  # cells that are looked at for the way in which numbers are written
MIN_COUNTED = 3  # rows by which a first column is known to count them
MIN_BEND = 1e-3  # of the range of a column that does not rise evenly; one printed with 4 digits is off by 1e-4


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write line after line."""
    columns = TableColumns(table, "csv")
    count = sum(math.prod(row_axes(array)) for array in columns.arrays) + len(columns.keys)
    if count > MAX_ARRAYS:
        rule = f"holds at most {MAX_ARRAYS:,} columns, and this table has {count:,}: use npy or hdf5 (.h5)"
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

    write_texts(columns.arrays, make, options, output)


def _values(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return a column of numbers, empty cells as NaN; pyarrow's own way would import pandas where it is installed."""
    if str(column.type) == "null":
        return np.full(len(column), np.nan)
    return np.concatenate([with_gaps(chunk) for chunk in column.chunks])


FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet computes


def written_name(name: str) -> str:
    """Return a name for a header, quoted where a spreadsheet would run it as a formula."""
    return f"'{name}" if name.lstrip("'").startswith(FORMULA) else name


def read_name(name: str) -> str:
    """Return the name in a header's cell, without the quote that guards a formula."""
    return name[1:] if name.startswith("'") and name.lstrip("'").startswith(FORMULA) else name


def _not_numbers(cells: Sequence[str]) -> str:
    """Return what is wrong with a first line of numbers that are written otherwise than numbers are; "" of others."""
    kinds = {
        r"[-+]?[0-9.]+ ?%": "percentages such as {}: write the numbers themselves",
        r"[-+]?[0-9]+,[0-9]+": "decimal commas such as {} between commas: separate the columns by semicolons",
    }
    found = ((text, cell) for form, text in kinds.items() for cell in cells if re.fullmatch(form, cell))
    return next((f"holds {text.format(cell)}" for text, cell in found), "")


class CsvTable(BatchTable):
    """An open csv file, parsed as a whole by pyarrow: 43 MiB took 0.40 s, and 1.42 s line by line in Python."""

    sequential = False

    def __init__(self, source: InputFile) -> None:
        super().__init__(source)
        self._data = whole(source, "a csv", LARGEST_CSV)
        if MINUS in self._data:
            self._data = self._data.replace(MINUS, b"-")
        self._cut = not self._data.endswith(b"\n")
        begin, first = self._first_line()
        blank = b" \r\n" if "\t" in first else b" \t\r\n"
        if not self._data[-2:].strip(blank):  # blank lines at the end are no rows
            self._data = self._data.rstrip(blank)
        self._point = "," if DECIMAL_COMMAS.fullmatch(self._data[self._data.rfind(b"\n", 0, -1) + 1 :]) else "."
        marks = ";\t" if self._point == "," else ",;\t"
        separator = next((mark for mark in marks if mark in first), " ")
        names = self._header(first, separator)
        words = not self._is_row(names, begin + len(first.encode()), separator)
        self._named = named = words or self._counts(names, begin + len(first.encode()))
        if named:
            begin += len(first.encode()) + 1
        else:
            names = [f"array{index}" for index in range(len(names))]
        if len(names) > MAX_ARRAYS:
            raise source.bad(f"has {len(names):,} columns, and {MAX_ARRAYS:,} are the most")
        line = self._data[begin : begin + BLOCK].partition(b"\n")[0].decode(errors="replace")
        below = self._header(line, separator)
        if (wrong := _not_numbers(names)) and _not_numbers(below):
            raise source.bad(wrong)
        if named and len(below) == len(names) + 1:
            names = ["", *names]  # as R's write.table names its rows
        if words and (numbers := [name for name in names if is_number(name)]) and len({*numbers}) < len(numbers):
            odd = next(name for name in names if not is_number(name))
            raise source.bad(f"has '{odd[:SHOWN]}' in its first row, where a number should stand")
        if len(set(names)) < len(names):
            again = next(name for name in names if names.count(name) > 1)
            text = f"has two columns called '{again[:SHOWN]}'"
            raise source.bad(f"{text}: give each its own name, and delete lines before the table")
        if begin >= len(self._data):
            raise source.bad("has no rows of numbers")
        self._line = self._data.count(b"\n", 0, begin) + 1  # of the first row
        if separator == " ":
            self._data = bytearray(b"\n".join(b" ".join(line.split()) for line in self._data[begin:].split(b"\n")))
            begin = 0
        self._begin, self._separator = begin, separator
        self._lists = self._data.find(b"[", begin) >= 0
        table = self._spread(self._parsed(names)) if self._lists else self._parsed(names)
        names = table.column_names
        *others, last = names
        unnamed = len(names) > 2 and (not named or not last)
        if unnamed and table[last].null_count == table.num_rows:  # behind the separator that ends each line
            names = others
            table = table.select(names)
        if not named and self._numbers_its_rows(table):
            table = table.rename_columns([KEYS[0], *names[:-1]])
            self.numbered = ("",)
        types = self._column_types(table)
        self._columns = {name: Column(name, dtype) for name, dtype in types.items()}
        self._held = {n: _values(table[n]).astype(dtype, copy=False) for n, dtype in types.items()}
        self._data = bytearray()
        self.gather(table.num_rows, {})

    def read_batches(self, names: Sequence[str], start: int, stop: int) -> list[dict[str, NDArray[Any]]]:
        """Return entries `start` to `stop` of the named columns, in one batch."""
        return [{name: self._held[name][start:stop] for name in names}]

    is_text = True

    def take_type(self, dtype: str) -> bool:
        """Read decimals as `dtype`; see :meth:`pecli.formats.stored.StoredTable.take_type`."""
        names = [name for name, column in self._columns.items() if column.dtype == "float64" and name not in KEYS]
        rows, made = len(next(iter(self._held.values()))), dict[str, NDArray[Any]]()
        step = max(1, TYPED_TOGETHER // rows)
        for some in (names[at : at + step] for at in range(0, len(names), step)):
            whole = np.concatenate([self._held[name] for name in some])
            if not spelled(whole, dtype):
                return False
            made |= zip(some, narrowed(whole, dtype).reshape(-1, rows), strict=True)
        self._held |= made
        self._columns |= {name: Column(name, dtype) for name in names}
        kept = self.keys()
        self.gather(rows, {})
        self.arrays = tuple(array for array in self.arrays if array.name in kept)
        return bool(names)

    def _first_line(self) -> tuple[int, str]:
        """Return the first line that is neither blank nor a comment: its place and its text."""
        at = len(MARK) if self._data.startswith(MARK) else 0
        if skipped := SKIPPED.match(self._data, at):
            at = skipped.end()
        end = self._data.find(b"\n", at)
        line = self._data[at : end if end >= 0 else len(self._data)]
        if not line.strip() or line.startswith(b"#"):
            raise self.source.bad("has no rows of numbers")
        if b"\r" in line.rstrip(b"\r"):
            raise self.source.bad("ends its lines with carriage returns alone: save it with newlines")
        return at, self.source.decoded(line)

    def _is_row(self, names: Sequence[str], begin: int, separator: str) -> bool:
        """Whether a first line is a row: numbers alone, or decimals and words where the next line has such as well."""
        text = self._data[begin + 1 : begin + BLOCK].partition(b"\n")[0].decode(errors="replace")
        below = text.split(separator if separator.strip() else None)
        numbers = [[is_number(cell.strip().replace(self._point, ".")) for cell in line] for line in (names, below)]
        decimals = sum(self._point in name for name, is_one in zip(names, numbers[0], strict=True) if is_one)
        return all(numbers[0]) or (numbers[0] == numbers[1] and 2 * decimals > len(names))

    def _counts(self, names: Sequence[str], begin: int) -> bool:
        """Whether a first line 0, 1, 2 .. numbers the columns, as pandas does.

        Whole numbers below it do not count on, as a row of indices would, nor stay within the same range.  Of one or
        two columns it may be a row as well: then the rows below tell, in which no program that writes 0 for 0.0 would
        write 1.0, and among which 0 is no first one of falling frequencies or slopes.
        """
        if list(names) != list(map(str, range(len(names)))):
            return False
        text = self._data[begin : begin + BLOCK].decode(errors="replace")
        if len(names) > 2 and any(mark in text for mark in (self._point, "e", "E")):
            return True
        if len(names) > 2:
            lines = [line.replace(";", ",").replace("\t", ",").split(",") for line in text.split()[:MAX_LOOKED]]
            whole = [line for line in lines if len(line) == len(names) and all(map(INTEGER.fullmatch, line))]
            rows = np.array(whole, np.float64).reshape(-1, len(names))
            goes_on = len(rows) < 2 or (np.diff(rows[0]) == 1).mean() > 0.5
            return not goes_on and bool(rows.min() < 0 or rows.max() != len(names) - 1)
        cells = re.split(r"[,;\s]+", text.replace(self._point, ".").strip())[:MAX_LOOKED]
        if not all(NUMBER.fullmatch(cell) for cell in cells) or any(cell.lstrip("+-").isdigit() for cell in cells):
            return False
        numbers = [float(cell) for cell in cells]
        falls = len(names) == 1 and len(numbers) > 2 and numbers[-1] > 0 and numbers == sorted(numbers, reverse=True)
        return falls or any(number.is_integer() for number in numbers)

    @staticmethod
    def _numbers_its_rows(table: pa.Table) -> bool:
        """Whether the first column counts the rows and the others are decimals, as in a file without names.

        Angles of RoPE, which begin with the position times 1, are none: their second column rises evenly too.
        """
        first, *others = table.columns
        if len(first) < MIN_COUNTED or str(first.type) != "int64" or {str(c.type) for c in others} != {"double"}:
            return False
        values, second = _values(first), _values(others[0])
        with np.errstate(all="ignore"):  # a file may hold infinity and NaN
            bend = np.abs(second - np.linspace(second[0], second[-1], len(second))).max()
            return bool((values[1:] == values[:-1] + 1).all() and bend > MIN_BEND * np.ptp(second))

    def _header(self, line: str, separator: str) -> list[str]:
        if separator == " ":
            return [name.strip('"') for name in line.split()]
        try:
            return [read_name(name.strip()) for name in next(csv.reader([line.rstrip("\r")], delimiter=separator))]
        except csv.Error:  # a name of more than 128 KiB
            raise self.source.bad("has a first line without column names: it is damaged or not a table") from None

    def _parsed(self, names: Sequence[str], texts: Sequence[str] = ()) -> pa.Table:
        """Return the named columns, with the columns in `texts` as text; numbers are int64 or float64, or missing."""
        from pyarrow import csv as reader

        read = reader.ReadOptions(column_names=names, block_size=BLOCK)
        parse = reader.ParseOptions(
            delimiter=self._separator, ignore_empty_lines=False, newlines_in_values=self._lists
        )  # fmt: skip
        convert = reader.ConvertOptions(
            decimal_point=self._point, null_values=[""], true_values=[], false_values=[], timestamp_parsers=[],
            column_types=dict.fromkeys(texts, pa.string()), include_columns=list(texts) or None,
        )  # fmt: skip
        try:
            return reader.read_csv(pa.BufferReader(pa.py_buffer(self._data).slice(self._begin)), read, parse, convert)
        except pa.ArrowInvalid as error:
            raise self._fault(len(names)) from error

    def _spread(self, table: pa.Table) -> pa.Table:
        """Return a table with a column for each number of the lists in its cells, as pandas writes lists and arrays."""
        arrays, names = list[Any](), list[str]()
        for name, column in zip(table.column_names, table.columns, strict=True):
            cells = column.to_pylist() if str(column.type) == "string" else []
            if not cells or not all(cell and cell[0] + cell[-1] == "[]" for cell in cells):
                arrays, names = [*arrays, column], [*names, name]
                continue
            numbers = [NUMPY_NUMBER.sub(r"\1", cell)[1:-1].replace(",", " ").split() for cell in cells]
            if any("..." in text for text in numbers):
                raise self.source.bad(f"holds arrays with '...', as NumPy shortens them, in column '{name[:SHOWN]}'")
            if not all(map(is_number, chain(*numbers))):
                arrays, names = [*arrays, column], [*names, name]
                continue
            if len({*map(len, numbers)}) > 1:
                raise self.source.bad(f"holds lists of different lengths in column '{name[:SHOWN]}'")
            values = np.array(numbers, np.float64)
            arrays += [arrow_array(np.ascontiguousarray(one), pa.float64()) for one in values.T]
            names += [f"{name}{k}" for k in range(values.shape[1])]
        return pa.table(arrays, names)

    def _fault(self, width: int) -> BadFile:
        """Return the error that explains why the lines could not be split into columns."""
        lines = self.source.decoded(self._data[self._begin :]).split("\n")
        for number, line in enumerate(lines, self._line):
            if not line.strip() and number < self._line + len(lines) - 1:
                continue
            count = line.count(self._separator) + 1
            if count != width and '"' not in line:
                rule = f"line {number} has {count} value{'s' * (count > 1)}, and the first line has {width}"
                printed = self.source.name == "standard input"
                remedy = "let pecli generate write it with -o -" if printed else "delete lines that are not rows"
                if self._cut and number == self._line + len(lines) - 1:  # the last line, without its end
                    remedy = "the file was cut off, most likely: write it again"
                return self.source.bad(f"{rule}: {remedy}")
        return self.source.bad(f"has lines that are not split into {width} columns, or are longer than {BLOCK:,} bytes")

    def _column_types(self, table: pa.Table) -> dict[str, str]:
        """Return the type of each numeric column, equal for all columns of an array; columns of text are left out.

        An empty cell is NaN, as pandas writes NaN, and so is a whole column of an array.  It is refused among
        positions and at the end of a file without a newline, which may have been cut off.
        """
        names = table.column_names
        types, stems = {}, set()
        for name, column in zip(names, table.columns, strict=True):
            kind = str(column.type)
            if kind not in ("int64", "double", "null"):
                self._refuse_mixed(names, name)
            elif kind != "null":
                is_cut = self._cut and name == names[-1] and not column[-1].is_valid
                if is_cut or (name in KEYS and column.null_count):
                    row = len(column) - 1 - column.is_null().to_pylist()[::-1].index(True)
                    where = self._cell(names, name, row)
                    raise self.source.bad(f"has no value {where}: it is damaged, or has a gap to fill first")
                types[name] = "int64" if kind == "int64" and not column.null_count else "float64"
                stems.add(stem_of(name))
        empty = {name for name, kind in zip(names, table.schema.types, strict=True) if str(kind) == "null"}
        types |= {name: "float64" for name in empty if stem_of(name) in stems}
        types = {name: types[name] for name in names if name in types}
        labels = labels_of(names)
        arrays: dict[tuple[str, bool], list[str]] = {}
        for name in types:
            if name not in labels:
                arrays.setdefault(stem_of(name), []).append(name)
        for (_, parts), members in arrays.items():  # parts of complex values are two float64
            if parts or any(types[name] == "float64" for name in members):
                types.update(dict.fromkeys(members, "float64"))
        return types

    def _refuse_mixed(self, names: Sequence[str], name: str) -> None:
        """Raise if a text column also holds numbers; NaN may be a gap in text, as pandas writes it."""
        texts = self._parsed(names, [name])[name].to_pylist()
        if not any(NUMBER.fullmatch(text) and not math.isnan(float(text)) for text in texts):
            return
        # all are numbers where one has a line break in quotes, which Arrow refuses
        row = next((row for row, text in enumerate(texts) if not NUMBER.fullmatch(text)), 0)
        where = self._cell(names, name, row)
        raise self.source.bad(f"holds '{texts[row][:SHOWN]}' {where}, where a number should stand")

    def _cell(self, names: Sequence[str], name: str, row: int) -> str:
        """Return where a value stands in the file, as text."""
        column = f"'{name[:SHOWN]}'" if self._named else str(names.index(name))
        return f"in line {self._line + row}, column {column}"
