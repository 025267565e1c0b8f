"""One command in a forked child, with limits on its time and memory, and what is wrong with how it ended."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

CPU_SECONDS = 5
MEMORY = 500 << 20  # beyond what the child had when it was forked
ADDRESSES = 4 << 30
WALL_SECONDS = 900  # on a busy machine
FAULTS = (b"Traceback", b"Warning", b"internal error", b"Exception ignored", b"not enough memory")


@dataclass
class Outcome:
    """How a child ended."""

    status: int
    signal: int
    output: bytes
    errors: bytes
    seconds: float
    memory: int

    @property
    def problem(self) -> str:
        """What no command may do; empty where all is well."""
        if self.signal:
            return f"died of signal {self.signal} after {self.seconds:.1f} s: {self.errors[-300:]!r}"
        if self.status not in (0, 1, 2):
            return f"ended with {self.status}: {self.errors[-300:]!r}"
        if any(word in self.errors for word in FAULTS):
            return f"said {self.errors[-300:]!r}"
        if b"\x1b" in self.errors or b"\x07" in self.errors:
            return f"sent an escape to the terminal: {self.errors[-300:]!r}"
        if self.status == 2 and not self.errors.strip():
            return "failed without a word"
        if self.seconds > CPU_SECONDS:
            return f"took {self.seconds:.1f} s of the processor"
        if self.memory > MEMORY:
            return f"took {self.memory >> 20} MiB"
        return ""


def peak() -> int:
    """Bytes of memory at the most; those of this process alone."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def run_child(words: list[str], folder: Path, stdin: Path | None = None) -> Outcome:
    """Run a command line in a fork of this process, in `folder`, with a file or nothing on standard input."""
    logs = [folder.parent / f"{folder.name}.{name}" for name in ("out", "err", "mem")]
    began = time.monotonic()
    child = os.fork()
    if not child:
        _be_child(words, folder, logs, stdin)
    status, usage = 0, None
    while usage is None:
        done, status, found = os.wait4(child, os.WNOHANG)
        if done:
            usage = found
        elif time.monotonic() - began > WALL_SECONDS:
            os.kill(child, signal.SIGKILL)
        else:
            time.sleep(0.002)
    texts = [log.read_bytes() if log.exists() else b"" for log in logs]
    for log in logs:
        log.unlink(missing_ok=True)
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    seconds = usage.ru_utime + usage.ru_stime
    return Outcome(os.waitstatus_to_exitcode(status), number, texts[0], texts[1], seconds, int(texts[2] or 0))


def _be_child(words: list[str], folder: Path, logs: list[Path], stdin: Path | None) -> None:
    status = 99
    try:
        os.chdir(folder)
        for number, path in ((1, logs[0]), (2, logs[1])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(stdin or os.devnull, os.O_RDONLY), 0)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS * 3, CPU_SECONDS * 3))
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        warnings.simplefilter("always")
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = peak()
        from pecli.cli.run import run

        try:
            status = run(words)
        except SystemExit as end:  # of completion
            status = int(end.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        logs[2].write_text(str(peak() - before))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)
