"""Who opens files of numbers: the reader that was handed in; so light that it costs no command anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pecli.numbers.arrays import StoredArray


class NumberFile(Protocol):
    """A file of numbers, opened."""

    @property
    def path(self) -> str:
        """What messages call it."""

    def text(self) -> str | None:
        """Return what it holds, if it is a text; :class:`BadFile` if it is too long."""

    def arrays(self) -> Mapping[str, StoredArray]:
        """Return its arrays by name; the one array of a plain text is called ``array``."""


NumberReader = Callable[[str], NumberFile]
"""Opens ``FILE``, ``FILE::NAME`` or ``-``; raises :class:`BadFile` and :class:`UnknownName`."""

_reader: NumberReader | None = None


def hand_in(reader: NumberReader) -> None:
    """Say who opens files of numbers."""
    global _reader
    _reader = reader


def open_numbers(path: str) -> NumberFile:
    """Open a file of numbers with the reader that was handed in."""
    assert _reader is not None, "importing pecli hands one in"
    return _reader(path)
