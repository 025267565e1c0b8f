"""Rope parameters -> the recipe of a rotary table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pecli.errors import UnknownName
from pecli.models.families import Family
from pecli.models.folding import Folded, Parameters, fold
from pecli.models.heads import Head, head_of, rotating
from pecli.models.keys import Keys, Number, number, shown
from pecli.models.notes import Notes
from pecli.models.reading import LayerReading
from pecli.text import join_list, number_text

TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional")
NEEDS_HEAD_DIM = ("dynamic", "yarn", "longrope")
COMMON = {"rope_type", "type", "rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved"}
MEANS = {
    "llama_4_scaling_beta": "scales queries by position: pecli generate query-scale",
    "max_position_embeddings": "repeats the top-level key",
}


@dataclass
class Rope:
    """One kind of layer on its way to a recipe."""

    keys: Keys
    family: Family
    notes: Notes
    params: Parameters
    where: str
    folded: Folded
    read: set[str]

    def number(self, name: str, required: bool = True, least: int | None = 0) -> Number | None:
        """Return a number of the parameters; above `least` where one is given.

        Raises
        ------
        BadFile
            If it is missing and required, no number, or too small.
        """
        self.read.add(name)
        value = self.params.get(name)
        if value is None and not required:
            return None
        if name not in self.params:
            raise self.keys.bad(f"has no {self.where}.{name}, which rope type {self.kind} requires")
        found = number(value)
        if found is None:
            raise self.keys.bad(f"has {self.where}.{name} {shown(value)}: it must be a number")
        if least is not None and found <= least:
            raise self.keys.bad(f"has {self.where}.{name}={number_text(found)}: it must be above {least}")
        return found

    def text(self, name: str, *, required: bool = True) -> str:
        """Return such a number as text."""
        value = self.number(name, required)
        assert value is not None
        return number_text(value)

    def numbers(self, name: str, count: int) -> str:
        """Return a list of `count` numbers as text."""
        self.read.add(name)
        if name not in self.params:
            raise self.keys.bad(f"has no {self.where}.{name}, which rope type {self.kind} requires")
        value = self.params[name]
        items = [number(item) for item in value] if isinstance(value, list) else [None]
        found = [item for item in items if item is not None and item > 0]
        if len(found) != len(items):
            raise self.keys.bad(f"has {self.where}.{name} {shown(value)}: it must be a list of numbers above 0")
        if len(found) != count:
            rule = f"it must have {count}, one for each pair that rotates"
            raise self.keys.bad(f"has {self.where}.{name} of {len(found)} numbers: {rule}")
        return join_list(found, "+")

    @property
    def kind(self) -> str:
        """The rope type."""
        return str(self.params["rope_type"])

    @property
    def length(self) -> int:
        """Positions that the config declares."""
        return self.keys.needed("max_position_embeddings", self.family.length)

    @property
    def original(self) -> int:
        """Positions that the model was first trained on."""
        value = self.number("original_max_position_embeddings")
        if value is None or value != int(value):
            raise self.keys.bad(f"has {self.where}.original_max_position_embeddings={value}: it must be whole")
        return int(value)


def rotary_layers(keys: Keys, family: Family, notes: Notes) -> dict[str, LayerReading]:
    """Return the readings of a rotary family, by kind of layer."""
    folded = fold(keys, family, notes)
    layers = {}
    for kind, params in folded.layers.items():
        where = folded.key if kind == "all" else f"{folded.key}.{kind}"
        if params is None:
            layers[kind] = LayerReading("none", {"dim": str(head_of(keys, family, notes, kind).width)})
            continue
        rope = Rope(keys, family, notes, params, where, folded, set())
        layers[kind] = _layer(rope, kind)
        _unread(rope)
    return layers


def _layer(rope: Rope, kind: str) -> LayerReading:
    family, params, keys = rope.family, rope.params, rope.keys
    _known(rope)
    head = head_of(keys, family, rope.notes, kind)
    if rope.kind in NEEDS_HEAD_DIM and not head.set:
        raise keys.bad(
            f"has no head_dim, without which transformers cannot build rope type {rope.kind} for {family.name}: "
            f"add head_dim {head.width}"
        )
    rotary = family.option("rotary")
    share = params.get("partial_rotary_factor", 1) if rope.kind != "default" or family.honours else 1
    if rotary:
        d = _own_width(rope, rotary, head.width)
    elif rope.kind == "proportional":
        d = 2 * int(float(_share(rope, share)) * head.width // 2)
    else:
        d = rotating(head.width, share, keys)
    _check_head(rope, head, d)
    if share == 1 and params.get("partial_rotary_factor", 1) not in (1, None):
        rope.notes.ignore(f"{rope.where}.partial_rotary_factor", f"{family.name} turns the whole head unscaled")
        rope.notes.warn(f"partial_rotary_factor has no effect: {family.name} turns the whole head with rope type default")
    theta = rope.number("rope_theta", least=0)
    assert theta is not None
    recipe = {"dim": str(head.width)}
    if d != head.width or d % 2:
        recipe["rotary-dim"] = str(d)
    recipe["base"] = number_text(theta)
    recipe.update(SCALED[rope.kind](rope, d))
    notes = tuple(_remarks(rope, d))
    length = keys.integer("max_position_embeddings", family.length)
    return LayerReading("rope", recipe, family.layout, family.pairs, length, notes=notes)


def _share(rope: Rope, share: Any) -> Number:
    value = number(share)
    if value is None or not 0 <= value <= 1:
        raise rope.keys.bad(f"has partial_rotary_factor {shown(share)}: it must be a number from 0 to 1")
    return value


def _own_width(rope: Rope, rotary: str, head: int) -> int:
    """Return the rotating width of a family that names it in a key of its own."""
    name, default = rotary.split(":")
    rope.notes.use(name, "columns of a head that rotate")
    width = rope.keys.needed(name, int(default))
    if name in rope.keys and rope.keys.get(name) is None:
        raise rope.keys.bad(f"has {name} null: {rope.family.name} then makes a table of the whole model's width")
    if width > head:
        raise rope.keys.bad(f"has {name} {width}, wider than a head of {head} columns")
    return width


def _known(rope: Rope) -> None:
    """Check the rope type."""
    kind = rope.kind
    if kind not in TYPES:
        raise UnknownName(f"rope type in {rope.keys.path} ({rope.where})", kind, TYPES)
    allowed = rope.family.option("types")
    if allowed and kind not in allowed.split("+"):
        words = " or ".join(allowed.split("+"))
        raise rope.keys.bad(f"has rope type {kind}: {rope.family.name} takes {words} alone")


def _check_head(rope: Rope, head: Head, d: int) -> None:
    """Refuse what transformers refuses: an odd head of its own field that turns whole."""
    odd = head.width % 2 and head.width > 4 and int(head.width * float(number(_given_share(rope)) or 1)) == head.width
    if odd and head.set and rope.family.head not in ("-",) and not rope.family.option("heads"):
        raise rope.keys.bad(f"has heads of {head.width} columns, which must be even to turn whole")
    if odd and rope.family.head == "-" and "head_dim" in rope.keys and rope.keys.get("head_dim") is not None:
        raise rope.keys.bad(f"has heads of {head.width} columns, which must be even to turn whole")
    if rope.kind == "yarn" and d % 2:
        raise rope.keys.bad(f"rotates {d} columns, an odd number, which rope type yarn does not take")


def _given_share(rope: Rope) -> Any:
    return rope.params.get("partial_rotary_factor", 1)


def _default(rope: Rope, d: int) -> dict[str, str]:
    return {}


def _linear(rope: Rope, d: int) -> dict[str, str]:
    return {"scaling": "linear", "factor": rope.text("factor")}


def _dynamic(rope: Rope, d: int) -> dict[str, str]:
    if rope.family.option("alpha") and rope.params.get("alpha"):
        rope.notes.use(f"{rope.where}.alpha", "factor of a fixed NTK scaling, whatever the length")
        found = {"scaling": "ntk", "factor": rope.text("alpha")}
    else:
        found = {"scaling": "dynamic", "factor": rope.text("factor"), "max-position": str(rope.length)}
    if d <= 2:
        raise rope.keys.bad(f"rotates {d} columns: rope type dynamic divides by the width less 2")
    return found


def _yarn(rope: Rope, d: int) -> dict[str, str]:
    original = rope.original
    factor = rope.number("factor", required="factor" not in rope.params)
    if factor is None:
        factor = _ratio(rope.length, original)
        rope.notes.warn(f"{rope.where}.factor is null: taken as max_position_embeddings over the original length")
    found = {"scaling": "yarn", "factor": number_text(factor), "original-max": str(original)}
    for name, option in (("beta_fast", "beta-fast"), ("beta_slow", "beta-slow")):
        value = rope.number(name, required=False, least=None)
        if value:
            found[option] = number_text(value)
    rope.read.add("truncate")
    if not rope.folded.truncate:
        found["truncate"] = "false"
    return found | _yarn_magnitude(rope)


def _yarn_magnitude(rope: Rope) -> dict[str, str]:
    """Return the parameters of the magnitude: given, DeepSeek's ratio, or none."""
    given = rope.number("attention_factor", required=False, least=None)
    weight = rope.number("mscale", required=False, least=None)
    all_dim = rope.number("mscale_all_dim", required=False, least=None)
    if given is not None:
        for name in ("mscale", "mscale_all_dim"):
            if rope.params.get(name) is not None:
                rope.notes.ignore(f"{rope.where}.{name}", "attention_factor is given, which wins")
        return {"attention-factor": number_text(given)}
    if weight and all_dim:
        return {"mscale": number_text(weight), "mscale-all-dim": number_text(all_dim)}
    for name, value in (("mscale", weight), ("mscale_all_dim", all_dim)):
        if value is not None:
            rope.notes.ignore(f"{rope.where}.{name}", "transformers reads mscale and mscale_all_dim only together")
            if value:
                rope.notes.fault(
                    f"transformers ignores {rope.where}.{name}={number_text(value)} without its partner: DeepSeek's own "
                    "code, vLLM and others scale by it"
                )
                rope.notes.warn(f"{rope.where}.{name} has no effect without a partner that is not 0")
    return {}


def _ratio(above: int, below: int) -> Decimal:
    """Return a ratio of lengths; powers of two, as they come, are exact."""
    from pecli.encodings.frequencies import CONTEXT

    return CONTEXT.divide(Decimal(above), Decimal(below))


def _longrope(rope: Rope, d: int) -> dict[str, str]:
    pairs = (d + 1) // 2
    original = rope.original
    short, long = rope.numbers("short_factor", pairs), rope.numbers("long_factor", pairs)
    found = {"scaling": "longrope", "short-factor": short, "long-factor": long, "original-max": str(original)}
    if rope.family.option("mscale-by") == "length":
        rope.notes.fault(
            f"transformers uses the short factors of {rope.family.name} at every length: its forward pass asks for them "
            "without a length"
        )
        found["long-factor"] = short
        found["short-mscale"], found["long-mscale"] = rope.text("short_mscale"), rope.text("long_mscale")
        rope.read.update(("factor", "attention_factor"))
        return found
    given = rope.number("attention_factor", required=False, least=None)
    factor = rope.number("factor", required=False)
    if given is not None:
        found["attention-factor"] = number_text(given)
        if factor is not None:
            rope.notes.ignore(f"{rope.where}.factor", "attention_factor is given, which wins")
    elif factor is not None:
        found["factor"] = number_text(factor)
    else:
        found["max-position"] = str(rope.length)
    return found


def _llama3(rope: Rope, d: int) -> dict[str, str]:
    return {
        "scaling": "llama3",
        "factor": rope.text("factor"),
        "original-max": str(rope.original),
        "low-freq-factor": rope.text("low_freq_factor"),
        "high-freq-factor": rope.text("high_freq_factor"),
    }


def _proportional(rope: Rope, d: int) -> dict[str, str]:
    factor = rope.number("factor", required=False)
    return {"scaling": "proportional"} | ({} if factor is None else {"factor": number_text(factor)})


SCALED: dict[str, Callable[[Rope, int], dict[str, str]]] = {
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _proportional,
}


def _unread(rope: Rope) -> None:
    """Name the parameters that have no effect."""
    section = rope.params.get("mrope_section", rope.params.get("xdrope_section"))
    for name, value in rope.params.items():
        place = f"{rope.where}.{name}"
        if name in rope.read or name in COMMON or (name == "xdrope_section" and section):
            rope.notes.use(place, name.replace("_", " "))
        elif name in MEANS:
            rope.notes.use(place, MEANS[name])
        elif value is not None:
            rope.notes.ignore(place, f"rope type {rope.kind} does not read it")
            rope.notes.warn(f"{place} has no effect: rope type {rope.kind} does not read it")


def _remarks(rope: Rope, d: int) -> list[str]:
    """Return what a reader of the table should know."""
    found = []
    if d % 2:
        found.append(f"{d} columns rotate as {(d + 1) // 2} pairs, one column more than the share says")
    if rope.params.get("llama_4_scaling_beta"):
        found.append("queries are also scaled by their position: see the encoding query-scale")
    return found
