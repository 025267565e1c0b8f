"""Named sources of a command, before they are opened: a recipe or a config with what its text says, or a file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pecli.errors import BadParameter
from pecli.formats.paths import Kind, kind_of
from pecli.numbers.decimals import shorten
from pecli.spec.catalogue import unknown_encoding
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import Tabular, View
from pecli.tables.request import take_table_keys
from pecli.tables.table import Table

_RECIPE = re.compile(r"[\w-]+:[\w-]+=")  # how a recipe begins


@dataclass(frozen=True)
class NamedSource:
    """One source named to a command, before it is opened.

    Attributes
    ----------
    text : str
        As the user wrote it.
    recipe : Recipe or None
        The encoding and its parameters, where it is a recipe or a config.
    given : dict of str
        The table's own keys that the text gives (len, dtype, ..).
    note : str
        The kind of layer of a config that was taken by default; empty otherwise.
    model_length : int or None
        Positions that a config declares: the length where nothing else says one.
    model_layout : str or None
        Layout that the model's own module has.
    model_pairing : str or None
        Which columns of a head the model rotates together.
    model_scores : str or None
        What multiplies the products of queries and keys in the model, in the words of `LayerReading.scores`.
    model_leading : int
        Columns of a head before those that rotate, in a model whose last columns do.
    streams : (Recipe, str) or None
        The recipe of a config for several position streams, as time, height and width, and the note on it.
    table : Tabular or None
        The values themselves, where they are in memory.
    array : str or None
        The one array of a recipe's table that was named.
    layers : tuple of str
        The kinds of layers of a config that has several tables, where a file decided: first the one that was taken.
    """

    text: str
    recipe: Recipe | None = None
    given: dict[str, str] = field(default_factory=dict)
    note: str = ""
    model_length: int | None = None
    model_layout: str | None = None
    model_pairing: str | None = None
    model_scores: str | None = None
    model_leading: int = 0
    streams: tuple[Recipe, str] | None = None
    table: Tabular | None = None
    array: str | None = None
    layers: tuple[str, ...] = ()

    @property
    def is_recipe(self) -> bool:
        """Whether its values are computed."""
        return self.recipe is not None

    @property
    def says_length(self) -> bool:
        """Whether the text gives the number of rows."""
        return bool(self.given.keys() & {"len", "positions", "keys"})

    def open(self, **options: Any) -> Tabular:
        """Return the table; `options`, as of :meth:`Table.make`, override the text's keys."""
        if self.table is not None:
            return self.table
        if self.recipe is None:
            from pecli.tables.parts import open_path

            return open_path(self.text)
        keys = dict(self.given)
        if self.model_length is not None and not keys.keys() & {"len", "positions"}:
            keys["len"] = str(self.model_length)
        table = Table.of_keys(self.recipe, keys, **options)
        return table if self.array is None else table.only([self.array])


def exact_source(source: NamedSource) -> NamedSource:
    """Return a computed table's recipe as a source, since that knows the real values; other sources as they are.

    A table without a recipe, or at listed positions, stays the values that it holds.
    """
    table = source.table
    if not isinstance(table, Table):
        return source
    if table.recipe is None or not table.positions.is_range:
        values = View(table, table.arrays)
        values.recipe = table.recipe
        return replace(source, table=values)
    return replace(_recipe_source(table.recipe), text=source.text)


def read_source(text: str, **choice: str | None) -> NamedSource:
    """Return the source that a text names; a file is not yet opened.

    Parameters
    ----------
    text : str
    **choice : str, optional
        ``layer_type`` and ``stack``: what is read of a config.

    Raises
    ------
    BadRecipe, BadParameter, UnknownName, BadFile
        If it is a recipe or a config that cannot be read.
    """
    kind = kind_of(text)
    config, _, component = text.rpartition("::")
    if config and component.isidentifier() and kind is Kind.FILE and kind_of(config) is Kind.CONFIG:
        return replace(read_source(config, **choice), text=text, array=component)
    if kind is Kind.CONFIG:
        return config_source(text, text, None, {}, **choice)
    refuse_choice(shorten(text), **choice)
    if kind is Kind.FILE and _RECIPE.match(text) and not os.path.exists(text):
        raise unknown_encoding(text.partition(":")[0])
    if kind is not Kind.RECIPE:
        return NamedSource(text)
    recipe, _, array = text.rpartition("::")
    of_value = os.path.isfile(recipe.rpartition("=")[2])  # points=FILE::NAME, the last parameter
    one = recipe and array.isidentifier() and not of_value
    return replace(_recipe_source(recipe), text=text, array=array) if one else _recipe_source(text)


def refuse_choice(what: str, **choice: str | None) -> None:
    """Raise BadParameter where a layer or a stack is chosen of what is no model's config."""
    for name, word in choice.items():
        if word is not None:
            raise BadParameter(name.replace("_", "-"), word, f"is for a model's config, and {what} is none")


def open_source(text: str, **options: Any) -> Tabular:
    """Open a source; `options` (length, start, step, positions, dtype, layout, form) are for recipes."""
    return read_source(text).open(**options)


def _recipe_source(text: str) -> NamedSource:
    name, keys = split_recipe(text)
    config = keys.pop("config", None)
    if config is not None:
        return config_source(text, config, name, keys)
    own = take_table_keys(name, keys)
    return NamedSource(text, Recipe.bind(name, **keys), own)


def config_source(
    text: str, config: str | Mapping[str, Any], encoding: str | None, keys: dict[str, str], **choice: str | None
) -> NamedSource:
    """Read a model's configuration, a path or its contents; the recipe's own keys override it.

    ``layer-type`` and ``stack``, in `choice` or among the keys, choose what is read of it.  Without a length
    the table has the positions that the model declares.
    """
    from pecli.models.reader import configured

    keys = keys | {name.replace("_", "-"): word for name, word in choice.items() if word is not None}
    chosen = {name.replace("-", "_"): keys.pop(name) for name in ("layer-type", "stack") if name in keys}
    own = take_table_keys(encoding or "", keys)
    found = configured(config, encoding=encoding, given=keys, **chosen)
    if own.get("layout") == "model":
        own["layout"] = found.layer.layout or "split"
    layer, streams = found.layer, None
    for name, params in layer.also.items() if encoding is None else ():
        if (recipe := Recipe.with_defaults(name, {}, {**params, **keys})).matrix_key is not None:
            streams = recipe, next((note for note in layer.notes if "streams" in note), "")
    return NamedSource(
        text, found.recipe, own, layer.chosen, layer.length, layer.layout, layer.pairing, layer.scores, layer.leading,
        streams,
    )  # fmt: skip
