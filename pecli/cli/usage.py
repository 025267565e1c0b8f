"""Wording of errors in the syntax of the command that was typed, and remedies for what Typer refuses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from inspect import Parameter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_type_hints

from typer import TyperException

from pecli.errors import BadParameter, PecliError, nearest

if TYPE_CHECKING:
    from pecli.spec.declaration import Encoding

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


# What other programs call an option that several commands have; an encoding's parameters declare their own words.
MEANT = {
    "len": ("length", "seq-len", "seq-length", "max-seq-len", "max-len", "max-length", "n", "num-positions", "context"),
    "dtype": ("type", "data-type", "precision", "float16", "fp16", "bfloat16", "bf16", "float64"),
    "output": ("out", "output-file", "out-file", "outfile", "save", "file", "write", "to"),
    "format": ("f", "as", "output-format"),
    "start": ("offset", "from", "begin"),
    "positions": ("position", "pos", "at", "position-ids"),
    "threads": ("jobs", "j", "cores", "workers"),
    "quiet": ("silent", "no-progress"),
    "no-clobber": ("no-overwrite", "keep"),
    "dry-run": ("simulate",),
    "verify": ("check", "validate"),
    "sha256": ("hash", "checksum", "digest", "sha"),
    "identify": ("guess", "detect", "what"),
    "steps": ("explain", "example", "worked-example", "teach"),
    "plot": ("draw", "figure", "chart", "image"),
    "atol": ("tol", "tolerance", "abs", "epsilon"),
    "rtol": ("rel", "relative"),
    "train-len": ("train", "trained", "original-len"),
    "test-len": ("test", "target-len"),
}

# Options that a command had, and what does their work now.
REPLACED = {
    ("extrapolate", "probe"): "run examples/extrapolation_trial.py, which trains small models with PyTorch",
    ("compare", "for"): "pecli list --choose leads to an encoding by questions",
}


def explain(error: TyperException, words: Sequence[str]) -> str:
    """Return what is wrong with a command line that Typer refuses.

    Parameters
    ----------
    error : TyperException
        What it raised.
    words : sequence of str
        The command line.
    """
    context: Any = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    if option is not None and not hasattr(error, "possibilities"):
        return f"{option} needs a value"
    if context is None:
        return error.format_message()
    typed = " ".join(context.command_path.split()[1:])
    if option is not None:
        return f"{typed or 'pecli'} has no option {option}: {_remedy(option, context, words)}"
    if hasattr(error, "param_type"):
        return f"{typed} needs {context.command.params[0].metavar}: see pecli help {typed}"
    extra = error.format_message().partition("(s) (")[2].removesuffix(")")
    return f"{typed} takes nothing like {extra}: {_place(extra, context)}" if extra else error.format_message()


def _place(word: str, context: Any) -> str:
    """Return where a word belongs that stands where nothing does."""
    names = _visible(context)
    key, equals, value = word.partition("=")
    if equals and key in names:
        return f"write --{key} {value}"
    if "output" in names and "." in word:
        return f"write -o {word}"
    return _help(context)


def _help(context: Any) -> str:
    return f"{' '.join(['pecli help', *context.command_path.split()[1:]])} lists what it takes"


def _visible(context: Any) -> list[str]:
    """Return the names, without dashes, of the options that the help of a command shows."""
    shown = [p for p in context.command.params if p.param_type_name == "option" and not p.hidden]
    return [option[2:] for p in shown for option in p.opts if option.startswith("--")]


def _remedy(option: str, context: Any, words: Sequence[str]) -> str:
    """Return what to type instead of an option that a command lacks."""
    word, names, encoding = option.lstrip("-").replace("_", "-"), _visible(context), _encoding(context, words)
    if word in names:
        return f"did you mean --{word}?"
    if (context.info_name, word) in REPLACED:
        return REPLACED[context.info_name, word]
    named = {w: name for name, meant in MEANT.items() for w in meant if name in names}
    for parameter in encoding.options if encoding is not None and _generates(context) else ():
        named |= dict.fromkeys((*parameter.param.names, *(word for word, _ in parameter.param.wrong)), parameter.option)
    if word in named:
        return f"did you mean --{named[word]}?"
    elsewhere = _elsewhere(word, context, words, encoding)
    if elsewhere:
        return elsewhere
    found = nearest(word, [*names, *named])
    return _help(context) if found is None else f"did you mean --{named.get(found, found)}?"


def _generates(context: Any) -> bool:
    return bool(context.command_path.split()[1:2] == ["generate"])


def _encoding(context: Any, words: Sequence[str]) -> Encoding | None:
    """Return the encoding whose command, or whose recipe, was typed."""
    from pecli.spec.catalogue import CATALOGUE

    names = (word.partition(":")[0] for word in (context.info_name, *words))
    return next((CATALOGUE[name] for name in names if name in CATALOGUE), None)


def _elsewhere(word: str, context: Any, words: Sequence[str], encoding: Encoding | None) -> str:
    """Return who has an option of this name; nothing if nobody."""
    from pecli.cli.commands import COMMANDS
    from pecli.cli.generate import TableOptions
    from pecli.cli.options import declared
    from pecli.spec.catalogue import CATALOGUE

    table = declared(TableOptions).get(word.replace("-", "_"))
    if _generates(context) and encoding is not None and table is not None:
        families = " and ".join(family.word for family in table[1].families)
        return f"it is for {families} tables, and {encoding.name} is {encoding.family.word}"
    owners = [e.name for e in CATALOGUE.values() if word in {p.option for p in e.options} | set(e.other_words)]
    if owners and _generates(context):
        return f"it belongs to {', '.join(owners[:6])}{' and others' if len(owners) > 6 else ''}"
    if owners:
        name = encoding.name if encoding is not None and encoding.name in owners else owners[0]
        value = next((after for before, after in pairwise(words) if before == f"--{word}"), "..")
        return f"it stands in the recipe, {name}:{word}={value}"
    for name in COMMANDS:
        found = None if name == "generate" else declared(_options_of(name)).get(word.replace("-", "_"))
        if found is not None and not found[1].argument:
            return f"it is an option of pecli {name}"
    return "it is an option of pecli generate" if table is not None else ""


def _options_of(command: str) -> type:
    from pecli.cli.commands import COMMANDS

    module = import_module(f"pecli.cli.{COMMANDS[command].module}")
    options: type = get_type_hints(module.command)["options"]
    return options
