"""Rope parameters of one kind of layer -> the recipe of its table, with the scaling that they name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pecli.encodings.rotary.rope.scalings import ROPE_TYPES, RopeType
from pecli.encodings.shared.parameters import WIDEST
from pecli.errors import UnknownName
from pecli.models.config import LARGEST, Keys, Notes, Number, nearly, number, shown
from pecli.models.families import Head, ModelFamily, derived_width, head_of, rotating
from pecli.models.folding import FOLDS, Folded, Parameters, fold
from pecli.models.reading import LayerReading, RawConfig
from pecli.numbers.decimals import join_list, number_text


@dataclass(eq=False, repr=False)
class Rope:
    """One kind of layer on its way to a recipe: a `Reader` of `pecli.encodings.rotary.rope.scalings`."""

    keys: Keys
    family: ModelFamily
    notes: Notes
    params: Parameters
    where: str
    folded: Folded
    read: set[str]
    written: Parameters

    def number(self, name: str, required: bool = True, above: int | None = 0) -> Number | None:
        """Return a number of the parameters; greater than `above`, if given.

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
            raise self.keys.lacks(self.where, name, self.kind, self.params)
        found = number(value)
        if found is None:
            raise self.keys.bad(f"has {self.named(name)} {shown(value)}: it must be a number")
        if above is not None and found <= above:
            raise self.keys.bad(f"has {self.named(name)}={number_text(found)}: it must be above {above}")
        return found

    def named(self, name: str) -> str:
        """Return a parameter's key as written in the file: among the other parameters, or at the top level."""
        written: Any = self.keys.data
        for part in self.where.split("."):
            written = written.get(part) if isinstance(written, dict) else None
        inner = "type" if name == "rope_type" and isinstance(written, dict) and name not in written else name
        if isinstance(written, dict) and inner in written:
            return f"{self.where}.{inner}"
        own = {"rope_theta": "theta-key", "partial_rotary_factor": "partial-key"}.get(name, "")
        for key in (self.family.option(own), self.family.names.get(name, name)):
            if key in self.keys.data:
                return key
        return f"{self.where}.{name}"

    def text(self, name: str) -> str:
        """Return a required number of the parameters as text."""
        value = self.number(name)
        assert value is not None
        return number_text(value)

    def numbers(self, name: str, count: int) -> str:
        """Return a list of `count` numbers as text."""
        self.read.add(name)
        if name not in self.params:
            raise self.keys.lacks(self.where, name, self.kind, self.params)
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
        if value is None or value >= LARGEST or value != int(value):
            raise self.keys.bad(f"has {self.named('original_max_position_embeddings')}={value}: it must be whole")
        return int(value)

    @property
    def truncate(self) -> Any:
        """The key of that name, from where YaRN looks for it."""
        self.read.add("truncate")
        return self.folded.truncate

    def place(self, name: str) -> str:
        """Return a key with its place in the file, for messages."""
        return f"{self.where}.{name}"


COMMON = {"rope_type", "type", "rope_theta", "partial_rotary_factor"}
MULTIMODAL = {"mrope_section", "mrope_interleaved", "xdrope_section"}
MEANS = {
    "llama_4_scaling_beta": "scales queries by position: pecli generate query-scale --len 4096",
    "max_position_embeddings": "repeats the top-level key",
}


def rotary_layers(keys: Keys, family: ModelFamily, notes: Notes) -> dict[str, LayerReading]:
    """Return the readings of a rotary family, by kind of layer."""
    folded = fold(keys, family, notes)
    layers = {}
    reaching = {name for params in folded.layers.values() if params for name in params}
    for kind, params in folded.layers.items():
        found = keys.data.get(folded.key)
        written = found if isinstance(found, dict) else {}
        nested = isinstance(written.get(kind), dict)
        where = f"{folded.key}.{kind}" if nested else folded.key
        if params is None:
            width = {"dim": str(head_of(keys, family, notes, kind).width)}
            layers[kind] = LayerReading("none", width, notes=("its rope parameters are null: it turns nothing",))
            continue
        rope = Rope(keys, family, notes, params, where, folded, set(), written[kind] if nested else written)
        layers[kind] = _layer(rope, kind)
        _unread(rope, set() if nested else reaching - params.keys())
    return layers


def _layer(rope: Rope, layer: str) -> LayerReading:
    family, params, keys = rope.family, rope.params, rope.keys
    kind = _known(rope)
    head = head_of(keys, family, rope.notes, layer)
    if kind.needs_head_dim and not head.set:
        raise keys.bad(
            f"has no head_dim, without which transformers cannot build rope type {rope.kind} for {family.name}: "
            f"add head_dim {head.width}"
        )
    rotary = family.option("rotary")
    share = params.get("partial_rotary_factor", 1) if rope.kind != "default" or family.honours else 1
    if rotary:
        d = _own_width(rope, rotary, head.width)
    elif kind.whole_pairs:
        d = 2 * int(float(_share(rope, share)) * head.width // 2)
    else:
        d = rotating(head.width, share, keys)
    _check_head(rope, head)
    if share == 1 and params.get("partial_rotary_factor", 1) not in (1, None):
        reason = f"{family.name} turns the whole head unscaled"
        rope.notes.ignore(f"{rope.where}.partial_rotary_factor", reason, explained=True)
        rope.notes.warn(
            f"partial_rotary_factor has no effect: {family.name} turns the whole head with rope type default"
        )
    theta = rope.text("rope_theta")
    if head.width > WIDEST:
        raise keys.bad(f"has heads of {head.width} columns: at most {WIDEST} make a table")
    turning = {"rotary-dim": str(d)} if d != head.width or d % 2 else {}
    recipe = {"dim": str(head.width), **turning, "base": theta, **kind.read(rope, d)}
    _warn_of_values(rope)
    length = keys.integer("max_position_embeddings", family.length)
    if "max_position_embeddings" in keys:
        rope.notes.use(family.names.get("max_position_embeddings", "max_position_embeddings"), "positions of the model")
    scores = _scores(rope, head.width)
    leading = keys.integer("qk_nope_head_dim", minimum=0) if scores == "part" else 0
    straight = family.pairs == "deinterleave" and keys.get("rope_interleave") is False
    style = rope.where.split(".")[0]
    return LayerReading(
        "rope", recipe, family.layout, "half" if straight else family.pairs, length,
        notes=tuple(_remarks(rope, d)), scores=scores, leading=leading or 0,
        written=RawConfig(params, rope.written, keys.data, style, family.name, layer, head.width, length),
    )  # fmt: skip


def _scores(rope: Rope, width: int) -> str:
    """Return the factor of query-key products, in the words of `LayerReading.scores`."""
    family, keys = rope.family, rope.keys
    scores = "part" if "qk_rope_head_dim" in family.head or family.option("split") else _score_scale(rope, width)
    name, _, default = family.option("cap").partition(":")
    cap = keys.get(name) if name in keys else default or None
    if cap is None:
        return scores
    rope.notes.use(name, "cap of the scores")
    value = number(cap) if name in keys else number(float(default))
    if value is None or value <= 0:
        raise keys.bad(f"has {name} {shown(cap)}: it must be a positive number")
    return f"{scores} capped {cap}".lstrip()


def _score_scale(rope: Rope, width: int) -> str:
    key, _, default = rope.family.option("scores").partition(":")
    name, power, exponent = key.partition("^")
    if not name or name[0].isdigit():
        return key
    if name == "half":
        return f"{width / 2:g}{power}{exponent}"
    found = rope.keys.get(name)
    if found is None:
        return f"{default}{power}{exponent}" if default else ""
    value = number(found)
    if value is None or not 0 < value < LARGEST:
        raise rope.keys.bad(f"has {name} {shown(found)}: it must be a positive number")
    rope.notes.use(name, "scale of the scores")
    return f"{found}{power}{exponent}"


def _share(rope: Rope, share: Any) -> Number:
    value = number(share)
    if value is None or not 0 <= value <= 1:
        raise rope.keys.bad(f"has partial_rotary_factor {shown(share)}: it must be a number from 0 to 1")
    return value


def _own_width(rope: Rope, rotary: str, head: int) -> int:
    """Return the rotary width of a family with a separate key for it."""
    name, default = rotary.split(":")
    rope.notes.use(name, "columns of a head that rotate")
    width = rope.keys.needed(name, int(default))
    if name in rope.keys and rope.keys.get(name) is None:
        raise rope.keys.bad(f"has {name} null: {rope.family.name} then makes a table of the whole model's width")
    if width > head:
        raise rope.keys.bad(f"has {name} {width}, wider than a head of {head} columns")
    return width


def _known(rope: Rope) -> RopeType:
    """Return the rope type, checked."""
    kind = rope.kind
    if not isinstance(rope.params["rope_type"], str):
        given = shown(rope.params["rope_type"])
        raise rope.keys.bad(f"has {rope.named('rope_type')} {given}: it must be one of {', '.join(ROPE_TYPES)}")
    if kind not in ROPE_TYPES:
        raise UnknownName(f"rope type in {rope.where} of {rope.keys.path}", kind, ROPE_TYPES)
    allowed = rope.family.option("types")
    if rope.family.option("mscale-by") and kind not in ("default", "longrope"):
        raise rope.keys.bad(f"has rope type {kind}: {rope.family.name} has a magnitude by length, as longrope alone")
    if allowed and kind not in allowed.split("+"):
        words = " or ".join(allowed.split("+"))
        raise rope.keys.bad(f"has rope type {kind}: {rope.family.name} takes {words} alone")
    return ROPE_TYPES[kind]


def _check_head(rope: Rope, head: Head) -> None:
    """Refuse a head width where transformers does: an odd one that turns whole, or not that of longrope's lists."""
    share = number(rope.params.get("partial_rotary_factor", 1)) or 1
    whole = share <= 1 and int(head.width * float(share)) == head.width
    known = rope.keys.get("head_dim") is not None or (head.set and rope.family.head != "-")
    checked = rope.family.option("fold", "flat") in FOLDS and not rope.family.option("heads")
    if head.width % 2 and head.width > 4 and whole and known and checked:
        raise rope.keys.bad(f"has heads of {head.width} columns, which must be even to turn whole")
    plain = derived_width(rope.keys, rope.family, rope.notes) if rope.family.option("lists") == "derive" else head.width
    if rope.kind == "longrope" and plain != head.width:
        rule = f"and {rope.family.name} needs factors for heads of hidden_size / num_attention_heads, {plain}"
        raise rope.keys.bad(f"has head_dim {head.width}, {rule}")


def _unread(rope: Rope, of_others: set[str]) -> None:
    """Report the outcome of each parameter in the config, except parameters for other layers alone."""
    written = rope.written
    common = COMMON | MULTIMODAL if rope.family.option("mrope") else COMMON
    without = []
    missing = (rope.read | common) - written.keys()
    for name, value in written.items():
        place = f"{rope.where}.{name}"
        if place in rope.notes.ignored or isinstance(value, dict) or name in of_others:
            continue
        if name == "type" and written.get("rope_type", value) != value:
            rope.notes.ignore(place, f"rope_type {shown(written['rope_type'])} beside it wins")
        elif name in rope.read or name in common:
            rope.notes.use(place, name.replace("_", " "))
        elif name in MEANS:
            rope.notes.use(place, MEANS[name])
        elif (meant := nearly(name, missing)) is not None:
            rope.notes.misspell(rope.keys.where, place, meant, rope.params.get(meant))
        elif value is not None:
            rope.notes.ignore(place, f"rope type {rope.kind} does not read it", explained=True)
            without.append(name)
    if without:
        names, have, them = ", ".join(without), *(("have", "them") if len(without) > 1 else ("has", "it"))
        rope.notes.warn(f"{rope.where}: {names} {have} no effect, for rope type {rope.kind} does not read {them}")


# Two keys of a scaling, the first less than the second, with their defaults.
IN_ORDER = {("low_freq_factor", "high_freq_factor"): (1, 4), ("beta_slow", "beta_fast"): (1, 32)}


def _warn_of_values(rope: Rope) -> None:
    """Warn of numbers that are read and make no sense: a factor below 1, and ends of a ramp that are exchanged."""
    if (factor := number(rope.params.get("factor"))) is not None and factor < 1 and "factor" in rope.read:
        rope.notes.warn(f"factor {shown(rope.params['factor'])} is below 1: the scaling shrinks the context")
    for (low, high), usual in IN_ORDER.items():
        first, last = (number(rope.params.get(key) or default) for key, default in zip((low, high), usual, strict=True))
        if {low, high} <= {*rope.read} and first is not None and last is not None and first >= last:
            why = "they are exchanged, most likely" if first > last else "the ramp between them has no width"
            rope.notes.warn(f"{low} {first} is not below {high} {last}: {why}")


def _remarks(rope: Rope, d: int) -> Iterator[str]:
    """Yield remarks on the table for its reader."""
    if d % 2:
        yield f"{d} columns rotate as {(d + 1) // 2} pairs, one column more than the share says"
    if rope.params.get("llama_4_scaling_beta"):
        yield "queries are also scaled by their position: see the encoding query-scale"
