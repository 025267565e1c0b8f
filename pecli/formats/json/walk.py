"""A walk through a JSON file of any length: objects are taken as they are, and of lists only their places.

What is read at once are pieces of a list that end after a comma.  Python's own
reader makes sense of each, once the brackets that are open are put around it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from pecli.formats.common.input import RawFile
from pecli.formats.common.stored import MOST_ARRAYS
from pecli.numbers.limits import limit, size_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
