"""Changes that rules of several stacks make to a recipe's parameters, and the conditions of these rules.

A change takes the parameters so far and the raw config, and returns
new parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from pecli.models.config import number
from pecli.models.families import rotary_family, rotating_or_none
from pecli.models.reading import ORIGINAL, Change, Params, RawConfig, Where
from pecli.numbers.decimals import join_list, number_text

DEEPSEEK = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2")
MAGNITUDE = ("attention-factor", "mscale", "mscale-all-dim")
BY_LENGTH = ("factor", "attention-factor", "short-mscale", "long-mscale")


def without(params: Params, *names: str) -> dict[str, str]:
    """Return the parameters without these."""
    return {name: value for name, value in params.items() if name not in names}


def lacking(*names: str) -> Change:
    """Return the change that takes these parameters away."""
    return lambda params, written: without(params, *names)


def giving(**more: str) -> Change:
    """Return the change that sets these parameters, whatever the config has."""
    own = {name.replace("_", "-"): value for name, value in more.items()}
    return lambda params, written: {**params, **own}


def after(*changes: Change) -> Change:
    """Return changes, one after the other, as one."""
    return lambda params, written: reduce(lambda found, change: change(found, written), changes, params)


# ----- what is left of a table


def unscaled(params: Params, written: RawConfig) -> Params:
    """Return the unscaled table of the same width and base."""
    return {name: params[name] for name in ("dim", "rotary-dim", "base") if name in params}


def honoured_share(params: Params, written: RawConfig) -> Params:
    """Return the rotating share of the keys, whatever the type."""
    width = rotating_or_none(written.head, written.rope.get("partial_rotary_factor", 1))
    if width is None or width == written.head:
        return params
    return {"dim": params["dim"], "rotary-dim": str(width), **without(params, "dim", "rotary-dim")}


def whole_head(params: Params, written: RawConfig) -> Params:
    """Return the table of a whole head, whatever share is given."""
    odd = {"rotary-dim": params["dim"]} if int(params["dim"]) % 2 else {}
    return {**without(params, "rotary-dim"), **odd}


no_factor = lacking("factor")


# ----- YaRN's magnitude and ramp


plain_magnitude = lacking(*MAGNITUDE)  # 0.1 ln(factor) + 1
magnitude_of_one = after(plain_magnitude, giving(attention_factor="1"))  # cos and sin as they are
whole_ends = lacking("truncate")  # of the ramp: whole indices
fractional_ends = giving(truncate="false")  # of the ramp: the indices as they are


def ratio(params: Params, written: RawConfig) -> Params:
    """Return YaRN with mscale over mscale_all_dim, 1 and 0 where absent; attention_factor is not read."""
    found = without(params, *MAGNITUDE)
    for key, option in (("mscale", "mscale"), ("mscale_all_dim", "mscale-all-dim")):
        value = number(written.rope.get(key))
        if value is not None:
            found[option] = number_text(value)
    return found


def ratio_of_both(params: Params, written: RawConfig) -> Params:
    """Return YaRN with the ratio where both keys are given, 0 too, else 0.1 ln(factor) + 1."""
    both = all(number(written.rope.get(key)) is not None for key in ("mscale", "mscale_all_dim"))
    return (ratio if both else plain_magnitude)(params, written)


def inner_original(params: Params, written: RawConfig) -> Params:
    """Return the parameters with the original length given inside the rope parameters."""
    value = number(written.scaling.get(ORIGINAL))
    return params if value is None else {**params, "original-max": number_text(value)}


# ----- LongRoPE


def magnitude_by_lengths(params: Params, written: RawConfig) -> Params:
    """Return LongRoPE with the config's own lists and sqrt(1 + ln(L/O)/ln O), whatever other keys say."""
    if written.length is None:
        return params
    found = without(params, *BY_LENGTH)
    return {**found, "long-factor": long_factors(params, written), "max-position": str(written.length)}


def magnitude_by_mscales(params: Params, written: RawConfig) -> Params:
    """Return `magnitude_by_lengths`, with short_mscale and long_mscale where both are given."""
    found = dict(magnitude_by_lengths(params, written))
    given = [number(written.rope.get(name)) for name in ("short_mscale", "long_mscale")]
    if all(value is not None for value in given):
        short, long = (number_text(value) for value in given if value is not None)
        found |= {"short-mscale": short, "long-mscale": long}
    return found


def by_served_length(params: Params, written: RawConfig) -> Params:
    """Return LongRoPE with one list at every position: by the length that is served, the config's."""
    return params if written.length is None else {**params, "seq-len": str(written.length)}


def always_long(params: Params, written: RawConfig) -> Params:
    """Return LongRoPE with the long list at every length."""
    found = magnitude_by_lengths(params, written)
    return {**found, "short-factor": found["long-factor"]}


def long_factors(params: Params, written: RawConfig) -> str:
    """Return the config's own long list: transformers gives some models the short one instead."""
    items = [value for value in map(number, written.rope.get("long_factor") or ()) if value is not None]
    return join_list(items, "+") if items else params["long-factor"]


# ----- Llama 3

built_in = giving(low_freq_factor="1", high_freq_factor="4", original_max="8192")  # the numbers of Llama 3.1


# ----- dynamic


def base_of_longest(params: Params, written: RawConfig) -> Params:
    """Return the dynamic base of the longest table, max_position_embeddings times the factor, at every length."""
    factor = number(written.rope.get("factor"))
    return params if factor is None else {**params, "seq-len": str(int(int(params["max-position"]) * factor))}


# ----- conditions


def of(*models: str) -> Where:
    """Return the condition that a config is of one of these model types."""
    return lambda written: written.model in models


def not_of(*models: str) -> Where:
    """Return the condition that a config is of none of these model types."""
    return lambda written: written.model not in models


def both(*conditions: Where) -> Where:
    """Return whether all these hold."""
    return lambda written: all(one(written) for one in conditions)


def short(params: Params, written: RawConfig) -> bool:
    """Whether the longest sequence does not exceed the original length."""
    return written.length is not None and written.length <= int(params["original-max"])


def unscaled_when_short(params: Params, written: RawConfig) -> Params:
    """Return the plain table where the longest sequence does not exceed the original length."""
    return unscaled(params, written) if short(params, written) else params


def given(*names: str) -> Where:
    """Return the condition that any of these rope parameters is given and not null."""
    return lambda written: any(written.rope.get(name) is not None for name in names)


def top_level_share(written: RawConfig) -> bool:
    """Whether partial_rotary_factor is a top-level key, outside the rope parameters."""
    return written.config.get("partial_rotary_factor") is not None


def null(*names: str) -> Where:
    """Return the condition that any of these rope parameters is null."""
    return lambda written: any(name in written.scaling and written.scaling[name] is None for name in names)


def no_original(written: RawConfig) -> bool:
    """Whether the file has no original length."""
    return written.scaling.get(ORIGINAL) is None and written.config.get(ORIGINAL) is None


def no_inner_original(written: RawConfig) -> bool:
    """Whether the rope parameters have no original length."""
    return written.scaling.get(ORIGINAL) is None


def whole_factor(written: RawConfig) -> bool:
    """Whether the factor is written as a whole number: 8, and not 8.0."""
    return isinstance(written.scaling.get("factor"), int)


def sections(written: RawConfig) -> bool:
    """Whether several position streams share the frequencies."""
    return bool(written.rope.get("mrope_section"))


def type_of(scaling: Mapping[str, Any]) -> str:
    """Return the rope type as written in the file."""
    return str(scaling.get("rope_type", scaling.get("type", "default")))


def typed(written: RawConfig, word: str) -> bool:
    """Whether this is the rope type under either name."""
    return word in (type_of(written.scaling), written.scaling.get("type"))


def foreign_mrope(written: RawConfig) -> bool:
    """Whether the type is mrope, of a model that has no position streams."""
    family = rotary_family(written.model)
    return written.scaling.get("type") == "mrope" and not (family and family.option("mrope"))


# ----- stacks that read the old keys alone


def old_keys(base: str) -> Change:
    """Return the change to the plain table of the top-level keys; `base` where rope_theta is absent."""

    def change(params: Params, written: RawConfig) -> Params:
        theta = number(written.config.get("rope_theta"))
        share = number(written.config.get("partial_rotary_factor"))
        width = rotating_or_none(written.head, 1 if share is None else share)
        found = {"dim": params["dim"], "base": base if theta is None else number_text(theta)}
        if width not in (None, written.head) or written.head % 2:
            found["rotary-dim"] = str(width or written.head)
        return found

    return change


def new_keys(written: RawConfig) -> bool:
    """Whether the config has rope_parameters, as transformers 5 writes them."""
    return written.style == "rope_parameters" and bool(written.scaling)


def old_share(written: RawConfig) -> bool:
    """Whether a config as transformers 4 writes it gives partial_rotary_factor."""
    return top_level_share(written) and not new_keys(written)
