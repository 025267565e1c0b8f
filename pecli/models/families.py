"""Families of rotary models: lines of families.txt as typed records, and the head widths of their configs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pecli.models.config import LARGEST, Keys, Notes, number, shown
from pecli.numbers.decimals import number_text

DATA = Path(__file__).parent


@dataclass(frozen=True, eq=False, repr=False)
class ModelFamily:
    """How one model type reads its config; the columns of families.txt.

    Parameters
    ----------
    name : str
        The ``model_type``.
    theta : Decimal, optional
        Base where the config gives none.
    width, heads, length, depth : int, optional
        Class defaults of hidden_size, num_attention_heads,
        max_position_embeddings and num_hidden_layers.
    head : str
        Where the width of a head comes from.
    partial : Decimal, optional
        Default share of the head that rotates.
    honours : bool
        Whether the unscaled type rotates a share at all.
    forced : bool
        Whether the config's top level cannot change the share.
    layout, pairs : str
        What the module returns; which columns rotate together.
    options : mapping of str to str
        Everything else, by name.
    """

    name: str
    theta: Decimal | None = Decimal(10000)
    width: int | None = None
    heads: int | None = None
    head: str = "-"
    length: int | None = None
    depth: int | None = None
    partial: Decimal | None = None
    honours: bool = False
    forced: bool = False
    layout: str = "half"
    pairs: str = "half"
    options: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        """Other names of keys, by the generic name."""
        return pairs_of(self.options.get("names", ""))

    @property
    def labels(self) -> tuple[str, ...]:
        """Kinds of layers that have parameters of their own; empty for one table."""
        return tuple(filter(None, self.options.get("layers", "").split("+")))

    @property
    def rope(self) -> dict[str, Any] | None:
        """The class's own rope_parameters; a fresh copy."""
        text = self.options.get("rope")
        return None if text is None else load_json(text)

    def option(self, name: str, default: str = "") -> str:
        """Return an option's text."""
        return self.options.get(name, default)


def pairs_of(text: str) -> dict[str, str]:
    """Return "A:B,C:D" as a mapping."""
    return dict(item.split(":", 1) for item in text.split(",") if item)


def load_json(text: str) -> Any:
    """Return the value of JSON text, with exact decimals."""
    return json.loads(text, parse_float=Decimal)


@cache
def lines(name: str) -> dict[str, str]:
    """Return the lines of a data file by their first word."""
    rows = (line.split(None, 1) for line in (DATA / name).read_text(encoding="utf-8").splitlines())
    kept = (row for row in rows if row and not row[0].startswith("#"))
    return {name: row[1] if len(row) > 1 else "" for row in kept for name in row[0].split(",")}


@cache
def rotary_family(name: str) -> ModelFamily | None:
    """Return the family of a model type; None where it is not a rotary one that is known."""
    text = lines("families.txt").get(name)
    if text is None:
        return None
    words = text.split()
    if words[0].startswith("like="):
        options = options_of(words[1:])
        kin = rotary_family(words[0].removeprefix("like="))
        assert kin is not None
        names = ",".join(filter(None, (kin.option("names"), options.get("names"))))
        return replace(kin, name=name, options={**kin.options, **options, **({"names": names} if names else {})})
    theta, width, heads, head, length, depth, share, layout, pairs, *others = words
    number = share.removeprefix("=")
    return ModelFamily(
        name, None if theta == "-" else Decimal(theta), _integer(width), _integer(heads), head, _integer(length),
        _integer(depth), Decimal(number) if number[0].isdigit() else None, honours=share != "-",
        forced=share.startswith("="), layout=layout, pairs=pairs, options=options_of(others),
    )  # fmt: skip


def options_of(words: Iterable[str]) -> dict[str, str]:
    """Return words such as "a=1" as a mapping."""
    return dict(word.split("=", 1) for word in words)


def _integer(text: str) -> int | None:
    return None if text == "-" else int(text)


def known_types() -> list[str]:
    """Return every model type of the data files, for messages."""
    return sorted({*lines("families.txt"), *lines("others.txt"), *lines("composites.txt")})


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
        return Head(2 * derived_width(keys, family, notes))
    if "=" in spec:
        return Head(sum(_named(keys, item, notes) for item in spec.split("+")))
    if spec[0].isdigit():
        return Head(int(spec.partition("?")[0]))
    return Head(derived_width(keys, family, notes), spec != "null")


def _special(keys: Keys, spec: str, kind: str, notes: Notes) -> int:
    """Return the head width of a kind of layer with a separate key, or with overrides by layer."""
    name, default = spec.split("=")
    overrides, listed = keys.get("per_layer_config"), keys.get("layer_types")
    if isinstance(overrides, dict) and isinstance(listed, list) and kind in listed:
        notes.use("per_layer_config", f"width of the heads of {kind} layers")
        own = next((one for at, one in overrides.items() if at.isdecimal() and int(at) == listed.index(kind)), None)
        width = (own or {}).get("head_dim")
        common = keys.needed("head_dim", 256)
        return width if isinstance(width, int) and not isinstance(width, bool) else common
    notes.use(name, f"width of the heads of {kind} layers")
    return keys.needed(name, int(default))


def _named(keys: Keys, item: str, notes: Notes) -> int:
    name, default = item.split("=")
    notes.use(name, "width of a head, the part that rotates" if name.startswith("qk_rope") else "width of a head")
    return keys.needed(name, int(default))


def _null(keys: Keys, family: ModelFamily, notes: Notes, spec: str) -> Head:
    """Return the head meant by an explicit null."""
    twice = spec.startswith("2*")
    if spec[0].isdigit() and "?" not in spec and not twice:
        raise keys.bad(f"has head_dim null, which {family.name} does not take: give its width")
    return Head(derived_width(keys, family, notes), twice or spec.endswith("fill"))


def derived_width(keys: Keys, family: ModelFamily, notes: Notes) -> int:
    """Return hidden_size // num_attention_heads."""
    width = keys.needed("hidden_size", family.width)
    heads = keys.needed("num_attention_heads", family.heads)
    notes.use(family.names.get("hidden_size", "hidden_size"), "width of the model, over the heads")
    notes.use(family.names.get("num_attention_heads", "num_attention_heads"), "number of heads")
    if width < heads:
        raise keys.bad(f"has hidden_size {width} below num_attention_heads {heads}: a head would have no width")
    if width % heads:
        notes.warn(f"hidden_size {width} is not a multiple of num_attention_heads {heads}, which many models refuse")
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
