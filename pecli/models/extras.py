"""What stands beside a rotary table: multimodal sections, layers without positions, known faults."""

from __future__ import annotations

from dataclasses import replace

from pecli.models.families import ModelFamily
from pecli.models.keys import Keys, Notes, number, shown
from pecli.models.reading import LayerReading

DEEPEST = 1 << 16


def with_extras(
    layers: dict[str, LayerReading], keys: Keys, family: ModelFamily, notes: Notes
) -> dict[str, LayerReading]:
    """Return the layers with what else the keys describe."""
    if family.option("mrope"):
        layers = {name: _multimodal(one, name, keys, family) for name, one in layers.items()}
    without = _without_positions(keys, family)
    if without:
        listed = ", ".join(map(str, without[:12])) + (", ..." if len(without) > 12 else "")
        text = f"layers {listed} have no positions"
        layers = {name: replace(one, notes=(*one.notes, text)) for name, one in layers.items()}
    beyond = family.option("beyond")
    if beyond and keys.get(beyond):
        notes.use(beyond, "base that grows with every doubling of the model's own length")
        for name, one in layers.items():  # the base follows the length that is asked for
            own = number(keys.get(family.option("doubles"))) or one.length  # what Qwen's own code doubles from
            params = {**one.params, "scaling": "ntk-doubling", "max-position": str(own)}
            layers[name] = replace(one, params=params)
    _faults(keys, family, notes)
    return layers


def _multimodal(one: LayerReading, name: str, keys: Keys, family: ModelFamily) -> LayerReading:
    """Add the table of several position streams, whose sections share these frequencies."""
    if one.encoding != "rope":
        return one
    order, _, default = family.option("mrope").partition(":")
    holder = keys.data.get("rope_scaling") or keys.data.get("rope_parameters") or {}
    holder = holder.get(name, holder) if isinstance(holder, dict) else {}
    given = holder.get("mrope_section", holder.get("xdrope_section"))
    if given is not None and not (isinstance(given, list) and all(isinstance(s, int) and s >= 0 for s in given)):
        raise keys.bad(f"has mrope_section {shown(given)}: it must be a list of whole numbers")
    sections = [int(s) for s in (given or (default.split("+") if default else []))]
    if not sections:
        return one
    pairs = (int(one.params.get("rotary-dim", one.params["dim"])) + 1) // 2
    chunked = order in ("chunked", "hw-alternating", "streams")
    if given and chunked and sum(sections) != pairs:
        rule = f"they must add up to {pairs}, the pairs that rotate"
        raise keys.bad(f"has mrope_section {shown(given)}, which adds up to {sum(sections)}: {rule}")
    text = "+".join(map(str, sections))
    note = f"multimodal: position streams share these frequencies in sections {text} ({order})"
    note += "; text alone is this table"
    if sum(sections) != pairs:
        return replace(one, notes=(*one.notes, f"{note}; these sections do not fit {pairs} pairs"))
    mrope = {**one.params, "sections": text, "section-order": order}
    return replace(one, also={**one.also, "mrope": mrope}, notes=(*one.notes, note))


def _without_positions(keys: Keys, family: ModelFamily) -> list[int]:
    """Return the layers that rotate nothing."""
    rule = family.option("nope")
    if not rule:
        return []
    name, _, unless = rule.partition("?")
    if unless and keys.get(unless) is None:
        return []
    depth = keys.integer("num_hidden_layers", family.depth) or 0
    if depth > DEEPEST:
        raise keys.bad(f"has {keys.named('num_hidden_layers')} {depth}: it must be at most {DEEPEST}")
    if name in ("no_rope_layers", "layer_rope_theta"):
        flags = keys.get(name)
        if isinstance(flags, list) and flags:
            return [i for i, flag in enumerate(flags) if not number(flag)]
        if name == "layer_rope_theta":
            return [i for i in range(depth) if "muse" in family.name and (depth - 1 - i) % 4 == 0]
        interval = keys.integer("no_rope_layer_interval", 4) or 4
        return [i for i in range(depth) if (i + 1) % interval == 0]
    kinds = keys.get("layer_types")
    if isinstance(kinds, list):
        return [i for i, kind in enumerate(kinds) if kind == name]
    pattern = keys.get("sliding_window_pattern", keys.get("global_attn_every_n_layers", 4))
    every = pattern if isinstance(pattern, int) and pattern > 0 else len(pattern) if isinstance(pattern, str) else 4
    return [i for i in range(depth) if (i + 1) % every == 0]


def _faults(keys: Keys, family: ModelFamily, notes: Notes) -> None:
    """Report where a class does not read what its config says."""
    inner = keys.data.get("attn_config")
    if family.name == "dbrx" and isinstance(inner, dict):
        theta = number(inner.get("rope_theta"))
        if theta is not None and theta != family.theta:
            notes.ignore("attn_config.rope_theta", "transformers 5.23 does not read it for dbrx")
            notes.warn(f"attn_config.rope_theta={theta} has no effect: transformers 5.23 does not read it for dbrx")
            notes.fault(f"transformers ignores attn_config.rope_theta={theta} of dbrx and uses {family.theta}")
