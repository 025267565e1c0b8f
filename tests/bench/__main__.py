"""``make bench``: what was measured, the least to keep and the goal, as ratios in one run."""

from __future__ import annotations

import argparse
import platform
import sys
from importlib import import_module
from pathlib import Path

from pecli.engine import default_threads
from tests.bench.chart import svg
from tests.bench.rows import UNITS, Row

PARTS = ("startup", "engine", "rotations", "formats", "reading", "memory")
OTHERS = ("peers",)
BEGIN, END = "<!-- begin: make bench -->", "<!-- end -->"


def processor() -> str:
    """Return the name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def main() -> int:
    """Run the benchmarks and print the table; return 1 if a figure falls short."""
    asked = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    asked.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join((*PARTS, *OTHERS))}; all but the last")
    asked.add_argument("--chart", metavar="FILE.svg", help="draw the figures too")
    asked.add_argument("--page", metavar="FILE.md", help="put the figures between the page's comments begin and end")
    given = asked.parse_args()
    if unknown := set(given.parts) - {*PARTS, *OTHERS}:
        asked.error(f"no such part: {', '.join(sorted(unknown))}")
    say = sys.stdout.write
    machine = f"{processor()}, {default_threads()} threads, Python {platform.python_version()}"
    say(f"{machine}\n\n| {'what':<92} | measured | at least | goal |\n|{'-' * 94}|---------:|---------:|-----:|\n")
    found = list[Row]()
    for name in given.parts or PARTS:
        for row in import_module(f"tests.bench.{name}").rows():
            unit = UNITS[row.unit]
            goal = "" if row.goal is None else f"{row.goal:g}{unit}"
            say(f"| {row.what:<92} | {row.figure}{'' if row.reached else ' !'} | {row.reach:g}{unit} | {goal} |\n")
            sys.stdout.flush()
            found.append(row)
    if given.chart:
        Path(given.chart).write_text(svg(found, f"Measured against the least to keep: {machine}"))
    if given.page:
        lines = [f"On {machine}:", "", "| what | measured |", "|---|---|"]
        lines += [f"| {row.what} | {row.in_words} |" for row in found]
        head, _, rest = Path(given.page).read_text().partition(BEGIN)
        Path(given.page).write_text("\n".join([head + BEGIN, *lines, END + rest.partition(END)[2]]))
    return int(not all(row.reached for row in found))


if __name__ == "__main__":
    sys.exit(main())
