"""Writers that are killed, or whose disk fails: the old file or the whole new one, and beside it nothing of theirs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

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
WAYS = ("pe.npy", "pe.h5", "pe.npz", "pe.parquet", "pe.csv", "pe.arrow", "pe.safetensors", "pe.json")
Failure = tuple[str, list[str], str]


def writer(rng: Random) -> list[str]:
    """Return a command line that replaces a file."""
    name = rng.choice(WAYS)
    text = name.endswith(("csv", "json"))
    recipe = f"sinusoidal:dim=64,len={rng.choice((2_000, 5_000) if text else (20_000, 100_000))}"
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


def tried(
    seed: str, words: list[str], folder: Path, act: object, env: dict[str, str], counts: Counter[str]
) -> Iterator[Failure]:  # fmt: skip
    """Run one writer in a fresh folder, let `act` disturb it, and look at what it leaves."""
    folder.mkdir()
    (folder / words[3]).write_bytes(b"old")
    process = subprocess.Popen(
        [sys.executable, "-m", "pecli", *words], cwd=folder, env={**os.environ, **env}, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
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


def wait_for_command(process: subprocess.Popen[bytes]) -> None:
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
        time.sleep(0.002)


def kills(seed: int, count: int, counts: Counter[str], folder: Path) -> Iterator[Failure]:
    """Send signals at random times, half of them twice."""
    for number in range(count):
        rng = Random(f"kill-{seed}-{number}")
        name = rng.choice(SIGNALS)
        counts["kills"] += 1

        def act(process: subprocess.Popen[bytes], rng: Random = rng, name: str = name) -> int:
            wait_for_command(process)
            time.sleep(rng.choice((0, 0.05, 0.2, 0.8)) * rng.random())
            for _ in range(rng.choice((1, 2))):
                process.send_signal(getattr(signal, f"SIG{name}"))
            return int(getattr(signal, f"SIG{name}"))

        yield from tried(f"kill {seed}-{number} {name}", writer(rng), folder / "here", act, {}, counts)


def faults(seed: int, count: int, counts: Counter[str], folder: Path) -> Iterator[Failure]:
    """Let one call of a writer fail, where a compiler is there to make it."""
    source, library = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    if shutil.which("gcc") is None:
        counts["faults (no gcc)"] += 0
        return
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    for number in range(count):
        rng = Random(f"fault-{seed}-{number}")
        call = rng.choice(CALLS)
        env = {"LD_PRELOAD": str(library), "FAULT_CALL": call, "FAULT_AT": str(rng.choice((1, 1, 2, 3, 9)))}
        env["FAULT_ERRNO"] = str(rng.choice(ERRORS))
        counts["faults"] += 1
        label = f"fault {seed}-{number} {call} {env['FAULT_AT']} {env['FAULT_ERRNO']}"
        yield from tried(label, writer(rng), folder / "here", lambda process: 0, env, counts)
