"""Output has one way out, and the security page names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pecli"
WRITERS = {
    "cli/terminal/output.py": "results and messages, cleaned",
    "cli/terminal/richly.py": "tables of cells that are cleaned before, drawn into a text; the progress bar",
    "cli/run.py": "replaces closed streams; the fixed sentence when memory is short",
    "formats/io/output.py": "bytes of a table to a pipe",
    "formats/io/atomic.py": "bytes of a table to standard output",
    "process.py": "the fixed sentence that an interrupted command wrote nothing",
}
"""Modules that may write to a stream, with what they write."""


def writes(tree: ast.AST) -> list[int]:
    """Return the lines that print, or write to a standard stream or a descriptor."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            if text in ("print", "os.write", "Console", "rich.print") or re.search(r"(stdout|stderr).*\.write", text):
                found.append(node.lineno)
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout.buffer", "sys.stderr.buffer"):
            found.append(node.lineno)
    return found


def test_only_the_terminal_modules_print():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = str(path.relative_to(PACKAGE))
        text = path.read_text()
        if name in WRITERS or not re.search(r"print\(|write|Console|buffer", text):
            continue
        if lines := writes(ast.parse(text)):
            found[name] = lines
    assert found == {}


def test_every_allowed_module_still_writes():
    assert [name for name in WRITERS if not writes(ast.parse((PACKAGE / name).read_text()))] == []


@pytest.mark.parametrize("page", ["security.md"])
def test_the_tests_that_a_page_names_exist(page):
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "docs" / page).read_text())
    assert len(named) > 20
    for path, name in named:
        text = (ROOT / path).read_text()
        assert not name or f"def {name}(" in text, f"{path} has no {name}"
