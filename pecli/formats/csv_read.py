"""Reading csv files of any origin: commas, semicolons, tabs or blanks; with a line of names or without."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pecli.formats.column_table import ColumnTable
from pecli.formats.decimals import infer, parse
from pecli.formats.gathered import KEYS, Column
from pecli.formats.stored import RawFile, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIECE = 1 << 20
LONGEST_LINE = 16 << 20
VALUES_AT_ONCE = 1 << 16  # Python's text of a value takes sixty bytes
SAMPLE_ROWS = 64
SAMPLE_VALUES = 20_000
MARK = b"\xef\xbb\xbf"  # what some programs put before UTF-8


class CsvTable(ColumnTable):
    """An open csv file; its rows are found by the places of every so many lines, taken on opening."""

    def __init__(self, source: Source) -> None:
        self.source, self._file = source, RawFile(source)
        try:
            at, first, after = self._first_line()
            self._separator = next((mark for mark in ",;\t" if mark in first), None)
            self._names = self._header(first)
            named = not all(_is_number(name) for name in self._names)
            if not named:
                self._names = [f"array{index}" for index in range(len(self._names))]
            if len(set(self._names)) < len(self._names):
                raise source.bad("has two columns of one name: give each its own")
            self._stride = max(1, VALUES_AT_ONCE // len(self._names))
            self._end = self._last_byte()
            self._places, self._count = self._lines(after if named else at)
            if not self._count:
                raise source.bad("has no rows of numbers")
            self._types = self._infer()
            columns = [Column(name, dtype) for name, dtype in self._types.items()]
            super().__init__(source, "csv", columns, self._count, {})
        except BaseException:
            self.close()
            raise

    def read_columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return entries `start` to `stop` of the named columns."""
        import numpy as np

        found = {name: np.empty(stop - start, self._types[name]) for name in names}
        by_type: dict[str, list[str]] = {}
        for name in found:
            by_type.setdefault(self._types[name], []).append(name)
        for first, rows in self._rows(start, stop):
            for dtype, alike in by_type.items():
                places = [self._places_of[name] for name in alike]
                values = self._parsed([row[place] for row in rows for place in places], dtype).reshape(
                    len(rows), len(alike)
                )
                for index, name in enumerate(alike):
                    found[name][first - start : first - start + len(rows)] = values[:, index]
        return found

    def _parsed(self, texts: list[str], dtype: str) -> NDArray[Any]:
        try:
            return parse(texts, dtype)
        except (ValueError, OverflowError):
            wrong = next((text for text in texts if not _is_number(text)), "a fraction among integers")
            raise self.source.bad(f"holds '{wrong[:40]}' where a number should stand") from None

    def _rows(self, start: int, stop: int) -> Iterator[tuple[int, list[list[str]]]]:
        """Yield rows as text, some at a time, with the number of the first."""
        for mark in range(start // self._stride, -(-stop // self._stride)):
            first = mark * self._stride
            end = self._places[mark + 1] if mark + 1 < len(self._places) else self._end
            data = self._file.read(self._places[mark], end - self._places[mark])
            try:
                lines = data.decode().splitlines()
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
        data = b""
        while b"\n" not in data and at + len(data) < self.source.size:
            if len(data) > LONGEST_LINE:
                raise self.source.bad("has a line of more than 16 MiB: it is no table")
            data += self._file.read(at + len(data), min(PIECE, self.source.size - at - len(data)))
        line = data.split(b"\n", 1)[0]
        try:
            return line.removeprefix(MARK).decode().strip("\r"), at + len(line) + 1
        except UnicodeDecodeError:
            raise self.source.bad("is no text in UTF-8") from None

    def _first_line(self) -> tuple[int, str, int]:
        """Return the first line that is neither blank nor a comment: its place, its text, the next place."""
        at = 0
        while at < self.source.size:
            line, after = self._line(at)
            if line.strip() and not line.startswith("#"):
                return at, line, after
            at = after
        raise self.source.bad("has no rows of numbers")

    def _header(self, line: str) -> list[str]:
        if self._separator is None:
            return line.split()
        return [name.strip() for name in next(csv.reader([line], delimiter=self._separator))]

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
        import numpy as np

        places, count = ([begin], 1) if begin < self._end else ([], 0)
        for low in range(begin, self._end, PIECE):
            piece = np.frombuffer(self._file.read(low, min(PIECE, self._end - low)), np.uint8)
            starts = np.flatnonzero(piece == ord("\n")) + low + 1
            first = -count % self._stride
            places += starts[first :: self._stride].tolist()
            count += len(starts)
        return places, count

    def _infer(self) -> dict[str, str]:
        """Return the type of each column that holds numbers, from the first and the last rows."""
        self._places_of = {name: index for index, name in enumerate(self._names)}
        count = max(1, min(SAMPLE_ROWS, SAMPLE_VALUES // len(self._names), self._count))
        rows = [row for _, part in self._rows(0, count) for row in part]
        rows += [row for _, part in self._rows(self._count - count, self._count) for row in part]
        types: dict[str, str] = {}
        values = []
        for place, name in enumerate(self._names):
            texts = [row[place] for row in rows]
            if not all(map(_is_number, texts)):
                continue
            types[name] = "int64" if name in KEYS and infer(texts) == "int64" else "float64"
            values += texts if name not in KEYS else []
        shared = infer(values) if values else "float64"
        return {name: dtype if name in KEYS else shared for name, dtype in types.items()}

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
