"""What may fail while a connection is lost: it is tried again, and what it failed of is one sentence."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from pecli.errors import BadFile, PecliError, WriteFailed
from pecli.numbers.urls import shown
from pecli.process import notice

TRIES = 5
PAUSE = 0.5  # seconds before the second try, doubled for each further one

ENOUGH = 60.0  # seconds after which nothing is tried again: a silent server is waited for long each time

Result = TypeVar("Result")


def tried(name: str, act: Callable[[], Result]) -> Result:
    """Do what may fail while a connection is lost, some times; say so each time.

    Raises
    ------
    BadFile
        If it fails for good.
    """
    began = time.monotonic()
    for number in range(1, TRIES + 1):
        try:
            return act()
        except PecliError:
            raise
        except Exception as said:
            error = _cause(said)
            if _final(error) or number == TRIES or time.monotonic() - began > ENOUGH:
                raise BadFile(name, _reason(error)) from error
            notice(f"{name}: {brief(error)}: trying again, {number} of {TRIES - 1}")
            time.sleep(PAUSE * 2 ** (number - 1))
    raise AssertionError


@contextlib.contextmanager
def told(name: str) -> Iterator[None]:
    """Tell in one sentence what hinders writing.

    Raises
    ------
    WriteFailed
        Of whatever it is.
    """
    try:
        yield
    except PecliError:
        raise
    except Exception as error:
        raise WriteFailed(name, _reason(error)) from error


def _cause(error: Exception) -> BaseException:
    """Return what really failed: a lost connection is told as a file that is not there, by the client of HTTP."""
    cause = error.__cause__
    if isinstance(cause, PecliError):  # what is refused is no file, to the client of HTTP
        raise cause
    lost = isinstance(cause, TimeoutError) or type(cause).__module__.startswith("aiohttp")
    if isinstance(error, FileNotFoundError) and cause is not None and lost:
        return error if getattr(cause, "status", None) in (404, 410) else cause
    return error


def _final(error: BaseException) -> bool:
    """Whether trying again is of no use."""
    if isinstance(error, FileNotFoundError | PermissionError | NotImplementedError):
        return True
    status = getattr(error, "status", None)
    return "redentials" in str(error) or (isinstance(status, int) and 400 <= status < 500 and status not in (408, 429))


def _reason(error: BaseException) -> str:
    said = brief(error)
    if "bucket" in said.lower() and "not exist" in said.lower():
        return "the bucket does not exist: make it first, or check the name"
    if isinstance(error, FileNotFoundError):
        return "does not exist: check the name"
    if isinstance(error, PermissionError) or getattr(error, "status", 0) in (401, 403):
        return "may not be opened: check the credentials in the protocol's own configuration"
    if "redentials" in said:
        return "needs credentials: give them in the protocol's own configuration (AWS_PROFILE, say)"
    if isinstance(error, TimeoutError) or "timed out" in said.lower() or "timeout" in type(error).__name__.lower():
        return "its server does not answer: check the address, or try again later"
    return f"cannot be reached ({said}): check the address, or try again later"


def brief(error: BaseException) -> str:
    """Return what an error says in one line, without what URLs in it keep secret."""
    text = " ".join(shown(str(error), secrets=True).split()) or type(error).__name__
    return text if len(text) < 200 else f"{text[:200]}..."
