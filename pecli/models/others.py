"""Model types that are not rotary: lines of others.txt -> readings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from pecli.models.families import lines, options_of
from pecli.models.images import measured
from pecli.models.keys import LARGEST, Keys, Notes, number, shown
from pecli.models.reading import LayerReading
from pecli.numbers.decimals import number_text

ENDLESS = 10**40
LINES = 4  # of one model type, at most
OPTIONS = ("encoding", "layer", "first", "length", "when", "note", "layout", "pairs", "each", "scores")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "n_ctx")
UNKNOWN = "?"


def other_layers(model_type: str, keys: Keys, notes: Notes) -> dict[str, LayerReading] | None:
    """Return the readings of a model type that is in others.txt; None if it is not.

    Raises
    ------
    BadFile
        For positions that no encoding of pecli has.
    """
    found: dict[str, LayerReading] = {}
    beside: dict[str, LayerReading] = {}
    for options in _specs(model_type, keys):
        if options["encoding"] == UNKNOWN:
            raise keys.bad(f"is of {model_type}, whose positions no encoding of pecli has: {_words(options['note'])}")
        layer = _reading(options, keys, notes)
        name = options.get("layer", "all")
        if "when" in options:
            (found if holds(options["when"], keys, notes) else beside)[name] = layer
        else:
            found.setdefault(name, layer)
    for name in found.keys() & beside.keys():
        found[name] = replace(found[name], also={beside[name].encoding: beside[name].params})
    return found or None


def _specs(model_type: str, keys: Keys) -> Iterator[dict[str, str]]:
    """Yield the lines of a model type: first those with a condition, which win where it holds."""
    table = lines("others.txt")
    plain = []
    for name in (model_type + "+" * i for i in range(LINES)):
        text = table.get(name)
        while text is not None and text.startswith("like="):
            text = table[text.removeprefix("like=").split()[0]]
        if text is None:
            continue
        encoding, *words = text.split()
        options = {"encoding": encoding, **options_of(words)}
        if "when" in options:
            yield options
        else:
            plain += list(_stages(options, keys))
    yield from plain


def _stages(options: dict[str, str], keys: Keys) -> Iterator[dict[str, str]]:
    """Yield one line for each number of the list that `each` names."""
    if "each" not in options:
        yield options
        return
    name, _, default = options["each"].partition(":")
    value = keys.get(name)
    if value is not None and not (isinstance(value, list) and value and all(number(item) for item in value)):
        raise keys.bad(f"has {name} {shown(value)}: it must be a list of numbers, one for each stage")
    for i, item in enumerate(value or default.split("+")):
        stage = {option: str(item) if text == f"@{name}" else text for option, text in options.items()}
        yield {**stage, "layer": f"stage_{i + 1}"}


def _reading(options: dict[str, str], keys: Keys, notes: Notes) -> LayerReading:
    params = {
        name: value
        for name, text in options.items()
        if name not in OPTIONS and (value := evaluate(text, keys, notes)) is not None
    }
    length = options.get("length") or next((f"@{name}" for name in POSITIONS if name in keys), "")
    lengths = [_whole(evaluate(length, keys, notes) if length else None), _whole(params.get("max-len"))]
    return LayerReading(
        options["encoding"], params, options.get("layout", ""), options.get("pairs", ""),
        length=min((one for one in lengths if one is not None), default=None),
        first=_whole(evaluate(options.get("first", "0"), keys, notes)) or 0,
        notes=(_words(options["note"]),) if "note" in options else (),
        scores=evaluate(options.get("scores", ""), keys, notes) or "",
    )  # fmt: skip


def _words(note: str) -> str:
    """Return a note as it is read: its underscores, but those of keys' names, are spaces."""
    return note.replace("_", " ")


def _whole(text: str | None) -> int | None:
    """Return a length; one that says "without end" (10^30, of a tokenizer) is none."""
    value = None if text is None else int(Decimal(text))
    return value if value is not None and 0 <= value < LARGEST else None


def holds(condition: str, keys: Keys, notes: Notes) -> bool:
    """Whether a setting has a value: KEY (anything that is true), or KEY:VALUE."""
    key, _, wanted = condition.partition(":")
    value = keys.lookup(key)
    if value is not None:
        notes.use(key, "which encoding the model has")
    return shown(value).strip('"') == wanted if wanted else bool(value)


def evaluate(text: str, keys: Keys, notes: Notes) -> str | None:
    """Return the text of an expression of config keys; None for one that says "absent"."""
    text = re.sub(r"\{([\w:]+)\}", lambda found: measured(found[1], keys, notes), text)
    if text == "@deberta":
        return _deberta_distance(keys, notes)
    if text.startswith("@deberta-terms"):
        return _deberta_terms(keys, notes, text.partition(":")[2])
    if text == "@deberta-scale":
        return _deberta_scale(keys)
    if text == "@buckets":  # -1 stands for none
        notes.use("position_buckets", "logarithmic buckets of the distance")
        return str(max(0, keys.integer("position_buckets", -1, least=-1) or 0))
    if text == "@theta":
        return _theta(keys, notes)
    if text == "@head":
        return str(keys.needed("hidden_size", 1024) // keys.needed("num_attention_heads", 16))
    if "@" not in text and not re.fullmatch(r"\d+(?:[+-]\d+)+", text):
        return text
    total: Any = 0
    for sign, term in re.findall(r"(^|[-+/])(@[^-+/:]+(?::-?[\d.]+)?|\d+)", text):
        value = _term(term, keys, notes)
        if value is None:
            return None
        if sign == "/" and value < 1:
            name = term[1:].partition(":")[0]
            raise keys.bad(f"has {number_text(value)} for {name}, which divides the width of the model")
        total = total // value if sign == "/" else total - value if sign == "-" else total + value
    return None if total == -1 else number_text(total)


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


def _deberta_kinds(keys: Keys) -> list[str] | None:
    """Return the terms of positions that pos_att_type names; None where it is not given."""
    said = keys.get("pos_att_type")
    kinds = said.lower().split("|") if isinstance(said, str) else said
    if kinds is None:
        return None
    if not isinstance(kinds, list | tuple) or not all(isinstance(kind, str) for kind in kinds):
        raise keys.bad(f"has pos_att_type {shown(said)}: it must be a list of c2p and p2c")
    return [kind for kind in ("c2p", "p2c") if kind in [one.strip() for one in kinds]]


def _deberta_terms(keys: Keys, notes: Notes, usual: str) -> str | None:
    """Return which terms of positions a DeBERTa's scores have; None where the config says nothing of them."""
    kinds, on = _deberta_kinds(keys), keys.get("relative_attention")
    for name, value in (("pos_att_type", kinds), ("relative_attention", on)):
        if value is not None:
            notes.use(name, "terms of positions in a score")
    if kinds is None and on is not False:
        return usual or (None if on is None else "none")
    return "+".join(kinds) if kinds and on is not False else "none"


def _deberta_scale(keys: Keys) -> str | None:
    """Return the scale of scores that count terms which they do not have, being switched off; else None."""
    kinds = _deberta_kinds(keys)
    if keys.get("relative_attention") is not False or not kinds:
        return None
    width = keys.needed("hidden_size", 1536) // keys.needed("num_attention_heads", 24)
    return f"{width * (1 + len(kinds))}^-0.5"


def _deberta_distance(keys: Keys, notes: Notes) -> str:
    """Return the longest distance: max_relative_positions, or where that is not set the longest position."""
    distance = keys.integer("max_relative_positions", -1, least=-1)
    notes.use("max_relative_positions", "longest distance")
    if distance is None or distance < 1:
        distance = keys.needed("max_position_embeddings", 512)
        notes.use("max_position_embeddings", "longest distance")
    return str(distance)
