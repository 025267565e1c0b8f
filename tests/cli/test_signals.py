"""The process dies of the signal that ends it, at once or after cleaning up, and without a word."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from threading import get_ident

import pytest

from pecli.engine.threads import ordered, run_in_thread, share
from tests.conftest import clean_environment

OURS = ["generate", "sinusoidal", "--dim", "4096", "--len", "100000", "-o", "pe.npy"]
NAMES = ["INT", "TERM", "HUP", "QUIT", "XCPU", "USR1", "USR2", "ALRM", "VTALRM", "PROF"]
USUAL = ("INT", "TERM")


def started(folder, *arguments, before="", **options):
    """The command in a child whose signals are as a shell leaves them; `before` is run in it first."""

    def as_a_shell():
        for name in NAMES:  # nohup, and a shell for what it puts in the background, ignores some of them
            signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    code = f"import sys\n{before}\nsys.argv = ['/usr/bin/pecli', *{list(map(str, arguments))!r}]\n"
    code += "from pecli.__main__ import main\nmain()"
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, env=clean_environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=as_a_shell, **options,
    )  # fmt: skip


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def is_writing(process):
    """Whether the child has its hidden file open."""
    try:
        names = [os.readlink(f"/proc/{process.pid}/fd/{n}") for n in os.listdir(f"/proc/{process.pid}/fd")]
    except OSError:
        return False
    return any(re.search(r"\.pe\.npy\.\w+\.tmp", name) for name in names)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in USUAL else pytest.mark.exhaustive) for name in NAMES]
)
def test_a_writer_cleans_up_and_dies_of_the_signal(name, tmp_path):
    (tmp_path / "pe.npy").write_bytes(b"old")
    number = getattr(signal, f"SIG{name}")
    process = started(tmp_path, *OURS)
    wait_until(lambda: is_writing(process))
    process.send_signal(number)
    process.send_signal(number)  # who is impatient does not stop the cleaning up
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (-number, b"", b"pecli: interrupted: nothing was written to pe.npy\n")
    assert os.listdir(tmp_path) == ["pe.npy"]
    assert (tmp_path / "pe.npy").read_bytes() == b"old"


def test_who_waits_for_threads_takes_no_lock_of_python_code(monkeypatch):
    """A handler that raised within `Condition.__enter__` left it locked: thread and process waited for each other."""
    taken, plain = [], threading.Condition.__enter__
    monkeypatch.setattr(threading.Condition, "__enter__", lambda self: (taken.append(get_ident()), plain(self))[1])
    assert list(ordered(range(50), lambda item, _: item**2, [None] * 5, 3)) == [item**2 for item in range(50)]
    done = []
    share(range(50), 3, nullcontext, lambda item, _: done.append(item))
    assert sorted(done) == list(range(50))
    assert run_in_thread(lambda: 7, lambda: None) == 7
    assert get_ident() not in taken


def test_a_thread_that_never_ends_does_not_keep_the_process(tmp_path):
    stuck = (
        "import time, pecli.process as p, pecli.engine.threads as t\n"
        "p.PATIENCE, p.GRACE = 0.5, 1.5\nt._Thread.wait = lambda thread: time.sleep(1000)\n"
    )
    process = started(tmp_path, *OURS, before=stuck)
    wait_until(lambda: is_writing(process))
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (-signal.SIGTERM, b"pecli: interrupted: nothing was written to pe.npy\n")
    assert os.listdir(tmp_path) == []


def test_a_signal_at_any_moment_gives_no_traceback(tmp_path):
    taken = "sys.argv = ['/usr/bin/pecli']\nimport pecli\nprint(flush=True)"  # the first lines take them
    for delay in range(12):
        process = started(tmp_path, "generate", "rope:dim=64,len=2000", "-o", "a.h5", before=taken)
        process.stdout.readline()
        time.sleep(delay * 0.03)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert b"Traceback" not in err
        assert process.returncode in (0, -signal.SIGINT)
        assert set(os.listdir(tmp_path)) <= {"a.h5"}


def test_a_shells_loop_stops(tmp_path):
    script = f"for n in 1 2 3; do echo $n; {shlex.quote(sys.executable)} -m pecli {' '.join(OURS)}; done; echo on"
    child = subprocess.Popen(
        ["bash", "-c", script], cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert child.stdout.readline() == b"1\n"
    wait_until(lambda: any(name.endswith(".tmp") for name in os.listdir(tmp_path)))
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does
    assert child.communicate(timeout=60) == (b"", b"pecli: interrupted: nothing was written to pe.npy\n")


def test_a_signal_that_the_caller_ignores_stays_ignored(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "pecli", *OURS[:5], "20000", *OURS[6:]], cwd=tmp_path, env=clean_environment(),
        stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    wait_until(lambda: is_writing(process))
    process.send_signal(signal.SIGHUP)
    assert b"wrote pe.npy" in process.communicate(timeout=60)[1]


def test_a_module_of_the_current_folder_is_not_taken_for_another(tmp_path):
    for name in ("typing", "signal", "typer", "numpy", "tempfile"):  # runpy itself has loaded contextlib
        (tmp_path / f"{name}.py").write_text("raise SystemExit(f'{__name__} of the current folder')")
    done = subprocess.run(
        [sys.executable, "-m", "pecli", "generate", "sinusoidal", "--dim", "4", "--len", "2", "-o", "a.npy"],
        cwd=tmp_path, env=clean_environment(), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b""), done.stderr


def test_completion_without_its_words_is_no_bug(pecli):
    for shell in ("bash", "zsh", "fish", "powershell"):
        for extra in ({}, {"COMP_WORDS": "pecli", "COMP_CWORD": "x"}, {"COMP_WORDS": "pecli 'a", "COMP_CWORD": "1"}):
            done = pecli(env={"_PECLI_COMPLETE": f"complete_{shell}", **extra})
            assert done.returncode != 70, (shell, extra, done.stderr)
            assert "Traceback" not in done.stderr


def test_an_endless_argument_is_cut_in_a_message(pecli):
    endless = "x" * 20_000
    for arguments in (
        [endless], ["generate", endless], ["generate", f"rope:dim={endless}"], ["generate", "rope", "--dim", endless],
        ["inspect", endless], ["inspect", f"{endless}.npy"], ["inspect", f"rope:{endless}=1"], ["list", endless],
        ["generate", "rope", f"--{endless}"], ["generate", "rope:dim=4", "--len", "2", "-o", f"{endless}.npy"],
        ["generate", "rope:dim=4", "--positions", f"{'1 ' * 10_000}x"], ["compare", "rope:dim=4", "a " * 10_000],
    ):  # fmt: skip
        done = pecli(*arguments)
        assert done.returncode == 2, (arguments[0][:40], done.stderr[:400])
        assert len(done.stderr) < 2500
