"""Command lines from the declarations: valid, nearly valid and hostile, each decided by its seed alone."""

from __future__ import annotations

from random import Random

from pecli import CATALOGUE
from pecli.cli.apply.command import ApplyOptions
from pecli.cli.commands import COMMANDS
from pecli.cli.compare.options import CompareOptions
from pecli.cli.convert import ConvertOptions
from pecli.cli.extrapolate.options import ExtrapolateOptions
from pecli.cli.generate.options import TableOptions
from pecli.cli.inspect.options import InspectOptions
from pecli.cli.options import declared
from pecli.encodings.recipe import join_recipe
from pecli.formats import FORMATS

OPTIONS = {
    "apply": ApplyOptions, "compare": CompareOptions, "convert": ConvertOptions, "extrapolate": ExtrapolateOptions,
    "generate": TableOptions, "inspect": InspectOptions,
}  # fmt: skip
HOSTILE = (
    "", "-1", "0", "1", "2", "3", "7", "1e400", "-1e-400", "nan", "inf", "1e308", "9007199254740993", "1" * 30, "0x10",
    "1_000", "½", "١", "a", "none", "true", "\x1b[31mred", "\x00"[:0] + "nul", "../../etc/passwd", "/dev/zero", "-",
    "@-", "@/dev/zero", "a=b", ",,", "1+", "+1", "1+1+1", "2x2", "1x", "x", "::", "pe.npy::pe", '"', '"a,b"', "😀" * 3,
    "x" * 3000, "%s%n", "$(id)", "'", "\n", "\t", "1 2", "1,2,3", "0.1", "1e-6", "1e30", "128k", "1M", "500k",
)  # fmt: skip
SUFFIXES = [suffix for form in FORMATS.values() for suffix in form.suffixes]
SIZES = (1, 2, 3, 4, 6, 8, 16, 17, 32, 64)


def number(rng: Random, param: object, whole: bool) -> str:
    """A number within, at, or beside the edges of a parameter's range."""
    low = next((v for v in (param.ge, param.gt) if v is not None), None)
    high = next((v for v in (param.le, param.lt) if v is not None), None)
    edges = [v + d for v in (low, high) if v is not None for d in (-1, 0, 1)]
    kind = rng.random()
    if edges and kind < 0.15:
        return str(rng.choice(edges))
    if not whole and kind < 0.6:
        return rng.choice(("0.5", "0.1", "1", "2", "10", "10000", "500000", "1e-6", "1e30", "-0.5", "3.25", "1e-20"))
    return str(rng.choice(SIZES))


def value(rng: Random, parameter: object) -> str:
    """Return a value for a parameter of an encoding, as text."""
    if rng.random() < 0.04:
        return rng.choice(HOSTILE)
    param = parameter.param
    match parameter.kind:
        case "integer" | "number":
            return number(rng, param, parameter.kind == "integer")
        case "integers" | "numbers":
            count = rng.choice(param.items) if param.items else rng.choice((1, 2, 3, 4, 16))
            return param.separator.join(number(rng, param, parameter.kind == "integers") for _ in range(count))
        case "flag":
            return rng.choice(("true", "false"))
        case "choice":
            return rng.choice(parameter.choices)
    return rng.choice(("c.npy", "sinusoidal:dim=8", "learned:dim=4,len=3", "t.h5", "w.npz", "none"))


def recipe(rng: Random) -> str:
    """Return a recipe, most often one that makes sense."""
    name = rng.choice(list(CATALOGUE))
    keys = {}
    for parameter in CATALOGUE[name].parameters.values():
        if parameter.required or rng.random() < 0.15:
            keys[parameter.key] = value(rng, parameter)
    if rng.random() < 0.7:
        keys["len"] = rng.choice(("1", "2", "3", "5", "16", "17", "100"))
    if rng.random() < 0.08:
        keys[rng.choice(("start", "step", "dtype", "layout", "form", "shard", "positions", "arithmetic"))] = rng.choice(
            ("0", "-5", "0.5", "float16", "bfloat16", "float64", "half", "pairs", "distance", "1/2", "0+3+9", *HOSTILE)
        )
    return join_recipe(name, keys)


def source(rng: Random, files: list[str]) -> str:
    """Return something to read."""
    return rng.choice(files) if files and rng.random() < 0.35 else recipe(rng)


def options(rng: Random, command: str) -> list[str]:
    """Return some of a command's own options."""
    words = []
    for name, (kind, option) in declared(OPTIONS[command]).items():
        if option.argument or rng.random() > 0.12:
            continue
        word = option.names[0] if option.names else "--" + name.replace("_", "-")
        if kind is bool:
            words.append(word)
            continue
        known = list(option.words() if callable(option.words) else option.words)
        if name in ("output", "plot"):
            given = rng.choice((*(f"out{suffix}" for suffix in SUFFIXES), "-", "out.svg", "no/o"))
        elif known and rng.random() < 0.8:
            given = rng.choice(known)
        else:
            given = rng.choice((*map(str, SIZES), "0.5", "0,1,5", recipe(rng), *HOSTILE))
        words += [word, given]
    return words


def command_line(rng: Random, files: list[str]) -> list[str]:
    """Return a command line."""
    command = rng.choice([*OPTIONS, *OPTIONS, "list"])
    if command == "generate":
        if rng.random() < 0.5:
            words = [command, recipe(rng)]
        else:
            name = rng.choice(list(CATALOGUE))
            words = [command, name]
            for parameter in CATALOGUE[name].options:
                if parameter.required or rng.random() < 0.15:
                    words.append(f"--{parameter.option}")
                    words += [] if parameter.kind == "flag" else [value(rng, parameter)]
            words += ["--len", rng.choice(("1", "2", "3", "16", "100"))] if rng.random() < 0.8 else []
    elif command == "list":
        return [command, *rng.choice(([], [rng.choice(list(CATALOGUE))], ["--json"], [rng.choice(HOSTILE)]))]
    else:
        count = 1 if command == "convert" else rng.choice((1, 1, 2, 3))
        words = [command, *(source(rng, files) for _ in range(count))]
        if command == "extrapolate":
            words += ["--train-len", rng.choice(("1", "2", "8", "16")), "--test-len", rng.choice(("2", "16", "33"))]
        if command == "apply" and rng.random() < 0.7:
            words += ["--random", rng.choice(("1x2x4x8", "2x4x8", "1x1x1x2", "1x2x3x4x5", "0x2x4x8", *HOSTILE))]
        if command in ("apply", "convert"):
            words += ["-o", "out" + rng.choice(SUFFIXES)]
    words += options(rng, command)
    if rng.random() < 0.06:  # broken: a word gone, twice, or replaced
        at = rng.randrange(len(words))
        words[at : at + 1] = rng.choice(([], [words[at]] * 2, [rng.choice(HOSTILE)], [rng.choice(list(COMMANDS))]))
    return words


def smallest(encoding: object, rows: int, *, least: bool) -> str:
    """Return a recipe of so many rows with what an encoding must be given, or all at the lowest values allowed."""
    keys = {}
    for parameter in encoding.parameters.values():
        param, whole = parameter.param, parameter.kind in ("integer", "integers")
        if parameter.kind == "text":
            if parameter.required:
                keys[parameter.key] = "c.npy"
        elif parameter.required or (least and whole and param.ge is not None):
            low = max(int(param.ge or 1), 1)
            low += low % 2 if param.even else 0
            one = low if least else 4
            count = (param.items[0] if param.items else 2) if parameter.kind in ("integers", "numbers") else 1
            keys[parameter.key] = param.separator.join([str(one)] * count) if count > 1 else str(one)
    if "grid" not in keys and "content" not in keys:
        keys["len"] = str(rows)
    return join_recipe(encoding.name, keys)
