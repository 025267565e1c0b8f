"""Old and new keys -> one dictionary of rope parameters for each kind of layer.

This follows transformers 5.23: ``modeling_rope_utils.RotaryEmbeddingConfigMixin``
and the overrides of ``convert_rope_params_to_dict`` and ``__post_init__`` in the
configuration classes.  A ``fold`` of families.txt names one of the functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pecli.models.families import Family, load_json, pairs_of
from pecli.models.heads import head_of
from pecli.models.keys import Keys, number, shown
from pecli.models.notes import Notes

Parameters = dict[str, Any]
WITH_ORIGINAL = ("llama3", "yarn", "longrope")  # types whose original length may stand beside the dictionary
FULL, SLIDING = "full_attention", "sliding_attention"


class Folded(NamedTuple):
    """Rope parameters by kind of layer ("all" for one table; None: no positions).

    ``truncate`` is the key that YaRN reads: of the outer dictionary, which for
    nested parameters is not where the other keys of the type stand.
    """

    layers: dict[str, Parameters | None]
    truncate: Any = True
    key: str = "rope_parameters"


def fold(keys: Keys, family: Family, notes: Notes) -> Folded:
    """Return the rope parameters of a config, as the family folds them."""
    word = family.option("fold", "flat")
    if word in FOLDS:
        return FOLDS[word](keys, family, notes)
    from pecli.models.folding_special import SPECIAL_FOLDS

    return SPECIAL_FOLDS[word](keys, family, notes)


def dictionary(keys: Keys, name: str) -> Parameters | None:
    """Return a copy of a dictionary of the config; None for null or absent."""
    value = keys.get(name)
    if value is None or value is False or value == {}:
        return None if value != {} or name == "rope_scaling" else {}
    if not isinstance(value, dict):
        raise keys.bad(f"has {name} {shown(value)}: it must be an object of rope parameters or null")
    return {name: dict(inner) if isinstance(inner, dict) else inner for name, inner in value.items()}


def kinds_of(keys: Keys, family: Family) -> tuple[str, ...]:
    """Return the kinds of layers that the model has."""
    given = keys.get("layer_types")
    if isinstance(given, list) and given:
        return tuple(sorted({str(item) for item in given}))
    return family.labels


def _legacy(keys: Keys, family: Family, notes: Notes) -> tuple[Parameters, str]:
    """Return rope_scaling where it says anything, else rope_parameters, else the class's own."""
    new, old = dictionary(keys, "rope_parameters"), dictionary(keys, "rope_scaling")
    if family.option("ignores") == "rope_scaling":
        old = None
        _taken_as_it_stands(keys, family, notes, new)
    if old:
        if new is not None:
            notes.ignore("rope_parameters", "a rope_scaling that says anything replaces it")
            notes.warn("rope_parameters has no effect: rope_scaling replaces it")
        notes.use("rope_scaling", "parameters of the rotary scaling")
        return old, "rope_scaling"
    if new is not None:
        notes.use("rope_parameters", "parameters of the rotary table")
        if family.option("split"):
            new.setdefault("partial_rotary_factor", _split_share(keys))
        return new, "rope_parameters"
    default = family.rope or {}
    if family.option("split"):
        default["partial_rotary_factor"] = _split_share(keys)
    return default, "rope_parameters"


def _taken_as_it_stands(keys: Keys, family: Family, notes: Notes, new: Parameters | None) -> None:
    """Check a class that sets rope_parameters unseen, and whose field rope_scaling hides the old key (Cohere 2 MoE)."""
    if keys.data.get("rope_scaling"):
        notes.ignore("rope_scaling", f"{family.name} does not read it")
        notes.warn(f"rope_scaling has no effect: {family.name} does not read it")
        notes.fault(f"transformers ignores rope_scaling of {family.name}: the table is unscaled")
    kind = (new or {}).get("rope_type", (new or {}).get("type"))
    needed = ["rope_theta"] + (["original_max_position_embeddings"] if kind in WITH_ORIGINAL else [])
    for name in needed if new else ():
        if name not in (new or {}):
            raise keys.bad(f"has no rope_parameters.{name}, and {family.name} takes it from nowhere else")


def _split_share(keys: Keys) -> float:
    """Return the rotating share of a head that is split in nope and rope columns."""
    nope, rope = keys.needed("qk_nope_head_dim", 64), keys.needed("qk_rope_head_dim", 64)
    return rope / (nope + rope)


def _theta(keys: Keys, family: Family, notes: Notes, inner: Any, key: str) -> Any:
    """Return the base beside the dictionary, or the class's default."""
    name = family.option("theta-key", "rope_theta")
    default = family.theta
    if name not in keys:
        return default
    if inner is not None:
        notes.ignore(name, f"{key} has a base of its own, which wins", told=True)
        if keys.get(name) != inner:
            notes.warn(f"{name}={shown(keys.get(name))} has no effect: {key} has a base of its own, {shown(inner)}")
        return None
    notes.use(name, "base of the frequencies")
    return keys.get(name)


def share_beside(keys: Keys, family: Family, notes: Notes, inner: Any, key: str) -> Any:
    """Return the rotating share beside the dictionary, or the class's default; None for none."""
    name = family.option("partial-key", "partial_rotary_factor")
    if family.forced:
        if name in keys:
            agrees = number(keys.get(name)) == family.partial
            notes.ignore(name, f"{family.name} fixes it at {family.partial}", told=agrees)
        return family.partial
    width = family.option("width-key")
    if width and name not in keys and number(keys.get(width)) is not None and inner is None:
        notes.use(width, "columns of a head that rotate")
        return keys.needed(width, None) / head_of(keys, family, notes).width
    if name in keys:
        if inner is not None:
            notes.ignore(name, f"{key} has a share of its own, which wins", told=True)
            if keys.get(name) != inner:
                notes.warn(
                    f"{name}={shown(keys.get(name))} has no effect: {key} has a share of its own, {shown(inner)}"
                )
        else:
            notes.use(name, "share of the head that rotates")
        return keys.get(name)
    return family.partial


def _flat(keys: Keys, family: Family, notes: Notes) -> Folded:
    """One dictionary for every layer; keys beside it fill in what it lacks."""
    params, key = _legacy(keys, family, notes)
    known = (*family.labels, *family.option("kinds").split("+"))
    nested = [name for name, value in params.items() if isinstance(value, dict) or name in known]
    if family.labels and nested:
        present = [name for name in params if name in (*kinds_of(keys, family), *family.labels)]
        return complete_kinds(keys, family, notes, params, present, key)
    if nested:
        _refusekinds_of(keys, family, notes, nested, key)
        params = {name: value for name, value in params.items() if name not in nested}
    if family.labels:
        kinds = ", ".join(family.labels)
        raise keys.bad(f"has one {key} for all layers, but {family.name} takes one set for each kind ({kinds})")
    return Folded({"all": _one(keys, family, notes, params, key)}, params.get("truncate", True), key)


def _refusekinds_of(keys: Keys, family: Family, notes: Notes, nested: list[str], key: str) -> None:
    """Refuse parameters by kind of layer where the class has one table; a class that knows no kinds ignores them."""
    listed = keys.get("layer_types")
    kinds = listed if isinstance(listed, list) else family.option("kinds").split("+")
    if any(name in kinds for name in nested):
        raise keys.bad(f"has {key} by kind of layer ({', '.join(nested)}), but {family.name} takes one set for all")
    for name in nested:
        reason = f"{family.name} takes one set of parameters and knows no kinds of layers"
        notes.ignore(f"{key}.{name}", reason, told=True)
    names = ", ".join(nested)
    notes.warn(f"{key} by kind of layer ({names}) has no effect: {family.name} takes one set for all layers")
    notes.fault(f"transformers builds {family.name} with its defaults where {key} is given by kind of layer ({names})")


def _one(keys: Keys, family: Family, notes: Notes, params: Parameters, key: str) -> Parameters:
    """Complete one flat dictionary."""
    theta = _theta(keys, family, notes, params.get("rope_theta"), key)
    params.setdefault("rope_theta", theta)
    share = share_beside(keys, family, notes, params.get("partial_rotary_factor"), key)
    if share is not None or (family.option("partial-key") and family.option("partial-key") in keys):
        params.setdefault("partial_rotary_factor", share)
    params.setdefault("rope_type", params.get("type", "default"))
    if params["rope_type"] in WITH_ORIGINAL:
        name = "original_max_position_embeddings"
        if name in keys or family.option("original"):
            value = keys.get(name, int(family.option("original") or 0))
            if name in params and params[name] != value:
                notes.ignore(f"{key}.{name}", f"the top-level {name} overrides it")
                notes.warn(f"{key}.{name}={shown(params[name])} has no effect: the top-level key overrides it")
            notes.use(name, "length the model was first trained on")
            params[name] = value
        else:
            params.setdefault(name, keys.integer("max_position_embeddings", family.length))
    alias = pairs_of(family.option("alias"))
    word = str(params["rope_type"])
    if word in alias:
        if word == "yarn":
            notes.fault(f'transformers reads "{word}" of {family.name} as {alias[word]}')
        params["rope_type"] = alias[word]
    return params


def complete_kinds(
    keys: Keys, family: Family, notes: Notes, params: Parameters, kinds: Iterable[str], key: str, share: bool = True
) -> Folded:
    """Complete nested dictionaries, one for each kind of layer.

    With `share`, a rotating share beside them reaches the first scaled type
    and every kind after it: transformers fills it in while it computes one.
    """
    layers: dict[str, Parameters | None] = {}
    scaled = False
    for kind in kinds:
        if kind not in params:
            raise keys.bad(f"has layers of kind {kind}, but {key} has no parameters for them")
        inner = params[kind]
        if inner is None:
            layers[kind] = None
            continue
        if not isinstance(inner, dict):
            raise keys.bad(f"has {key}.{kind} {shown(inner)}: it must be an object of rope parameters or null")
        inner.setdefault("rope_type", inner.get("type", "default"))
        if "rope_theta" not in inner:
            inner["rope_theta"] = _theta(keys, family, notes, None, key)
        scaled = scaled or inner["rope_type"] != "default"
        if share and scaled and "partial_rotary_factor" in keys:
            inner.setdefault("partial_rotary_factor", keys.get("partial_rotary_factor"))
        if inner["rope_type"] in WITH_ORIGINAL:
            inner.setdefault("original_max_position_embeddings", keys.integer("max_position_embeddings", family.length))
        layers[kind] = inner
        if "truncate" in inner and inner["rope_type"] == "yarn":
            nested_truncate(params, kind, inner, key, notes)
    return Folded(layers, params.get("truncate", True), key)


def nested_truncate(params: Parameters, kind: str, inner: Parameters, key: str, notes: Notes) -> None:
    """Report a truncation that stands where YaRN does not look for it."""
    if "truncate" not in params and inner["truncate"] is False:
        notes.fault(
            f"transformers ignores {key}.{kind}.truncate: it reads the key beside the kinds of layers, so the ramp is "
            "truncated all the same"
        )
        notes.warn(f"{key}.{kind}.truncate has no effect: transformers reads it beside the kinds of layers")
    agrees = inner["truncate"] == params.get("truncate", True)
    notes.ignore(f"{key}.{kind}.truncate", "transformers reads the key beside the kinds of layers", told=agrees)


def _pair(keys: Keys, family: Family, notes: Notes) -> Folded:
    """Full and sliding attention with bases of their own (Gemma 3, ModernBERT, OLMo 3)."""
    full, sliding, reach = family.option("thetas").split("/")
    params = dictionary(keys, "rope_parameters")
    key = "rope_parameters"
    if params is None:
        params = {SLIDING: {"rope_type": "default"}, FULL: {"rope_type": "default"}}
    else:
        notes.use("rope_parameters", "parameters of the rotary tables")
        if reach == "both" and not all(isinstance(value, dict) for value in params.values()):
            raise keys.bad(f"has one rope_parameters for all layers, but {family.name} takes one set for each kind")
    scaling = dictionary(keys, "rope_scaling")
    if scaling is not None:
        notes.use("rope_scaling", "scaling of " + ("both kinds of layers" if reach == "both" else "full attention"))
        key = "rope_scaling"
        if "type" in scaling and "rope_type" not in scaling:
            notes.fault(
                f'transformers ignores the old "type": {shown(scaling["type"])} in rope_scaling of {family.name}: the '
                'layer already has a "rope_type"; the table is unscaled'
            )
            notes.warn(f"rope_scaling has no effect: {family.name} reads rope_type, and the file says type")
            notes.ignore("rope_scaling.type", f"{family.name} reads rope_type", told=True)
        for kind in (FULL, SLIDING) if reach == "both" else (FULL,):
            if not isinstance(params.get(kind), dict):
                raise keys.bad(f"has a rope_scaling, but rope_parameters has no {kind} that it could extend")
            params[kind].update(scaling)
    for kind, spec in ((FULL, full), (SLIDING, sliding)):
        name, default = spec.split("=")
        if params.get(kind) is None:
            params[kind] = {"rope_type": "default"}
        if not isinstance(params[kind], dict):
            raise keys.bad(f"has {key}.{kind} {shown(params[kind])}: it must be an object of rope parameters or null")
        if "rope_theta" in params[kind]:
            continue
        params[kind]["rope_theta"] = keys.get(name, load_json(default))
        notes.use(name, f"base of {kind} layers")
    if sliding.startswith("-") and "rope_theta" in keys:
        base = sliding.split("=")[1]
        notes.fault(f"transformers applies rope_theta to full attention alone: sliding layers keep the default {base}")
    return complete_kinds(keys, family, notes, params, kinds_of(keys, family), key)


def _kept(keys: Keys, family: Family, notes: Notes) -> Folded:
    """Parameters by kind of layer as they stand; no old keys (Gemma 4, Laguna, MiMo)."""
    scaling = dictionary(keys, "rope_scaling")
    if scaling and not any(isinstance(value, dict) for value in scaling.values()):
        raise keys.bad(f"has one rope_scaling for all layers, but {family.name} takes one set for each kind of layer")
    params = scaling or dictionary(keys, "rope_parameters")
    if params is None:
        params = family.rope or {}
    else:
        notes.use("rope_parameters", "parameters of the rotary tables")
    for kind in kinds_of(keys, family):
        inner = params.get(kind)
        if not isinstance(inner, dict):
            continue
        word = inner.get("rope_type", inner.get("type", "default"))
        if "rope_theta" not in inner and (word == "default" or "rope_theta" not in keys):
            raise keys.bad(f"has no rope_theta in rope_parameters.{kind}, where {family.name} looks for it")
        fills = family.option("fills") == "original"
        if word in WITH_ORIGINAL and not fills and "original_max_position_embeddings" not in inner:
            raise keys.bad(f"has no original_max_position_embeddings in rope_parameters.{kind}, which {word} requires")
    return complete_kinds(keys, family, notes, params, kinds_of(keys, family), "rope_parameters")


Fold = Callable[[Keys, Family, Notes], Folded]
FOLDS: dict[str, Fold] = {"flat": _flat, "pair": _pair, "kept": _kept}
