"""The stacks that pecli knows: each module here ends in one value, STACK.

A module's name is the stack's, with "_" for "-", and for the dot of a name
that ends in a language's suffix (``llama_cpp`` is llama.cpp).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pecli.models.stack import Stack

_MODULES = {
    re.sub(r"_(cpp|rs)$", r".\1", path.stem).replace("_", "-"): path.stem
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))
}
STACKS = ("transformers", *_MODULES)
"""Whose reading of a model's config; the first is the default."""


@cache
def stack_of(name: str) -> Stack:
    """Return a stack by its name; transformers, which the others are measured by, is none."""
    from importlib import import_module

    found: Stack = import_module(f"{__name__}.{_MODULES[name]}").STACK
    return found
