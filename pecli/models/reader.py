"""config.json -> ConfigReading: which part, which family, which encoding."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from pecli.encodings.rotary.rope.scalings import SCALINGS
from pecli.errors import BadFile, UnknownName, nearest
from pecli.models.config import Keys, Notes, as_stored, load_config, nearly, shown
from pecli.models.families import ModelFamily, known_types, lines, pairs_of, rotary_family
from pecli.models.non_rotary import holds, other_layers, with_extras
from pecli.models.reading import ConfigReading, LayerReading
from pecli.models.rotary import rotary_layers
from pecli.models.stack import as_stack, renamed, split, stack_of
from pecli.models.stacks import STACKS
from pecli.settings import notice
from pecli.spec.catalogue import find
from pecli.spec.recipe import Recipe

ABOUT_POSITIONS = (
    "rope", "rotary", "alibi", "yarn", "ntk", "theta", "position_embedding_type", "mscale",
    "original_max_position_embeddings",
)  # fmt: skip
TYPED = ("original_max_position_embeddings",)  # read with some rope types
WIDTHS = ("head_dim", "qk_rope_head_dim", "global_head_dim", "kv_channels")
NOT_OF_THE_TABLE = (
    "no_rope_layers", "no_rope_layer_interval", "rope_interleave", "original_rope", "rotary", "offset_alibi",
)  # fmt: skip
SIGNS_OF_ROPE = ("rope_theta", "rope_scaling", "rope_parameters", "rotary_dim", "rotary_pct", "partial_rotary_factor")
SIGNS_OF_A_DECODER = ("rms_norm_eps", "num_key_value_heads", "intermediate_size")


def read_config(
    path: str | Path | Mapping[str, Any], *, layer_type: str | None = None, stack: str = "transformers"
) -> ConfigReading:
    """Return the positional encodings that a model's config.json describes.

    Parameters
    ----------
    path : str, Path or mapping
        The file, or what it holds.
    layer_type : str, optional
        Keep one kind of layer, or one part, alone.
    stack : str
        Whose reading: transformers 5.23, or one of ``pecli.models.stacks.STACKS``, with @VERSION for one that is not
        its newest.

    Raises
    ------
    BadFile
        For what is no config, says nothing about positions, or says something
        of which no table can be right.
    UnknownName
        For a rope type, a layer type or a stack that does not exist, with the nearest.
    """
    name, _ = split(stack)
    repeated: list[str] = []
    if isinstance(path, Mapping):
        data, path = as_stored(path), f"the config of {path.get('model_type', 'a model')}"
    else:
        data = load_config(path, repeated)
    reading = read_for(data, path, name)
    twice = (f"{key} stands more than once in an object: the last counts" for key in dict.fromkeys(repeated[:5]))
    reading = replace(reading, warnings=(*twice, *reading.warnings))
    if name != STACKS[0]:
        reading = as_stack(reading, stack)
    for text in reading.misspelled:
        notice(f"warning: {reading.path}: {text}")
    if layer_type is not None:
        reading = replace(reading, layers={layer_type: reading.select(layer_type)})
    return reading


def read_for(data: Mapping[str, Any], path: str | Path, name: str) -> ConfigReading:
    """Return the reading of transformers; a rope type that it refuses is first translated for this stack.

    Raises
    ------
    BadFile, UnknownName
        As :func:`read_config`; where a stack does not read the config itself, transformers' refusal is its own.
    """
    words = stack_of(name).words if name != STACKS[0] else {}
    try:
        return read_data(data, path)
    except (BadFile, UnknownName):
        other = renamed(data, words)
        if other == data:
            raise
        return read_data(other, path)


def read_data(data: Mapping[str, Any], path: str | Path, where: str = "", kind: str = "") -> ConfigReading:
    """Return the reading of a JSON object; `kind` is its model type where it does not say one."""
    model_type = str(data.get("model_type") or kind)
    parts = pairs_of(lines("composites.txt").get(model_type, "").replace(" ", ",").replace(":?", ":"))
    if not model_type and not where and isinstance(data.get("text_config"), dict):
        parts = {"text_config": ""}
    if parts:
        return _composite(data, path, where, model_type, parts)
    return _single(data, path, where, model_type)


def _composite(
    data: Mapping[str, Any], path: str | Path, where: str, model_type: str, parts: Mapping[str, str]
) -> ConfigReading:
    """Return the reading of the first part, with the readings of the other parts in `parts`."""
    main, *further = parts
    word = parts[main]
    inside = data.get(main)
    if isinstance(inside, dict):
        reading = read_data(_typed(inside, word, model_type), path, f"{where}{main}.", word)
    else:
        flat = any(name in data for name in ("hidden_size", "num_attention_heads", "n_embd", "d_model"))
        siblings = {name: value for name, value in data.items() if name != "model_type"} if flat else {}
        reading = read_data({**siblings, "model_type": word}, path, where, word)
        near = next((name for name in data if nearly(name, [main])), None)
        if near is not None:
            text = f"{where}{near} is not read; did you mean {main}? the defaults of {word} are used"
            reading = replace(reading, warnings=(text, *reading.warnings), misspelled=(text, *reading.misspelled))
        elif not flat:
            text = f"{model_type} has no {main}: the defaults of {word} are used"
            reading = replace(reading, warnings=(text, *reading.warnings))
    others = _further(data, path, where, {name: parts[name] for name in further}, model_type, main)
    return replace(reading, part=f"{main}.{reading.part}".rstrip("."), parts={**reading.parts, **others})


def _further(
    data: Mapping[str, Any], path: str | Path, where: str, words: Mapping[str, str], outer: str, main: str = ""
) -> dict[str, ConfigReading]:
    """Return the readings of further parts: those that the type is known to have, and any other that says its type."""
    named = {name: "" for name in data if name.endswith("_config") and name != main}
    found = {}
    for name, word in {**named, **words}.items():
        inner = data.get(name)
        if isinstance(inner, dict) and (name in words or str(inner.get("model_type")) in known_types()):
            with suppress(BadFile, UnknownName):  # saying nothing of positions is no fault of the part asked for
                found[name] = read_data(_typed(inner, word, outer), path, f"{where}{name}.", word)
    return found


def _typed(inside: Mapping[str, Any], word: str, outer: str) -> dict[str, Any]:
    """Return a part with its model type: its own where that is known and is no composite."""
    own = str(inside.get("model_type") or "")
    known = own != outer and own in known_types()
    return {**inside, "model_type": own if known or not word else word}


def _single(data: Mapping[str, Any], path: str | Path, where: str, model_type: str) -> ConfigReading:
    """Return the reading of a config of one part."""
    notes = Notes()
    family = rotary_family(model_type)
    if family is None and model_type not in lines("others.txt"):
        family = _unknown(data, path, where, model_type, notes)
    keys = Keys(data, path, family.names if family else {}, where)
    layers = _layers(keys, model_type, family, notes)
    if not layers:
        raise keys.bad("names no kind of layer that has rope parameters: check its layer_types")
    _misspelled(keys, notes)
    _leftovers(keys, notes, model_type, layers)
    notes.warn_of_ignored(keys.where)
    used, ignored = notes.keys()
    return ConfigReading(
        str(path), model_type, layers, parts=_further(data, path, where, {}, model_type), used=used, ignored=ignored,
        warnings=tuple(notes.warnings), faults=tuple(notes.faults), misspelled=tuple(notes.misspelled),
        default=next(iter(layers)) if len(layers) > 1 and "encoder" in layers else "",
    )  # fmt: skip


def _layers(keys: Keys, model_type: str, family: ModelFamily | None, notes: Notes) -> dict[str, LayerReading]:
    """Return the layers: rotary, another encoding, or both."""
    if family is None or _switched_off(keys, family, notes):
        found = other_layers(model_type, keys, notes)
        if found is None:
            raise keys.bad(f"switches the rotary table of {model_type} off and says nothing of what stands instead")
        if family is not None and family.option("only"):
            return _with_rotary(found, keys, family)
        return found
    return with_extras(rotary_layers(keys, family, notes), keys, family, notes)


def _with_rotary(found: dict[str, LayerReading], keys: Keys, family: ModelFamily) -> dict[str, LayerReading]:
    """Return the layers with the rotary table that the model would have, were it switched on."""
    rotary = rotary_layers(keys, family, Notes())["all"]
    return {
        name: replace(
            one,
            also={"rope": rotary.params, **one.also},
            layout=rotary.layout,
            pairing=rotary.pairing,
            notes=(*one.notes, f"its rotary table is switched off: {family.option('only').partition(':')[0]}"),
        )
        for name, one in found.items()
    }


def _switched_off(keys: Keys, family: ModelFamily, notes: Notes) -> bool:
    """Whether a setting makes the model non-rotary."""
    only = family.option("only")
    if only:
        notes.use(only.partition(":")[0], "whether the model is rotary")
        return not holds(only, keys, notes)
    conditions = filter(None, family.option("unless").split(","))
    return any(one[1:] not in keys if one.startswith("-") else holds(one, keys, notes) for one in conditions)


def _unknown(data: Mapping[str, Any], path: str | Path, where: str, model_type: str, notes: Notes) -> ModelFamily:
    """Return a substitute family for a model type missing from the data files, if its keys look rotary.

    Raises
    ------
    BadFile
        If they say nothing of positions.
    """
    place = f"{where.rstrip('.')} " if where else ""
    named = f"model_type {shown(model_type)}, which is not known," if model_type else "no model_type"
    kind = data.get("position_embedding_type")
    rotary = any(data.get(name) is not None for name in SIGNS_OF_ROPE) or (isinstance(kind, str) and "ro" in kind)
    if not rotary and not all(name in data for name in SIGNS_OF_A_DECODER):
        near = nearest(model_type, known_types()) if model_type else None
        hint = f"did you mean {near}?" if near else "name a model type that pecli knows, or give the parameters"
        raise BadFile(path, f"{place}has {named} and no key that says which positions it has: {hint}")
    notes.warn(f"{place}has {named.rstrip(',')}: its keys are read as Llama's, partial_rotary_factor included")
    return ModelFamily(model_type, honours=True)


def _misspelled(keys: Keys, notes: Notes) -> None:
    """Record unread keys whose names are close to a key that was looked for."""
    for name in keys.data:
        meant = None if name in keys.used or name in notes.used else nearly(name, keys.missing)
        if meant is not None:
            notes.misspell(keys.where, name, meant, keys.missing[meant])


def _leftovers(keys: Keys, notes: Notes, model_type: str, layers: Mapping[str, LayerReading]) -> None:
    """Record unread keys about positions that the table may contradict."""
    widths = {one.params.get("dim") for one in layers.values()}
    for name, value in keys.data.items():
        about = name in WIDTHS or any(word in name for word in ABOUT_POSITIONS)
        if not about or name in notes.used or name in notes.ignored or value in (None, False):
            continue
        if name in keys.used:
            notes.use(name, "read for the table")
            continue
        agrees = name in WIDTHS and str(value) in widths
        explained = agrees or name in (*NOT_OF_THE_TABLE, "position_embedding_type")
        reason = f"{model_type or 'this model type'} does not read it"
        if name in TYPED:
            reason = f"{reason} with this rope type"
        notes.ignore(name, reason, explained=explained)
    kinds = keys.data.get("layer_types")
    if kinds is not None and not isinstance(kinds, list):
        notes.ignore("layer_types", f"{shown(kinds)} is not a list of layer types")


class Configured(NamedTuple):
    """Recipe made from a config, with the reading of the config.

    Attributes
    ----------
    recipe : Recipe
        The encoding with the config's parameters, and the user's over them.
    layer : LayerReading
        What the config says of this kind of layer: layout, length, first position.
    reading : ConfigReading
        Everything the config says: keys used and ignored, warnings.
    """

    recipe: Recipe
    layer: LayerReading
    reading: ConfigReading


def configured(
    path: str | Mapping[str, Any],
    *,
    encoding: str | None = None,
    given: Mapping[str, object] | None = None,
    layer_type: str | None = None,
    stack: str = "transformers",
) -> Configured:
    """Return the recipe of a model's config.

    Parameters
    ----------
    path : str or mapping
        The config.json, or what it holds.
    encoding : str, optional
        The encoding wanted; an error names the config's own where it is another.
    given : mapping, optional
        Parameters that win over the config's.
    layer_type : str, optional
        Which kind of layer, where they differ.
    stack : str
        Whose reading of the config.

    Raises
    ------
    BadFile, UnknownName, BadParameter
        If it is no config, is of a model without positions, or a value breaks a rule.
    """
    reading = read_config(path, stack=stack)
    return of_layer(reading, reading.select(layer_type, encoding), given or {})


def of_layer(reading: ConfigReading, layer: LayerReading, given: Mapping[str, object]) -> Configured:
    """Return the recipe of one kind of layer; a scaling that is added extends the length of the config."""
    if not given.get("scaling") or "scaling" in layer.params or not layer.length:
        return Configured(Recipe.with_defaults(layer.encoding, given, layer.params), layer, reading)
    options = {p.option for p in find(layer.encoding).options}
    trained = dict.fromkeys({"original-max", "max-position"} & options, str(layer.length))
    recipe = Recipe.with_defaults(layer.encoding, given, {**trained, **layer.params})
    keys = recipe.keys()
    scaling = SCALINGS.get(keys["scaling"])
    times = Decimal(keys.get("factor", "1")) if scaling is not None and scaling.extends else 1
    return Configured(recipe, replace(layer, length=int(layer.length * times)), reading)


def every_layer(
    path: str, encoding: str, given: Mapping[str, object], stack: str = "transformers"
) -> dict[str, Configured]:
    """Return the recipe of every kind of layer that has this encoding, by its name.

    Raises
    ------
    BadFile
        If no kind of layer has it.
    """
    reading = read_config(path, stack=stack)
    found = {name: layer.of(encoding) for name, layer in reading.layers.items()}
    made = {name: of_layer(reading, layer, given) for name, layer in found.items() if layer is not None}
    if not made:
        raise BadFile(path, f"has no {encoding} table in any kind of layer ({', '.join(reading.layers)})")
    return made
