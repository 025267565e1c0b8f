"""One kind of layer's rope parameters -> the parameters of a scaled recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pecli.models.families import Family
from pecli.models.folding import Folded, Parameters
from pecli.models.keys import Keys, Number, number, shown
from pecli.models.notes import Notes
from pecli.numbers.text import join_list, number_text


@dataclass(eq=False, repr=False)
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
            raise self.keys.bad(f"has {self.named(name)} {shown(value)}: it must be a number")
        if least is not None and found <= least:
            raise self.keys.bad(f"has {self.named(name)}={number_text(found)}: it must be above {least}")
        return found

    def named(self, name: str) -> str:
        """Return a parameter's key as it stands in the file: among the others, or beside them at the top."""
        written: Any = self.keys.data
        for part in self.where.split("."):
            written = written.get(part) if isinstance(written, dict) else None
        inner = "type" if name == "rope_type" and isinstance(written, dict) and name not in written else name
        if isinstance(written, dict) and inner in written:
            return f"{self.where}.{inner}"
        own = {"rope_theta": "theta-key", "partial_rotary_factor": "partial-key"}.get(name, "")
        for beside in (self.family.option(own), self.family.names.get(name, name)):
            if beside in self.keys.data:
                return beside
        return f"{self.where}.{name}"

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
            raise self.keys.bad(f"has {self.named('original_max_position_embeddings')}={value}: it must be whole")
        return int(value)


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
                    f"transformers ignores {rope.where}.{name}={number_text(value)} without its partner: DeepSeek's "
                    "own code, vLLM and others scale by it"
                )
                rope.notes.warn(f"{rope.where}.{name} has no effect without a partner that is not 0")
    return {}


def _ratio(above: int, below: int) -> Decimal:
    """Return a ratio of lengths; powers of two, as they come, are exact."""
    from pecli.numbers.decimals import CONTEXT

    return CONTEXT.divide(Decimal(above), Decimal(below))


def _longrope(rope: Rope, d: int) -> dict[str, str]:
    pairs = (d + 1) // 2
    original = rope.original
    short, long = rope.numbers("short_factor", pairs), rope.numbers("long_factor", pairs)
    found = {"scaling": "longrope", "short-factor": short, "long-factor": long, "original-max": str(original)}
    if rope.family.option("mscale-by") == "length":
        rope.notes.fault(
            f"transformers uses the short factors of {rope.family.name} at every length: its forward pass asks "
            "for them without a length"
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
