"""One way to declare a command's options: a dataclass whose fields state help, metavar, other names and check.

A field is ``threads: int | None = option("Threads.", "T")``.  From the
dataclass that a command takes derive its signature for Typer, its help and its
man page; what the command receives is an instance whose values are checked.
Options that several commands share are at the end of this module.

The library writes keys as recipes do: ``dim=4``, ``len=N``, ``positions=``.  Where the command takes an option of that
name, and its user did not write the key in a recipe, an error has ``--dim 4``, ``--len N``, ``--positions``.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_origin, get_type_hints

import typer

from pecli.cli.completion import source_words
from pecli.cli.help import HELP_NAMES, show_everything
from pecli.cli.terminal.layout import TABLE_FORMATS, known_format
from pecli.cli.terminal.output import clean
from pecli.errors import BadFile, BadParameter, PecliError
from pecli.formats.paths import Kind, kind_of
from pecli.models.stacks import STACKS
from pecli.numbers.decimals import parse_count, parse_integer
from pecli.numbers.dtypes import DTYPES, known_dtype
from pecli.settings import settings, using
from pecli.spec.catalogue import unknown_encoding
from pecli.spec.declaration import Family
from pecli.tables.layouts import LAYOUTS

T = TypeVar("T")
TABLE, OUTPUT, SCREEN = "Table", "Output", "Screen"
LONGEST = 1 << 53
KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Option(NamedTuple):
    """What is known of an option beyond its type and its default.

    Parameters
    ----------
    help : str
        One sentence, plain text; {} stands for the words.
    metavar : str, optional
        What stands for the value; flags have none.
    panel : str, optional
        The part of the help in which a terminal shows it.
    words : iterable of str, or a function of a word's beginning that returns one
        What completion offers.
    names : tuple of str
        The option's names; empty for two dashes and the field's name.
    check : (name, text) -> value, optional
        What makes the checked value of the text.
    argument : bool
        Whether it is given by its place and not by a name.
    families : tuple of Family
        Of a table's option: the families that have it; empty for all.
    hidden : bool
        Whether the help leaves it out: it serves existing scripts, or a recipe can state it as well.
    """

    help: str
    metavar: str | None = None
    panel: str | None = None
    words: Iterable[str] | Callable[[str], Iterable[str]] = ()
    names: tuple[str, ...] = ()
    check: Callable[[str, Any], Any] | None = None
    argument: bool = False
    families: tuple[Family, ...] = ()
    hidden: bool = False

    @property
    def brief(self) -> str:
        """The help without a list of words."""
        return self.help.partition(": {}")[0].rstrip(".") + "." if ": {}" in self.help else self.text

    @property
    def text(self) -> str:
        """The help with its words."""
        return self.help.replace("{}", ", ".join(() if callable(self.words) else self.words))

    def parameter(self, name: str, kind: Any, default: Any) -> inspect.Parameter:
        """Return the parameter from which Typer makes the option."""
        found = self.words
        words = () if callable(found) else found
        declared: dict[str, Any] = {
            "metavar": self.metavar, "help": self.text, "rich_help_panel": self.panel,
            "autocompletion": (found if callable(found) else lambda incomplete: list(words)) if found else None,
            "hidden": self.hidden, "show_default": False,
        }  # fmt: skip
        names = [] if self.argument else self.names or ["--" + name.replace("_", "-")]
        info = typer.Argument(**declared) if self.argument else typer.Option(*names, **declared)
        return inspect.Parameter(name, KEYWORD, default=default, annotation=Annotated[kind, info])


def argument(text: str, metavar: str, **more: Any) -> Any:
    """Return a field that is given by its place and names a source."""
    return field(metadata={"option": Option(text, metavar, words=source_words, argument=True)}, **more)


def option(declared: Option | str, *rest: Any, default: Any = None, **more: Any) -> Any:
    """Return a field of an options class, with a default."""
    made = declared if isinstance(declared, Option) else Option(declared, *rest, **more)
    return field(default=default, metadata={"option": made})


def flag(declared: Option | str, *rest: Any, **more: Any) -> Any:
    """Return a field of an options class that is given or not."""
    return option(declared, *rest, default=False, **more)


def runner(
    run: Callable[[dict[str, Any]], int], parameters: Iterable[inspect.Parameter], keys: Iterable[str] = ()
) -> Any:
    """Return a function that Typer can call, with these parameters; `keys` of them a recipe gives, unless typed.

    It returns the exit status; an error says keys as this command takes them.
    """
    how: dict[str, Any] = {"is_eager": True, "expose_value": False, "help": "Show all options and exit."}
    info = typer.Option("--help-all", callback=show_everything, **how)
    whole = inspect.Parameter("help_all", KEYWORD, default=False, annotation=Annotated[bool, info])
    signature, left = inspect.Signature([*parameters, whole]), tuple(keys)

    def called(**given: Any) -> int:
        try:
            with with_settings(given):
                return run(dict(given))
        except PecliError as error:
            respell(error, spellings(signature.parameters.values(), given, left))
            raise

    made: Any = called
    made.__signature__, made.__annotations__ = signature, {}
    return made


_KEY = re.compile(r"(?<![\w:,./=\"'-])([a-z][a-z0-9-]*)=((?:[^\s,:;()]|[,:](?=\S))*)")
_TYPED = re.compile(r"[:,]\s*([a-z][a-z0-9_-]*)\s*=")  # a key of a recipe
ARGUMENTS = ("SOURCE", "input")  # given by their place: the message says what was given and no name


def spellings(parameters: Iterable[Any], given: Mapping[str, Any], left: Iterable[str] = ()) -> dict[str, str]:
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


def runner_of(command: Callable[[Any], int]) -> Any:
    """Return what Typer calls for a command, whose one argument is annotated with the dataclass of its options."""
    options = get_type_hints(command)["options"]
    return runner(lambda given: command(checked(options, given)), parameters_of(options))


def command_of(called: Any, name: str, cls: Any, text: str, epilog: str) -> Any:
    """Return the Typer command that calls this, with such a help."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name, cls=cls, context_settings=HELP_NAMES, help=text, epilog=epilog)(called)
    return typer.main.get_command(app)


@cache
def declared(options: type) -> dict[str, tuple[Any, Option]]:
    """Return the type and the declaration of each option, in the order of the help: a class's own, then its base's."""
    hints, known = get_type_hints(options), {one.name: one for one in fields(options)}
    names = dict.fromkeys(name for cls in options.__mro__ for name in inspect.get_annotations(cls))
    return {name: (hints[name], known[name].metadata["option"]) for name in names if known[name].metadata}


def parameters_of(options: Any, family: Family | None = None) -> list[inspect.Parameter]:
    """Return the parameters from which Typer makes the options, of a table those of its family.

    Flags are flags, tuples lists of arguments; all else is text, which `checked` makes the value of.
    """
    needed = {one.name for one in fields(options) if one.default is MISSING}
    made = []
    for name, (type_, one) in declared(options).items():
        if family and one.families and family not in one.families:
            continue
        plain: Any = list[str] if get_origin(type_) is tuple else str
        kind = plain if name in needed else plain | None
        default: Any = inspect.Parameter.empty if name in needed else None
        made.append(one.parameter(name, *((bool, False) if type_ is bool else (kind, default))))
    return made


def checked(options: type[T], given: Mapping[str, Any]) -> T:
    """Return the options with what was given, each checked.

    Raises
    ------
    BadParameter
        For the first whose text breaks its rule.
    """
    values: dict[str, Any] = {}
    known: Any = options
    for name, (_, one) in declared(known).items():
        value = given.get(name)
        if value is not None:
            values[name] = tuple(value) if isinstance(value, list) else value
            if one.check:
                values[name] = one.check(name.replace("_", "-"), value)
    return options(**values)


def whole(low: int, high: int = LONGEST) -> Callable[[str, str], int]:
    """Return the check of a whole number in a range."""

    def check(name: str, given: str) -> int:
        value = parse_integer(name, given)
        if not low <= value <= high:
            raise BadParameter(name, given, f"must be from {low} to {'2^53' if high == LONGEST else high}")
        return value

    return check


def positions(low: int) -> Callable[[str, str], int]:
    """Return the check of a number of positions, at least `low`; 128k and 1M are understood."""
    check = whole(low)
    return lambda name, given: check(name, str(parse_count(name, given)))


def refuse(rule: str, options: object, *names: str) -> None:
    """Raise BadParameter, with this rule, for the first of these options that was given."""
    for name in names:
        value = getattr(options, name)
        if value not in (None, False, ()):
            text = "x".join(map(str, value)) if isinstance(value, tuple) else value
            raise BadParameter(name.replace("_", "-"), "true" if text is True else text, rule)


def _limit(name: str, given: str) -> int:
    unit = {"k": 10, "m": 20, "g": 30}.get(given[-1:].lower(), 0)
    digits = given[:-1] if unit else given
    if not digits.isdecimal() or not 0 < int(digits) <= LONGEST:
        raise BadParameter(name, given, "must be a size such as 500M or 2G")
    return int(digits) << unit


DECIMALS = whole(0, 17)


def with_settings(given: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Let the settings that a command's options make hold inside."""
    chosen = settings()._replace(trusts_recipes=bool(given.get("trust_recipe")))
    if given.get("precision") is not None:
        chosen = chosen._replace(decimals=DECIMALS("precision", given["precision"]))
    if given.get("limit") is not None:
        chosen = chosen._replace(limit=_limit("limit", given["limit"]))
    return using(chosen._replace(tell=None) if given.get("quiet") else chosen)


JSON = Option("Print one JSON object.", panel=SCREEN)
QUIET = Option("Print no messages.", panel=SCREEN, names=("--quiet", "-q"))
SILENT = Option("Print nothing: the exit status is the answer.", panel=SCREEN, names=("--quiet", "-q"))
GET = Option(
    "Print one bare value: {}, or a parameter such as base.", "KEY", SCREEN, ("recipe", "shape", "dtype", "verdict")
)
TABLE_FORMAT = Option("Print tables as {}.", "WORD", SCREEN, TABLE_FORMATS, check=lambda _, word: known_format(word))
LAYER_TYPE = Option("Kind of layer, if the config has several.", "NAME")
STACK = Option(f"Who reads the config: {{}} (default {STACKS[0]}).", "WORD", words=STACKS, hidden=True)
OUTPUT_OPTION = Option("File to write; - is standard output.", "PATH", OUTPUT, names=("--output", "-o"))
FORMAT_OPTION = Option("Format, whatever the suffix says.", "WORD", OUTPUT)
START = Option("First position (default 0).", "P", TABLE)
STEP = Option("Distance of neighbouring positions (default 1).", "S", TABLE)
DTYPE = Option("{}.", "TYPE", TABLE, DTYPES, check=lambda _, word: known_dtype(word))
LAYOUT = Option("Rotary: {}.", "WORD", TABLE, LAYOUTS)
THREADS = Option("Threads (default: all cores up to eight).", "T", OUTPUT, check=whole(1, 256))
COMPRESS = Option("Compress (HDF5: shuffle and gzip 1).", panel=OUTPUT)
WIDE = Option("Parquet: one column per channel.", panel=OUTPUT)
NO_CLOBBER = Option("Fail if the file exists.", panel=OUTPUT)
PRECISION = Option("Decimals to print (default: what suits).", "N", SCREEN, check=DECIMALS)


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Options of every command that reads sources."""

    trust_recipe: bool = flag("Let a recipe stored in a file open other files.")
    limit: int | None = option("Largest file that is read into memory, such as 2G.", "SIZE", check=_limit)
    json: bool = flag(JSON)
    quiet: bool = flag(QUIET)


@dataclass(frozen=True, kw_only=True)
class TableChoice(SourceOptions):
    """Options of a command that looks at one source: what is computed of a recipe, or read of a config.

    A recipe can state start, step, layout and form itself, so that the help leaves them out.
    """

    len: str | None = option("Rows of a recipe's table.", "N", TABLE)
    positions: str | None = option("Positions: 0,5,9.5, 1000:2000 or @FILE.", "LIST", TABLE)
    dtype: str | None = option(DTYPE)
    start: str | None = option("First position.", "P", TABLE, hidden=True)
    step: str | None = option("Distance of neighbouring positions.", "S", TABLE, hidden=True)
    layout: str | None = option("Layout of a rotary table.", "WORD", TABLE, LAYOUTS, hidden=True)
    form: str | None = option("Form of a bias or of relative vectors.", "WORD", TABLE, hidden=True)
    layer_type: str | None = option(LAYER_TYPE)
    stack: str | None = option(STACK)

    @property
    def table(self) -> dict[str, str]:
        """What is asked of a recipe's table, by the names of :meth:`Table.make`."""
        names = ("len", "start", "step", "positions", "dtype", "layout", "form")
        asked = {name.replace("len", "length"): getattr(self, name) for name in names}
        return {name: text for name, text in asked.items() if text is not None}


def absent(word: str) -> PecliError:
    """Return the error of a word that names neither an encoding nor a file that is there."""
    if Path(word).suffix[1:2].isalpha():
        return BadFile(clean(word), "does not exist: check the name")
    return unknown_encoding(clean(word.partition(":")[0]))


def choice_of(options: object) -> dict[str, str]:
    """Return what is read of a config: the kind of layer and the stack, as far as they were given."""
    return {name: word for name in ("layer_type", "stack") if (word := getattr(options, name)) is not None}


def with_rows(source: str, start: int | None, length: int | None) -> str:
    """Return a file with some of its rows as a slice, ``pe.h5::[100:150]``; a recipe with the keys that say so."""
    if start is None and length is None:
        return source
    if kind_of(source) is Kind.RECIPE:
        keys = {"start": start, "len": length}
        given = ",".join(f"{key}={value}" for key, value in keys.items() if value is not None)
        return f"{source}{',' if ':' in source else ':'}{given}"
    end = "" if length is None else (start or 0) + length
    return f"{source}{'' if '::' in source else '::'}[{start or 0}:{end}]"


def refuse_table(table: Iterable[tuple[str, str]], rule: str = "is for recipes: a file has its own") -> None:
    """Raise BadParameter for the first option that asks something of a recipe's table."""
    for name, text in table:
        raise BadParameter(name.replace("length", "len").replace("_", "-"), text, rule)
