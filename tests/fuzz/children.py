"""A forked process that runs command lines with limits on their time and memory, and what is wrong with how one ended.

It runs them one after the other, which costs a quarter of a fork for each.  Time, memory, signals and files are
limited and measured for each line as in a process of its own; a line that may leave something behind for the next
(a plugin, completion), ends badly or has made the process grow is its last.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pecli import CATALOGUE
from pecli.cli import commands

CPU_SECONDS = 10  # beyond what was asked for
MEMORY = 900 << 20  # beyond what the process had before: a command takes less than 1 GB
ADDRESSES = 4 << 30
LARGEST_FILE = 16 << 20
SPEED = 2 << 20  # bytes a second of text that is asked for
READING_SPEED = 128 << 20  # bytes a second of tables that are asked for and read whole
WALL_SECONDS = 900  # on a busy machine
LINES = 500  # of one process
GROWTH = 64 << 20
LASTING = ("--plugin", "--show-completion", "--install-completion")
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

    def problem(self, written: int, asked: int = 0) -> str:
        """Return what no command may do, having written files of so many bytes; empty where all is well.

        Tables of `asked` bytes were to be read whole, which takes its time.
        """
        if self.signal == signal.SIGXCPU and asked > CPU_SECONDS * READING_SPEED:
            return ""
        if self.signal == signal.SIGABRT and b"parquet::ParquetException" in self.errors:
            return ""  # pyarrow lets it out of C++: docs/security.md
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
        if self.seconds > CPU_SECONDS + (written + len(self.output)) / SPEED + asked / READING_SPEED:
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


class Worker:
    """Runs lines in `folder`, in a process that is forked anew when it must be."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lines, self.pid = folder, 0, 0
        self.logs = [folder.parent / f"{folder.name}.{name}" for name in ("out", "err")]

    def run(self, words: list[str], stdin: Path | None = None, env: Mapping[str, str] | None = None) -> Outcome:
        """Run one line, with a file or nothing on standard input, and these variables."""
        if not self.pid:
            self._begin()
        self.lines += 1
        try:
            os.write(self.jobs, json.dumps([words, str(stdin or os.devnull), dict(env or {})]).encode() + b"\n")
        except BrokenPipeError:  # somebody else has ended it
            return self._ended()
        answer = b""
        while not answer.endswith(b"\n"):
            if not select.select([self.answers], [], [], WALL_SECONDS)[0]:
                os.kill(self.pid, signal.SIGKILL)
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                return self._ended()
            answer += piece
        status, seconds, memory, grown = json.loads(answer)
        found = Outcome(status, 0, *self._texts(), seconds, memory)
        if (
            found.problem(LARGEST_FILE)
            or grown > GROWTH
            or self.lines >= LINES
            or any(w.startswith(LASTING) for w in words)
        ):
            self.end()
        return found

    def end(self) -> None:
        """End the process, if there is one."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self._wait()

    def _begin(self) -> None:
        theirs, self.jobs = os.pipe()
        self.answers, ours = os.pipe()
        self.lines, self.pid = 0, os.fork()
        if not self.pid:
            os.close(self.jobs)
            os.close(self.answers)
            _serve(theirs, ours, self.folder, self.logs)
        os.close(theirs)
        os.close(ours)

    def _ended(self) -> Outcome:
        status, usage = self._wait()
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        used = usage.ru_utime + usage.ru_stime
        return Outcome(os.waitstatus_to_exitcode(status), number, *self._texts(), used, 0)

    def _wait(self) -> tuple[int, resource.struct_rusage]:
        _, status, usage = os.wait4(self.pid, 0)
        self.pid = 0
        os.close(self.jobs)
        os.close(self.answers)
        return status, usage

    def _texts(self) -> tuple[bytes, bytes]:
        out, err = (log.read_bytes() for log in self.logs)
        return out, err


def _serve(jobs: int, answers: int, folder: Path, logs: list[Path]) -> None:
    status = 99
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # the end of a process closes its files
        warnings.simplefilter("ignore", SyntaxWarning)  # of damaged plug-ins; the command shows no warnings
        outputs = [os.open(log, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND) for log in logs]
        environment, began = dict(os.environ), 0
        with open(jobs) as lines:
            for line in lines:
                words, stdin, env = json.loads(line)
                os.chdir(folder)
                os.environ.clear()
                os.environ.update(environment | env)
                source = os.open(stdin, os.O_RDONLY)
                for number, descriptor in enumerate((source, *outputs)):
                    os.dup2(descriptor, number)
                os.close(source)
                for output in outputs:
                    os.ftruncate(output, 0)
                found = _measured(words)
                group = commands.built("generate").commands
                for word in group.keys() - CATALOGUE.keys():
                    del group[word]
                began = began or found[-1]
                os.write(answers, json.dumps([*found[:-1], found[-1] - began]).encode() + b"\n")
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _measured(words: list[str]) -> tuple[Any, ...]:
    """Run one line; return its status, seconds of the processor, bytes it took, and bytes of the process after it."""
    from pecli.cli.run import run

    streams = [open(number, "w" if number else "r", closefd=False) for number in range(3)]  # noqa: SIM115
    sys.stdin, sys.stdout, sys.stderr = streams
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, used = peak(), _used()
    most = int(used) + CPU_SECONDS * 2 + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
    try:
        status = run(words)
    except SystemExit as end:  # of completion
        status = int(end.code or 0)
    for stream in streams:
        stream.close()
    seconds, memory = _used() - used, peak() - before
    Path("/proc/self/clear_refs").write_text("5")
    return status, seconds, memory, peak()


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
