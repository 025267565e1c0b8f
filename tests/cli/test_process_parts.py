"""Parts of a process's life, called in this one: what a signal, an error without a remedy and a terminal lead to."""

import errno
import io
import os
import signal
import subprocess
import sys
import threading

import pytest

from pecli import process
from pecli.cli import run as runner
from pecli.cli.terminal import layout, screen
from pecli.cli.terminal.items import ScreenTable
from pecli.errors import BrokenPipe
from pecli.tables.table import Table


class Ended(BaseException):
    """In the place of the end of this process."""


@pytest.fixture
def ends(monkeypatch):
    """What would have ended the process, and the handlers that were set."""
    done, handlers = [], {signal.SIGHUP: signal.SIG_IGN}

    def end(*words):
        done.append(words)
        raise Ended

    monkeypatch.setattr(os, "kill", lambda _, number: done.append(number))
    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(signal, "signal", lambda number, handler: handlers.update({number: handler}))
    monkeypatch.setattr(signal, "getsignal", lambda number: handlers.get(number, signal.SIG_DFL))
    monkeypatch.setattr(signal, "setitimer", lambda *given: handlers.update(timer=given[1]))
    monkeypatch.setattr(process, "_received", [])
    monkeypatch.setattr(process, "_is_command", False)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    return done, handlers


def test_a_command_leaves_ignored_what_its_caller_ignores(ends):
    _, handlers = ends
    process.become_command()
    assert handlers[signal.SIGTERM] is handlers[signal.SIGPIPE] is signal.SIG_DFL
    assert handlers[signal.SIGHUP] is signal.SIG_IGN
    process.keep_connections()
    assert handlers[signal.SIGPIPE] is signal.SIG_IGN


def test_a_signal_unwinds_says_farewell_and_ends_the_process(ends, capsys):
    done, handlers = ends
    process.become_command()

    def interrupted():
        with process.unwinding("nothing was written"):
            assert handlers[signal.SIGHUP] is signal.SIG_IGN
            handlers[signal.SIGTERM](signal.SIGTERM, None)

    with pytest.raises(Ended):
        interrupted()
    assert done == [signal.SIGTERM, (128 + signal.SIGTERM,)]
    assert capsys.readouterr().err == "nothing was written\n"
    assert process.was_interrupted()


def test_further_signals_are_ignored_for_a_while_then_raise_again_then_end(ends, monkeypatch):
    done, handlers = ends
    now = [100.0]
    monkeypatch.setattr(process.time, "monotonic", lambda: now[0])
    with pytest.raises(process.Interrupted):
        process._unwind(signal.SIGTERM, None)
    assert handlers["timer"] == process.GRACE
    process._unwind(signal.SIGINT, None)
    now[0] += process.GRACE
    with pytest.raises(process.Interrupted):
        handlers[signal.SIGALRM](signal.SIGALRM, None)
    assert done == []
    now[0] += process.GRACE
    with pytest.raises(Ended):
        process._unwind(signal.SIGALRM, None)
    assert done[0] == signal.SIGTERM


def test_without_a_signal_the_handlers_are_as_before(ends):
    _, handlers = ends
    process.become_command()
    before = dict(handlers)
    with process.unwinding():
        assert handlers[signal.SIGINT] is process._unwind
        assert handlers[signal.SIGPIPE] is signal.SIG_IGN
    assert handlers == {**dict.fromkeys(handlers, signal.SIG_DFL), **before}


def test_a_process_leaves_at_once_unless_something_waits(ends, monkeypatch, capsys):
    done, _ = ends
    monkeypatch.setattr("atexit._run_exitfuncs", lambda: done.append("handlers"))
    monkeypatch.setattr(process, "_is_watched", lambda: False)
    monkeypatch.setattr(threading, "enumerate", lambda: [threading.main_thread()])
    with pytest.raises(Ended):
        process.leave(1)
    assert done == ["handlers", (1,)]
    monkeypatch.setattr(process, "_is_watched", lambda: True)
    with pytest.raises(SystemExit):
        process.leave(1)
    monkeypatch.setattr(process, "_is_watched", lambda: False)
    monkeypatch.setattr("atexit._run_exitfuncs", lambda: exec("raise OSError"))
    with pytest.raises(SystemExit):
        process.leave(1)


def test_what_writes_to_a_closed_socket_at_the_end_changes_no_status():
    lines = (
        "import atexit, contextlib, os",
        "from pecli.process import become_command, leave",
        "become_command()",
        "reader, writer = os.pipe()",
        "os.close(reader)",
        "def last():",
        "    with contextlib.suppress(BrokenPipeError):",
        "        os.write(writer, b'x')",
        "atexit.register(last)",
        "leave(3)",
    )
    assert subprocess.run([sys.executable, "-c", "\n".join(lines)], check=False).returncode == 3


def test_a_tracer_is_noticed(monkeypatch):
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    assert process._is_watched()


def test_the_first_process_of_a_container_is_ended_by_hand(ends, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(Ended):
        process._at_once()(signal.SIGTERM, None)


@pytest.mark.parametrize(
    ("error", "words", "status", "said"),
    [
        (MemoryError(), "generate rope:dim=4 -o a.npy", 2, "not enough memory here: give fewer --threads, or allow"),
        (MemoryError(), "generate rope:dim=4", 2, "write it to a file with -o"),
        (OSError(errno.ENOMEM, "x"), "inspect a.npy", 2, "pecli: not enough memory here: allow more (ulimit -v)"),
        (RuntimeError("can't start new thread"), "inspect a.npy", 2, "pecli: not enough memory here"),
        (OSError(errno.EIO, "broken", "a.npy"), "inspect a.npy", 2, "pecli: a.npy: broken"),
        (OSError(errno.ENOENT, "gone"), "inspect a.npy", 2, "pecli: the working folder: gone"),
        (OSError(errno.ENOSPC, "full"), "inspect a.npy", 2, "pecli: standard output: full"),
        (RuntimeError("a bug"), "inspect a.npy", 70, "internal error: RuntimeError: a bug: run again with --debug"),
        (RuntimeError("a bug"), "inspect a.npy --debug", 70, "Traceback"),
    ],
)
def test_an_error_without_a_remedy_is_a_sentence_all_the_same(error, words, status, said, pecli, monkeypatch):
    def fails(_words):
        raise error

    monkeypatch.setattr(runner, "_executed", fails)
    done = pecli(*words.split())
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr


def test_a_reader_that_left_ends_the_command_by_its_signal(pecli, monkeypatch):
    numbers = []

    def fails(_words):
        raise BrokenPipe("standard output")

    monkeypatch.setattr(runner, "_executed", fails)
    monkeypatch.setattr(runner, "die", numbers.append)
    assert pecli("list").returncode == 141
    assert numbers == [signal.SIGPIPE]


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_appears_for_long_work_on_a_terminal(monkeypatch):
    error = Screen()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr(screen, "PATIENCE", -1.0)
    options = type("Options", (), {"quiet": False, "json": False})
    with screen.progress_for("writing pe.npy", options, Table.parse("rope:dim=4,len=1000")) as advance:
        advance(8000)
        advance(8000)
    assert "writing pe.npy" in error.getvalue()


def test_a_table_on_a_terminal_cuts_nothing():
    table = ScreenTable([("name", "left"), ("value", "right")], [["a word", "1.25"], ["another", "-3"]])
    drawn = "\n".join(layout.lines_of(table, 40, terminal=True, colour=False))
    assert all(word in drawn for word in ("name", "value", "a word", "1.25", "another", "-3"))
    assert "─" in drawn
