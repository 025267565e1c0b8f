"""A config's keys, remembering which were read, and the outcome of each: used, ignored, warned of."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

from pecli.errors import BadFile
from pecli.models.reading import Key
from pecli.numbers.bounds import LARGEST_CONFIG
from pecli.numbers.decimals import number_text

LARGEST = 1 << 53  # below it a whole number is a float64
SHORTEST_WORD = 3  # letters of the longer of two words that may differ: with 2, q_rank is a slip of qk_rank
Number = int | Decimal


def as_stored(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config in memory as its file would be read: numbers as exact decimals."""
    found: dict[str, Any] = json.loads(json.dumps(dict(config), default=str), parse_float=Decimal)
    return found


def load_config(path: str | Path, repeated: list[str] | None = None) -> dict[str, Any]:
    """Return the JSON object of a config, a file or the config.json of a folder, with its numbers as exact decimals.

    Keys that stand twice in an object are added to `repeated`.

    Raises
    ------
    BadFile
        For a folder without one, a file that cannot be read, what is not JSON, or is no object.
    """
    file = Path(path)
    if file.is_dir():
        file /= "config.json"
        if not file.exists():
            raise BadFile(path, "is a folder without config.json: name a model's folder, or its config")
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_CONFIG + 1)
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error
    if len(data) > LARGEST_CONFIG:
        raise BadFile(path, f"is larger than {LARGEST_CONFIG >> 20} MiB: that is not a config.json")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if repeated is not None and len(dict(pairs)) < len(pairs):
            repeated.extend(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        return dict(pairs)

    try:
        loaded = json.loads(data, parse_float=Decimal, object_pairs_hook=once)
    except ArithmeticError as error:
        raise BadFile(path, "holds a number whose exponent no number has") from error
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        rule = f"is not JSON{where}, so it is not a model's config.json" if data else "is empty"
        raise BadFile(path, rule) from error
    if not isinstance(loaded, dict):
        raise BadFile(path, "is JSON but no object: a config.json has keys and values")
    return loaded


class Keys:
    """The keys of one config, or of a part of it.

    Parameters
    ----------
    data : mapping
        The JSON object.
    path : str or Path
        The file, for messages.
    names : mapping of str to str, optional
        Other names: the generic key to the family's own.
    where : str
        Dotted path of this part inside the file, with its dot.

    Attributes
    ----------
    used : set of str
        Keys that were read.
    missing : dict of str
        Keys that were looked for and are not there, with the default that was taken.
    """

    def __init__(
        self, data: Mapping[str, Any], path: str | Path, names: Mapping[str, str] | None = None, where: str = ""
    ) -> None:
        self.data = data
        self.path = path
        self.names = dict(names or {})
        self.where = where
        self.used: set[str] = set()
        self.missing: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        found = self.named(name) in self.data
        if not found:
            self.missing.setdefault(self.named(name))
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """Return a key's value by its generic name, and remember that it was read."""
        key = self.named(name)
        if key in self.data:
            self.used.add(key)
            return self.data[key]
        if self.missing.get(key) is None:
            self.missing[key] = default
        return default

    def lookup(self, name: str) -> Any:
        """Return a key's value, of a key inside an object by its dotted path."""
        outer, dot, inner = name.partition(".")
        value = self.get(outer)
        return value if not dot else value.get(inner) if isinstance(value, dict) else None

    def integer(self, name: str, default: int | None = None, minimum: int = 1) -> int | None:
        """Return a whole number; null counts as absent.

        Raises
        ------
        BadFile
            If the key has another value, or one below `minimum`.
        """
        value = self.get(name, default)
        if value is None or name not in self:
            return default
        if isinstance(value, Decimal) and value.copy_abs() < LARGEST and value == value.to_integral_value():
            value = int(value)
        if isinstance(value, int | Decimal) and value >= LARGEST:
            raise self.bad(f"has {self.named(name)} {shown(value)}: it must be below 2^53")
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise self.bad(f"has {self.named(name)} {shown(value)}: it must be a whole number of at least {minimum}")
        return value

    def named(self, name: str) -> str:
        """Return a generic key as the file calls it, which a family may do otherwise."""
        return name if name in self.data else self.names.get(name, name)

    def needed(self, name: str, default: int | None) -> int:
        """Return a whole number that must be known."""
        value = self.integer(name, default)
        if value is None:
            raise self.bad(f"has no {name}, and this model type has no default for it")
        return value

    def lacks(self, where: str, name: str, kind: object, given: Iterable[str]) -> BadFile:
        """Return the error for a scaling, of these keys, without one that it requires."""
        need = f"which rope type {kind} requires"
        near = next((key for key in given if nearly(key, [name])), None)
        if near is not None:
            return self.bad(f"has {where}.{near}: did you mean {name}, {need}?")
        return self.bad(f"has no {where}.{name}, {need}")

    def bad(self, rule: str) -> BadFile:
        """Return the error for this file."""
        place = self.where.rstrip(".")
        return BadFile(self.path, f"{place} {rule}" if place else rule)


@dataclass(eq=False, repr=False)
class Notes:
    """Collected while a config is read; the words are for people."""

    used: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)  # each once, in order
    faults: dict[str, None] = field(default_factory=dict)
    explained: set[str] = field(default_factory=set)
    misspelled: list[str] = field(default_factory=list)

    def use(self, name: str, meaning: str) -> None:
        """Record a key that was read."""
        self.used.setdefault(name, meaning)

    def ignore(self, name: str, reason: str, explained: bool = False) -> None:
        """Record a key that is present and has no effect; `explained` if no further warning is needed."""
        self.ignored.setdefault(name, reason)
        if explained:
            self.explained.add(name)

    def warn_of_ignored(self, where: str) -> None:
        """Warn of every key without effect that is not explained yet."""
        for name, reason in self.ignored.items():
            if name not in self.used and name not in self.explained:
                self.warn(f"{where}{name} has no effect: {reason}")

    def warn(self, text: str) -> None:
        """Record something that a user must hear of."""
        self.warnings[text] = None

    def misspell(self, where: str, name: str, meant: str, default: Any) -> None:
        """Record an unread key whose name is close to a key that was looked for."""
        value = None if isinstance(default, bool) else number(default)
        taken = "the default is used"
        if value is not None:
            taken = f"{'base ' * (meant == 'rope_theta')}{number_text(value)} is the default"
        text = f"{where}{name} is not read; did you mean {meant}? {taken}"
        self.ignore(name, f"did you mean {meant}?", explained=True)
        self.misspelled.append(text)
        self.warn(text)

    def fault(self, text: str) -> None:
        """Record where the framework departs from the key's meaning."""
        self.faults[text] = None

    def keys(self) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
        """Return used and ignored keys; one that was used for anything counts as used."""
        ignored = {name: reason for name, reason in self.ignored.items() if name not in self.used}
        return tuple(Key(*item) for item in self.used.items()), tuple(Key(*item) for item in ignored.items())


def nearly(name: str, names: Iterable[str]) -> str | None:
    """Return the name that differs from this one by a slip of the keyboard in each word at most, or by its spelling.

    Words must be as many (v_head_dim is no head_dim), and short ones equal (n_heads is no num_heads).
    """
    words = _words_of(name)
    for other in names:
        others = _words_of(other)
        slips = len(words) == len(others) and all(map(_one_slip, words, others))
        if slips or "".join(words) == "".join(others):
            return other
    return None


def _words_of(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", name).lower().split("_")


def _one_slip(word: str, other: str) -> bool:
    """Whether one letter is missing, too many or another one, or the letters have changed places."""
    if word == other:
        return True
    if max(len(word), len(other)) < SHORTEST_WORD or re.sub(r"\D", "", word) != re.sub(r"\D", "", other):
        return False
    start = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    a, b = word[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or sorted(a) == sorted(b)


def number(value: Any) -> Number | None:
    """Return a JSON number; None for anything else: true, or Infinity, which Mamba 2's configs hold, also as 1e999."""
    if isinstance(value, bool) or (isinstance(value, float | Decimal) and not isfinite(value)):
        return None
    if isinstance(value, float):  # a share that was computed in double precision, as the frameworks do
        return Decimal(value)
    return value if isinstance(value, int | Decimal) else None


def shown(value: Any) -> str:
    """Return a JSON value as a reader of the file would see it, cut short."""
    if isinstance(value, int) and abs(value) >= 10**40:  # 1e9096 is an integer that Python does not print
        value = Decimal(value).normalize()
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:37] + "..."
