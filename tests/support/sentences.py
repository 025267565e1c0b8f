"""The sentences that a part of the program can print, read from its source: texts with holes for what is filled in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2] / "pecli"
WORDS = 3  # from which on a text is more than a heading or a name; a hole counts as one
WORD = r"[A-Za-z]{2,}"
REFUSALS = ("BadParameter", "BadRecipe", "BadFile", "UnknownName", "refuse")  # whose sentences are those of errors


def template(node: ast.AST) -> str | None:
    """Return a text with {} for what is filled in; None for what is no text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def within(path: Path, inside: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the texts of a module but for docstrings, annotations and errors; of calls of these functions alone.

    Of a function that is not called but stands in the module its body.
    """
    tree = ast.parse(path.read_text())
    roots = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name in inside]
    roots += [
        n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in inside
    ]
    for root in roots if inside else [tree]:
        yield from _texts(root)


def _texts(root: ast.AST) -> Iterator[str]:
    passed: set[ast.AST] = set()
    for node in ast.walk(root):  # parents come before children
        if node in passed:
            passed |= {*ast.iter_child_nodes(node)}
            continue
        text = template(node)
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        refused = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFUSALS
        if docstring or text is not None or refused or isinstance(node, ast.Raise | ast.Assert):
            passed |= {*ast.iter_child_nodes(node)}
        if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            passed.add(node.annotation)
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            passed.add(node.returns)
        if text is not None and len(re.findall(WORD, text)) > 1 and len(re.findall(r"\{\}|" + WORD, text)) >= WORDS:
            yield text.strip()


def sentences(*patterns: str, inside: tuple[str, ...] = ()) -> set[str]:
    """Return the templates of all modules that match."""
    return {text for pattern in patterns for path in ROOT.glob(pattern) for text in within(path, inside)}


def said(text: str, printed: str) -> bool:
    """Whether a template stands in what was printed."""
    parts = (re.escape(part).replace(r"\ ", r"\s+") for part in text.split("{}"))
    return re.search(".*?".join(parts), printed) is not None
