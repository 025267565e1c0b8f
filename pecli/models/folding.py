"""Rope parameters of a config: old and new keys become one dictionary for each kind of layer.

This follows transformers 5.23: ``modeling_rope_utils.RotaryEmbeddingConfigMixin``
and the overrides of ``convert_rope_params_to_dict`` and ``__post_init__`` in the
configuration classes.  A ``fold`` of families.txt names one of the functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from pecli.encodings.rotary.rope.scalings import ROPE_TYPES
from pecli.models.config import Keys, Notes, number, shown
from pecli.models.families import ModelFamily, head_of, load_json, pairs_of

Parameters = dict[str, Any]
WITH_ORIGINAL = tuple(name for name, kind in ROPE_TYPES.items() if kind.original_outside)
FULL, SLIDING = "full_attention", "sliding_attention"


class Folded(NamedTuple):
    """Rope parameters by kind of layer ("all" for one table; None: no positions).

    ``truncate`` is the key that YaRN reads: of the outer dictionary, which for
    nested parameters is not the place of the type's other keys.
    """

    layers: dict[str, Parameters | None]
    truncate: Any = True
    key: str = "rope_parameters"


Fold = Callable[[Keys, ModelFamily, Notes], Folded]


def dictionary(keys: Keys, name: str) -> Parameters | None:
    """Return a copy of a dictionary of the config; None for null or absent."""
    value = keys.get(name)
    if value is None or value is False or (value == {} and name == "rope_scaling"):
        return None
    if not isinstance(value, dict):
        raise keys.bad(f"has {name} {shown(value)}: it must be an object of rope parameters or null")
    return {name: dict(inner) if isinstance(inner, dict) else inner for name, inner in value.items()}


def kinds_of(keys: Keys, family: ModelFamily) -> tuple[str, ...]:
    """Return the kinds of layers that the model has."""
    given = keys.get("layer_types")
    if isinstance(given, list) and given:
        without = set(family.option("unturned").split("+"))
        return tuple(sorted({str(item) for item in given} - without))
    return family.labels


def top_level_theta(keys: Keys, family: ModelFamily, notes: Notes, inner: Any, key: str) -> Any:
    """Return the base outside the dictionary, or the class's default."""
    name = family.option("theta-key", "rope_theta")
    if name not in keys:
        return keys.get(name, family.theta)
    if inner is not None:
        _overridden(keys, notes, name, inner, key, "base")
        return None
    notes.use(name, "base of the frequencies")
    return keys.get(name)


def top_level_share(keys: Keys, family: ModelFamily, notes: Notes, inner: Any, key: str) -> Any:
    """Return the rotary share outside the dictionary, or the class's default; None for none."""
    name = family.option("partial-key", "partial_rotary_factor")
    if family.forced:
        if name in keys:
            agrees = number(keys.get(name)) == family.partial
            notes.ignore(name, f"{family.name} fixes it at {family.partial}", explained=agrees)
        return family.partial
    width = family.option("width-key")
    if width and name not in keys and number(keys.get(width)) is not None and inner is None:
        notes.use(width, "columns of a head that rotate")
        return keys.needed(width, None) / head_of(keys, family, notes).width
    if name not in keys:
        return family.partial
    if inner is not None:
        _overridden(keys, notes, name, inner, key, "share")
    else:
        notes.use(name, "share of the head that rotates")
    return keys.get(name)


def _overridden(keys: Keys, notes: Notes, name: str, inner: Any, key: str, what: str) -> None:
    """Report that a key outside the dictionary has no effect, since the dictionary has its own."""
    notes.ignore(name, f"{key} has its own {what}, {shown(inner)}", explained=keys.get(name) == inner)


def inner_of(keys: Keys, params: Parameters, kind: str, key: str = "rope_parameters") -> Parameters:
    """Return the rope parameters of a kind of layer; an object is put in where there is none."""
    inner = params.setdefault(kind, {})
    if not isinstance(inner, dict):
        raise keys.bad(f"has {key}.{kind} {shown(inner)}: it must be an object of rope parameters")
    return inner


def type_of(params: Mapping[str, Any]) -> Any:
    """Return the rope type under its new name or its old one."""
    return params.get("rope_type", params.get("type", "default"))


def set_type(keys: Keys, family: ModelFamily, params: Parameters) -> None:
    """Complete parameters with their type, and the original length where the type has one."""
    params.setdefault("rope_type", type_of(params))
    if params["rope_type"] in WITH_ORIGINAL:
        params.setdefault("original_max_position_embeddings", keys.integer("max_position_embeddings", family.length))


def complete_kinds(
    keys: Keys, family: ModelFamily, notes: Notes, params: Parameters, kinds: Iterable[str],
    key: str = "rope_parameters", share: bool = True,
) -> Folded:  # fmt: skip
    """Complete nested dictionaries, one for each kind of layer.

    With `share`, a top-level rotary share reaches the first scaled type
    and every kind after it: transformers fills it in while it computes one.
    """
    layers: dict[str, Parameters | None] = {}
    scaled = False
    for kind in kinds:
        if kind not in params:
            raise keys.bad(f"has layers of kind {kind}, but {key} has no parameters for them")
        if params[kind] is None:
            layers[kind] = None
            continue
        inner = inner_of(keys, params, kind, key)
        set_type(keys, family, inner)
        if "rope_theta" not in inner:
            inner["rope_theta"] = top_level_theta(keys, family, notes, None, key)
        scaled = scaled or inner["rope_type"] != "default"
        if share and scaled and "partial_rotary_factor" in keys:
            inner.setdefault("partial_rotary_factor", keys.get("partial_rotary_factor"))
        layers[kind] = inner
        if "truncate" in inner and inner["rope_type"] == "yarn":
            nested_truncate(params, kind, inner, key, notes)
    return Folded(layers, params.get("truncate", True), key)


def nested_truncate(params: Parameters, kind: str, inner: Parameters, key: str, notes: Notes) -> None:
    """Report a truncation in a place where YaRN does not look for it."""
    if "truncate" not in params and inner["truncate"] is False:
        notes.fault(
            f"transformers ignores {key}.{kind}.truncate: it reads the key beside the kinds of layers, so the ramp is "
            "truncated all the same"
        )
    agrees = inner["truncate"] == params.get("truncate", True)
    notes.ignore(f"{key}.{kind}.truncate", "transformers reads the key beside the kinds of layers", explained=agrees)


# Keys of a rope type that transformers requires of every class, inside the dictionary or at the top level.
REQUIRED = {
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor", "original_max_position_embeddings"),
    "longrope": ("short_factor", "long_factor", "original_max_position_embeddings"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}


def _deepseek_v4(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Fold DeepSeek-V4: a plain table for sliding layers, one of its own base for the compressed ones."""
    params = dictionary(keys, "rope_scaling") or dictionary(keys, "rope_parameters") or {}
    notes.use("rope_scaling", "scaling of the compressed layers")
    head = keys.needed("head_dim", 512)
    share = number(keys.get("partial_rotary_factor"))
    share_float = keys.needed("qk_rope_head_dim", head // 8) / head if share is None else float(share)
    main, compress = params.get("main"), params.get("compress")
    if not (isinstance(main, dict) and isinstance(compress, dict)):
        inner = {name: value for name, value in params.items() if name not in ("main", "compress")}
        set_type(keys, family, inner)
        theta = keys.get("compress_rope_theta", 160000)
        notes.use("compress_rope_theta", "base of the compressed layers")
        notes.use("rope_theta", "base of the sliding layers")
        main = {}
        compress = {**inner, "rope_theta": theta, "partial_rotary_factor": share_float}
        if compress["rope_type"] == "yarn":
            compress.setdefault("attention_factor", 1)
    else:
        for name in ("rope_theta", "compress_rope_theta", "qk_rope_head_dim"):
            if name in keys:
                notes.ignore(name, "rope_parameters has both tables already")
    for kind, inner in (("main", main), ("compress", compress)):
        set_type(keys, family, inner)
        inner.setdefault("rope_theta", keys.get("rope_theta", 10000))
        inner.setdefault("partial_rotary_factor", share_float)
        if "truncate" in inner:
            nested_truncate({}, kind, inner, "rope_scaling", notes)
    return Folded({"main": main, "compress": compress}, True, "rope_scaling")


def _by_layer(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Bases and shares listed layer by layer (Step 3.5)."""
    kinds = kinds_of(keys, family)
    given_kinds = keys.get("layer_types")
    listed = [str(kind) for kind in given_kinds] if isinstance(given_kinds, list) and given_kinds else [kinds[0]]
    kinds = tuple(kind for kind in kinds if kind in listed)
    params = dictionary(keys, "rope_parameters") or {}
    scaling = dictionary(keys, "rope_scaling")
    given = all(isinstance(params.get(kind), dict) for kind in kinds)
    if not given:
        theta, shares = keys.get("rope_theta", family.theta or 10000), keys.get("partial_rotary_factors")
        params = {}
        for kind in kinds:
            i = listed.index(kind)
            one: Parameters = {"rope_type": "default", "rope_theta": _of_layer(keys, "rope_theta", theta, i)}
            if shares:
                one["partial_rotary_factor"] = _of_layer(keys, "partial_rotary_factors", shares, i)
            params[kind] = one
        if scaling and FULL in params:
            if "max_position_embeddings" not in keys:  # the class's own length comes too late to be the original
                _complete(keys, "rope_scaling")
            params[FULL].update(scaling)
        for name in ("rope_theta", "partial_rotary_factors", "rope_scaling"):
            notes.use(name, "rotary table, layer by layer")
    for kind in kinds:
        params[kind].setdefault("rope_theta", 10000)
        if given and "partial_rotary_factor" in keys:
            params[kind].setdefault("partial_rotary_factor", keys.get("partial_rotary_factor"))
    return complete_kinds(keys, family, notes, params, kinds, share=False)


def _of_layer(keys: Keys, name: str, values: Any, layer: int) -> Any:
    """Return the value for a layer from a list by layer, or the common value."""
    if not isinstance(values, list):
        return values
    if layer >= len(values):
        raise keys.bad(f"has {name} of {len(values)} layers, too few for layer_types")
    return values[layer]


def _zipped(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """One base per layer in rope_theta (UltraBERT)."""
    params = dictionary(keys, "rope_scaling") or dictionary(keys, "rope_parameters")
    theta = keys.get("rope_theta")
    listed = keys.get("layer_types") or [SLIDING, SLIDING, FULL]
    if params is None and isinstance(theta, list):
        notes.use("rope_theta", "base of each layer")
        params = {kind: {"rope_type": "default", "rope_theta": base} for kind, base in zip(listed, theta, strict=False)}
    params = params or family.rope or {}
    for inner in params.values():
        if isinstance(inner, dict):
            inner.setdefault("rope_theta", 10000)
    return complete_kinds(keys, family, notes, params, kinds_of(keys, family))


def _shares_by_kind(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Fold NeoMME: a base and a share for each kind of layer, completed one by one."""
    params = dictionary(keys, "rope_scaling") or dictionary(keys, "rope_parameters") or {}
    if any(name in params for name in ("rope_type", "type")):
        raise keys.bad(f"has one set of rope parameters for all layers, but {family.name} takes one for each kind")
    theta = keys.get("rope_theta")
    defaults = {FULL: (1000000, 0.25), SLIDING: (10000, 1.0)}
    for kind in kinds_of(keys, family):
        base, share = defaults.get(kind, (10000, 1.0))
        inner = inner_of(keys, params, kind)
        inner.setdefault("rope_type", "default")
        inner.setdefault("rope_theta", base if theta is None else theta)
        inner.setdefault("partial_rotary_factor", share)
    return complete_kinds(keys, family, notes, params, kinds_of(keys, family))


def _fixed(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Classes with a formula of their own: a base, a width, no scaling."""
    name = family.option("theta-key")
    base = number(keys.get(name, family.theta)) if name else family.theta
    if base is None:
        raise keys.bad(f"has {name} {shown(keys.get(name))}: the base must be a number")
    if name:
        notes.use(name, "base of the frequencies")
    times = family.option("theta-times")
    if times:
        ratio = number(keys.get(times, 1))
        if ratio is None:
            raise keys.bad(f"has {times} {shown(keys.get(times))}: it must be a number")
        base = base * ratio
        notes.use(times, "multiplies the base")
    params: Parameters = {"rope_type": "default", "rope_theta": base}
    share = top_level_share(keys, family, notes, None, "")
    if share is not None:
        params["partial_rotary_factor"] = share
    divisor = family.option("position-divisor")
    if divisor and number(keys.get(divisor)) not in (None, 1):
        params.update(rope_type="linear", factor=keys.get(divisor))
        notes.use(divisor, "divides the positions")
    for key in ("rope_scaling", "rope_theta", "rope_parameters"):
        if keys.data.get(key) and key != name:
            _complete(keys, key)
            notes.ignore(key, f"{family.name} does not read it")
    return Folded({"all": params})


def _complete(keys: Keys, key: str) -> None:
    """Refuse a scaling without its keys: transformers validates it though the class does not read it."""
    given = keys.data[key]
    kind = given.get("rope_type", given.get("type")) if isinstance(given, dict) else None
    is_filled = key == "rope_scaling" and keys.get("rope_theta")  # transformers' convert_rope_params_to_dict
    filled = ("rope_theta", "original_max_position_embeddings") if is_filled else ()
    for name in (*REQUIRED.get(str(kind), ()), *(("rope_theta",) if kind == "llama3" else ())):
        if name not in given and name not in filled:
            raise keys.lacks(key, name, kind, given)


def _dots3(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Indexed and sliding layers with head widths of their own (dots3 note)."""
    params = dictionary(keys, "rope_parameters")
    theta = keys.get("rope_theta", 80000000)
    kinds = kinds_of(keys, family)
    if params is None:
        sliding = keys.get("swa_rope_theta", 50000)
        plain = {kind: {"rope_type": "default", "rope_theta": sliding if kind == SLIDING else theta} for kind in kinds}
        params = dictionary(keys, "rope_scaling") or plain
    if not any(kind in params for kind in kinds):
        params = {kind: dict(params) for kind in kinds}
    for kind in kinds:
        if kind == SLIDING:
            head = keys.needed("swa_head_dim", 256)
            rope = keys.needed("swa_qk_rope_head_dim", head - keys.needed("swa_qk_nope_head_dim", 192))
        else:
            head, rope = keys.needed("head_dim", 256), keys.needed("qk_rope_head_dim", 64)
        inner = inner_of(keys, params, kind)
        inner.setdefault("rope_theta", theta)
        inner["partial_rotary_factor"] = rope / head
    return complete_kinds(keys, family, notes, params, kinds)


SINGLE: dict[str, Fold] = {
    "deepseek_v4": _deepseek_v4,
    "step": _by_layer,
    "ultra": _zipped,
    "neomme": _shares_by_kind,
    "fixed": _fixed,
    "dots3": _dots3,
}


def flat(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Return one dictionary for every layer, completed by top-level keys."""
    params, key = _legacy(keys, family, notes)
    known = (*family.labels, *family.option("kinds").split("+"))
    nested = [name for name, value in params.items() if isinstance(value, dict) or name in known]
    if family.labels and nested:
        present = [name for name in params if name in (*kinds_of(keys, family), *family.labels)]
        return complete_kinds(keys, family, notes, params, present, key)
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
        notes.ignore(f"{key}.{name}", f"{family.name} takes one set of parameters for all layers")
    names = ", ".join(nested)
    notes.fault(f"transformers builds {family.name} with its defaults where {key} is given by kind of layer ({names})")


def _one(keys: Keys, family: ModelFamily, notes: Notes, params: Parameters, key: str) -> Parameters:
    """Complete one flat dictionary."""
    theta = top_level_theta(keys, family, notes, params.get("rope_theta"), key)
    params.setdefault("rope_theta", theta)
    share = top_level_share(keys, family, notes, params.get("partial_rotary_factor"), key)
    if share is not None or (family.option("partial-key") and family.option("partial-key") in keys):
        params.setdefault("partial_rotary_factor", share)
    name = "original_max_position_embeddings"
    if type_of(params) in WITH_ORIGINAL and (name in keys or family.option("original")):
        value = keys.get(name, int(family.option("original") or 0))
        if name in params and params[name] != value:
            notes.ignore(f"{key}.{name}", f"the top-level {name} overrides it")
        notes.use(name, "length the model was first trained on")
        params[name] = value
    set_type(keys, family, params)
    alias = pairs_of(family.option("alias"))
    word = str(params["rope_type"])
    if word in alias:
        if word == "yarn":
            notes.fault(f'transformers reads "{word}" of {family.name} as {alias[word]}')
        params["rope_type"] = alias[word]
    return params


def _legacy(keys: Keys, family: ModelFamily, notes: Notes) -> tuple[Parameters, str]:
    """Return a rope_scaling that is not empty, else rope_parameters, else the class's own."""
    new, old = dictionary(keys, "rope_parameters"), dictionary(keys, "rope_scaling")
    if family.option("ignores") == "rope_scaling":
        old = None
        _taken_as_it_stands(keys, family, notes, new)
    if old:
        if new is not None:
            notes.ignore("rope_parameters", "rope_scaling replaces it")
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
        notes.fault(f"transformers ignores rope_scaling of {family.name}: the table is unscaled")
    kind = (new or {}).get("rope_type", (new or {}).get("type"))
    needed = [] if kind in ("linear", "dynamic", "yarn", "longrope") else ["rope_theta"]
    needed += ["original_max_position_embeddings"] if kind in WITH_ORIGINAL else []
    if new and (name := next((one for one in needed if one not in new), "")):
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
            notes.ignore("rope_scaling.type", f"{family.name} reads rope_type")
        for kind in (FULL, SLIDING) if reach == "both" else (FULL,):
            if not isinstance(params.get(kind), dict):
                raise keys.bad(f"has a rope_scaling, but rope_parameters has no {kind} that it could extend")
            params[kind].update(scaling)
    for kind, spec in ((FULL, full), (SLIDING, sliding)):
        name, default = spec.split("=")
        if params.get(kind) is None:
            params[kind] = {"rope_type": "default"}
        inner = inner_of(keys, params, kind, key)
        if "rope_theta" in inner:
            continue
        inner["rope_theta"] = keys.get(name, load_json(default))
        if name != "-":
            notes.use(name, f"base of {kind} layers")
    base = sliding.split("=")[1]
    if sliding.startswith("-") and keys.get("rope_theta", load_json(base)) != load_json(base):
        notes.fault(f"transformers applies rope_theta to full attention alone: sliding layers keep the default {base}")
    return complete_kinds(keys, family, notes, params, kinds_of(keys, family), key)


def kept(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Return the parameters by kind of layer unchanged, without the old keys (Gemma 4, Laguna, MiMo)."""
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
        word = type_of(inner)
        if "rope_theta" not in inner and (word == "default" or "rope_theta" not in keys):
            raise keys.bad(f"has no rope_theta in rope_parameters.{kind}, where {family.name} looks for it")
        fills = family.option("fills") == "original"
        if word in WITH_ORIGINAL and not fills and "original_max_position_embeddings" not in inner:
            raise keys.bad(f"has no original_max_position_embeddings in rope_parameters.{kind}, which {word} requires")
    return complete_kinds(keys, family, notes, params, kinds_of(keys, family))


# Folds shared by many classes; the others are in SINGLE.
FOLDS: dict[str, Fold] = {"flat": flat, "pair": pair, "kept": kept}


def fold(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Return the rope parameters of a config, as the family folds them."""
    return (FOLDS | SINGLE)[family.option("fold", "flat")](keys, family, notes)
