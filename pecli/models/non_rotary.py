"""Positions other than rotary ones: others.txt and its formulas for patches, and further layers of a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from math import prod
from typing import Any

from pecli.models.config import LARGEST, Keys, Notes, number, shown
from pecli.models.families import ModelFamily, lines, options_of
from pecli.models.reading import LayerReading
from pecli.numbers.decimals import number_text


def _sizes(keys: Keys, notes: Notes, name: str, default: int, count: int = 2) -> list[int]:
    """Return a size as `count` numbers, repeating a single one."""
    value = keys.get(name, default)
    items = value if isinstance(value, list) and len(value) == count else [value] * count
    found = [number(item) for item in items]
    whole = [int(one) for one in found if one is not None and one >= 1]
    if len(whole) != count:
        raise keys.bad(f"has {name} {shown(value)}: it must be a whole number of at least 1")
    notes.use(name, "size of what the positions count")
    return whole


def _along(image: str, keys: Keys, notes: Notes, size: str) -> list[int]:
    """Return the number of patches along the rows and columns of an image, whose size is `size` by default."""
    sizes = zip(_sizes(keys, notes, image, int(size or 224)), _sizes(keys, notes, "patch_size", 16), strict=True)
    return [max(1, side // patch) for side, patch in sizes]


def _patches(image: str, keys: Keys, notes: Notes, size: str) -> str:
    """Return the number of patches of an image."""
    return str(prod(_along(image, keys, notes, size)))


def _tubelets(keys: Keys, notes: Notes, _: str) -> str:
    """Return how many blocks of frames, rows and columns a video has."""
    frames, height, width = _sizes(keys, notes, "tubelet_size", 16, 3)
    rows, columns = _sizes(keys, notes, "image_size", 224)
    return str(keys.needed("num_frames", 32) // frames * (rows // height) * (columns // width))


def _spectrogram(keys: Keys, notes: Notes, _: str) -> str:
    """Return how many overlapping patches a spectrogram has."""
    patch = keys.needed("patch_size", 16)
    sides = (("num_mel_bins", 128, "frequency_stride"), ("max_length", 1024, "time_stride"))
    counts = [(keys.needed(name, size) - patch) // keys.needed(stride, 10) + 1 for name, size, stride in sides]
    notes.use("patch_size", "number of patches")
    return str(prod(counts))


MAX_NUMBER = 10**40
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
    secondary: dict[str, LayerReading] = {}
    for options in _specs(model_type, keys):
        if options["encoding"] == UNKNOWN:
            raise keys.bad(f"is of {model_type}, whose positions no encoding of pecli has: {_words(options['note'])}")
        layer = _reading(options, keys, notes)
        name = options.get("layer", "all")
        if "when" in options:
            (found if holds(options["when"], keys, notes) else secondary)[name] = layer
        else:
            found.setdefault(name, layer)
    for name in found.keys() & secondary.keys():
        found[name] = replace(found[name], also={secondary[name].encoding: secondary[name].params})
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
    """Return a length; None for an unlimited one (10^30, of a tokenizer)."""
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
    """Return the text of an expression of config keys; None where it is absent."""
    text = re.sub(r"\{(\w+):?(\d*)\}", lambda found: str(SPECIAL[f"@{found[1]}"](keys, notes, found[2])), text)
    word, _, usual = text.partition(":")
    if word in SPECIAL:
        return SPECIAL[word](keys, notes, usual)
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


def _buckets(keys: Keys, notes: Notes, _: str) -> str:
    """Return the number of logarithmic buckets; -1 means none."""
    notes.use("position_buckets", "logarithmic buckets of the distance")
    return str(max(0, keys.integer("position_buckets", -1, minimum=-1) or 0))


def _term(term: str, keys: Keys, notes: Notes) -> Any:
    """Return a number, or the value of the first key that is present."""
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
        if not -MAX_NUMBER <= found <= MAX_NUMBER:
            raise keys.bad(f"has {name} {shown(value)}: it must lie below 1e40 in size")
        notes.use(name, "read for the table")
        return found
    return Decimal(default) if "." in default else int(default) if default else None


def _deberta_kinds(keys: Keys) -> list[str] | None:
    """Return the terms of positions that pos_att_type names; None where it is not given."""
    phrase = keys.get("pos_att_type")
    kinds = phrase.lower().split("|") if isinstance(phrase, str) else phrase
    if kinds is None:
        return None
    if not isinstance(kinds, list | tuple) or not all(isinstance(kind, str) for kind in kinds):
        raise keys.bad(f"has pos_att_type {shown(phrase)}: it must be a list of c2p and p2c")
    return [kind for kind in ("c2p", "p2c") if kind in [one.strip() for one in kinds]]


def _deberta_terms(keys: Keys, notes: Notes, usual: str) -> str | None:
    """Return the position terms in a DeBERTa's scores; None where the config does not give them."""
    kinds, on = _deberta_kinds(keys), keys.get("relative_attention")
    for name, value in (("pos_att_type", kinds), ("relative_attention", on)):
        if value is not None:
            notes.use(name, "terms of positions in a score")
    if kinds is None and on is not False:
        return usual or (None if on is None else "none")
    return "+".join(kinds) if kinds and on is not False else "none"


def _deberta_scale(keys: Keys, _notes: Notes, _: str) -> str | None:
    """Return the scale of scores that count terms which they do not have, being switched off; else None."""
    kinds = _deberta_kinds(keys)
    if keys.get("relative_attention") is not False or not kinds:
        return None
    width = keys.needed("hidden_size", 1536) // keys.needed("num_attention_heads", 24)
    return f"{width * (1 + len(kinds))}^-0.5"


def _deberta_distance(keys: Keys, notes: Notes, _: str) -> str:
    """Return the longest distance: max_relative_positions, or where that is not set the longest position."""
    distance = keys.integer("max_relative_positions", -1, minimum=-1)
    notes.use("max_relative_positions", "longest distance")
    if distance is None or distance < 1:
        distance = keys.needed("max_position_embeddings", 512)
        notes.use("max_position_embeddings", "longest distance")
    return str(distance)


# Words with a function of their own, within an expression {word}; what follows the colon is taken where the config says
# nothing.
SPECIAL: dict[str, Callable[[Keys, Notes, str], str | None]] = {
    "@grid": lambda keys, notes, size: "x".join(map(str, _along("image_size", keys, notes, size))),
    "@patches": partial(_patches, "image_size"),
    "@pretrained": partial(_patches, "pretrain_image_size"),
    "@largest": partial(_patches, "max_img_size"),
    "@greatest": partial(_patches, "max_image_size"),
    "@window": lambda keys, notes, size: "x".join(map(str, _sizes(keys, notes, "window_size", int(size or 7)))),
    "@tubelets": _tubelets,
    "@spectrogram": _spectrogram,
    "@deberta": _deberta_distance,
    "@deberta-terms": _deberta_terms,
    "@deberta-scale": _deberta_scale,
    "@buckets": _buckets,
    "@theta": lambda keys, notes, _: evaluate("@rope_parameters.rope_theta|rope_theta", keys, notes),
    "@head": lambda keys, notes, _: str(keys.needed("hidden_size", 1024) // keys.needed("num_attention_heads", 16)),
}


MAX_LAYERS = 1 << 16


def with_extras(
    layers: dict[str, LayerReading], keys: Keys, family: ModelFamily, notes: Notes
) -> dict[str, LayerReading]:
    """Return the layers completed from further keys: streams, layers without positions, a base that grows."""
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
    order, strict = order.removesuffix("!"), order.endswith("!")
    holder = keys.data.get("rope_scaling") or keys.data.get("rope_parameters") or {}
    holder = holder.get(name, holder) if isinstance(holder, dict) else {}
    given = holder.get("mrope_section", holder.get("xdrope_section"))
    if given is not None and not (isinstance(given, list) and all(isinstance(s, int) and s >= 0 for s in given)):
        raise keys.bad(f"has mrope_section {shown(given)}: it must be a list of whole numbers")
    if strict and holder and given is None:
        raise keys.bad(f"has no mrope_section beside its rope parameters, which {family.name} requires")
    sections = [int(s) for s in (given or (default.split("+") if default else []))]
    if not sections:
        return one
    pairs = (int(one.params.get("rotary-dim", one.params["dim"])) + 1) // 2
    chunked = order in ("chunked", "hw-alternating", "streams")
    if (strict or (given and chunked)) and sum(sections) != pairs:
        rule = f"they must add up to {pairs}, the pairs that rotate"
        raise keys.bad(f"has mrope_section {shown(given or sections)}, which adds up to {sum(sections)}: {rule}")
    text = "+".join(map(str, sections))
    note = f"multimodal: position streams share these frequencies in sections {text} ({order})"
    note += "; text alone is this table"
    if sum(sections) != pairs:
        return replace(one, notes=(*one.notes, f"{note}; these sections do not fit {pairs} pairs"))
    mrope = {**one.params, "sections": text, "section-order": order}
    return replace(one, also={**one.also, "mrope": mrope}, notes=(*one.notes, note))


def _without_positions(keys: Keys, family: ModelFamily) -> list[int]:
    """Return the layers without rotation."""
    rule = family.option("nope")
    if not rule:
        return []
    name, _, unless = rule.partition("?")
    if unless and keys.get(unless) is None:
        return []
    depth = keys.integer("num_hidden_layers", family.depth) or 0
    if depth > MAX_LAYERS:
        raise keys.bad(f"has {keys.named('num_hidden_layers')} {depth}: it must be at most {MAX_LAYERS}")
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
    """Report keys of the config that its class does not read."""
    inner = keys.data.get("attn_config")
    if family.name == "dbrx" and isinstance(inner, dict):
        theta = number(inner.get("rope_theta"))
        if theta is not None and theta != family.theta:
            notes.ignore("attn_config.rope_theta", "transformers 5.23 does not read it for dbrx")
            notes.fault(f"transformers ignores attn_config.rope_theta={theta} of dbrx and uses {family.theta}")
