"""Old and new keys -> one dictionary of rope parameters for each kind of layer.

This follows transformers 5.23: ``modeling_rope_utils.RotaryEmbeddingConfigMixin``
and the overrides of ``convert_rope_params_to_dict`` and ``__post_init__`` in the
configuration classes.  A ``fold`` of families.txt names one of the functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pecli.models.families import Family, load_json, pairs_of
from pecli.models.keys import Keys, number, shown
from pecli.models.notes import Notes

Parameters = dict[str, Any]
WITH_ORIGINAL = ("llama3", "yarn", "longrope")  # types whose original length may stand beside the dictionary
FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True)
class Folded:
    """Rope parameters by kind of layer ("all" for one table; None: no positions).

    ``truncate`` is the key that YaRN reads: of the outer dictionary, which for
    nested parameters is not where the other keys of the type stand.
    """

    layers: dict[str, Parameters | None]
    truncate: Any = True
    key: str = "rope_parameters"


def fold(keys: Keys, family: Family, notes: Notes) -> Folded:
    """Return the rope parameters of a config, as the family folds them."""
    return FOLDS[family.option("fold", "flat")](keys, family, notes)


def _dictionary(keys: Keys, name: str) -> Parameters | None:
    """Return a copy of a dictionary of the config; None for null or absent."""
    value = keys.get(name)
    if value is None or value is False or value == {}:
        return None if value != {} or name == "rope_scaling" else {}
    if not isinstance(value, dict):
        raise keys.bad(f"has {name} {shown(value)}: it must be an object of rope parameters or null")
    return {name: dict(inner) if isinstance(inner, dict) else inner for name, inner in value.items()}


def _kinds(keys: Keys, family: Family) -> tuple[str, ...]:
    """Return the kinds of layers that the model has."""
    given = keys.get("layer_types")
    if isinstance(given, list) and given:
        return tuple(sorted({str(item) for item in given}))
    return family.labels


def _legacy(keys: Keys, family: Family, notes: Notes) -> tuple[Parameters, str]:
    """Return rope_scaling where it says anything, else rope_parameters, else the class's own."""
    new, old = _dictionary(keys, "rope_parameters"), _dictionary(keys, "rope_scaling")
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


def _split_share(keys: Keys) -> float:
    """Return the rotating share of a head that is split in nope and rope columns."""
    nope, rope = keys.needed("qk_nope_head_dim", 64), keys.needed("qk_rope_head_dim", 64)
    return rope / (nope + rope)


def _theta(keys: Keys, family: Family, notes: Notes, inner: bool, key: str) -> Any:
    """Return the base beside the dictionary, or the class's default."""
    name = family.option("theta-key", "rope_theta")
    default = family.theta
    if name not in keys:
        return default
    if inner:
        notes.ignore(name, f"{key} has a base of its own, which wins")
        return None
    notes.use(name, "base of the frequencies")
    return keys.get(name)


def _share(keys: Keys, family: Family, notes: Notes, inner: bool, key: str) -> Any:
    """Return the rotating share beside the dictionary, or the class's default; None for none."""
    name = family.option("partial-key", "partial_rotary_factor")
    if family.forced:
        if name in keys:
            notes.ignore(name, f"{family.name} fixes it at {family.partial}")
        return family.partial
    if name in keys:
        if inner:
            notes.ignore(name, f"{key} has a share of its own, which wins")
        else:
            notes.use(name, "share of the head that rotates")
        return keys.get(name)
    return family.partial


def _flat(keys: Keys, family: Family, notes: Notes) -> Folded:
    """One dictionary for every layer; keys beside it fill in what it lacks."""
    params, key = _legacy(keys, family, notes)
    nested = [name for name, value in params.items() if isinstance(value, dict) or name in family.labels]
    if family.labels and nested:
        kinds = _kinds(keys, family)
        return _finish(keys, family, notes, params, [name for name in params if name in kinds or name in family.labels], key)
    if nested:
        raise keys.bad(f"has {key} by kind of layer ({', '.join(nested)}), but {family.name} takes one set for all")
    if family.labels:
        kinds = ", ".join(family.labels)
        raise keys.bad(f"has one {key} for all layers, but {family.name} takes one set for each kind ({kinds})")
    return Folded({"all": _one(keys, family, notes, params, key)}, params.get("truncate", True), key)


def _one(keys: Keys, family: Family, notes: Notes, params: Parameters, key: str) -> Parameters:
    """Complete one flat dictionary."""
    theta = _theta(keys, family, notes, "rope_theta" in params, key)
    params.setdefault("rope_theta", theta)
    share = _share(keys, family, notes, "partial_rotary_factor" in params, key)
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


def _finish(
    keys: Keys, family: Family, notes: Notes, params: Parameters, kinds: Iterable[str], key: str
) -> Folded:
    """Complete nested dictionaries, one for each kind of layer."""
    layers: dict[str, Parameters | None] = {}
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
            inner["rope_theta"] = _theta(keys, family, notes, False, key)
        if "partial_rotary_factor" in keys:
            inner.setdefault("partial_rotary_factor", keys.get("partial_rotary_factor"))
        if inner["rope_type"] in WITH_ORIGINAL:
            inner.setdefault(
                "original_max_position_embeddings", keys.integer("max_position_embeddings", family.length)
            )
        layers[kind] = inner
        if "truncate" in inner and inner["rope_type"] == "yarn":
            _nested_truncate(params, kind, inner, key, notes)
    return Folded(layers, params.get("truncate", True), key)


def _nested_truncate(params: Parameters, kind: str, inner: Parameters, key: str, notes: Notes) -> None:
    if "truncate" not in params and inner["truncate"] is False:
        notes.fault(
            f"transformers ignores {key}.{kind}.truncate: it reads the key beside the kinds of layers, so the ramp is "
            "truncated all the same"
        )
    notes.ignore(f"{key}.{kind}.truncate", "transformers reads the key beside the kinds of layers")


def _pair(keys: Keys, family: Family, notes: Notes) -> Folded:
    """Full and sliding attention with bases of their own (Gemma 3, ModernBERT, OLMo 3)."""
    full, sliding, reach = family.option("thetas").split("/")
    params = _dictionary(keys, "rope_parameters")
    key = "rope_parameters"
    if params is None:
        params = {SLIDING: {"rope_type": "default"}, FULL: {"rope_type": "default"}}
    else:
        notes.use("rope_parameters", "parameters of the rotary tables")
    scaling = _dictionary(keys, "rope_scaling")
    if scaling is not None:
        notes.use("rope_scaling", "scaling of " + ("both kinds of layers" if reach == "both" else "full attention"))
        key = "rope_scaling"
        if "type" in scaling and "rope_type" not in scaling:
            notes.fault(
                f'transformers ignores the old "type": {shown(scaling["type"])} in rope_scaling of {family.name}: the '
                'layer already has a "rope_type"; the table is unscaled'
            )
            notes.warn(f"rope_scaling has no effect: {family.name} reads rope_type, and the file says type")
        for kind in (FULL, SLIDING) if reach == "both" else (FULL,):
            if not isinstance(params.get(kind), dict):
                raise keys.bad(f"has a rope_scaling, but rope_parameters has no {kind} that it could extend")
            params[kind].update(scaling)
    for kind, spec in ((FULL, full), (SLIDING, sliding)):
        name, default = spec.split("=")
        if params.get(kind) is None:
            params[kind] = {"rope_type": "default"}
        if "rope_theta" in params[kind]:
            continue
        params[kind]["rope_theta"] = keys.get(name, load_json(default))
        notes.use(name, f"base of {kind} layers")
    if sliding.startswith("-") and "rope_theta" in keys:
        base = sliding.split("=")[1]
        notes.fault(f"transformers applies rope_theta to full attention alone: sliding layers keep the default {base}")
    return _finish(keys, family, notes, params, _kinds(keys, family), key)


def _kept(keys: Keys, family: Family, notes: Notes) -> Folded:
    """Parameters by kind of layer as they stand; no old keys (Gemma 4, Laguna, MiMo)."""
    scaling = _dictionary(keys, "rope_scaling")
    if scaling and not any(isinstance(value, dict) for value in scaling.values()):
        raise keys.bad(f"has one rope_scaling for all layers, but {family.name} takes one set for each kind of layer")
    params = scaling or _dictionary(keys, "rope_parameters")
    if params is None:
        params = family.rope or {}
    else:
        notes.use("rope_parameters", "parameters of the rotary tables")
    for kind in _kinds(keys, family):
        inner = params.get(kind)
        if not isinstance(inner, dict):
            continue
        word = inner.get("rope_type", inner.get("type", "default"))
        if "rope_theta" not in inner and (word == "default" or "rope_theta" not in keys):
            raise keys.bad(f"has no rope_theta in rope_parameters.{kind}, where {family.name} looks for it")
        if word in WITH_ORIGINAL and "original_max_position_embeddings" not in inner:
            raise keys.bad(f"has no original_max_position_embeddings in rope_parameters.{kind}, which {word} requires")
    return _finish(keys, family, notes, params, _kinds(keys, family), "rope_parameters")


def _deepseek_v4(keys: Keys, family: Family, notes: Notes) -> Folded:
    """A plain table for sliding layers, and one of its own base for the compressed ones."""
    params = _dictionary(keys, "rope_scaling") or _dictionary(keys, "rope_parameters") or {}
    notes.use("rope_scaling", "scaling of the compressed layers")
    head = keys.needed("head_dim", 512)
    share = number(keys.get("partial_rotary_factor"))
    if share is None:
        share_float = keys.needed("qk_rope_head_dim", head // 8) / head
    else:
        share_float = float(share)
    main, compress = params.get("main"), params.get("compress")
    if not (isinstance(main, dict) and isinstance(compress, dict)):
        inner = {name: value for name, value in params.items() if name not in ("main", "compress")}
        inner.setdefault("rope_type", inner.get("type", "default"))
        if inner["rope_type"] in WITH_ORIGINAL:
            inner.setdefault("original_max_position_embeddings", keys.integer("max_position_embeddings", family.length))
        theta = keys.get("compress_rope_theta", 160000)
        notes.use("compress_rope_theta", "base of the compressed layers")
        notes.use("rope_theta", "base of the sliding layers")
        main = {"rope_type": "default", "rope_theta": keys.get("rope_theta", 10000), "partial_rotary_factor": share_float}
        compress = {**inner, "rope_theta": theta, "partial_rotary_factor": share_float}
        if compress["rope_type"] == "yarn":
            compress.setdefault("attention_factor", 1)
    for inner in (main, compress):
        inner.setdefault("rope_type", inner.get("type", "default"))
    return Folded({"main": main, "compress": compress}, params.get("truncate", True), "rope_scaling")


def _by_layer(keys: Keys, family: Family, notes: Notes) -> Folded:
    """Bases and shares listed layer by layer (Step 3.5)."""
    kinds = _kinds(keys, family)
    listed = keys.get("layer_types") or [kinds[0]]
    params = _dictionary(keys, "rope_parameters") or {}
    scaling = _dictionary(keys, "rope_scaling")
    if not all(isinstance(params.get(kind), dict) for kind in kinds):
        theta, shares = keys.get("rope_theta", family.theta or 10000), keys.get("partial_rotary_factors")
        params = {}
        for kind in kinds:
            i = listed.index(kind)
            one: Parameters = {"rope_type": "default", "rope_theta": theta[i] if isinstance(theta, list) else theta}
            if shares:
                one["partial_rotary_factor"] = shares[i]
            params[kind] = one
        if scaling and FULL in params:
            params[FULL].update(scaling)
        for name in ("rope_theta", "partial_rotary_factors", "rope_scaling"):
            notes.use(name, "rotary table, layer by layer")
    return _finish(keys, family, notes, params, kinds, "rope_parameters")


def _zipped(keys: Keys, family: Family, notes: Notes) -> Folded:
    """One base per layer in rope_theta (UltraBERT)."""
    params = _dictionary(keys, "rope_scaling") or _dictionary(keys, "rope_parameters")
    theta = keys.get("rope_theta")
    listed = keys.get("layer_types") or [SLIDING, SLIDING, FULL]
    if params is None and isinstance(theta, list):
        notes.use("rope_theta", "base of each layer")
        params = {kind: {"rope_type": "default", "rope_theta": base} for kind, base in zip(listed, theta, strict=False)}
    return _finish(keys, family, notes, params or family.rope or {}, _kinds(keys, family), "rope_parameters")


def _shares_by_kind(keys: Keys, family: Family, notes: Notes) -> Folded:
    """A base and a share for each kind of layer, completed one by one (NeoMME)."""
    params = _dictionary(keys, "rope_scaling") or _dictionary(keys, "rope_parameters") or {}
    theta = keys.get("rope_theta")
    defaults = {FULL: (1000000, 0.25), SLIDING: (10000, 1.0)}
    for kind in _kinds(keys, family):
        base, share = defaults.get(kind, (10000, 1.0))
        inner = params.setdefault(kind, {})
        inner.setdefault("rope_type", "default")
        inner.setdefault("rope_theta", base if theta is None else theta)
        inner.setdefault("partial_rotary_factor", share)
    return _finish(keys, family, notes, params, _kinds(keys, family), "rope_parameters")


def _fixed(keys: Keys, family: Family, notes: Notes) -> Folded:
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
    share = _share(keys, family, notes, False, "")
    if share is not None:
        params["partial_rotary_factor"] = share
    stretch = family.option("stretch")
    if stretch and number(keys.get(stretch)) not in (None, 1):
        params.update(rope_type="linear", factor=keys.get(stretch))
        notes.use(stretch, "divides the positions")
    for key in ("rope_scaling", "rope_theta", "rope_parameters"):
        if keys.data.get(key) and key != name:
            notes.ignore(key, f"{family.name} does not read it")
            notes.warn(f"{key} has no effect: {family.name} does not read it")
    return Folded({"all": params})


def _dots3(keys: Keys, family: Family, notes: Notes) -> Folded:
    """Indexed and sliding layers with head widths of their own (dots3 note)."""
    params = _dictionary(keys, "rope_parameters")
    theta = keys.get("rope_theta", 80000000)
    kinds = _kinds(keys, family)
    if params is None:
        sliding = keys.get("swa_rope_theta", 50000)
        params = _dictionary(keys, "rope_scaling") or {
            kind: {"rope_type": "default", "rope_theta": sliding if kind == SLIDING else theta} for kind in kinds
        }
    if not any(kind in params for kind in kinds):
        params = {kind: dict(params) for kind in kinds}
    for kind in kinds:
        if kind == SLIDING:
            head = keys.needed("swa_head_dim", 256)
            rope = keys.needed("swa_qk_rope_head_dim", head - keys.needed("swa_qk_nope_head_dim", 192))
        else:
            head, rope = keys.needed("head_dim", 256), keys.needed("qk_rope_head_dim", 64)
        inner = params.setdefault(kind, {})
        inner.setdefault("rope_theta", theta)
        inner["partial_rotary_factor"] = rope / head
    return _finish(keys, family, notes, params, kinds, "rope_parameters")


FOLDS: dict[str, Callable[[Keys, Family, Notes], Folded]] = {
    "flat": _flat,
    "pair": _pair,
    "kept": _kept,
    "deepseek_v4": _deepseek_v4,
    "step": _by_layer,
    "ultra": _zipped,
    "neomme": _shares_by_kind,
    "fixed": _fixed,
    "dots3": _dots3,
    "compass": _flat,
}
