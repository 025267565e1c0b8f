"""Limits of what is read at once of a file that somebody else made; one option raises them all."""

from __future__ import annotations

_least = 0


def raise_limits(size: int) -> None:
    """Let no limit be below so many bytes from now on."""
    global _least
    _least = size


def limit(size: int) -> int:
    """Return a limit of so many bytes, or what it was raised to."""
    return max(size, _least)


def size_text(size: int) -> str:
    """Return a limit as messages say it, with how to raise it.

    Examples
    --------
    >>> size_text(16 << 20)
    'at most 16 MiB are read (more with --limit SIZE)'
    """
    return f"at most {size >> 20} MiB are read (more with --limit SIZE)"
