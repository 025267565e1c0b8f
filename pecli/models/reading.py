"""Readings of a config: the dataclasses that `read_config` returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pecli.errors import BadFile, BadParameter, SeveralLayers, UnknownName

# The release of transformers whose reading this is.
VERSION = "5.23"

Params = Mapping[str, str]

# Placeholders in a command for the grid of an image or a video, which no config gives.
GRIDS = ("16x16", "4x16x16")


ORIGINAL = "original_max_position_embeddings"


class RawConfig(NamedTuple):
    """Raw keys of one kind of layer: the input of another stack.

    Parameters
    ----------
    rope : mapping of str to object
        Rope parameters as the config's keys fold, before the framework's own choices.
    scaling : mapping of str to object
        The dictionary that contains them, as in the file.
    config : mapping of str to object
        The keys outside that dictionary.
    style : str
        Its name: "rope_scaling", or since transformers 5 "rope_parameters".
    model, kind : str
        Model type, and kind of layer.
    head : int
        Width of a head.
    length : int, optional
        Positions that the config declares.
    """

    rope: Mapping[str, Any] = {}
    scaling: Mapping[str, Any] = {}
    config: Mapping[str, Any] = {}
    style: str = ""
    model: str = ""
    kind: str = "all"
    head: int = 0
    length: int | None = None


# Takes a recipe's parameters so far and the raw config, and returns new parameters.
Change = Callable[[Params, RawConfig], Params]
Where = Callable[[RawConfig], bool]


@dataclass(frozen=True, eq=False)
class LayerReading:
    """The encoding of one kind of layer, as a recipe's name and parameters.

    Parameters
    ----------
    encoding : str
        Name of the encoding; "none" for a layer without positions.
    params : mapping of str to str
        Its parameters, as text that a recipe binds.
    layout : str
        What the model's own module returns, in the words of ``--layout``.
    pairing : str
        Which columns of a head rotate together: "half" (i and i + d/2),
        "adjacent" (2i and 2i + 1), "deinterleave" (neighbours in, halves out).
    length : int, optional
        Positions the config declares (max_position_embeddings).
    first : int
        Position of the first token (fairseq's conventions start above 0).
    also : mapping of str to mapping
        Other encodings that the same keys describe: ``mrope`` besides ``rope``,
        the rotary table of a model that has it switched off.
    notes : tuple of str
        What a reader should know.
    scores : str
        What multiplies the products of queries and keys: a number, or NUMBER^POWER, "sqrt" for 1/sqrt(d); "biased": the
        bias is divided with them; "gated": the content multiplies the bias; "part": the rest of a head has products of
        its own. "capped X" may follow. Nothing: as the encoding has it.
    leading : int
        Columns of a head before those that rotate, where these are the last and have a width of their own.
    chosen : str
        Note for a kind of layer that was chosen by default among several.
    written : RawConfig
        The keys as written in the file.
    """

    encoding: str
    params: Params
    layout: str = ""
    pairing: str = ""
    length: int | None = None
    first: int = 0
    also: Mapping[str, Params] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    scores: str = ""
    leading: int = 0
    chosen: str = ""
    written: RawConfig = field(default=RawConfig(), repr=False)

    @property
    def identity(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Identity of the layer's table: the encoding, and the parameters whatever their order."""
        return self.encoding, tuple(sorted(self.params.items()))

    def of(self, encoding: str) -> LayerReading | None:
        """Return the reading as this encoding, if the keys describe one."""
        if encoding == self.encoding:
            return self
        if encoding not in self.also:
            return None
        return replace(self, encoding=encoding, params=self.also[encoding], also={})


class Key(NamedTuple):
    """A key of a config, with its use or the reason it was ignored."""

    name: str
    text: str


@dataclass(frozen=True, eq=False, repr=False)
class ConfigReading:
    """All findings about positions in a config.

    Parameters
    ----------
    path : str
        The file.
    model_type : str
        As the config names it; of the part that was read, in a composite.
    part : str
        Key of the part that was read ("text_config"), "" for the whole.
    layers : mapping of str to LayerReading
        By kind of layer; "all" where there is one table.
    parts : mapping of str to ConfigReading
        Further parts that have positions: a vision tower, an audio encoder.
    used, ignored : tuple of Key
        Keys that were read, with their meaning; keys without effect, with the reason.
    warnings : tuple of str
        What has no effect or is not certain, one sentence each, for standard error.
    faults : tuple of str
        Where the stack itself departs from what the key says; the table follows it.
    misspelled : tuple of str
        Those of the warnings that name a key whose name is nearly one that was looked for.
    stack, version : str
        Whose reading it is, and of which release or commit.
    default : str
        The layer that is meant where none is named, though layers differ (the
        encoder of T5 or Whisper).
    """

    path: str
    model_type: str
    layers: Mapping[str, LayerReading]
    part: str = ""
    parts: Mapping[str, ConfigReading] = field(default_factory=dict)
    used: tuple[Key, ...] = ()
    ignored: tuple[Key, ...] = ()
    warnings: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    misspelled: tuple[str, ...] = ()
    stack: str = "transformers"
    version: str = VERSION
    default: str = ""

    def __repr__(self) -> str:
        layers = [f"{name}: {layer.encoding} {dict(layer.params)}" for name, layer in self.layers.items()]
        parts = [f"{name}: {part.model_type}" for name, part in self.parts.items()]
        title = f"{self.path}: {self.model_type}, as {self.stack} {self.version} reads it"
        return "\n  ".join([title, *layers, *parts, *self.warnings, *self.faults])

    def select(self, layer_type: str | None = None, encoding: str | None = None) -> LayerReading:
        """Return the one reading that is meant.

        Parameters
        ----------
        layer_type : str, optional
            Kind of layer, or a part, or PART/LAYER; may be left out where
            all kinds of layers that have positions agree.
        encoding : str, optional
            The encoding wanted.

        Raises
        ------
        UnknownName
            For a kind of layer that is not there.
        BadFile
            If kinds of layers differ and none is named, or the model has
            another encoding.
        """
        if layer_type is not None:
            return self._as(self._named(layer_type), encoding)
        fitting = {name: layer for name, layer in self.layers.items() if encoding and layer.of(encoding)}
        layers = fitting or self.layers
        if self.default in layers:
            fixed = [name for name, layer in layers.items() if layer.encoding not in ("none", "learned")]
            others = " or ".join(name for name in fixed if name != self.default)
            note = f"the {self.default}'s positions are taken"
            note += f": --layer-type {others} for the other's" * bool(others)
            return self._as(replace(layers[self.default], chosen=note), encoding)
        positional = {name: layer for name, layer in layers.items() if layer.encoding != "none"} or layers
        if encoding is not None and not fitting:
            return self._as(next(iter(positional.values())), encoding)
        found = list({one.identity: one for one in positional.values()}.values())
        if len(found) > 1:
            raise SeveralLayers(self.path, positional)
        return self._as(found[0], encoding)

    def command(self, layer: LayerReading) -> str:
        """Return a command that makes a table of a kind of layer, with examples of values that no config gives."""
        from pecli.spec.catalogue import find
        from pecli.spec.recipe import Recipe

        words = ["pecli generate", layer.encoding, "--config", self.path]
        same = [name for name, one in self.layers.items() if one is layer]
        if same and len({one.identity for one in self.layers.values()}) > 1:
            words += ["--layer-type", same[0]]
        wanted = "grid" in find(layer.encoding).parameters and "grid" not in layer.params
        for given in [{"grid": grid} for grid in GRIDS] if wanted else [dict[str, str]()]:
            with suppress(BadParameter):
                rows = Recipe.bind(layer.encoding, **given, **layer.params).rows
                words += [word for name, text in given.items() for word in (f"--{name}", text)]
                words += ["--len", "512"] if layer.length is None and rows is None else []
                break
        return " ".join(words)

    def _named(self, layer_type: str) -> LayerReading:
        if layer_type in self.layers:
            return self.layers[layer_type]
        part, _, inner = layer_type.partition("/")
        if part in self.parts:
            return self.parts[part].select(inner or None)
        raise UnknownName(f"layer type of {self.path}", layer_type, [*self.layers, *self.parts])

    def _as(self, layer: LayerReading, encoding: str | None) -> LayerReading:
        if encoding is None:
            return layer
        wanted = layer.of(encoding)
        if wanted is not None:
            return wanted
        if layer.encoding == "none":
            raise BadFile(self.path, f"is of a model without positions ({self.model_type}): it has no {encoding} table")
        remedy = f"its positions are {layer.encoding}: {self.command(layer)}"
        raise BadFile(self.path, f"has no {encoding} table ({self.model_type}); {remedy}")
