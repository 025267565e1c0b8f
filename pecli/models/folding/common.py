"""What every fold shares: the dictionaries of a config, and one of parameters for each kind of layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pecli.encodings.rotary.rope.scalings import ROPE_TYPES
from pecli.models.families import ModelFamily
from pecli.models.heads import head_of
from pecli.models.keys import Keys, Notes, number, shown

Parameters = dict[str, Any]
WITH_ORIGINAL = tuple(name for name, kind in ROPE_TYPES.items() if kind.original_beside)
FULL, SLIDING = "full_attention", "sliding_attention"


class Folded(NamedTuple):
    """Rope parameters by kind of layer ("all" for one table; None: no positions).

    ``truncate`` is the key that YaRN reads: of the outer dictionary, which for
    nested parameters is not where the other keys of the type stand.
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
        return tuple(sorted({str(item) for item in given}))
    return family.labels


def theta_beside(keys: Keys, family: ModelFamily, notes: Notes, inner: Any, key: str) -> Any:
    """Return the base beside the dictionary, or the class's default."""
    name = family.option("theta-key", "rope_theta")
    if name not in keys:
        return keys.get(name, family.theta)
    if inner is not None:
        _outvoted(keys, notes, name, inner, key, "base")
        return None
    notes.use(name, "base of the frequencies")
    return keys.get(name)


def share_beside(keys: Keys, family: ModelFamily, notes: Notes, inner: Any, key: str) -> Any:
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
    if name not in keys:
        return family.partial
    if inner is not None:
        _outvoted(keys, notes, name, inner, key, "share")
    else:
        notes.use(name, "share of the head that rotates")
    return keys.get(name)


def _outvoted(keys: Keys, notes: Notes, name: str, inner: Any, key: str, what: str) -> None:
    """Say that a key beside the dictionary has no effect, as the dictionary has one of its own."""
    notes.ignore(name, f"{key} has a {what} of its own, which wins", told=True)
    if keys.get(name) != inner:
        notes.warn(f"{name}={shown(keys.get(name))} has no effect: {key} has a {what} of its own, {shown(inner)}")


def set_type(keys: Keys, family: ModelFamily, params: Parameters) -> None:
    """Complete parameters with their type, and the original length where the type has one."""
    params.setdefault("rope_type", params.get("type", "default"))
    if params["rope_type"] in WITH_ORIGINAL:
        params.setdefault("original_max_position_embeddings", keys.integer("max_position_embeddings", family.length))


def complete_kinds(
    keys: Keys, family: ModelFamily, notes: Notes, params: Parameters, kinds: Iterable[str],
    key: str = "rope_parameters", share: bool = True,
) -> Folded:  # fmt: skip
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
        set_type(keys, family, inner)
        if "rope_theta" not in inner:
            inner["rope_theta"] = theta_beside(keys, family, notes, None, key)
        scaled = scaled or inner["rope_type"] != "default"
        if share and scaled and "partial_rotary_factor" in keys:
            inner.setdefault("partial_rotary_factor", keys.get("partial_rotary_factor"))
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
