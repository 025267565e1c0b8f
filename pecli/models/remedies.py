"""What to change in a config so that a stack agrees: words for people, and the change itself, which can be tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

ORIGINAL = "original_max_position_embeddings"
HOLDERS = ("rope_scaling", "rope_parameters")

Config = dict[str, Any]


@dataclass(frozen=True)
class Remedy:
    """One change of a config; `text` says it as an instruction."""

    text: str
    change: Callable[[Config, Config], None]
    """Changes the keys of a part, and the dictionary of rope parameters within it, in place."""

    def applied(self, data: Mapping[str, Any]) -> Config:
        """Return a copy of a config with every part changed that has rope parameters."""
        found = {name: self.applied(value) if isinstance(value, dict) else value for name, value in data.items()}
        for name in HOLDERS:
            holder = found.get(name)
            if isinstance(holder, dict):
                kinds = [value for value in holder.values() if isinstance(value, dict)]
                for one in kinds or [holder]:
                    self.change(found, one)
                break
        return found


def leave(*names: str) -> Remedy:
    """Return the remedy of leaving keys away, inside the rope parameters and beside them."""

    def change(part: Config, holder: Config) -> None:
        for name in names:
            holder.pop(name, None)
            part.pop(name, None)

    return Remedy(f"leave {' and '.join(names)} away", change)


def _betas(part: Config, holder: Config) -> None:
    holder.update({name: holder.get(name) or default for name, default in (("beta_fast", 32), ("beta_slow", 1))})


def _factor(part: Config, holder: Config) -> None:
    holder["factor"] = Decimal(f"{holder['factor']}.0") if isinstance(holder.get("factor"), int) else holder["factor"]


def _ratio(part: Config, holder: Config) -> None:
    length, original = part.get("max_position_embeddings"), part.get(ORIGINAL) or holder.get(ORIGINAL)
    if holder.get("factor") is None and isinstance(length, int) and isinstance(original or length, int):
        holder["factor"] = Decimal(length) / Decimal(original or length) + Decimal("0.0")


def _original(part: Config, holder: Config) -> None:
    holder[ORIGINAL] = part.get(ORIGINAL) or holder.get(ORIGINAL) or part.get("max_position_embeddings")


def _old_style(part: Config, holder: Config) -> None:
    found = part.get("rope_parameters")
    if isinstance(found, dict) and not any(isinstance(value, dict) for value in found.values()):
        del part["rope_parameters"]
        if "rope_theta" in found:
            part["rope_theta"] = found.pop("rope_theta")
        if "partial_rotary_factor" in found:
            part["partial_rotary_factor"] = found.pop("partial_rotary_factor")
        if found.get("rope_type", "default") != "default":
            part["rope_scaling"] = found


NO_ATTENTION_FACTOR = leave("attention_factor")
NO_MSCALE = leave("mscale", "mscale_all_dim")
NO_TRUNCATE = leave("truncate")
NO_SHARE = leave("partial_rotary_factor")
NO_FACTOR = leave("factor")
ONE_TYPE = leave("type")
BETAS = Remedy("write beta_fast and beta_slow out", _betas)
FLOAT_FACTOR = Remedy("write the factor with a decimal point", _factor)
GIVEN_FACTOR = Remedy(f"write the factor out: max_position_embeddings over {ORIGINAL}", _ratio)
INNER_ORIGINAL = Remedy(f"write {ORIGINAL} inside the rope parameters", _original)
OLD_STYLE = Remedy("write rope_theta and rope_scaling, the keys of transformers 4, for rope_parameters", _old_style)
