"""A line of the benchmark, and how pairs of things are timed side by side."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measured figure beside what is to be reached; no figure where what it is measured against is absent."""

    what: str
    value: float | None
    unit: str  # "x faster" (more is better), "x", "MB", "s" (less is better)
    reach: float
    goal: float | None = None

    @property
    def reached(self) -> bool:
        """Whether the figure is at least as good as what is to be reached."""
        if self.value is None:
            return True
        return self.value >= self.reach if self.unit == "x faster" else self.value <= self.reach

    @property
    def figure(self) -> str:
        """The figure with its unit."""
        return "absent" if self.value is None else f"{self.value:.3g}{UNITS[self.unit]}"

    @property
    def in_words(self) -> str:
        """The figure as docs/speed.md gives it."""
        return self.figure if not self.unit.startswith("x") else self.figure[:-1] + IN_WORDS[self.unit]


IN_WORDS = {"x faster": " times as fast", "x": " x"}
UNITS = {"x faster": "x", "x": "x", "MB": " MB", "s": " s"}


def environment() -> dict[str, str]:
    """Return the environment of a command as pip and `make install` leave it: compiled once."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def best_of(things: Mapping[str, Callable[[], object]], repeats: int = 7) -> dict[str, float]:
    """Return the best time of each thing in seconds, taken in turn so that the machine's moods hit all alike."""
    best = dict.fromkeys(things, float("inf"))
    for _ in range(repeats):
        for name, run in things.items():
            started = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - started)
    return best
