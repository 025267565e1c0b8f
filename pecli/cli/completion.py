"""What completes a source: files, arrays in them, and recipes with their keys and choices."""

from __future__ import annotations

import glob
import os

from pecli.errors import PecliError
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import TABLE_KEYS

BREAKS = ":="  # bash makes words of their own of these, and completes what stands after the last
BEFORE = "_PECLI_BEFORE"  # the variable that holds what stands before it


def source_words(incomplete: str) -> list[str]:
    """Return the sources that begin so; in bash the part of them that it completes."""
    before = os.environ.get(BEFORE, "")
    return [word[len(before) :] for word in _sources(before + incomplete) if word.startswith(before + incomplete)]


def _sources(incomplete: str) -> list[str]:

    path, colons, _ = incomplete.partition("::")
    if colons and os.path.isfile(path):
        return _arrays(path)
    name, colon, _ = incomplete.partition(":")
    if colon and name in CATALOGUE:
        return _keys(name, incomplete)
    files = [f"{name}/" if os.path.isdir(name) else name for name in sorted(glob.glob(glob.escape(incomplete) + "*"))]
    return [*files, *CATALOGUE]


def _arrays(path: str) -> list[str]:
    from pecli.formats import open_table

    try:
        return [f"{path}::{array.name}" for array in open_table(path).arrays]
    except (PecliError, OSError):
        return []


def _keys(name: str, incomplete: str) -> list[str]:
    """Return a recipe with each key that may come next, or with each choice of the key that stands there."""
    at = 1 + max(incomplete.rfind(mark) for mark in ":,")
    before, (key, equals, _) = incomplete[:at], incomplete[at:].partition("=")
    options = CATALOGUE[name].options
    if equals:
        return [f"{before}{key}={choice}" for option in options if option.option == key for choice in option.choices]
    return [f"{before}{word}=" for word in (*(option.option for option in options), *TABLE_KEYS)]


def rejoin(words: list[str], place: int) -> tuple[list[str], str]:
    """Return the words before the one that bash completes, and that one as it was typed, which bash broke at BREAKS.

    Examples
    --------
    >>> rejoin(["pecli", "inspect", "rope", ":", "dim", "=", "4,sc"], 6)
    (['pecli', 'inspect'], 'rope:dim=4,sc')
    """
    last = words[place] if place < len(words) else ""
    before = words[:place]
    while len(before) > 2 and (last[:1] in tuple(BREAKS) or before[-1][-1:] in tuple(BREAKS)):
        last = before.pop() + last
    return before, last


def take_bash() -> None:
    """Make of the words that bash gives those that were typed."""
    before, last = rejoin(os.environ["COMP_WORDS"].split(), int(os.environ["COMP_CWORD"]))
    cut = 0 if last.startswith("-") else 1 + max(last.rfind(mark) for mark in BREAKS)
    os.environ |= {"COMP_WORDS": " ".join([*before, last[cut:]]), "COMP_CWORD": str(len(before)), BEFORE: last[:cut]}
