"""Plain words: names and sentences that were replaced once do not come back."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PRIVATE = {
    "lane",
    "lanes",
    "guise",
    "guises",
    "wish",
    "wishes",
    "grain",
    "grains",
    "settled",
    "told",
    "spoiled",
    "reworked",
    "roughened",
    "wheel",
    "wheels",
    "stretch",
    "stretches",
    "pump",
    "outlook",
    "stuck",
    "laid",
    "turned",
    "turnable",
    "beside",
    "worth",
    "resting",
    "rises",
    "mine",
    "followings",
    "departures",
}
"""Words that were names of the code and are not the field's: parts of names, between underscores."""

CONSTANTS = {"NEAR", "MOST", "LEAST", "FEW", "SOME", "HALF", "NEARLY_ALL"}
"""Thresholds are named by their quantity, such as MIN_ROWS."""

SENTENCES = (
    r"so many",
    r"on what it hangs",
    r"Who types",
    r"that of its own",
    r"are turned",
    r"says of (it|them|the|a|an)\b",
    r"works? an example on the board",
    r"stands? beside",
    r"needs? no longer",
    r"no fault that is known",
    r"Nothing raises",
    r"(?<!mis)taken for interleaved",
    r"with a word\b",
)
"""Turns of phrase that a native reader reads twice."""


def names_of(tree: ast.AST) -> set[str]:
    """Return the names that a module defines or uses."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.keyword(arg=str(name)):
                found.add(name)
    return found


def test_names_are_the_fields():
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "pecli").rglob("*.py"))
        for name in names_of(ast.parse(path.read_text()))
        if name in CONSTANTS or PRIVATE & set(re.split(r"[._]", name.lower()))
    ]
    assert wrong == []


PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("man/*.[17]"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_pages_read_at_first_sight(page):
    text = " ".join(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL).split())
    assert [found[0] for phrase in SENTENCES for found in re.finditer(phrase, text)] == []
