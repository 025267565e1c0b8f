"""From arguments to an exit status: signals, errors and broken pipes, in one place."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from typer import Abort, TyperException

from pecli.cli.output import clean, tell
from pecli.errors import BrokenPipe, PecliError

OK, DIFFERENT, TROUBLE, BUG = 0, 1, 2, 70


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return its exit status.

    Dying of a broken pipe is done for real, by the signal, as ``cat`` does: a
    shell then sees 141.
    """
    _catch_signals()
    debug = "--debug" in arguments  # taken anywhere: the one who meets a bug repeats the command and adds it
    words = [word for word in arguments if word != "--debug"]
    if words in ([], ["generate"]):  # who asks for nothing is shown what there is
        words.append("--help")
    status = TROUBLE
    try:
        from pecli.cli import make_app

        result = make_app()(words, prog_name="pecli", standalone_mode=False)
        status = result if isinstance(result, int) else OK
        sys.stdout.flush()
    except (BrokenPipe, BrokenPipeError):
        _die_of_sigpipe()
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    except (PecliError, TyperException) as error:
        status = _report(error)
    except Abort:
        status = TROUBLE
    except MemoryError:
        tell("pecli: not enough memory for this table: write it to a file with -o, which takes the same for any length")
    except OSError as error:  # what is left is standard output: a full disk behind >, a closed descriptor
        tell(f"pecli: standard output: {error.strerror or error}: nothing more could be written")
        _forget_stdout()
    except Exception as error:  # anything else is a bug, and says so
        if debug:
            traceback.print_exc()
        tell(
            f"pecli: internal error: {clean(f'{type(error).__name__}: {error}')}: run again with --debug and report it"
        )
        status = BUG
    return status


def _report(error: PecliError | TyperException) -> int:
    """Say in one sentence what is wrong; wrong usage and bad input are both 2."""
    text = error.format_message() if isinstance(error, TyperException) else str(error)
    tell("pecli: " + clean(" ".join(text.split())))
    return error.status if isinstance(error, PecliError) else TROUBLE


def _catch_signals() -> None:
    """Let SIGTERM and SIGHUP unwind, so that temporary files go; SIGPIPE kills, until a file is open."""

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), leave)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def hold_sigpipe() -> None:
    """Turn SIGPIPE into an error that unwinds; called before a command opens a file to write."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def _die_of_sigpipe() -> NoReturn:
    _forget_stdout()
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    raise SystemExit(141)


def _forget_stdout() -> None:
    """Point standard output at nothing, so that the interpreter's last flush raises no second error."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
