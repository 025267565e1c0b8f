"""Every error of pecli, as one small tree.

Every message is one sentence: what, the value got, the rule, the remedy.  Each
kind also inherits the built-in exception that a caller would expect, so both
styles of ``except`` work.  This module imports nothing of pecli.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast


class PecliError(Exception):
    """Anything that is the caller's to mend; a command line exits with ``status``."""

    status = 2

    def __reduce__(self) -> tuple[object, ...]:
        """Make an error picklable, so that another process can raise it: its text is made once."""
        return _same, (type(self), self.args, vars(self))


def _same(kind: type[PecliError], phrase: tuple[object, ...], known: dict[str, object]) -> PecliError:
    error = kind.__new__(kind)
    error.args = phrase
    vars(error).update(known)
    return error


class BadParameter(PecliError, ValueError):
    """A parameter whose value breaks a rule; the message names keys as recipes do, and a command line as its options.

    Parameters
    ----------
    name : str
        The parameter as its user wrote it, without dashes.
    value : object
        The value got; None where there is none to show.
    rule : str
        What holds for the value, and where it helps the remedy, worded to follow
        "name=value": "must be even: use 6 or 8".
    """

    def __init__(self, name: str, value: object, rule: str) -> None:
        super().__init__(f"{name}={value} {rule}" if value is not None else f"{name} {rule}")
        self.name, self.value, self.rule = name, value, rule


class BadRecipe(PecliError, ValueError):
    """A recipe that does not parse, or lacks something."""


class MissingParameter(BadRecipe):
    """A recipe or a table without something that it needs.

    Parameters
    ----------
    message : str
        What is needed, and after "; for example" what to give.
    example : mapping, optional
        What to give, by the keys of a recipe.
    """

    def __init__(self, message: str, example: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.example = dict(example or {})


class UnknownName(PecliError, LookupError):
    """An unknown name, with a suggestion by meaning or by spelling.

    Parameters
    ----------
    kind : str
        What is named: "format", "array in pe.npz".
    name : str
        The name got.
    known : iterable of str
        The names that there are.
    meant : str, optional
        What the name means, where that is known.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], meant: str | None = None) -> None:
        names = list(known)
        near = meant or nearest(name, names)
        quote = "" if " " in (near or "") else "'"
        remedy = f"known: {', '.join(names)}" if near is None else f"did you mean {quote}{near}{quote}?"
        noun, *where = re.split("(?= of | in )", kind, maxsplit=1)
        super().__init__(f"unknown {noun} '{name}'{''.join(where)}: {remedy}")
        self.kind, self.name, self.known, self.meant = kind, name, names, meant


Function = TypeVar("Function", bound=Callable[..., Any])


def with_known_options(function: Function) -> Function:
    """Return a function that raises UnknownName, with the nearest name, for a keyword that it does not have."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def checked(*values: Any, **options: Any) -> Any:
        for name in options:
            if name not in known:
                raise UnknownName(f"option of {function.__name__}", name, known)
        return function(*values, **options)

    return cast(Function, checked)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelt most like this one; None where none is like it.

    Examples
    --------
    >>> nearest("halves", ["half", "angles"]), nearest("zzz", ["half"])
    ('half', None)
    """
    name = name[:MAX_LETTERS]
    found = max(known, key=lambda other: _likeness(name, other), default="")  # the first of equally near ones
    return found if _likeness(name, found)[0] >= LIKE else None


MAX_LETTERS = 100  # of a name; 20,000 would be compared for seconds
LIKE = 0.64  # of nine pairs that were tried the least that means the same, "halves" and "half", has 0.72


def _likeness(name: str, known: str) -> tuple[float, float]:
    """Return how alike two names are, and then their letters in any order: ``nyp`` means npy rather than npz.

    A common beginning counts for more, up to four letters, as in Winkler's measure.
    """
    first, second = name.lower(), known.lower()
    orders = ((second, first), ("".join(sorted(second)), "".join(sorted(first))))
    alike, shuffled = (difflib.SequenceMatcher(None, *pair).ratio() for pair in orders)
    if f"{first}-".startswith(f"{second}-") and second:
        return 1.0, shuffled  # more of the same, as "ntk-aware" of "ntk"
    begin = next((n for n in range(4) if first[n : n + 1] != second[n : n + 1]), 4)
    return alike + begin * (1 - alike) / 10, shuffled


class UndeclaredHook(PecliError, LookupError):
    """Something asked of an encoding that its declaration does not say."""

    def __init__(self, encoding: str, hook: str) -> None:
        super().__init__(f"{encoding} declares no {hook}")
        self.encoding, self.hook = encoding, hook


class FileError(PecliError, OSError):
    """A file, and what is wrong with it, worded to follow its name."""

    def __init__(self, path: object, rule: str) -> None:
        super().__init__(f"{path}: {rule}")
        self.path = path


class BadFile(FileError):
    """A file that cannot be read as the format it claims to have."""


class SeveralLayers(BadFile):
    """A model's config whose layers have different tables, where one table is needed; `kinds` names the layers."""

    def __init__(self, path: object, kinds: Iterable[str]) -> None:
        self.kinds = tuple(kinds)
        names = ", ".join(self.kinds)
        super().__init__(path, f"has layers with different tables: choose one with --layer-type ({names})")


class WriteFailed(FileError):
    """A file that could not be written; nothing of it is left behind."""


class WouldOverwrite(PecliError, FileExistsError):
    """A file that exists where none may be replaced."""

    def __init__(self, path: object) -> None:
        super().__init__(f"{path} exists and --no-clobber is set: name another file, or leave --no-clobber out")
        self.path = path


class MissingPackage(PecliError, ImportError):
    """A package that a format or a picture needs and that is not installed."""

    def __init__(self, package: str, needed_by: str, remedy: str) -> None:
        super().__init__(f"{needed_by} needs the package {package}: {remedy}")


class BrokenPipe(Exception):
    """The reader of standard output has gone; deliberately no OSError, which Typer would turn into status 1."""
