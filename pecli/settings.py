"""Limits and preferences of one command: one value, which the threads that work for it see, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Settings(NamedTuple):
    """Settings that hold while a command runs; a program that imports pecli has the defaults.

    Attributes
    ----------
    limit : int
        Bytes of a file that may be read at once where a reader's own limit is lower.
    trusts_recipes : bool
        Whether a recipe that stands in a file may name other files.
    decimals : int or None
        Decimals of every printed number; None for what suits each.
    tell : callable or None
        Is called with each message; None where nobody listens.
    """

    limit: int = 0
    trusts_recipes: bool = False
    decimals: int | None = None
    tell: Callable[[str], None] | None = None


_DEFAULTS = Settings()
_SETTINGS: ContextVar[Settings] = ContextVar("settings", default=_DEFAULTS)


def settings() -> Settings:
    """Return the settings that hold here."""
    return _SETTINGS.get()


@contextmanager
def using(chosen: Settings) -> Iterator[None]:
    """Let these settings hold inside."""
    token = _SETTINGS.set(chosen)
    try:
        yield
    finally:
        _SETTINGS.reset(token)


def notice(text: str) -> None:
    """Pass a progress message to the listener, if there is one."""
    tell = settings().tell
    if tell is not None:
        tell(text)
