"""``make bench``: what is to be reached beside what is, ratios side by side in one run."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from pecli.engine import default_threads
from tests.bench import engine, formats, memory, reading, rotations, startup


def processor() -> str:
    """Return the name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def main() -> int:
    """Run every benchmark and print the table; return 1 if a figure falls short."""
    say = sys.stdout.write
    say(f"{processor()}, {default_threads()} threads, Python {platform.python_version()}\n\n")
    say(f"| {'what':<92} | measured | reach | goal |\n|{'-' * 94}|---------:|------:|-----:|\n")
    short = 0
    for module in (startup, engine, rotations, formats, reading, memory):
        for row in module.rows():
            unit = {"x faster": "x", "x": "x", "MB": " MB", "s": " s"}[row.unit]
            goal = "" if row.goal is None else f"{row.goal:g}{unit}"
            mark = "" if row.reached else " !"
            say(f"| {row.what:<92} | {row.value:.3g}{unit}{mark} | {row.reach:g}{unit} | {goal} |\n")
            sys.stdout.flush()
            short += not row.reached
    return int(short > 0)


if __name__ == "__main__":
    sys.exit(main())
