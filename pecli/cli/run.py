"""From arguments to an exit status: signals, errors and broken pipes, in one place."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from typer import Abort, TyperException

from pecli.cli.terminal.output import clean, tell
from pecli.errors import BadRecipe, BrokenPipe, PecliError, UnknownName

OK, DIFFERENT, TROUBLE, BUG = 0, 1, 2, 70
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return its exit status.

    Dying of a broken pipe is done for real, by the signal, as ``cat`` does: a
    shell then sees 141.
    """
    _catch_signals()
    _open_streams()
    debug = "--debug" in arguments  # taken anywhere: the one who meets a bug repeats the command and adds it
    status = TROUBLE
    try:
        words = _meant([word for word in arguments if word != "--debug"])
        if "" in words:
            raise BadRecipe("an argument is empty: is a variable not set?")
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
    except OSError as error:
        # one that names no file is standard output: a full disk behind >, a closed descriptor
        gone = error.errno == errno.ENOENT and error.filename is None
        where = error.filename or ("the working folder" if gone else "standard output")
        tell(clean(f"pecli: {where}: {error.strerror or error}"))
        status = TROUBLE
        _forget_stdout()
    except Exception as error:  # anything else is a bug, and says so
        if debug:
            traceback.print_exc()
        tell(
            f"pecli: internal error: {clean(f'{type(error).__name__}: {error}')}: run again with --debug and report it"
        )
        status = BUG
    return status


def _meant(words: list[str]) -> list[str]:
    """Return the words that Typer understands: ``help COMMAND``, a shell for --show-completion, nothing at all."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if words in ([], ["generate"]):  # who asks for nothing is shown what there is
        words = [*words, "--help"]
    if words[:1] == ["--show-completion"] and len(words) == 2:
        if words[1] not in SHELLS:
            raise UnknownName("shell", clean(words[1]), SHELLS)
        os.environ["_PECLI_COMPLETE"] = f"source_{words[1]}"
        return []
    return words


def _report(error: PecliError | TyperException) -> int:
    """Say in one sentence what is wrong; wrong usage and bad input are both 2."""
    text = error.format_message() if isinstance(error, TyperException) else str(error)
    tell("pecli: " + clean(" ".join(text.split())))
    return error.status if isinstance(error, PecliError) else TROUBLE


def _open_streams() -> None:
    """Make the three streams usable whatever the caller left of them.

    A closed one gets the null device, so that no file of ours takes its number;
    what is then printed to standard output fails as it should.  A character
    that the encoding lacks is written as an escape.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 - it lives as long as the process
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _catch_signals() -> None:
    """Let SIGTERM and SIGHUP unwind, so that temporary files go; SIGPIPE kills, until a file is open."""

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), leave)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


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
