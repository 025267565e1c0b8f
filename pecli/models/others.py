"""Model types that are not rotary: lines of others.txt -> readings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from pecli.models.families import lines
from pecli.models.keys import LARGEST, Keys, number, shown
from pecli.models.notes import Notes
from pecli.models.reading import LayerReading
from pecli.numbers.text import number_text

ENDLESS = 10**40
OPTIONS = ("layer", "first", "length", "when", "note")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "n_ctx")


def other_layers(model_type: str, keys: Keys, notes: Notes) -> dict[str, LayerReading] | None:
    """Return the readings of a model type that is in others.txt; None if it is not."""
    found: dict[str, LayerReading] = {}
    beside: dict[str, LayerReading] = {}
    for options in _specs(model_type):
        layer = _reading(options, keys, notes)
        name = options.get("layer", "all")
        if "when" in options:
            (found if _holds(options["when"], keys, notes) else beside)[name] = layer
        else:
            found.setdefault(name, layer)
    if not found:
        return None
    return {
        name: LayerReading(
            one.encoding,
            one.params,
            length=one.length,
            first=one.first,
            also={beside[name].encoding: beside[name].params} if name in beside else {},
            notes=one.notes,
        )
        for name, one in found.items()
    }


def _specs(model_type: str) -> Iterator[dict[str, str]]:
    """Yield the lines of a model type: first those with a condition, which win where it holds."""
    table = lines("others.txt")
    plain = []
    for name in (model_type, model_type + "+"):
        text = table.get(name)
        while text is not None and text.startswith("like="):
            text = table[text.removeprefix("like=").split()[0]]
        if text is None:
            continue
        encoding, *words = text.split()
        options = {"encoding": encoding, **dict(word.split("=", 1) for word in words)}
        if "when" in options:
            yield options
        else:
            plain.append(options)
    yield from plain


def _reading(options: dict[str, str], keys: Keys, notes: Notes) -> LayerReading:
    params = {
        name: value
        for name, text in options.items()
        if name not in ("encoding", *OPTIONS) and (value := evaluate(text, keys, notes)) is not None
    }
    length = options.get("length") or next((f"@{name}" for name in POSITIONS if name in keys), "")
    declared = evaluate(length, keys, notes) if length else None
    first = evaluate(options.get("first", "0"), keys, notes)
    note = options.get("note")
    return LayerReading(
        options["encoding"],
        params,
        length=_whole(declared if declared is not None else params.get("max-len")),
        first=_whole(first) or 0,
        notes=(note.replace("_", " "),) if note else (),
    )


def _whole(text: str | None) -> int | None:
    """Return a length; one that says "without end" (10^30, of a tokenizer) is none."""
    value = None if text is None else int(Decimal(text))
    return value if value is not None and 0 <= value < LARGEST else None


def _holds(condition: str, keys: Keys, notes: Notes) -> bool:
    """Whether a setting has a value: KEY (anything that is true), or KEY:VALUE."""
    key, _, wanted = condition.partition(":")
    value = keys.lookup(key)
    if value is not None:
        notes.use(key, "which encoding the model has")
    return shown(value).strip('"') == wanted if wanted else bool(value)


def evaluate(text: str, keys: Keys, notes: Notes) -> str | None:
    """Return the text of an expression of config keys; None for one that says "absent"."""
    if "{" in text:
        side = _side(keys, notes)
        text = text.replace("{side}", str(side)).replace("{patches}", str(side * side))
    if text == "@deberta":
        return _deberta_distance(keys, notes)
    if text == "@buckets":  # -1 stands for none
        notes.use("position_buckets", "logarithmic buckets of the distance")
        return str(max(0, keys.integer("position_buckets", -1, least=-1) or 0))
    if text == "@theta":
        return _theta(keys, notes)
    if text == "@head":
        return str(keys.needed("hidden_size", 1024) // keys.needed("num_attention_heads", 16))
    if "@" not in text and not re.fullmatch(r"\d+(?:[+-]\d+)+", text):
        return text
    total = None
    for sign, term in re.findall(r"(^|[-+/])(@[^-+/:]+(?::-?[\d.]+)?|\d+)", text):
        value = _term(term, keys, notes)
        if value is None:
            return None
        if sign == "/" and value < 1:
            name = term[1:].partition(":")[0]
            raise keys.bad(f"has {number_text(value)} for {name}, which divides the width of the model")
        combined = {"": value, "-": (total or 0) - value, "+": (total or 0) + value}
        total = (total or 0) // value if sign == "/" else combined[sign]
    return None if total is None or total == -1 else number_text(total)


def _theta(keys: Keys, notes: Notes) -> str | None:
    """Return the base of a vision tower: beside its other keys, or in its rope parameters."""
    for name in ("rope_parameters.rope_theta", "rope_theta"):
        value = number(keys.lookup(name))
        if value is not None:
            notes.use(name, "base of the frequencies")
            return number_text(value)
    return None


def _term(term: str, keys: Keys, notes: Notes) -> Any:
    """Return a number, or the value of the first key that is there."""
    if not term.startswith("@"):
        return number(int(term))
    names, _, default = term[1:].partition(":")
    for name in names.split("|"):
        value = keys.lookup(name)
        if value is None:
            continue
        found = number(value)
        if found is None:
            raise keys.bad(f"has {name} {shown(value)}: it must be a number")
        if not -ENDLESS <= found <= ENDLESS:
            raise keys.bad(f"has {name} {shown(value)}: it must lie below 1e40 in size")
        notes.use(name, "read for the table")
        return found
    return Decimal(default) if "." in default else int(default) if default else None


def _side(keys: Keys, notes: Notes) -> int:
    """Return how many patches stand along an image."""
    found = []
    for name, default in (("image_size", 224), ("patch_size", 16)):
        value = keys.get(name, default)
        value = value[0] if isinstance(value, list) and value else value
        size = number(value)
        if size is None or size < 1:
            raise keys.bad(f"has {name} {shown(value)}: it must be a whole number of at least 1")
        notes.use(name, "number of patches")
        found.append(int(size))
    return max(1, found[0] // found[1])


def _deberta_distance(keys: Keys, notes: Notes) -> str:
    """Return the longest distance: max_relative_positions, or where that is not set the longest position."""
    distance = keys.integer("max_relative_positions", -1, least=-1)
    notes.use("max_relative_positions", "longest distance")
    if distance is None or distance < 1:
        distance = keys.needed("max_position_embeddings", 512)
        notes.use("max_position_embeddings", "longest distance")
    return str(distance)
