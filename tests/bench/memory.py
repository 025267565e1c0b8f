"""Peak memory of the whole process while it writes, at a length and at ten times that, and while it reads."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.rows import Row

# A child inherits the peak that getrusage tells from its parent; the kernel's own mark starts anew with the program.
CHILD = """
import resource, sys
from pecli.cli.run import run
assert run(sys.argv[1:]) == 0
try:
    marks = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print(int(marks["VmHWM"].split()[0]) * 1024)
except OSError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""
CASES = {
    "sinusoidal, dim 64": ["sinusoidal", "--dim", "64"],
    "sinusoidal, dim 512": ["sinusoidal", "--dim", "512"],
    "sinusoidal, dim 16384": ["sinusoidal", "--dim", "16384"],
    "rope, dim 128": ["rope", "--dim", "128"],
}
FORMATS = {"npy": 24, "h5": 24, "npz": 24, "parquet": 24, "arrow": 24, "safetensors": 24, "csv": 20, "json": 20}
"""Formats that are written and read, and the logarithm of the values of a table: text is slow."""
LONG = ("npy", "h5", "parquet", "npz")  # formats that are written at ten times the length too


def peak(arguments: list[str]) -> float:
    """Return the peak resident memory of a command in a child, in MB."""
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1]) / 1e6


def rows(folder: str | None = None) -> list[Row]:
    """Measure every format, at two numbers of threads and some at two lengths, and every direction: the largest."""
    worst: dict[str, float] = {}
    growth = 0.0
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        for suffix, values in FORMATS.items():
            for name, arguments in CASES.items():
                length = (1 << values) // int(arguments[-1])
                peaks = [
                    peak(["generate", *arguments, "--len", str(n), "--threads", threads, "-q",
                          "-o", str(Path(temporary) / f"a.{suffix}")])
                    for n, threads in ((length, "2"), (length, "16"), (10 * length, "2"))[: 3 if suffix in LONG else 2]
                ]  # fmt: skip
                worst[f"{name}, {suffix}"] = max(peaks)
                growth = max(growth, peaks[-1] / peaks[0]) if suffix in LONG else growth
    name = max(worst, key=worst.__getitem__)
    read, rotated = reading(folder), applying(folder)
    most = max(read, key=read.__getitem__)
    return [
        Row(f"peak memory, dim 64 to 16384, 2 and 16 threads (worst: {name})", worst[name], "MB", 200, 150),
        Row("peak memory at ten times the length, against the length", growth, "x", 1.2),
        Row(f"peak memory of reading, dim 64 and 16384 (worst: {most})", read[most], "MB", 200, 150),
        Row("peak memory of rotating queries of 256 MiB from file to file, 16 threads", rotated, "MB", 200, 150),
    ]


def reading(folder: str | None) -> dict[str, float]:
    """Return the peaks of inspecting every format, of converting it to npy and of comparing it with that."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        for suffix, values in FORMATS.items():
            for dim in (64, 16384):
                given, made = (str(Path(temporary) / name) for name in (f"a.{suffix}", "b.npy"))
                peak(
                    ["generate", "sinusoidal", "--dim", str(dim), "--len", str((1 << values) // dim), "-q", "-o", given]
                )
                for arguments in (["inspect", given], ["convert", given, "-o", made], ["compare", given, made]):
                    found[f"{arguments[0]} of {suffix}, dim {dim}"] = peak([*arguments, "-q"])
    return found


def applying(folder: str | None) -> float:
    """Return the peak of a rotation of drawn queries that are read from a file."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        given, made = (str(Path(temporary) / name) for name in ("q.npy", "rotated.npy"))
        peak(["generate", "learned:dim=128", "--len", str(1 << 19), "-q", "-o", given])
        rope = ["apply", "rope:dim=128", given, "--pairs", "half", "--threads", "16"]
        return peak([*rope, "-q", "-o", made])
