"""What an error says, in the syntax of the command that was typed.

The library writes keys as recipes do: ``dim=4``, ``len=N``, ``positions=``.  Where the command takes an option of that
name, and its user did not write the key in a recipe, the message says ``--dim 4``, ``--len N``, ``--positions``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from inspect import Parameter
from typing import Any

from pecli.errors import BadParameter, PecliError

_KEY = re.compile(r"(?<![\w:,./=\"'-])([a-z][a-z0-9-]*)=((?:[^\s,:;()]|[,:](?=\S))*)")
_TYPED = re.compile(r"[:,]\s*([a-z][a-z0-9_-]*)\s*=")  # a key of a recipe
ARGUMENTS = ("SOURCE", "input")  # given by their place: the message says what was given and no name


def spellings(parameters: Iterable[Parameter], given: Mapping[str, Any], left: Iterable[str] = ()) -> dict[str, str]:
    """Return how the options of a command are typed, by their names without dashes; of a flag, both ways.

    Parameters
    ----------
    parameters : iterable of inspect.Parameter
        What Typer makes the command's options of.
    given : mapping
        What was given, by the parameters' names.
    left : iterable of str
        Options that belong to a recipe unless they were typed as options.
    """
    recipes = [text for value in given.values() for text in (value if isinstance(value, list) else [value])]
    keys = {key.replace("_", "-") for text in recipes if isinstance(text, str) for key in _TYPED.findall(text)}
    keys |= set(left)
    found = {}
    for parameter in parameters:
        info = parameter.annotation.__metadata__[0]
        if not isinstance(info.default, str):  # Typer's word for the first of an option's names; an argument has none
            continue
        on, _, off = info.default.partition("/")
        if on[2:] not in keys or given.get(parameter.name) not in (None, False):
            found[on[2:]] = next(iter(info.param_decls or ()), on)  # -o rather than --output
            found[f"{on[2:]}=false"] = off or f"--no-{on[2:]}"
    return found


def respell(error: PecliError, options: Mapping[str, str]) -> None:
    """Make an error say keys as the command that was typed takes them."""
    if not isinstance(error, BadParameter):
        error.args = (_spoken(str(error), options),)
        return
    rule = _spoken(error.rule, options)
    if error.name in ARGUMENTS:
        lead = error.name if error.value is None else str(error.value)
    elif error.name not in options:
        lead = str(error).removesuffix(error.rule).rstrip()
    else:
        lead = _option(error.name, None if error.value is None else str(error.value), options)
    error.args = (f"{lead} {rule}",)


def _spoken(text: str, options: Mapping[str, str]) -> str:
    return _KEY.sub(lambda m: _option(m[1], m[2] or None, options) if m[1] in options else m[0], text)


def _option(name: str, value: str | None, options: Mapping[str, str]) -> str:
    if value == "false":
        return options[f"{name}=false"]
    if value is None or value == "true":
        return options[name]
    return f"{options[name]} {shlex.quote(value) if not value or any(map(str.isspace, value)) else value}"
