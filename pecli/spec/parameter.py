"""Parameters of a declaration, and the parsing of text into checked values."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import cache
from operator import ge, gt, le, lt
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pecli.errors import BadParameter, UnknownName
from pecli.numbers.decimals import join_list, number_text, parse_count, parse_integer, parse_number, split_list

Kind = Literal["integer", "number", "flag", "choice", "integers", "numbers", "text"]
Value = int | Decimal | bool | str | tuple[int, ...] | tuple[Decimal, ...] | None


FLAGS = {"true": True, "yes": True, "1": True, "": True, "false": False, "no": False, "0": False}
GIVEN = None  # in place of values: the condition that a parameter is given at all
# A parameter, and the values of it with which another one has an effect.
When = tuple[str, tuple[Value, ...] | None]


def _plain(bound: float) -> str:
    """Return a bound as a person writes it: 2^53, 1e30, 65536."""
    whole = int(bound) if bound == int(bound) else 0
    if whole > 1 << 20 and whole & (whole - 1) == 0:
        return f"2^{whole.bit_length() - 1}"
    text = f"{bound:g}" if float(f"{bound:g}") == bound else f"{bound:.12g}"
    return text.replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


@dataclass(frozen=True)
class Param:
    """Declaration of a parameter beyond its type and its default.

    Parameters
    ----------
    help : str
        One sentence, plain text (no square brackets: rich would eat them); the section Parameters of the function's
        docstring has it otherwise.
    ge, gt, le, lt : number, optional
        Range of the value, of each item of a list.
    even : bool
        Whether it must be even.
    metavar : str, optional
        Placeholder of the value in the help.
    of_table : {"length", "last"}, optional
        The parameter depends on the whole table: left out, it becomes the
        number of rows, or the last position plus one.
    count : bool
        Whether it counts positions, so that 128k and 1M are understood.
    separator : str
        What joins the items of a list: "+", or "x" for a grid.
    items : tuple of int
        How many items a list may have; empty for any number.
    file : bool
        Whether the text names a file to read; a list of numbers may then be
        one of any format or of text, and becomes its numbers.
    number : bool
        Whether a number is accepted in place of a choice's word.
    matrix : bool
        Whether such a file may hold rows; the list is theirs, one after the other.
    off : str, optional
        The option that switches a flag off, where it is not ``no-`` and the name.
    when : (name, values), optional
        The parameter has an effect only while the parameter of that name has
        one of these values (``GIVEN``: any); given otherwise it is refused,
        and it is no part of the identity then.
    names : tuple of str
        Other words for it, as other programs call it.
    wrong : tuple of (word, rule)
        Words that would mean something else, and what to give instead.
    synonyms : tuple of (word, choice)
        What others call one of the choices.
    usual : str
        A value that models have, for command lines to copy.
    """

    help: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    even: bool = False
    metavar: str | None = None
    of_table: Literal["length", "last"] | None = None
    count: bool = False
    separator: str = "+"
    items: tuple[int, ...] = ()
    file: bool = False
    matrix: bool = False
    number: bool = False
    off: str | None = None
    when: When | None = None
    usual: str = ""
    names: tuple[str, ...] = ()
    wrong: tuple[tuple[str, str], ...] = ()
    synonyms: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name, kinds in {"even": bool, **dict.fromkeys(("ge", "gt", "le", "lt"), int | float | None)}.items():
            if not isinstance(value := getattr(self, name), kinds):
                raise TypeError(f"Param has {name}={value!r}, which is no {'bool' if kinds is bool else 'number'}")

    @property
    def range_text(self) -> str:
        """The range in words, for help and messages."""
        if None not in (self.ge, self.le) and self.gt is None:
            return f"{'even and ' * self.even}from {_plain(self.ge or 0)} to {_plain(self.le or 0)}"
        low = f"at least {_plain(self.ge)}" if self.ge is not None else ""
        if self.gt is not None and (self.ge is None or self.gt >= self.ge):
            low = f"above {_plain(self.gt)}"
        high = f"at most {_plain(self.le)}" if self.le is not None else ""
        high = f"below {_plain(self.lt)}" if self.lt is not None else high
        return " and ".join(filter(None, ("even" if self.even else "", low, high)))


class Parameter(NamedTuple):
    """Parameter of an encoding, as derived from its function's signature."""

    name: str
    kind: Kind
    default: Value
    required: bool
    param: Param
    choices: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        """The name on the command line, without its dashes, and in a recipe."""
        return self.name.rstrip("_").replace("_", "-")

    @property
    def brief_text(self) -> str:
        """What it is, with its choices and its default."""
        return self._noted(", ".join(self.choices))

    @property
    def help_text(self) -> str:
        """What it is, with its choices or range, its default, and when it applies."""
        when = ""
        if self.param.when is not None:
            name, values = self.param.when
            words = ["none" if v is None else "off" if v is False else str(v) for v in values or ()]
            option, value = name.replace("_", "-"), " or ".join(words)
            when = f"without --{option}" if value == "none" else f"with --{option} {value}".rstrip()
        return self._noted(", ".join(self.choices), self.param.range_text, last=when)

    def _noted(self, *notes: str, last: str = "") -> str:
        given = "" if self.default is None or self.default is False else f"default {self.text(self.default)}"
        words = "; ".join(filter(None, (*notes, "required" if self.required else given, last)))
        return f"{self.param.help.removesuffix('.')} ({words})." if words else self.param.help

    def as_dict(self) -> dict[str, object]:
        """Return the declaration as data, for JSON."""
        default = None if self.default is None else self.text(self.default)
        return {
            "name": self.option, "kind": self.kind, "help": self.param.help, "default": default,
            "required": self.required, "choices": self.choices, "range": self.param.range_text,
        }  # fmt: skip

    @property
    def metavar(self) -> str:
        """Placeholder of the value in help and messages; "" for a flag."""
        if self.param.metavar:
            return self.param.metavar
        if self.param.file:
            return "FILE"
        item = {"integers": "N", "numbers": "X"}.get(self.kind)
        if item is not None:
            return f"{item}{self.param.separator}{item}.."
        return {"integer": "N", "number": "X", "choice": "WORD", "text": "TEXT", "flag": ""}[self.kind]

    def parse(self, given: object) -> Value:
        """Return the checked value of an argument, given as text or already typed.

        Raises
        ------
        BadParameter
            If it is not of the kind, or outside the range.
        """
        if given is None or (given == "none" and self.default is None and self.kind != "choice"):
            if self.required:
                raise BadParameter(self.option, given, "must be given")
            return None
        value = self._typed(given)
        if isinstance(value, tuple) and self.param.items and len(value) not in self.param.items:
            want = " or ".join(str(n) for n in self.param.items)
            raise BadParameter(self.option, given, f"must be {want} numbers joined with '{self.param.separator}'")
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, int | Decimal) and not isinstance(item, bool):
                self._check(item, given)
        return value

    def text(self, value: Value) -> str:
        """Return the text that parses back to `value`, numbers in their shortest form."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return join_list(value, self.param.separator)
        if isinstance(value, int | Decimal):
            return number_text(value)
        return "none" if value is None else value

    def _typed(self, given: object) -> Value:
        match self.kind:
            case "integer":
                count = self.param.count or self.param.of_table
                return (parse_count if count else parse_integer)(self.option, given)
            case "number":
                return parse_number(self.option, given)
            case "integers":
                return tuple(parse_integer(self.option, item) for item in split_list(given, self.param.separator))
            case "numbers":
                return self._numbers(given)
            case "flag":
                if str(given).lower() not in FLAGS:
                    raise BadParameter(self.option, given, "must be true or false")
                return FLAGS[str(given).lower()]
            case "choice":
                given = {choice.lower(): choice for choice in self.choices}.get(str(given).lower(), given)
                if str(given) not in self.choices:
                    if self.param.number:
                        return self._number(given)
                    meant = dict(self.param.synonyms).get(str(given).lower())
                    raise UnknownName(self.option, str(given), self.choices, meant)
                return str(given)
            case "text":
                if not str(given):
                    raise BadParameter(self.option, "''", "must not be empty")
                return given if isinstance(given, str) else str(given)  # which keeps that a file states it

    def _number(self, given: object) -> Decimal:
        """Return a number given in place of a choice's word."""
        try:
            return parse_number(self.option, given)
        except BadParameter:
            rule = f"must be {' or '.join(self.choices)}, or a number"
            raise BadParameter(self.option, given, rule) from None

    def _numbers(self, given: object) -> tuple[Decimal, ...]:
        """Return a list of numbers, read from a file if the parameter allows one; the values are the identity."""
        items = split_list(given, self.param.separator)
        try:
            return tuple(parse_number(self.option, item) for item in items)
        except BadParameter:
            if not (self.param.file and isinstance(given, str)) or self._is_list(items, given):
                raise
        from pecli.numbers.reader import read_vector

        return read_vector(given, rows=self.param.matrix)

    def _is_list(self, items: list[object], given: str) -> bool:
        """Whether a list was meant and no file: the first of several items is a number."""
        try:
            parse_number(self.option, items[0])
        except BadParameter:
            return False
        return len(items) > 1 and not os.path.exists(given)

    def _check(self, value: int | Decimal, given: object) -> None:
        p = self.param
        broken_by = ((p.ge, lt), (p.gt, le), (p.le, gt), (p.lt, ge))
        if any(bound is not None and breaks(value, bound) for bound, breaks in broken_by):
            raise BadParameter(self.option, given, f"must be {p.range_text}")
        if p.even and value % 2:
            near = [n for n in (int(value) - 1, int(value) + 1) if n >= (p.ge or 2)]
            raise BadParameter(self.option, given, f"must be even: use {' or '.join(map(str, near))}")


@cache
def sections(function: Callable[..., Any]) -> Mapping[str, str]:
    """Return the sections of a function's docstring by their underlined titles; what stands above them as ""."""
    text = function.__doc__
    if text is None and sys.flags.optimize > 1:  # python -OO leaves docstrings out of what it compiles
        import ast

        file = ast.parse(Path(function.__code__.co_filename).read_text())
        found = (node for node in ast.walk(file) if getattr(node, "name", "") == function.__name__)
        text = next((ast.get_docstring(node) for node in found if isinstance(node, ast.FunctionDef)), None)
    above, *parts = re.split(r"^([A-Z][\w ]*)\n-+\n", inspect.cleandoc(text or ""), flags=re.MULTILINE)
    return {"": above.strip()} | {title: part.strip() for title, part in zip(parts[::2], parts[1::2], strict=True)}


def declared(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return a function's keyword-only parameters, each annotated with its type and one `Param`.

    Where an annotation joins several, as one that narrows a shared one does, the last to give a field decides it.

    Raises
    ------
    TypeError
        If a parameter has neither a `Param` nor an entry in the docstring.
    """
    entries = re.findall(r"^(\w+)(?: :.*)?\n((?: .*\n?)+)", sections(function).get("Parameters", ""), re.MULTILINE)
    texts = {name: " ".join(text.split()) for name, text in entries}
    parameters = inspect.signature(function, eval_str=True).parameters
    if unknown := texts.keys() - parameters.keys():
        raise TypeError(f"{function.__name__} has no {unknown.pop()}, which its docstring describes")
    found = {}
    for name, parameter in parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            hint, params = _split(parameter.annotation)
            if not params and name not in texts:
                raise TypeError(f"{function.__name__}({name}) has no Param")
            param = Param()
            for other in [*params, Param(texts.get(name, ""))]:
                given = {f.name: v for f in fields(Param) if (v := getattr(other, f.name)) != f.default}
                param = replace(param, **given)
            found[name] = parameter.replace(annotation=Annotated[hint, param])
    return found


def param_of(parameter: inspect.Parameter) -> Param:
    """Return the one `Param` of a parameter that `declared` gave."""
    found: Param = parameter.annotation.__metadata__[0]
    return found


def _split(annotation: Any) -> tuple[Any, list[Param]]:
    """Return the type and the declarations of an annotation, which may be a union with None."""
    if get_origin(annotation) is Annotated:
        hint, *extras = get_args(annotation)
        return hint, [extra for extra in extras if isinstance(extra, Param)]
    if get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            if get_origin(part) is Annotated:
                hint, params = _split(part)
                return hint | None, params
    return annotation, []


def parameters_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Read the keyword-only parameters; TypeError if one is not declared."""
    found = {}
    for name, parameter in declared(function).items():
        hint, param = get_args(parameter.annotation)
        kind, choices = _kind(hint)
        required = parameter.default is parameter.empty
        found[name] = Parameter(name, kind, None if required else parameter.default, required, param, choices)
    return found


def _kind(hint: Any) -> tuple[Kind, tuple[str, ...]]:
    """Return the kind of a type hint, and the choices of a Literal (a number may be allowed as well)."""
    if get_origin(hint) in (Union, UnionType):
        parts = [part for part in get_args(hint) if part is not NoneType]
        (hint,) = [part for part in parts if get_origin(part) is Literal] or parts
    if get_origin(hint) is Literal:
        return "choice", tuple(get_args(hint))
    if get_origin(hint) is tuple:
        return ("integers" if get_args(hint)[0] is int else "numbers"), ()
    kinds: dict[Any, Kind] = {int: "integer", Decimal: "number", bool: "flag", str: "text"}
    if hint not in kinds:
        raise TypeError(f"{hint} is no type of a parameter: use int, Decimal, bool or str, a Literal or a tuple")
    return kinds[hint], ()
