"""Folds of many classes: one dictionary for all layers (flat), and those by kind of layer (pair, kept)."""

from __future__ import annotations

from pecli.models.families import ModelFamily, load_json, pairs_of
from pecli.models.folding import common
from pecli.models.folding.common import FULL, SLIDING, WITH_ORIGINAL, Folded, Parameters, dictionary, kinds_of
from pecli.models.keys import Keys, Notes, shown


def flat(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """One dictionary for every layer; keys beside it fill in what it lacks."""
    params, key = _legacy(keys, family, notes)
    known = (*family.labels, *family.option("kinds").split("+"))
    nested = [name for name, value in params.items() if isinstance(value, dict) or name in known]
    if family.labels and nested:
        present = [name for name in params if name in (*kinds_of(keys, family), *family.labels)]
        return common.complete_kinds(keys, family, notes, params, present, key)
    if nested:
        _refuse_kinds(keys, family, notes, nested, key)
        params = {name: value for name, value in params.items() if name not in nested}
    if family.labels:
        kinds = ", ".join(family.labels)
        raise keys.bad(f"has one {key} for all layers, but {family.name} takes one set for each kind ({kinds})")
    return Folded({"all": _one(keys, family, notes, params, key)}, params.get("truncate", True), key)


def _refuse_kinds(keys: Keys, family: ModelFamily, notes: Notes, nested: list[str], key: str) -> None:
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


def _one(keys: Keys, family: ModelFamily, notes: Notes, params: Parameters, key: str) -> Parameters:
    """Complete one flat dictionary."""
    theta = common.theta_beside(keys, family, notes, params.get("rope_theta"), key)
    params.setdefault("rope_theta", theta)
    share = common.share_beside(keys, family, notes, params.get("partial_rotary_factor"), key)
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


def _legacy(keys: Keys, family: ModelFamily, notes: Notes) -> tuple[Parameters, str]:
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


def _taken_as_it_stands(keys: Keys, family: ModelFamily, notes: Notes, new: Parameters | None) -> None:
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


def pair(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
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
        if name != "-":
            notes.use(name, f"base of {kind} layers")
    base = sliding.split("=")[1]
    if sliding.startswith("-") and keys.get("rope_theta", load_json(base)) != load_json(base):
        notes.fault(f"transformers applies rope_theta to full attention alone: sliding layers keep the default {base}")
    return common.complete_kinds(keys, family, notes, params, kinds_of(keys, family), key)


def kept(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
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
    return common.complete_kinds(keys, family, notes, params, kinds_of(keys, family))
