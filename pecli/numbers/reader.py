"""Who opens files of numbers: the reader that was handed in; so light that it costs no command anything.

A recipe may stand in a file that somebody else made.  Such a text is a :class:`StatedText`, and so are the values that
are taken from it; a path that is one is opened only where the user trusts recipes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from pecli.errors import BadRecipe

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


class StatedText(str):
    """What a file states of itself, such as its recipe; ``str`` of it is a text that the caller vouches for."""

    __slots__ = ()


NumberReader = Callable[[str], NumberFile]
"""Opens ``FILE``, ``FILE::NAME`` or ``-``; raises :class:`BadFile` and :class:`UnknownName`."""

_reader: NumberReader | None = None
_trusts_recipes = False


def hand_in(reader: NumberReader) -> None:
    """Say who opens files of numbers."""
    global _reader
    _reader = reader


def trust_recipes(trusted: bool = True) -> None:
    """Let recipes that stand in files name other files from now on, or not."""
    global _trusts_recipes
    _trusts_recipes = trusted


def open_numbers(path: str) -> NumberFile:
    """Open a file of numbers with the reader that was handed in.

    Raises
    ------
    BadRecipe
        If a recipe that stands in a file names it, and such recipes are not trusted.
    """
    if isinstance(path, StatedText) and not _trusts_recipes:
        rule = "which a recipe in a file may not do: give --trust-recipe, if you know where it comes from"
        raise BadRecipe(f"the recipe names the file {path!r}, {rule}")
    assert _reader is not None, "importing pecli hands one in"
    return _reader(path)
