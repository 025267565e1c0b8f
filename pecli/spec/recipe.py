r"""Recipes: an encoding with its parameters, as text that parses back.

Grammar: ``NAME[:key=value,...]``.  Items of a list are joined with ``+``
(``sections=16+24+24``), sides of a grid with ``x``; a value with a comma, a
colon or a quote is written in double quotes, ``\`` before a quote inside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from pecli.errors import BadRecipe, PecliError
from pecli.numbers.decimals import shorten
from pecli.numbers.reader import UntrustedText
from pecli.spec.catalogue import find
from pecli.spec.declaration import Encoding, Value
from pecli.spec.plans import Domain, Plan


@dataclass(frozen=True, eq=False)
class Recipe:
    """An encoding and all its parameters, checked, defaults filled in.

    Two recipes are equal when their texts are: the text is the identity.

    Examples
    --------
    >>> Recipe.parse("sinusoidal:dim=4") == Recipe.bind("sinusoidal", dim=4, base="1e4")
    True
    >>> Recipe.parse("sinusoidal:dim=4").short
    'sinusoidal:dim=4'
    """

    encoding: Encoding
    values: Mapping[str, Any]

    @classmethod
    def bind(cls, name: str, /, **given: object) -> Recipe:
        """Return the recipe of an encoding with these parameters, as text or typed.

        Raises
        ------
        UnknownName
            For an encoding or a parameter that does not exist.
        BadParameter
            For a value that breaks a rule, alone or with the others.
        """
        return cls.with_defaults(name, given, {})

    @classmethod
    def with_defaults(cls, name: str, given: Mapping[str, object], defaults: Mapping[str, object]) -> Recipe:
        """Return the recipe of `given`; missing parameters come from `defaults`, such as a model's config."""
        encoding = find(name)
        recipe = cls(encoding, encoding.bind(given, defaults))
        if not recipe.open_parameters:
            _ = recipe.plan  # runs the checks that join several parameters
        return recipe

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy the name and the values: the plan, made of functions, is made anew."""
        return _restored, (self.encoding.name, dict(self.values))

    @classmethod
    def parse(cls, text: str) -> Recipe:
        """Return the recipe that `text` writes; its keys are the encoding's own parameters."""
        name, given = split_recipe(text)
        return cls.bind(name, **given)

    @cached_property
    def plan(self) -> Plan:
        """Plan that the encoding's function returns for these parameters."""
        return self.encoding.plan(self.values)

    @property
    def open_parameters(self) -> dict[str, str]:
        """Parameters that the whole table decides and that are not given: name to "length" or "last"."""
        return {
            name: parameter.param.of_table
            for name, parameter in self.encoding.parameters.items()
            if parameter.param.of_table and self.values[name] is None and self.encoding.applies(parameter, self.values)
        }

    @property
    def matrix_key(self) -> str | None:
        """Key of the parameter that holds several positions for each row, such as those of an image; None if none."""
        found = (p.option for p in self.encoding.parameters.values() if p.param.matrix)
        return next(found, None)

    @property
    def rows(self) -> int | None:
        """Length of the table where these parameters fix it (a grid, a window); None where it is asked for."""
        return None if self.open_parameters else self.plan.rows

    @property
    def domain(self) -> Domain:
        """Positions that have a value; all of them while a length is still open."""
        return Domain() if self.open_parameters else self.plan.domain

    def of_length(self, length: int) -> Recipe:
        """Return the recipe resolved for a whole table of positions 0 to length - 1."""
        return self.resolve(length=length, last=length - 1, whole=True)

    def resolve(self, *, length: int, last: int, whole: bool, part: str = "start= or shard=") -> Recipe:
        """Return the recipe with the parameters filled in that depend on the whole table.

        Parameters
        ----------
        length : int
            Rows of the table.
        last : int
            Its last position, rounded up.
        whole : bool
            Whether these rows are the whole table; if not, the parameters must be given.
        part : str
            The options that made them a part, for the message.

        Raises
        ------
        BadParameter
            If they are open and the rows are a part only.
        """
        missing = self.open_parameters
        if not missing:
            return self
        if not whole:
            option = self.encoding.parameters[next(iter(missing))].option
            rule = f"needs {option}=: {self.encoding.name} depends on the whole table, and these rows are a part of it"
            raise BadRecipe(f"a table with {part} {rule}")
        parameters = self.encoding.parameters
        filled = {
            name: parameters[name].parse(str(length if of == "length" else max(1, last + 1)))
            for name, of in missing.items()
        }
        return Recipe(self.encoding, {**self.values, **filled})

    @cached_property
    def _text(self) -> str:
        return join_recipe(self.encoding.name, self.keys())

    @property
    def short(self) -> str:
        """Text of the recipe without parameters at their defaults; parses back to an equal recipe."""
        parameters = self.encoding.parameters
        usual = {parameters[name].option for name, value in self.values.items() if value == parameters[name].default}
        return join_recipe(self.encoding.name, {key: text for key, text in self.keys().items() if key not in usual})

    def keys(self) -> dict[str, str]:
        """Return the keys and texts of the parameters that apply and are not None."""
        parameters = self.encoding.parameters
        return {
            parameters[name].option: parameters[name].text(value)
            for name, value in self.values.items()
            if value is not None and self.encoding.applies(parameters[name], self.values)
        }

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Recipe.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def _restored(name: str, values: dict[str, Value]) -> Recipe:
    return Recipe(find(name), values)


def parameters_of(text: str) -> dict[str, Any] | None:
    """Return the parameters that apply to a recipe, defaults included, as JSON holds them; None if it cannot be read.

    Examples
    --------
    >>> parameters_of("sinusoidal:dim=4,len=8")["base"]
    10000
    """
    try:
        name, keys = split_recipe(text)
        options = [parameter.option for parameter in find(name).options]
        recipe = Recipe.bind(name, **{key: word for key, word in keys.items() if key in options})
        known = recipe.keys()
    except PecliError:
        return None
    parameters = recipe.encoding.parameters
    return {p.option: _json_value(recipe.values[name]) for name, p in parameters.items() if p.option in known}


def _json_value(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_json_value(item) for item in value]
    return (int(value) if value == int(value) else float(value)) if isinstance(value, Decimal) else value


def join_recipe(name: str, keys: Mapping[str, str]) -> str:
    """Return the text of a name and its keys, quoting where needed."""
    items = ",".join(f"{key}={_quote(value)}" for key, value in keys.items())
    text = f"{name}:{items}" if items else name
    return UntrustedText(text) if any(isinstance(value, UntrustedText) for value in keys.values()) else text


def _quote(value: str) -> str:
    if any(c in value for c in ',:"\\') or value != value.strip():
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return value


def split_recipe(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the keys of a recipe's text.

    Raises
    ------
    BadRecipe
        If it does not follow the grammar, or gives a key twice.
    """
    name, colon, rest = text.partition(":")
    keys: dict[str, str] = {}
    made = UntrustedText if isinstance(text, UntrustedText) else str
    if not name or (colon and not rest):
        raise BadRecipe(f"'{shorten(text)}' is not a recipe: write NAME or NAME:key=value,key=value")
    for item in _items(rest, text):
        key, equals, value = item.partition("=")
        key = key.strip()
        if not key or not equals:
            raise BadRecipe(f"'{shorten(item)}' in '{shorten(text)}' is not key=value")
        if key.replace("_", "-") in keys:
            raise BadRecipe(f"'{shorten(text)}' gives {key} twice")
        keys[key.replace("_", "-")] = made(_unquote(value.strip(), text))
    return name, keys


_ITEM = re.compile(r'((?:[^,"]++|"(?:[^"\\]++|\\.)*+")*+)(,|$)', re.DOTALL)


def _items(rest: str, text: str) -> list[str]:
    """Split at commas outside quotes."""
    items, at = list[str](), 0
    while rest:
        found = _ITEM.match(rest, at)
        if found is None:
            raise BadRecipe(f"'{shorten(text)}' has a quote that does not end")
        items.append(found[1])
        if not found[2]:
            break
        at = found.end()
    return items


def _unquote(value: str, text: str) -> str:
    if not value.startswith('"'):
        return value
    if len(value) < 2 or not value.endswith('"'):
        raise BadRecipe(f"'{shorten(text)}' has text after a quoted value")
    return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
