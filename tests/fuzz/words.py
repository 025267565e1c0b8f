"""Command lines from the declarations: valid, nearly valid and hostile, each decided by its seed alone."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

from pecli import CATALOGUE
from pecli.cli.apply import ApplyArguments
from pecli.cli.commands import COMMANDS
from pecli.cli.compare import CompareOptions
from pecli.cli.convert import ConvertOptions
from pecli.cli.explain import ExplainOptions
from pecli.cli.extrapolate import ExtrapolateOptions
from pecli.cli.generate import TableOptions
from pecli.cli.identify import IdentifyOptions
from pecli.cli.inspect import InspectOptions
from pecli.cli.list import ListOptions
from pecli.cli.options import Option, declared
from pecli.cli.plot import PlotOptions
from pecli.cli.verify import VerifyOptions
from pecli.formats import FORMATS
from pecli.spec.declaration import Encoding
from pecli.spec.parameter import GIVEN, Parameter
from pecli.spec.recipe import join_recipe, split_recipe

ENCODINGS = dict(CATALOGUE)  # which itself looks into its folders whenever it is asked
OPTIONS = {
    "apply": ApplyArguments, "compare": CompareOptions, "convert": ConvertOptions, "explain": ExplainOptions,
    "extrapolate": ExtrapolateOptions, "generate": TableOptions, "identify": IdentifyOptions,
    "inspect": InspectOptions, "list": ListOptions, "plot": PlotOptions, "verify": VerifyOptions,
}  # fmt: skip
HOSTILE = (
    "", "-1", "0", "1", "2", "3", "7", "1e400", "-1e-400", "nan", "inf", "1e308", "9007199254740993", "1" * 30, "0x10",
    "1_000", "½", "١", "a", "none", "true", "\x1b[31mred", "nul", "../../etc/passwd", "/dev/zero", "-", "--", "-o",
    "@-", "@/dev/zero", "a=b", ",,", "1+", "+1", "1+1+1", "2x2", "1x", "x", "::", "pe.npy::pe", '"', '"a,b"', "😀" * 3,
    "x" * 3000, "%s%n", "$(id)", "'", "\n", "\t", "1 2", "1,2,3", "0.1", "1e-6", "1e30", "128k", "1M", "500k",
    "rope", "rope:", "rope:dim=4", "broken.py", ".", "/", "t*.npy", "\udcff", "config.json", "-h", "--json", "[", "]",
)  # fmt: skip
SUFFIXES = [suffix for form in FORMATS.values() for suffix in form.suffixes]
SIZES = (1, 2, 3, 4, 6, 8, 16, 17, 32, 64)
PLAUSIBLE: dict[str, tuple[str, ...]] = {  # of options whose declaration lists no words
    "output": (*(f"out{suffix}" for suffix in SUFFIXES), "-", "no/o"), "plot": ("-", "out.svg", "out.png"),
    "positions": ("0,5,9.5", "@p.txt", "@-", "3", "-2,7"), "start": ("0", "2", "-3", "0.5"), "step": ("2", "0.5", "-1"),
    "shard": ("0/2", "1/3", "0/1"), "config": ("config.json", "layers.json"), "format": (*FORMATS,),
    "layer_type": ("all", "full_attention", "sliding_attention"), "input_scale": ("sqrt", "2", "0.5"),
    "vector": ("1,2,3,4", "1,0,0,0,0,0,0,1"), "random": ("1x2x4x8", "1x4x3x16", "2x4x8", "1x1x1x2"),
    "tensors": ("pe", ".*", "q_proj"), "scaling": ("all", "none,yarn", "linear"), "factor": ("2", "4"),
    "grid": ("2x3", "2x2"), "to_grid": ("4x6", "3x3"), "alpha": ("0.4",), "threshold": ("0.5",), "limit": ("1", "1M"),
    "atol": ("0", "1e-6"), "rtol": ("0", "1e-6"), "form": ("dense", "distance", "slopes", "index"), "encoding": (),
}  # fmt: skip
BASES = (
    *(
        example.removeprefix("pecli ")
        for entry in COMMANDS.values()
        for example in map(str.strip, entry.examples.splitlines())
    ),
    *Path(__file__).with_name("typed.txt").read_text().splitlines(),
)


def number(rng: Random, parameter: Parameter) -> str:
    """Return a number within, at, or beside the edges of a parameter's range."""
    param, whole = parameter.param, parameter.kind in ("integer", "integers")
    low = next((v for v in (param.ge, param.gt) if v is not None), None)
    high = next((v for v in (param.le, param.lt) if v is not None), None)
    edges = [v + d for v in (low, high) if v is not None for d in (-1, 0, 1)]
    kind = rng.random()
    if edges and kind < 0.08:
        return str(rng.choice(edges))
    if not whole and kind < 0.6:
        return rng.choice(("0.5", "0.1", "1", "2", "10", "10000", "500000", "1e-6", "1e30", "-0.5", "3.25", "1e-20"))
    fitting = [v for v in SIZES if (low is None or v >= low) and (high is None or v <= high)]
    return str(rng.choice([v for v in fitting if not (param.even and v % 2)] or SIZES))


def value(rng: Random, parameter: Parameter) -> str:
    """Return a value for a parameter of an encoding, as text."""
    if rng.random() < 0.03:
        return rng.choice(HOSTILE)
    param = parameter.param
    match parameter.kind:
        case "integer" | "number":
            return number(rng, parameter)
        case "integers" | "numbers":
            if param.file and rng.random() < 0.3:
                return rng.choice(("p.txt", "w.npz::a", "c.npy"))
            count = rng.choice(param.items) if param.items else rng.choice((1, 2, 3, 4, 16))
            return param.separator.join(number(rng, parameter) for _ in range(count))
        case "flag":
            return rng.choice(("true", "false"))
        case "choice":
            return rng.choice(parameter.choices) if rng.random() < 0.95 or not param.number else number(rng, parameter)
    return rng.choice(("c.npy", "sinusoidal:dim=8", "learned:dim=4,len=3", "t.h5", "w.npz", "none"))


def some(rng: Random, encoding: Encoding, keys: dict[str, str], most: int) -> dict[str, str]:
    """Add some parameters to those that are given, as a rule with what each has an effect with."""
    given = dict(keys)
    for parameter in rng.sample(encoding.options, min(rng.randint(0, most), len(encoding.options))):
        given[parameter.option] = value(rng, parameter)
        when = parameter.param.when
        if when and rng.random() < 0.9:
            other = encoding.parameters[when[0]]
            wanted = value(rng, other) if when[1] is GIVEN else rng.choice([*map(other.text, when[1])])
            if given.get(other.option) != wanted:
                given.pop(other.option, None)
            given |= {other.option: wanted} if wanted != "none" else {}
    for parameter in encoding.options:
        if parameter.required and rng.random() < 0.98:
            given.setdefault(parameter.option, value(rng, parameter))
    return given


def start(rng: Random, encoding: Encoding) -> dict[str, str]:
    """Return what an encoding must be given, most often as its example gives it."""
    keys = split_recipe(encoding.example)[1] if rng.random() < 0.7 else {}
    if rng.random() < 0.5:
        keys = {name: text for name, text in keys.items() if name != "dim"}
    return keys


def recipe(rng: Random) -> str:
    """Return a recipe, most often one that makes sense."""
    encoding = ENCODINGS[rng.choice(list(ENCODINGS))]
    keys = some(rng, encoding, start(rng, encoding), 2)
    if rng.random() < (0.1 if "grid" in keys else 0.9):
        keys["len"] = rng.choice(("1", "2", "3", "5", "16", "17", "100"))
    if rng.random() < 0.08:
        keys[rng.choice(("start", "step", "dtype", "layout", "form", "shard", "positions", "arithmetic"))] = rng.choice(
            ("0", "-5", "0.5", "float16", "bfloat16", "float64", "half", "pairs", "distance", "1/2", "0+3+9", *HOSTILE)
        )
    return join_recipe(encoding.name, keys)


def source(rng: Random, files: list[str]) -> str:
    """Return something to read."""
    if rng.random() < 0.35:
        return rng.choice((*files, "-", "shards", "model", "t0.npz::pe", "z.npz::a[1:3]", "t*.npy"))
    return recipe(rng)


def word_of(name: str, option: Option) -> str:
    """Return how an option is called."""
    return option.names[0] if option.names else "--" + name.replace("_", "-")


def option_text(rng: Random, name: str, option: Option) -> str:
    """Return a value of a command's option."""
    known = list(option.words() if callable(option.words) else option.words)
    kind = rng.random()
    if kind < 0.05:
        return rng.choice(HOSTILE)
    if name == "recipe":
        return recipe(rng)
    return rng.choice(known or PLAUSIBLE.get(name) or [str(size) for size in SIZES])


def options(rng: Random, command: str) -> list[str]:
    """Return some of a command's own options."""
    table = [(name, kind, option) for name, (kind, option) in declared(OPTIONS[command]).items() if not option.argument]
    words = []
    for name, kind, option in rng.sample(table, min(len(table), rng.choice((0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 5)))):
        words += [word_of(name, option)] if kind is bool else [word_of(name, option), option_text(rng, name, option)]
    return words


def drawn(rng: Random, files: list[str]) -> list[str]:
    """Return a command with what it needs, from the declarations alone."""
    command = rng.choice([*OPTIONS, "generate", "generate", "inspect"])
    if command == "list":
        return [command, *rng.choice(([], *[[name] for name in ENCODINGS], [rng.choice(HOSTILE)]))]
    if command == "generate":
        if rng.random() < 0.4:
            return [command, recipe(rng)]
        encoding = ENCODINGS[rng.choice(list(ENCODINGS))]
        words = [command, encoding.name, *own_options(rng, encoding)]
        has_length = "--grid" in words or "--content" in words
        return words + (
            ["--len", rng.choice(("1", "2", "3", "16", "100"))] if (rng.random() < 0.9) > has_length else []
        )
    count = {"convert": (1,), "inspect": (1,) * 9 + (2,), "compare": (2, 2, 2, 3)}.get(command, (1, 1, 2, 3))
    words = [command, *(source(rng, files) for _ in range(rng.choice(count)))]
    if command == "extrapolate":
        words += ["--train-len", rng.choice(("1", "2", "8", "16")), "--test-len", rng.choice(("17", "18", "33"))]
    if command == "apply" and rng.random() < 0.7:
        words[2:] = ["--random", rng.choice(("1x2x4x8", "1x1x6x8", "1x1x1x2", "1x2x3x4", "1x3x5x16", "1x8x2x4"))]
    if command in ("apply", "convert"):
        words += ["-o", "out" + rng.choice(SUFFIXES)]
    return words


def own_options(rng: Random, encoding: Encoding) -> list[str]:
    """Return options of an encoding's own, and now and then a word that other programs use."""
    words = []
    kinds = {parameter.option: parameter for parameter in encoding.options}
    for key, text in some(rng, encoding, start(rng, encoding), 3).items():
        parameter = kinds.get(key)
        if parameter and parameter.kind == "flag":
            words.append("--" + (parameter.option if text != "false" else parameter.param.off or f"no-{key}"))
        else:
            words += ["--" + key.replace("_", "-"), text]
    if encoding.other_words and rng.random() < 0.1:
        words += [f"--{rng.choice(encoding.other_words)}", rng.choice(("4", "8", "500000"))]
    return words


def command_line(rng: Random, files: list[str]) -> list[str]:
    """Return a command line: one that people type, or one from the declarations; changed now and then."""
    words = shlex.split(rng.choice(BASES)) if rng.random() < 0.35 else drawn(rng, files)
    command = next((word for word in words if word in OPTIONS), "")
    if command and "-h" not in words and rng.random() < 0.9:
        words += options(rng, command)
    for _ in range(rng.choice((0,) * 24 + (1, 1, 2))):  # broken: a word gone, twice, or replaced
        at = rng.randrange(len(words) + 1)
        words[at : at + 1] = rng.choice(([], words[at : at + 1] * 2, [rng.choice(HOSTILE)], [rng.choice([*COMMANDS])]))
    return words


def all_options() -> Iterator[tuple[str, str]]:
    """Yield every option of every command, as command and word; of ``generate`` with the encoding whose own it is."""
    for command, about in OPTIONS.items():
        yield from ((command, word_of(name, o)) for name, (_, o) in declared(about).items() if not o.argument)
    for encoding in ENCODINGS.values():
        yield from ((f"generate {encoding.name}", f"--{parameter.option}") for parameter in encoding.options)


def options_in(words: list[str], known: Mapping[tuple[str, str], object]) -> Iterator[tuple[str, str]]:
    """Yield the options that a command line names, as `all_options` calls them."""
    command = next((word for word in words if word in OPTIONS), "")
    encoding = next((word for word in words if word in ENCODINGS), "")
    for word in words:
        for key in ((f"generate {encoding}", word), (command, word)):
            if key in known and (command == "generate" or key[0] == command):
                yield key
                break


def smallest(encoding: Encoding, rows: int, *, least: bool) -> str:
    """Return a recipe of so many rows with what an encoding must be given, or all at the lowest values allowed."""
    keys = {}
    for parameter in encoding.parameters.values():
        param, whole = parameter.param, parameter.kind in ("integer", "integers")
        if parameter.kind == "text":
            if parameter.required:
                keys[parameter.option] = "c.npy"
        elif parameter.required or (least and whole and param.ge is not None):
            low = max(int(param.ge or 1), 1)
            low += low % 2 if param.even else 0
            one = low if least else 4
            count = (param.items[0] if param.items else 2) if parameter.kind in ("integers", "numbers") else 1
            keys[parameter.option] = param.separator.join([str(one)] * count) if count > 1 else str(one)
    if "grid" not in keys and "content" not in keys:
        keys["len"] = str(rows)
    return join_recipe(encoding.name, keys)
