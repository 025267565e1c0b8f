"""Writers that are killed, or whose disk fails: the old file or the whole new one, and beside it nothing of theirs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NoReturn

from pecli.formats import open_table

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
static int fails(const char *name) {
    static int calls;
    const char *which = getenv("FAULT_CALL"), *at = getenv("FAULT_AT");
    if (!which || strcmp(which, name) || ++calls != atoi(at)) return 0;
    errno = atoi(getenv("FAULT_ERRNO"));
    return 1;
}
#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))
ssize_t pwrite64(int f, const void *b, size_t n, off_t o) {
    return fails("pwrite") ? -1 : REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t)(f, b, n, o); }
int fsync(int f) { return fails("fsync") ? -1 : REAL(int, "fsync", int)(f); }
int rename(const char *a, const char *b) {
    return fails("rename") ? -1 : REAL(int, "rename", const char *, const char *)(a, b); }
int linkat(int d, const char *a, int e, const char *b, int g) {
    return fails("linkat") ? -1 : REAL(int, "linkat", int, const char *, int, const char *, int)(d, a, e, b, g); }
int posix_fallocate64(int f, off_t o, off_t n) {
    return fails("fallocate") ? errno : REAL(int, "posix_fallocate64", int, off_t, off_t)(f, o, n); }
int ftruncate64(int f, off_t n) { return fails("ftruncate") ? -1 : REAL(int, "ftruncate64", int, off_t)(f, n); }
int fchmod(int f, mode_t m) { return fails("fchmod") ? -1 : REAL(int, "fchmod", int, mode_t)(f, m); }
"""
CALLS = ("pwrite", "fsync", "rename", "linkat", "fallocate", "ftruncate", "fchmod")
ERRORS = (5, 28, 122, 12, 30)  # EIO, ENOSPC, EDQUOT, ENOMEM, EROFS
SIGNALS = ("KILL", "INT", "TERM", "HUP", "USR1", "ALRM", "XCPU", "PIPE")
FRESH = 0.05  # of the commands start an interpreter; the others are forked where all is imported, a tenth of the time
WAYS = ("pe.npy", "pe.h5", "pe.npz", "pe.parquet", "pe.csv", "pe.arrow", "pe.safetensors", "pe.json")
Failure = tuple[str, list[str], str]


def writer(rng: Random, size: int) -> list[str]:
    """Return a command line that replaces a file, with a table of so many rows or five times as many."""
    name = rng.choice(WAYS)
    rows = rng.choice((1, 5)) * size // (10 if name.endswith(("csv", "json")) else 1)
    recipe = f"sinusoidal:dim=64,len={rows}"
    more = ["--compress"] if name.endswith(("h5", "npz", "arrow")) and rng.random() < 0.3 else []
    return ["generate", recipe, "-o", name, *more]


def problem(folder: Path, name: str, number: int, killed: bool) -> str:
    """Return what is wrong with what a writer left; empty where it is as it should be."""
    left = sorted(entry.name for entry in folder.iterdir())
    hidden = [entry for entry in left if entry.startswith(".")]
    if set(left) - {name, *hidden} or len(hidden) > (1 if killed else 0):
        return f"left {left} after {number}"
    if (folder / name).read_bytes() != b"old":
        try:
            with open_table(folder / name) as table:
                for array in table.arrays:
                    table.read(array.name)
        except OSError as error:
            return f"left a torn file after {number}: {error}"
    return ""


class Nursery:
    """A process that has imported everything, and forks a command when it is told to."""

    def __init__(self, env: Mapping[str, str]) -> None:
        code = "from tests.fuzz.kills import serve; serve()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1,
        )  # fmt: skip

    def told(self, *words: object) -> Any:
        """Say something, and return the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        return json.loads(self.process.stdout.readline())


class Forked:
    """A command forked in a nursery, as :class:`subprocess.Popen` has it; it is not reaped before it is waited for."""

    def __init__(self, nursery: Nursery, words: list[str], folder: Path, env: Mapping[str, str]) -> None:
        self.nursery, self.errors = nursery, folder.parent / "errors"
        self.pid: int = nursery.told(words, str(folder), dict(env), str(self.errors))
        self.returncode = 0

    def poll(self) -> int | None:
        """Return the status where it has ended."""
        return 0 if "\nState:\tZ" in Path(f"/proc/{self.pid}/status").read_text() else None

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """Wait for it; return nothing and what it said."""
        self.returncode = self.nursery.told(timeout)
        return b"", self.errors.read_bytes()


def serve() -> None:
    """Fork the commands that standard input names; say each one's number, and its status when asked."""
    from tests.fuzz.campaign import load

    load()
    numbers = [getattr(signal, f"SIG{name}") for name in SIGNALS if name != "KILL"]
    for line in sys.stdin:
        words, folder, env, errors = json.loads(line)
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)  # what comes at once is for the command
        child = os.fork()
        if not child:
            _become(words, folder, env, errors, numbers)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        print(child, flush=True)
        deadline = time.monotonic() + json.loads(sys.stdin.readline())[0]
        done = status = 0
        while not done:
            done, status = os.waitpid(child, os.WNOHANG)
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.002)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(words: list[str], folder: str, env: dict[str, str], errors: str, numbers: list[int]) -> NoReturn:
    os.chdir(folder)
    os.environ.update(env)
    for number, path in ((0, os.devnull), (1, os.devnull), (2, errors)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    sys.stdin, sys.stdout, sys.stderr = (open(n, "w" if n else "r", closefd=False) for n in range(3))  # noqa: SIM115
    from pecli.__main__ import main
    from pecli.process import become_command

    signal.signal(signal.SIGINT, signal.default_int_handler)
    become_command()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    sys.argv = ["pecli", *words]
    main()


@contextmanager
def starter(folder: Path, env: Mapping[str, str]) -> Iterator[Callable[[Random, list[str], Mapping[str, str]], Any]]:
    """Give what starts commands in a folder: a few of them in an interpreter of their own."""
    nursery = Nursery(env)

    def start(rng: Random, words: list[str], more: Mapping[str, str]) -> Any:
        if rng.random() > FRESH:
            return Forked(nursery, words, folder, more)
        return subprocess.Popen(
            [sys.executable, "-m", "pecli", *words], cwd=folder, env={**os.environ, **env, **more},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip

    try:
        yield start
    finally:
        nursery.process.communicate()


def tried(
    seed: str, words: list[str], folder: Path, start: Callable[[], Any], act: Callable[[Any], int],
    counts: Counter[str],
) -> Iterator[Failure]:  # fmt: skip
    """Run one writer in a fresh folder, let `act` disturb it, and look at what it leaves."""
    folder.mkdir()
    (folder / words[3]).write_bytes(b"old")
    process = start()
    number = act(process)
    _, errors = process.communicate(timeout=120)
    said = problem(folder, words[3], process.returncode, number == signal.SIGKILL)
    if not said and process.returncode not in (0, 2, -number):
        said = f"ended with {process.returncode}: {errors[-300:]!r}"
    if not said and b"Traceback" in errors:
        said = errors[-300:].decode(errors="replace")
    if not said and process.returncode == 2 and (folder / words[3]).read_bytes() != b"old":
        said = f"said that it failed and replaced the file: {errors[-300:]!r}"
    counts[f"ended with {min(process.returncode, 3)}" if process.returncode >= 0 else "died of it"] += 1
    if said:
        yield seed, words, said
    shutil.rmtree(folder)


def wait_for_command(process: Any) -> None:
    """Wait until the interpreter has started: what it says of an interrupt before is not ours.

    It catches that signal; the command gives it its default action as the first thing.
    """
    caught = False
    while process.poll() is None:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        mask = next((int(line.split()[1], 16) for line in lines if line.startswith("SigCgt")), 0)
        if caught and not mask >> (signal.SIGINT - 1) & 1:
            return
        caught = caught or bool(mask >> (signal.SIGINT - 1) & 1)
        time.sleep(0.0005)


def disturb(rng: Random, name: str, process: Any) -> int:
    """Send a signal at a random time, once or twice; return its number."""
    if isinstance(process, Forked):
        time.sleep(rng.choice((0.02, 0.1, 0.5)) * rng.random())
    else:
        wait_for_command(process)
        time.sleep(rng.choice((0, 0.05, 0.2, 0.8)) * rng.random())
    number = int(getattr(signal, f"SIG{name}"))
    for _ in range(rng.choice((1, 2))):
        process.send_signal(number)
    return number


def kills(seed: int, count: int, counts: Counter[str], folder: Path) -> Iterator[Failure]:
    """Send signals at random times, half of them twice."""
    with starter(folder / "here", {}) as start:
        for number in range(count):
            rng = Random(f"kill-{seed}-{number}")
            name, words = rng.choice(SIGNALS), writer(rng, 20_000)
            counts["kills"] += 1
            begin, act = partial(start, rng, words, {}), partial(disturb, rng, name)
            yield from tried(f"kill {seed}-{number} {name}", words, folder / "here", begin, act, counts)


def faults(seed: int, count: int, counts: Counter[str], folder: Path) -> Iterator[Failure]:
    """Let one call of a writer fail, where a compiler is there to make it."""
    source, library = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    if shutil.which("gcc") is None:
        counts["faults (no gcc)"] += 0
        return
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    with starter(folder / "here", {"LD_PRELOAD": str(library)}) as start:
        for number in range(count):
            rng = Random(f"fault-{seed}-{number}")
            call = rng.choice(CALLS)
            env = {"FAULT_CALL": call, "FAULT_AT": str(rng.choice((1, 1, 2, 3, 9)))}
            env["FAULT_ERRNO"] = str(rng.choice(ERRORS))
            counts["faults"] += 1
            label, words = f"fault {seed}-{number} {call} {env['FAULT_AT']} {env['FAULT_ERRNO']}", writer(rng, 8_000)
            begin = partial(start, rng, words, env)
            yield from tried(label, words, folder / "here", begin, lambda process: 0, counts)
