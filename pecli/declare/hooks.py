"""Hooks: what the toolkit knows of one encoding beyond its values, loaded when somebody asks.

A declaration names its hooks.  Each is a function, or the text "module:function" of one whose module is
imported when the hook is first asked for; one that begins with a dot lies beside the declaration, and without a
module the function stands further down beside it.
Whoever asks for a hook that nobody declared gets an error, never a default: `Encoding.declares` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Literal

HookName = Literal[
    "lesson", "identify", "identify_waves", "identify_axes", "layout", "differences", "words", "mistakes",
    "emulate", "scale", "extend", "apply", "code",
]  # fmt: skip
Hook = Callable[..., Any] | str
Hooks = Mapping[HookName, Hook]


def load(hook: Hook, home: str) -> Callable[..., Any]:
    """Return the function of a hook.

    Parameters
    ----------
    hook : callable or str
        The function itself, or "module:function".
    home : str
        The module of the declaration, beside which a relative one lies.

    Raises
    ------
    TypeError
        If the text names no function: a fault of the declaration.
    """
    if not isinstance(hook, str):
        return hook
    module, _, name = hook.partition(":")
    package = import_module(home).__package__ if module.startswith(".") else None
    found: Callable[..., Any] | None = getattr(import_module(module or home, package), name, None)
    if found is None:
        raise TypeError(f"{home} declares the hook '{hook}', which is not there")
    return found
