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

from typer import Abort, TyperException

from pecli.cli.commands import make_app, rewritten
from pecli.cli.terminal.output import clean, tell
from pecli.errors import BadRecipe, BrokenPipe, PecliError, UnknownName
from pecli.numbers.decimals import shorten
from pecli.numbers.reader import url_name
from pecli.process import die, was_interrupted
from pecli.settings import Settings, using

OK, DIFFERENT, TROUBLE, BUG = 0, 1, 2, 70
LONGEST_WORD, LONGEST_LINE = 400, 2000  # characters of a message; a path may take 400
MAX_WIDTH_DIGITS = 5  # of COLUMNS, which states the width of the screen
WITHOUT_MEMORY = ("failed to map segment", "llocate memory", "start new thread", "launch worker thread")
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return its exit status.

    Dying of a broken pipe or of another signal is done for real, by the signal,
    as ``cat`` does: a shell then sees 141, or 130, 143 and 129.
    """
    _open_streams()
    for word in arguments:
        url_name(word)
    try:
        # taken anywhere: the one who meets a bug repeats the command and adds it
        words = rewritten(_meant(_without_plugins([word for word in arguments if word != "--debug"])))
        if "" in words:
            raise BadRecipe("an argument is empty: is a variable not set?")
        if words[:1] == ["--install-completion"] and len(words) == 2:  # Typer ignores the shell that is named
            from typer._completion_shared import install

            tell(f"pecli: wrote {install(_shell(words[1]), 'pecli')[1]}: completion works in a new terminal")
            return OK
        with using(Settings(tell=lambda text: tell(clean(f"pecli: {text}")))):
            result = _executed(words)
        sys.stdout.flush()
        return result if isinstance(result, int) else OK
    except BaseException as error:
        if was_interrupted():
            die()
        try:
            return _reported(error, arguments)
        except MemoryError:  # saying it takes some too
            os.write(2, b"pecli: not enough memory here: allow more (ulimit -v)\n")
            return TROUBLE


def _executed(words: list[str]) -> object:
    """Run a command; options of an encoding that stand outside its recipe are put into it."""
    try:
        return make_app()(words, prog_name="pecli", standalone_mode=False)
    except TyperException as error:
        from pecli.cli.usage import folded

        if (again := folded(error, words)) is None:
            raise
    return _executed(again)


def _without_plugins(words: list[str]) -> list[str]:
    """Read the files that ``--plugin`` names, wherever it stands; return the other words."""
    left, rest = [], iter(words)
    for word in rest:
        name, equals, path = word.partition("=")
        if name != "--plugin":
            left.append(word)
            continue
        path = path if equals else next(rest, "")
        if not path:
            raise BadRecipe("--plugin needs a file: --plugin my_encoding.py")
        from pecli.spec.catalogue import load_file

        load_file(path)
    return left


def _reported(error: BaseException, arguments: Sequence[str]) -> int:
    """Say in one sentence what went wrong; return the exit status."""
    if isinstance(error, BrokenPipe | BrokenPipeError):
        _forget_stdout()
        if hasattr(signal, "SIGPIPE"):
            die(signal.SIGPIPE)
        raise SystemExit(141)
    if isinstance(error, Abort):
        return TROUBLE
    if isinstance(error, PecliError):
        tell(_brief(f"pecli: {error}"))
        return error.status
    if isinstance(error, TyperException):
        from pecli.cli.usage import explain

        try:
            tell(_brief(f"pecli: {explain(error, arguments)}"))
        except PecliError as other:  # what the command would have said of another word
            tell(_brief(f"pecli: {other}"))
        return TROUBLE
    if _lacks_memory(error):
        remedy = ""
        if any(word.startswith(("-o", "--output")) for word in arguments):
            remedy = "give fewer --threads, or "
        elif "generate" in arguments:
            remedy = "write it to a file with -o, which takes the same for any length, or "
        tell(f"pecli: not enough memory here: {remedy}allow more (ulimit -v)")
        return TROUBLE
    if isinstance(error, OSError):
        # one that names no file is standard output: a full disk behind >, a closed descriptor
        gone = error.errno == errno.ENOENT and error.filename is None
        where = error.filename or ("the working folder" if gone else "standard output")
        tell(_brief(f"pecli: {where}: {error.strerror or error}"))
        _forget_stdout()
        return TROUBLE
    if not isinstance(error, Exception):
        raise error
    from pecli.spec.catalogue import fault_of

    path, fault = fault_of(error)
    if path:
        tell(_brief(f"pecli: {path}: {fault}"))
        return TROUBLE
    if "--debug" in arguments:  # anything else is a bug, and says so
        tell("".join(traceback.format_exception(error)).rstrip())
    tell(_brief(f"pecli: internal error: {type(error).__name__}: {error}: run again with --debug and report it"))
    return BUG


def _lacks_memory(error: BaseException) -> bool:
    """Whether memory ran out, as Python says it, or a library that could not be loaded or start a thread."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or any(hint in str(error) for hint in WITHOUT_MEMORY)


def _brief(text: str) -> str:
    """Return a message as one line that a terminal can show: of what is absurdly long, both ends."""
    words = [word if len(word) <= LONGEST_WORD else shorten(word, LONGEST_WORD // 2) for word in clean(text).split()]
    line = " ".join(words)
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE // 2]} ... {line[-LONGEST_LINE // 4 :]}"


def _meant(words: list[str]) -> list[str]:
    """Return the words that Typer understands: ``help COMMAND``, a shell for --show-completion, nothing at all."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if words[-1:] == ["--help-all"] and words[:-1] in ([], ["generate"]):  # whose help shows all options
        words = words[:-1]
    if words in ([], ["generate"]):  # who asks for nothing is shown what there is
        words = [*words, "--help"]
    if words[:1] == ["--show-completion"] and len(words) == 2:
        os.environ["_PECLI_COMPLETE"] = f"source_{_shell(words[1])}"
        return []
    if "_PECLI_COMPLETE" in os.environ:  # without the words that a shell gives with it
        for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS"):
            os.environ.setdefault(name, "pecli")
        if not os.environ.get("COMP_CWORD", "").isdecimal():
            os.environ["COMP_CWORD"] = "0"
        if os.environ["_PECLI_COMPLETE"] == "complete_bash":
            from pecli.cli.completion import take_bash

            take_bash()
    return words


def _shell(word: str) -> str:
    if word not in SHELLS:
        raise UnknownName("shell", shorten(word), SHELLS)
    return word


def _open_streams() -> None:
    """Make the three streams usable whatever the caller left of them.

    A closed one gets the null device, so that no file of ours takes its number;
    what is then printed to standard output fails as it should.  A character
    that the encoding lacks is written as an escape.  A width that no screen has is not taken for one.
    """
    if len(os.environ.get("COLUMNS", "")) > MAX_WIDTH_DIGITS:
        del os.environ["COLUMNS"]  # Typer and rich read it as well, and fill lines with blanks
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


def _forget_stdout() -> None:
    """Point standard output at nothing, so that the interpreter's last flush raises no second error."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
