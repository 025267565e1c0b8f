"""Dictionaries by kind of layer, from old keys (pair) or as they stand (kept)."""

from __future__ import annotations

from pecli.models.families import ModelFamily, load_json
from pecli.models.folding.common import FULL, SLIDING, WITH_ORIGINAL, Folded, complete_kinds, dictionary, kinds_of
from pecli.models.keys import Keys, shown
from pecli.models.notes import Notes


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
        notes.use(name, f"base of {kind} layers")
    if sliding.startswith("-") and "rope_theta" in keys:
        base = sliding.split("=")[1]
        notes.fault(f"transformers applies rope_theta to full attention alone: sliding layers keep the default {base}")
    return complete_kinds(keys, family, notes, params, kinds_of(keys, family), key)


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
    return complete_kinds(keys, family, notes, params, kinds_of(keys, family), "rope_parameters")
