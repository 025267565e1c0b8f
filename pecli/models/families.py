"""The families of rotary models: lines of families.txt as typed records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

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
        What the module returns; which columns turn together.
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
    """Return what JSON text says, with exact decimals."""
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
    theta, width, heads, head, length, depth, share, layout, pairs, *rest = words
    number = share.removeprefix("=")
    return ModelFamily(
        name, None if theta == "-" else Decimal(theta), _integer(width), _integer(heads), head, _integer(length),
        _integer(depth), Decimal(number) if number[0].isdigit() else None, honours=share != "-",
        forced=share.startswith("="), layout=layout, pairs=pairs, options=options_of(rest),
    )  # fmt: skip


def options_of(words: Iterable[str]) -> dict[str, str]:
    """Return words such as "a=1" as a mapping."""
    return dict(word.split("=", 1) for word in words)


def _integer(text: str) -> int | None:
    return None if text == "-" else int(text)


def known_types() -> list[str]:
    """Return every model type of the data files, for messages."""
    return sorted({*lines("families.txt"), *lines("others.txt"), *lines("composites.txt")})
