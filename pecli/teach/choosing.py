"""Choosing an encoding: recommendations for a task, and a filter by declared facts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from pecli.errors import BadParameter, UnknownName
from pecli.spec.declaration import Encoding, Facts

Holds = Callable[[Encoding], bool]


@dataclass(frozen=True)
class Recommendations:
    """Recommendations for one task.

    Parameters
    ----------
    name, title : str
        As typed, and as a heading.
    names : tuple of str
        Other names of the task.
    choose : tuple of (recipe, reason)
        Best first.
    avoid : str
        Choices that fail at this task.
    sources : tuple of str
        Papers, by arXiv number.
    """

    name: str
    title: str
    names: tuple[str, ...]
    choose: tuple[tuple[str, str], ...]
    avoid: str
    sources: tuple[str, ...]


@cache
def tasks() -> dict[str, Recommendations]:
    """Return the tasks of ``tasks.toml`` by name, in its order."""
    read = tomllib.loads(Path(__file__).with_name("tasks.toml").read_text())
    return {
        name: Recommendations(name, **{key: _frozen(value) for key, value in keys.items()})
        for name, keys in read.items()
    }


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def named_tasks(text: str) -> list[Recommendations]:
    """Return the task of a name, in any case and with spaces or hyphens; else those that have most of these words.

    Raises
    ------
    UnknownName
        With the nearest task, or all of them.

    Examples
    --------
    >>> [one.name for one in named_tasks("Long context")], [one.name for one in named_tasks("a context of 128k")]
    (['long-context'], ['long-context', 'serving'])
    """
    name = "-".join(text.lower().replace("_", " ").split())
    for one in tasks().values():
        if name in (one.name, *one.names):
            return [one]
    words = set(name.split("-"))
    counts = {one.name: len(words & _words(one)) for one in tasks().values()}
    found = [tasks()[name] for name, count in counts.items() if count == max(counts.values()) > 0]
    if found and len(found) <= MAX_TASKS:
        return found
    raise UnknownName("task", text, tuple(tasks()))


MAX_TASKS = 2  # that a text may name; more share a word that says nothing
COMMON = frozenset(["a", "and", "at", "for", "in", "model", "models", "of", "or", "the", "to", "with"])


def _words(one: Recommendations) -> set[str]:
    """Return the words of a task's names and title."""
    text = " ".join((one.name, one.title, *one.names)).lower()
    return set(re.findall(r"[a-z0-9]+", text)) - COMMON


def where(encodings: Iterable[Encoding], conditions: str) -> list[Encoding]:
    """Return the encodings whose declared facts are these.

    Parameters
    ----------
    encodings : iterable of Encoding
    conditions : str
        ``fact=word`` separated by commas.  A word is yes, no or the fact's own; ``relative=yes`` takes any kind.
        ``family`` is a fact too.

    Raises
    ------
    UnknownName, BadParameter
        For another fact, or a word that it never has.
    """
    rules = [_rule(text.strip(), tuple(encodings)) for text in conditions.split(",")]
    return [e for e in encodings if all(rule(e) for rule in rules)]


def _rule(text: str, encodings: Sequence[Encoding]) -> Holds:
    name, equals, word = text.partition("=")
    if not equals:
        raise BadParameter("where", text, "needs a word: write it as fact=word, such as relative=yes")
    known = ("family", *(field.name.replace("_", "-") for field in fields(Facts)))
    if name not in known:
        raise UnknownName("fact", name, known)

    def stated(encoding: Encoding) -> str:
        return {"family": encoding.family.word, **encoding.facts.words}[name.replace("-", "_")]

    spoken = set(map(stated, encodings))
    if word == "yes" and "no" in spoken:
        return lambda e: stated(e) != "no"
    if word not in spoken:
        raise BadParameter("where", text, f"says what {name} never is: give one of {', '.join(sorted(spoken))}")
    return lambda e: stated(e) == word
