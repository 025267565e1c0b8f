"""Questions and answers about encodings: the file ``questions.md`` of each family's folder.

A heading ``## name`` (or several names, or ``Every rotary encoding``) says whom the questions below it are about; a
name may have several such sections, which are printed in the order of the file.
``### question`` opens one, its answer follows as one paragraph, and a console block holds the command that shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from pecli.spec.catalogue import FOLDERS
from pecli.spec.declaration import Encoding


@dataclass(frozen=True)
class Question:
    """A question that people ask of an encoding, and its answer.

    Parameters
    ----------
    question, answer : str
        One sentence, and a few.
    see : str
        A command that shows it, without the program's name; "" for none.
    """

    question: str
    answer: str
    see: str = ""


def questions(encoding: Encoding) -> list[Question]:
    """Return the questions about an encoding: its own, those that it shares, then those about its whole family."""
    found = []
    for folder in FOLDERS:
        text = files("pecli.encodings").joinpath(folder, "questions.md").read_text(encoding="utf-8")
        for section in text.split("\n## ")[1:]:
            heading, *asked = section.split("\n### ")
            names = heading.strip().split(", ")
            if encoding.name in names or f"Every {encoding.family.word} encoding" in names:
                found += [_parsed(part) for part in asked]
    return found


def _parsed(text: str) -> Question:
    question, _, below = text.partition("\n")
    answer, _, block = below.partition("```console\n$ pecli ")
    return Question(question, " ".join(answer.split()), block.partition("\n")[0])
