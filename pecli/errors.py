"""What can go wrong, as one small tree.

Every message is one sentence: what, the value got, the rule, the remedy.  Each
kind also inherits the built-in exception that a caller would expect, so both
styles of ``except`` work.  This module imports nothing of pecli.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PecliError(Exception):
    """Anything that is the caller's to mend; a command line exits with ``status``."""

    status = 2


class BadParameter(PecliError, ValueError):
    """A parameter whose value breaks a rule.

    Parameters
    ----------
    name : str
        The parameter as its user wrote it, without dashes.
    value : object
        The value got.
    rule : str
        What holds for the value, and where it helps the remedy, worded to follow
        "name=value": "must be even: use 6 or 8".
    """

    def __init__(self, name: str, value: object, rule: str) -> None:
        super().__init__(f"{name}={value} {rule}")
        self.name, self.value, self.rule = name, value, rule


class BadRecipe(PecliError, ValueError):
    """A recipe that does not parse, or lacks something."""


class UnknownName(PecliError, LookupError):
    """A name that nothing bears, with the nearest that something does."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = list(known)
        near = max(names, key=lambda known: _likeness(name, known), default="")  # the first of equally near ones
        remedy = f"did you mean '{near}'?" if _likeness(name, near)[0] >= 0.6 else f"known: {', '.join(names)}."
        super().__init__(f"unknown {kind} '{name}': {remedy}")
        self.kind, self.name, self.known = kind, name, names


def _likeness(name: str, known: str) -> tuple[float, float]:
    """Return how alike two names are, and then their letters in any order: ``nyp`` means npy rather than npz."""
    orders = ((known, name), ("".join(sorted(known)), "".join(sorted(name))))
    first, second = (difflib.SequenceMatcher(None, *pair).ratio() for pair in orders)
    return first, second


class UndeclaredHook(PecliError, LookupError):
    """Something asked of an encoding that its declaration does not say."""

    def __init__(self, encoding: str, hook: str) -> None:
        super().__init__(f"{encoding} declares no {hook}")
        self.encoding, self.hook = encoding, hook


class BadFile(PecliError, OSError):
    """A file that cannot be read as what it claims to be."""

    def __init__(self, path: object, rule: str) -> None:
        super().__init__(f"{path}: {rule}")
        self.path = path


class WriteFailed(PecliError, OSError):
    """A file that could not be written; nothing of it is left behind."""

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class WouldOverwrite(PecliError, FileExistsError):
    """A file that exists where none may be replaced."""

    def __init__(self, path: object) -> None:
        super().__init__(f"{path} exists and --no-clobber is set: name another file, or leave --no-clobber out")
        self.path = path


class MissingPackage(PecliError, ImportError):
    """A package that a format or a picture needs and that is not installed."""

    def __init__(self, package: str, remedy: str) -> None:
        super().__init__(f"the package {package} is not installed: {remedy}")


class BrokenPipe(Exception):
    """The reader of standard output has gone; deliberately no OSError, which Typer would turn into status 1."""
