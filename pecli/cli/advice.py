"""What ``pecli list`` says to whoever chooses: the tree of questions, and why an encoding is as it is."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pecli.cli.terminal.output import prose_width

if TYPE_CHECKING:
    from pecli.encodings.questions import Question
    from pecli.teach.choosing import Branch


def tree_text(root: Branch) -> str:
    """Return the questions and answers, one below the other, with what is left at each leaf and when it is right."""
    return "\n".join([root.question, *_below(root, "")])


def _below(branch: Branch, lead: str) -> Iterator[str]:
    for number, one in enumerate(branch.branches, 1):
        last = number == len(branch.branches)
        further = lead + ("   " if last else "│  ")
        yield from _wrapped(one.answer, lead + ("└─ " if last else "├─ "), further)
        if one.question:
            yield from _wrapped(one.question, further, further)
        for encoding in one.encodings:
            advice = f": {encoding.guidance.when}" if encoding.guidance else ""
            yield from _wrapped(f"→ {encoding.name}{advice}", further, further + "    ")
        yield from _below(one, further)


def why_text(title: str, reasons: Sequence[Question]) -> str:
    """Return questions with their answers, and what to run to see it."""
    lines = [title]
    for reason in reasons:
        lines += ["", *_wrapped(reason.question, "", ""), *_wrapped(reason.answer, "  ", "  ")]
        lines += [f"  $ pecli {reason.see}"] if reason.see else []
    return "\n".join(lines)


def _wrapped(text: str, first: str, then: str) -> list[str]:
    width = prose_width()
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
