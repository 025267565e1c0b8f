"""The process as its caller's shell sees it: which signals kill it at once, and which first let it clean up.

A signal that ends a program kills this one immediately, for as long as there is nothing to clean up:
no handler runs, so nothing can be caught in the middle of an import.  Only within :func:`unwinding` it raises
:class:`Interrupted`, and the process dies of the signal afterwards, so that a shell's loop stops too.
This module loads nothing but what the interpreter has anyway.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

ENDING = ("INT", "TERM", "HUP", "QUIT", "XCPU", "USR1", "USR2", "ALRM", "VTALRM", "PROF")
PATIENCE = 2.0  # seconds that cleaning up may take before a further signal interrupts it too
# Seconds until that signal comes by itself: a lock that the interrupt left locked would be waited for without end.
GRACE = 10.0

_is_command = False
_received: list[int] = []  # the signal that ends the process, once there is one; then what interrupted cleaning up
_since = 0.0


class Interrupted(BaseException):
    """A signal that ends the process came; deliberately no Exception, so that nothing keeps it."""


def become_command() -> None:
    """Let the signals that end a program kill this one immediately; signals that the caller ignores stay ignored."""
    global _is_command
    _is_command = True
    for number in _existing(*ENDING):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _at_once())
    for number in _existing("PIPE"):  # which Python itself ignores
        signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def unwinding(farewell: str = "") -> Iterator[None]:
    """Let signals raise :class:`Interrupted` while there is something to clean up; a broken pipe is an error then.

    Once that is done, an interrupted process writes `farewell` to standard error.
    Changes nothing in a program that imports pecli: the signals are its own there.
    """
    before = {n: signal.getsignal(n) for n in _existing(*ENDING, "PIPE")} if _is_command else {}
    try:
        for number in before:
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_IGN if number in _existing("PIPE") else _unwind)
        yield
    finally:
        if _received:
            if farewell:
                with contextlib.suppress(OSError, ValueError):
                    sys.stderr.write(f"{farewell}\n")
                    sys.stderr.flush()
            die()
        for number in before:
            signal.signal(number, before[number])


def keep_connections() -> None:
    """Let a connection that its server has closed raise an error from now on instead of killing the process."""
    for number in _existing("PIPE") if _is_command else ():
        with contextlib.suppress(ValueError):  # of another thread than the main one, which works under `unwinding`
            signal.signal(number, signal.SIG_IGN)


def was_interrupted() -> bool:
    """Whether a terminating signal has arrived, even if a library caught the exception it raised."""
    return bool(_received)


def die(number: int | None = None) -> NoReturn:
    """Die of a signal, by default of the one that came, so that a shell sees 128 and its number."""
    number = _received[0] if number is None else number
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # the first process of a container cannot die of a signal


def leave(status: int) -> NoReturn:
    """End the process at once: taking the interpreter apart, module by module, adds 22 % to the main job's CPU time.

    What others rely on at the end still happens: handlers registered with :mod:`atexit` run (coverage, temporary
    files), streams are flushed.  Where a tracer, a profiler, ``python -i`` or a thread that is to be waited for is
    there, or flushing fails, the interpreter leaves in its own way.
    """
    import atexit
    import threading

    waited = any(not thread.daemon and thread is not threading.main_thread() for thread in threading.enumerate())
    if waited or sys.flags.inspect or sys.flags.interactive or _is_watched():
        sys.exit(status)
    keep_connections()  # zarr's event loop writes to its own closed socket when it ends
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(status)
    os._exit(status)


def _is_watched() -> bool:
    """Whether a tracer or a profiler is active, which reports once the program has ended."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12
    tools = map(monitoring.get_tool, range(6)) if monitoring else ()
    return sys.gettrace() is not None or sys.getprofile() is not None or any(tools)


def _unwind(number: int, frame: FrameType | None) -> None:
    """Raise :class:`Interrupted`; again where cleaning up takes long, and the third time die at once."""
    global _since
    now = time.monotonic()
    if _received and now - _since < PATIENCE:
        return
    if len(_received) > 1:
        die()
    _received.append(number)
    _since = now
    sys.unraisablehook = lambda _: None  # where it cannot be raised (a finalizer) there is nothing to tell
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _unwind)
        signal.setitimer(signal.ITIMER_REAL, GRACE)
    raise Interrupted


def _at_once() -> Callable[[int, FrameType | None], None] | signal.Handlers:
    return _exit if os.getpid() == 1 else signal.SIG_DFL


def _exit(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)


def _existing(*names: str) -> list[int]:
    return [getattr(signal, f"SIG{name}") for name in names if hasattr(signal, f"SIG{name}")]
