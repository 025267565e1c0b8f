"""Folds of single families: classes whose keys follow no general rule."""

from __future__ import annotations

from typing import Any

from pecli.models.families import ModelFamily
from pecli.models.folding import common
from pecli.models.folding.common import FULL, SLIDING, Fold, Folded, Parameters, dictionary, kinds_of
from pecli.models.keys import Keys, Notes, number, shown

REQUIRED = {
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor", "original_max_position_embeddings"),
    "longrope": ("short_factor", "long_factor", "original_max_position_embeddings"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}
"""Keys of a rope type that transformers wants of every class, in the dictionary or beside it."""


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
        common.set_type(keys, family, inner)
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
        common.set_type(keys, family, inner)
        inner.setdefault("rope_theta", keys.get("rope_theta", 10000))
        inner.setdefault("partial_rotary_factor", share_float)
        if "truncate" in inner:
            common.nested_truncate({}, kind, inner, "rope_scaling", notes)
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
            if "max_position_embeddings" not in keys:  # the class's own length comes too late to stand for the original
                _complete(keys, "rope_scaling")
            params[FULL].update(scaling)
        for name in ("rope_theta", "partial_rotary_factors", "rope_scaling"):
            notes.use(name, "rotary table, layer by layer")
    for kind in kinds:
        params[kind].setdefault("rope_theta", 10000)
        if given and "partial_rotary_factor" in keys:
            params[kind].setdefault("partial_rotary_factor", keys.get("partial_rotary_factor"))
    return common.complete_kinds(keys, family, notes, params, kinds, share=False)


def _of_layer(keys: Keys, name: str, values: Any, layer: int) -> Any:
    """Return the value of a layer from a list of them, or the one for all."""
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
    return common.complete_kinds(keys, family, notes, params, kinds_of(keys, family))


def _shares_by_kind(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Fold NeoMME: a base and a share for each kind of layer, completed one by one."""
    params = dictionary(keys, "rope_scaling") or dictionary(keys, "rope_parameters") or {}
    if any(name in params for name in ("rope_type", "type")):
        raise keys.bad(f"has one set of rope parameters for all layers, but {family.name} takes one for each kind")
    theta = keys.get("rope_theta")
    defaults = {FULL: (1000000, 0.25), SLIDING: (10000, 1.0)}
    for kind in kinds_of(keys, family):
        base, share = defaults.get(kind, (10000, 1.0))
        inner = params.setdefault(kind, {})
        if not isinstance(inner, dict):
            raise keys.bad(f"has rope_parameters.{kind} {shown(inner)}: {family.name} wants an object for it")
        inner.setdefault("rope_type", "default")
        inner.setdefault("rope_theta", base if theta is None else theta)
        inner.setdefault("partial_rotary_factor", share)
    return common.complete_kinds(keys, family, notes, params, kinds_of(keys, family))


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
    share = common.share_beside(keys, family, notes, None, "")
    if share is not None:
        params["partial_rotary_factor"] = share
    stretch = family.option("stretch")
    if stretch and number(keys.get(stretch)) not in (None, 1):
        params.update(rope_type="linear", factor=keys.get(stretch))
        notes.use(stretch, "divides the positions")
    for key in ("rope_scaling", "rope_theta", "rope_parameters"):
        if keys.data.get(key) and key != name:
            _complete(keys, key)
            notes.ignore(key, f"{family.name} does not read it")
            notes.warn(f"{key} has no effect: {family.name} does not read it")
    return Folded({"all": params})


def _complete(keys: Keys, key: str) -> None:
    """Refuse a scaling without its keys: transformers validates it though the class does not read it."""
    given = keys.data[key]
    kind = given.get("rope_type", given.get("type")) if isinstance(given, dict) else None
    for name in REQUIRED.get(str(kind), ()):
        if name not in given and name not in keys:
            raise keys.bad(f"has no {key}.{name}, which rope type {kind} requires")


def _dots3(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Indexed and sliding layers with head widths of their own (dots3 note)."""
    params = dictionary(keys, "rope_parameters")
    theta = keys.get("rope_theta", 80000000)
    kinds = kinds_of(keys, family)
    if params is None:
        sliding = keys.get("swa_rope_theta", 50000)
        params = dictionary(keys, "rope_scaling") or {
            kind: {"rope_type": "default", "rope_theta": sliding if kind == SLIDING else theta} for kind in kinds
        }
    if not any(kind in params for kind in kinds):
        params = {kind: dict(params) for kind in kinds}
    for kind in kinds:
        if not isinstance(params.setdefault(kind, {}), dict):
            raise keys.bad(f"has rope_parameters.{kind} {shown(params[kind])}: {family.name} wants an object for it")
        if kind == SLIDING:
            head = keys.needed("swa_head_dim", 256)
            rope = keys.needed("swa_qk_rope_head_dim", head - keys.needed("swa_qk_nope_head_dim", 192))
        else:
            head, rope = keys.needed("head_dim", 256), keys.needed("qk_rope_head_dim", 64)
        inner = params[kind]
        inner.setdefault("rope_theta", theta)
        inner["partial_rotary_factor"] = rope / head
    return common.complete_kinds(keys, family, notes, params, kinds)


SINGLE: dict[str, Fold] = {
    "deepseek_v4": _deepseek_v4,
    "step": _by_layer,
    "ultra": _zipped,
    "neomme": _shares_by_kind,
    "fixed": _fixed,
    "dots3": _dots3,
}
