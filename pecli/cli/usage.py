"""Messages about wrong usage: one sentence each, by what a word means, then by its spelling."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from importlib import import_module
from itertools import dropwhile, pairwise
from pathlib import Path
from typing import Any, get_type_hints

import typer
from typer import TyperException

from pecli.cli.commands import COMMANDS, OLDER, built
from pecli.cli.generate import TableOptions
from pecli.cli.options import declared
from pecli.errors import nearest
from pecli.formats.paths import Kind, kind_of
from pecli.numbers.dtypes import DTYPES, dtype_of
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import Encoding

# What other programs call an option that several commands have; an encoding's parameters declare their own words.
SAME = {  # these are taken, by the first option that the command has
    "kind": ("picture", "pictures", "type", "plot-type", "chart"),
    "len": ("length", "seq-len", "seq-length", "max-seq-len", "max-len", "max-length", "n", "num-positions", "context"),
    "dtype": ("type", "data-type", "torch-dtype"),
    "layout": ("to-layout", "target-layout"),
    "output": ("out", "output-file", "out-file", "outfile", "save"),
    "format": ("f", "output-format"),
    "start": ("offset", "begin"),
    "positions": ("position", "pos", "position-ids"),
    "shard": ("shards", "parts"),
    "threads": ("jobs", "j", "cores", "num-threads"),
    "quiet": ("silent", "no-progress"),
    "no-clobber": ("no-overwrite",),
    "dry-run": ("simulate", "estimate"),
    "atol": ("tol", "tolerance"),
    "train-len": ("train", "trained", "train-length", "original-len"),
    "test-len": ("test", "test-length", "target-len", "len", "length", "seq-len", "max-len", "context"),
    "grid": ("old-grid", "from-grid"),
    "to-grid": ("new-grid", "target-grid", "resize"),
    "scale": ("input-scale", "score-scale"),
}
SIDES = {"grid": ("from", "old"), "to-grid": ("to", "new", "size")}  # before the sides of a grid
SIDE = re.compile(r"(--[a-z]+=)?\d+x\d+")
LIKE = {  # and these suggested
    "dtype": ("precision", "float16", "fp16", "bfloat16", "bf16", "float64"),
    "output": ("file", "write", "to"),
    "format": ("as",),
    "start": ("from", "slice"),
    "positions": ("at",),
    "no-clobber": ("keep",),
    "dry-run": ("size",),
    "atol": ("abs", "epsilon"),
    "rtol": ("rel", "relative"),
    "train-len": ("from",),
    "test-len": ("to",),
    "config": ("model", "config-file", "model-config"),
}
CONFIG = ("--config", "--model", "--config-file", "--model-config")
OTHER_SOURCE = ("--to", "--with", "--against", "--reference", "--ref", "--expected", "--recipe", "--source")
MAX_CHOICES = 24  # that a message lists

NO_HEADER = "--format csv | tail -n +2 leaves the line of names out"


def explain(error: TyperException, words: Sequence[str]) -> str:
    """Return what is wrong with a command line that Typer refuses, and what to type instead."""
    context: Any = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    if option is not None and not hasattr(error, "possibilities"):
        other = _option_with(option.lstrip("-"), words, _encoding(context, words))
        return f"{option} needs a value" + (f": did you mean {other}?" if other else _values(option, words))
    if context is None:
        return error.format_message()
    typed = " ".join(context.command_path.split()[1:])
    if option is not None and typed == "generate":  # its options are those of an encoding
        example = "pecli generate sinusoidal --len 2048 --dim 512"
        return f"generate takes an encoding or a config before {option}, as in {example}"
    if option is not None:
        return f"{typed or 'pecli'} has no option {option}: {_remedy(option, context, words)}"
    if hasattr(error, "param_type"):
        example = COMMANDS[typed].examples.splitlines()[0]
        return f"{typed} needs {context.command.params[0].metavar.replace('...', '')}, as in {example}"
    extra = error.format_message().partition("(s) (")[2].removesuffix(")")
    return f"{typed} does not take {extra}: {_place(extra, context, words)}" if extra else error.format_message()


def _values(option: str, words: Sequence[str]) -> str:
    """Return which values an option takes: the choices, or its help."""
    words = list(dropwhile(lambda word: word not in COMMANDS, words))  # --plugin may stand before the command
    if not words:
        return ""
    command: Any = built(words[0])
    if words[0] == "generate":
        command = command.get_command(None, next(word for word in words[1:] if word[0] != "-"))
    found = next((param for param in command.params if option in param.opts), None)
    if found is None:
        return ""
    choices = [item.value for item in found.shell_complete(typer.Context(command), "")]
    if 0 < len(choices) <= MAX_CHOICES:
        return f": {', '.join(choices)}"
    return f" {found.metavar}: {found.help}" if found.help else ""


def _place(word: str, context: Any, words: Sequence[str]) -> str:
    """Return where a word belongs that the command takes only as the value of an option."""
    names, encoding, numbers = _visible(context), _encoding(context, words), word.split()
    if _generates(context) and encoding is not None and all(map(str.isdecimal, numbers)):
        needed = ["len", *(parameter.option for parameter in encoding.options if parameter.required)]
        free = [name for name in needed if not any(f"{w}=".startswith(f"--{name}=") for w in words)]
        given = [f"--{name} {number}" for name, number in zip(free, numbers, strict=False)]
        if len(given) == len(numbers):
            return f"did you mean pecli {shlex.join(w for w in words if w not in numbers)} {' '.join(given)}?"
    key, equals, value = word.partition("=")
    if equals and key in names:
        return f"write --{key} {value}"
    extra = [w for w in words if w in numbers]
    if words[0] != "generate" and extra and all(os.path.exists(w) or kind_of(w) is Kind.RECIPE for w in extra):
        return _one_source(words[0], extra, words)
    has_output = _given("-o", words) or _given("--output", words) or any(map(os.path.exists, extra))
    if "output" in names and "." in word and not has_output:
        return f"write -o {word}"
    return _help(context)


def _one_source(command: str, extra: Sequence[str], words: Sequence[str]) -> str:
    """Return what does for several sources what a command does for one; never that one of them is to be replaced."""
    sources = list(dict.fromkeys([*(w for w in words[1:2] if w[:1] != "-"), *extra]))
    if command == "plot" and len(sources) == 2:
        return f"pecli compare {shlex.join(sources)} --plot FILE draws their difference"
    folders, suffixes = {os.path.dirname(w) for w in sources}, {Path(w).suffix for w in sources}
    alike = len(folders) == len(suffixes) == 1 and all(map(os.path.exists, sources))
    named = os.path.join(*folders, f"*{''.join(suffixes)}") if alike else shlex.join(sources)
    output = ' -o "${f%.*}.h5"' if command == "convert" else ""
    return f'it takes one source: for f in {named}; do pecli {command} "$f"{output}; done'


def _help(context: Any) -> str:
    return f"{context.command_path} --help-all lists its options"


def _visible(context: Any) -> list[str]:
    """Return the names, without dashes, of the options that the help of a command shows."""
    shown = [p for p in context.command.params if p.param_type_name == "option" and not p.hidden]
    return [option[2:] for p in shown for option in p.opts if option.startswith("--")]


def _remedy(option: str, context: Any, words: Sequence[str]) -> str:
    """Return what to type instead of an option that a command lacks."""
    word, names, encoding = option.lstrip("-").replace("_", "-"), _visible(context), _encoding(context, words)
    if word in names:
        return f"did you mean --{word}?"
    verb = next((verb for _, older, (verb, *_) in OLDER if older == f"--{word}"), word)
    if verb in COMMANDS and verb != context.info_name:
        return f"pecli {verb} does that"
    if word == "no-header" and _generates(context):
        return NO_HEADER
    named = {w: name for table in (LIKE, SAME) for name, meant in table.items() for w in meant if name in names}
    for parameter in encoding.options if encoding is not None and _generates(context) else ():
        named |= dict.fromkeys((*parameter.param.names, *(word for word, _ in parameter.param.wrong)), parameter.option)
    if word in named:
        value = f" {word}" if named[word] == "dtype" and dtype_of(word) in DTYPES else ""
        return f"did you mean --{named[word]}{value}?"
    if other := _option_with(word, words, encoding):
        return f"did you mean {other}?"
    elsewhere = _elsewhere(word, context, words, encoding)
    if elsewhere:
        return elsewhere
    own = () if encoding is None else (parameter.option for parameter in encoding.options)
    found = nearest(word, [*names, *own, *named, *COMMANDS])
    if found in COMMANDS and found not in (*names, *own, *named):
        return f"pecli {found} does that"
    return _help(context) if found is None else f"did you mean --{named.get(found, found)}?"


def _named_first(words: Sequence[str]) -> list[str] | None:
    """Return a line of ``generate`` with the encoding, the recipe or the config before the options."""
    parts = [part for word in words[1:] for part in (word.split("=", 1) if word.startswith(CONFIG) else [word])]
    configs = [after for before, after in pairwise(parts) if before in CONFIG]
    name = next((word for word in parts if word.partition(":")[0] in CATALOGUE), "") or "".join(configs[:1])
    left = [part for part in parts if part != name and (part not in CONFIG or name not in configs)]
    return ["generate", name, *left] if name else None


def _option_with(word: str, words: Sequence[str], encoding: Encoding | None) -> str | None:
    """Return the option of ``generate`` that takes a word as its value, with it; None if there is none."""
    if encoding is None or words[:1] != ["generate"]:
        return None
    for parameter in encoding.options:
        choice = dict(parameter.param.synonyms).get(word, word)
        if choice in parameter.choices:
            return f"--{parameter.option} {choice}"
    for name in ("form", "layout"):
        table = declared(TableOptions)[name][1]
        if encoding.family in table.families and not callable(table.words) and word in table.words:
            return f"--{name} {word}"
    return None


def _generates(context: Any) -> bool:
    return bool(context.command_path.split()[1:2] == ["generate"])


def _encoding(context: Any, words: Sequence[str]) -> Encoding | None:
    """Return the encoding whose command, or whose recipe, was typed."""
    names = (word.partition(":")[0] for word in (getattr(context, "info_name", ""), *words))
    return next((CATALOGUE[name] for name in names if name in CATALOGUE), None)


def _elsewhere(word: str, context: Any, words: Sequence[str], encoding: Encoding | None) -> str:
    """Return who has an option of this name; nothing if nobody."""
    table = declared(TableOptions).get(word.replace("-", "_"))
    if _generates(context) and encoding is not None and table is not None:
        families = " and ".join(family.word for family in table[1].families)
        return f"it is for {families} tables, and {encoding.name} is {encoding.family.word}"
    owners = [e.name for e in CATALOGUE.values() if word in {p.option for p in e.options} | set(e.other_words)]
    if owners and _generates(context):
        return f"it belongs to {', '.join(owners[:6])}{' and others' if len(owners) > 6 else ''}"
    for option in (word, *(name for name, meant in SAME.items() if word in meant)):
        takers = [
            f"pecli {name}"
            for name in COMMANDS
            if name != "generate" and (found := declared(_options_of(name)).get(option.replace("-", "_"))) is not None
            and not found[1].argument and not found[1].hidden
        ]  # fmt: skip
        if takers:
            what = "an option" if option == word else f"--{option}"
            return f"it is {what} of {', '.join(takers[:3])}{' and others' if len(takers) > 3 else ''}"
    if owners:
        value = next((after for before, after in pairwise(words) if before == f"--{word}" and after[:1] != "-"), "..")
        return f"it is part of the recipe, {owners[0]}:{word}={value}"
    return "it is an option of pecli generate" if table is not None else ""


def folded(error: TyperException, words: Sequence[str]) -> list[str] | None:
    """Return a line that says the same in words that the command takes; None if there is none.

    ``explain sinusoidal --dim 4`` is ``explain sinusoidal:dim=4``, ``convert a.npy b.h5`` is ``convert a.npy -o b.h5``,
    and options have the names of other programs.
    """
    encoding, context = _encoding(None, words), getattr(error, "ctx", None)
    option = getattr(error, "option_name", None) if hasattr(error, "possibilities") else None
    if option is None:
        return _with_output(error, words)
    if words[0] == getattr(context, "info_name", "") == "generate":
        return _named_first(words)
    source = CONFIG if words[0] != "generate" else ()  # elsewhere a config is a source like any other
    if option in (*source, *(OTHER_SOURCE if words[0] in ("compare", "verify") else ())):
        return [word.removeprefix(f"{option}=") for word in words if word != option]
    names = _visible(context) if context is not None else []
    for name, meant in SAME.items():
        meant = (*meant, *SIDES.get(name, ())) if any(map(SIDE.fullmatch, words)) else meant
        if name in names and option.lstrip("-").replace("_", "-") in meant and not _given(f"--{name}", words):
            return [f"--{name}{word[len(option) :]}" if _given(option, [word]) else word for word in words]
    if encoding is None or words[0] == "generate":
        return None
    own = {f"--{parameter.option}" for parameter in encoding.options} | {f"--{word}" for word in encoding.other_words}
    flags = {f"--{parameter.option}" for parameter in encoding.options if parameter.kind == "flag"}
    parts = [part for word in words for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    line, keys = list[str](), list[str]()
    while parts:
        part = parts.pop(0)
        if part not in own:
            line.append(part)
        elif part not in flags and (not parts or (parts[0][:1] == "-" and parts[0].lstrip("-")[:1].isalpha())):
            return None  # without a value, it may be an option of another command
        else:
            option = None if part == option else option
            keys.append(f"{part[2:]}={'true' if part in flags else parts.pop(0)}")
    if option is not None:
        return None
    at = next(k for k, part in enumerate(line) if part.partition(":")[0] == encoding.name)
    line[at] += ("," if ":" in line[at] else ":") + ",".join(keys)
    return line


def _given(option: str, words: Sequence[str]) -> bool:
    return any(word.partition("=")[0] == option for word in words)


def _with_output(error: TyperException, words: Sequence[str]) -> list[str] | None:
    """Return the line with a second file, which the command does not take, behind -o.

    ``convert`` replaces a file of another format, as ``cp`` does; a file of the same one is rather a second source, and
    other commands would not be asked to in these words.
    """
    extra = error.format_message().partition("(s) (")[2].removesuffix(")")
    rest = [word for word in words[1:] if word != "--choose"]
    if words[0] == "list" and extra and rest[0][:1] != "-":  # the words of a task
        more = extra.split()
        left = [w for w in rest[1:] if not {*w.split()} <= {*more}]
        # control characters are escaped in the message, so that a word with some is not found
        return [words[0], " ".join([rest[0], *more]), *left] if len(left) < len(rest) - 1 else None
    takes = words[0] in ("convert", "generate", "plot") and not (_given("-o", words) or _given("--output", words))
    if not takes or extra not in words or not Path(extra).suffix[1:2].isalpha():
        return None
    if os.path.exists(extra) and (words[0] != "convert" or Path(extra).suffix == Path(words[1]).suffix):
        return None
    at = len(words) - 1 - words[::-1].index(extra)
    return [*words[:at], "-o", extra, *words[at + 1 :]]


def _options_of(command: str) -> type:
    module = import_module(f"pecli.cli.{command}")
    options: type = get_type_hints(module.command)["options"]
    return options
