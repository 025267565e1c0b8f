"""What the help of every command has in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Mode = Literal["markdown", "rich"] | None
"""How Typer prints a help: with rich on a terminal, plainly elsewhere."""

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


def examples_text(examples: Iterable[str], mode: Mode) -> str:
    r"""Return what a help ends with; after a \b plain help keeps the lines, rich takes paragraphs for lines."""
    lines = ["Examples:", *(f"  {line}" for line in examples)]
    return "\n\n".join(lines).replace("[", r"\[") if mode else "\b\n" + "\n".join(lines)
