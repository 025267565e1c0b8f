"""Widths: of a head, by its many names, and of the part of it that rotates."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

from pecli.models.families import ModelFamily
from pecli.models.keys import LARGEST, Keys, Notes, number, shown
from pecli.numbers.decimals import number_text


class Head(NamedTuple):
    """The width of a head, and whether the config class holds it under ``head_dim``.

    transformers takes ``hidden_size // num_attention_heads`` where a class
    leaves ``head_dim`` null, except in yarn, dynamic and longrope, which then
    fail: ``set`` is False there.
    """

    width: int
    set: bool = True


def head_of(keys: Keys, family: ModelFamily, notes: Notes, kind: str = "all") -> Head:
    """Return the width of a head for one kind of layer."""
    special = family.option("heads")
    if special.startswith(f"{kind}:"):
        return Head(_special(keys, special.partition(":")[2], kind, notes))
    spec = family.head
    ignores = spec.endswith("!")
    spec = spec.rstrip("!")
    if "head_dim" in keys and not ignores:
        width = keys.integer("head_dim")
        if width is not None:
            notes.use("head_dim", "width of a head")
            return Head(width)
        return _null(keys, family, notes, spec)
    if spec.startswith("2*"):
        return Head(2 * _derived(keys, family, notes))
    if "=" in spec:
        return Head(sum(_named(keys, item, notes) for item in spec.split("+")))
    if spec[0].isdigit():
        return Head(int(spec.partition("?")[0]))
    return Head(_derived(keys, family, notes), spec != "null")


def _special(keys: Keys, spec: str, kind: str, notes: Notes) -> int:
    """Return the width of a kind of layer that has a key of its own, or overrides by layer."""
    name, default = spec.split("=")
    overrides, listed = keys.get("per_layer_config"), keys.get("layer_types")
    if isinstance(overrides, dict) and isinstance(listed, list) and kind in listed:
        notes.use("per_layer_config", f"width of the heads of {kind} layers")
        width = (overrides.get(str(listed.index(kind))) or {}).get("head_dim")
        common = keys.needed("head_dim", 256)
        return width if isinstance(width, int) and not isinstance(width, bool) else common
    notes.use(name, f"width of the heads of {kind} layers")
    return keys.needed(name, int(default))


def _named(keys: Keys, item: str, notes: Notes) -> int:
    name, default = item.split("=")
    notes.use(name, "width of a head, the part that rotates" if name.startswith("qk_rope") else "width of a head")
    return keys.needed(name, int(default))


def _null(keys: Keys, family: ModelFamily, notes: Notes, spec: str) -> Head:
    """Return what an explicit null means."""
    if spec.startswith("2*"):
        return Head(_derived(keys, family, notes))
    if spec[0].isdigit() and "?" not in spec:
        raise keys.bad(f"has head_dim null, which {family.name} does not take: give its width")
    return Head(_derived(keys, family, notes), spec == "fill" or spec.endswith("?fill"))


def _derived(keys: Keys, family: ModelFamily, notes: Notes) -> int:
    """Return hidden_size // num_attention_heads."""
    width = keys.needed("hidden_size", family.width)
    heads = keys.needed("num_attention_heads", family.heads)
    notes.use(family.names.get("hidden_size", "hidden_size"), "width of the model, over the heads")
    notes.use(family.names.get("num_attention_heads", "num_attention_heads"), "number of heads")
    if width < heads:
        raise keys.bad(f"has hidden_size {width} below num_attention_heads {heads}: a head would have no width")
    return width // heads


def rotating(head: int, share: Any, keys: Keys) -> int:
    """Return int(head * share), in double precision as Python computes it from the file."""
    value = number(share)
    if value is None:
        raise keys.bad(f"has partial_rotary_factor {shown(share)}: it must be a number")
    if value > 1:
        wide = number_text(head * Decimal(value) // 1) if value < LARGEST else shown(value)
        raise keys.bad(f"has partial_rotary_factor {shown(share)}: it rotates {wide} of the {head} columns of a head")
    width = int(head * float(value))
    if width < 1:
        rule = f"which leaves no column of a head of {head} to rotate"
        raise keys.bad(f"has partial_rotary_factor {shown(share)}, {rule}")
    return width


def rotating_or_none(head: int, share: Any) -> int | None:
    """Return int(head * share), or None where it is no part of a head."""
    value = number(share)
    width = None if value is None or value > 1 else int(head * float(value))
    return width if width is not None and 1 <= width <= head else None
