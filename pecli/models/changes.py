"""Changes that the rules of stacks make to a recipe's parameters, and the conditions of these rules.

A change takes the parameters so far and the raw config, and returns
new parameters.  The files of ``stacks/`` name the functions here: "unscaled",
or with arguments "of phi gpt_neox", or a condition inverted "not sections".
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from functools import reduce
from typing import Any

from pecli.encodings.rotary.rope.scalings import PlainSeries
from pecli.encodings.rotary.rope.scalings.yarn import index_ramp
from pecli.models.config import number
from pecli.models.families import rotary_family, rotating_or_none
from pecli.models.reading import ORIGINAL, Change, Params, RawConfig, Where
from pecli.numbers.decimals import CONTEXT, join_list, number_text

MAGNITUDE = ("attention-factor", "mscale", "mscale-all-dim")
BY_LENGTH = ("factor", "attention-factor", "short-mscale", "long-mscale")


def without(params: Params, *names: str) -> dict[str, str]:
    """Return the parameters without these."""
    return {name: value for name, value in params.items() if name not in names}


def lacking(*names: str) -> Change:
    """Return the change that takes these parameters away."""
    return lambda params, written: without(params, *names)


def giving(*more: str) -> Change:
    """Return the change that sets these parameters ("factor=8"), whatever the config has."""
    own = dict(one.split("=") for one in more)
    return lambda params, written: {**params, **own}


def defaulting(*more: str) -> Change:
    """Return the change that sets these parameters where the recipe has none."""
    own = dict(one.split("=") for one in more)
    return lambda params, written: {**own, **params}


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
    return params if width in (None, written.head) else {**params, "rotary-dim": str(width)}


def whole_head(params: Params, written: RawConfig) -> Params:
    """Return the table of a whole head, whatever share is given."""
    odd = {"rotary-dim": params["dim"]} if int(params["dim"]) % 2 else {}
    return {**without(params, "rotary-dim"), **odd}


# ----- YaRN's magnitude and ramp


plain_magnitude = lacking(*MAGNITUDE)  # 0.1 ln(factor) + 1
magnitude_of_one = after(plain_magnitude, giving("attention-factor=1"))  # cos and sin as they are


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

built_in = giving("low-freq-factor=1", "high-freq-factor=4", "original-max=8192")  # the numbers of Llama 3.1


# ----- dynamic


def base_of_longest(params: Params, written: RawConfig) -> Params:
    """Return the dynamic base of the longest table, max_position_embeddings times the factor, at every length."""
    factor = number(written.rope.get("factor"))
    return params if factor is None else {**params, "seq-len": str(int(int(params["max-position"]) * factor))}


# ----- conditions


def of(*models: str) -> Where:
    """Return the condition that a config is of one of these model types."""
    return lambda written: written.model in models


def short(params: Params, written: RawConfig) -> bool:
    """Whether the longest sequence does not exceed the original length."""
    return written.length is not None and written.length <= int(params["original-max"])


def unscaled_when_short(params: Params, written: RawConfig) -> Params:
    """Return the plain table where the longest sequence does not exceed the original length."""
    return unscaled(params, written) if short(params, written) else params


def given(*names: str) -> Where:
    """Return the condition that any of these rope parameters is given and not null."""
    return lambda written: any(written.rope.get(name) is not None for name in names)


def top_level(*names: str) -> Where:
    """Return the condition that any of these keys is given outside the rope parameters and not null."""
    return lambda written: any(written.config.get(name) is not None for name in names)


def key(name: str) -> Where:
    """Return the condition that a key stands outside the rope parameters, null too."""
    return lambda written: name in written.config


def has(*names: str) -> Where:
    """Return the condition that all these keys stand among the rope parameters of the file."""
    return lambda written: all(name in written.scaling for name in names)


def zero(*names: str) -> Where:
    """Return the condition that any of these rope parameters is 0."""
    return lambda written: any(number(written.scaling.get(name)) == 0 for name in names)


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


def stated_type(word: str) -> Where:
    """Return the condition that the file has this rope type."""
    return lambda written: type_of(written.scaling) == word


def folded_type(word: str) -> Where:
    """Return the condition that transformers reads this rope type."""
    return lambda written: type_of(written.rope) == word


def typed(word: str) -> Where:
    """Return the condition that this is the rope type under either name."""
    return lambda written: word in (type_of(written.scaling), written.scaling.get("type"))


def starts(prefix: str) -> Where:
    """Return the condition that the model type begins so."""
    return lambda written: written.model.startswith(prefix)


def architecture(name: str) -> Where:
    """Return the condition that this class is among the architectures."""
    return lambda written: name in str(written.config.get("architectures"))


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
    return top_level("partial_rotary_factor")(written) and not new_keys(written)


# ----- llama.cpp and Ollama


def magnitudes_cancel(written: RawConfig) -> bool:
    """Whether llama.cpp leaves cos and sin of a DeepSeek model unscaled."""
    scaled = bool(number(written.rope.get("mscale_all_dim")))
    return scaled and written.model in ("deepseek_v2", "deepseek_v3", "kimi_k2")


def by_logarithm(params: Params, written: RawConfig) -> Params:
    """Return the parameters with magnitude 0.1 ln(L/O) + 1, for frequency lists of type yarn."""
    if written.length is None:
        return params
    times = CONTEXT.divide(Decimal(written.length), Decimal(params["original-max"]))
    magnitude = CONTEXT.add(CONTEXT.multiply(Decimal("0.1"), times.ln(CONTEXT)), 1) if times > 1 else Decimal(1)
    return {**without(params, "max-position"), "attention-factor": number_text(+magnitude)}


def magnitude_of_all_dim(params: Params, written: RawConfig) -> Params:
    """Return YaRN with a magnitude of 1 where mscale_all_dim is given, else 0.1 ln(factor) + 1."""
    scaled = number(written.rope.get("mscale_all_dim"))
    return (magnitude_of_one if scaled else plain_magnitude)(params, written)


# ----- mlx-lm

# Models whose classes read rope_parameters (muse_* besides).
MLX_NEW = (
    "exaone_moe", "gemma4_text", "glm_moe_dsa", "granitemoehybrid", "laguna", "lfm2", "lfm2_moe", "mellum",
    "minimax_m3_vl", "ministral3", "mistral4", "olmo_hybrid", "qwen3", "qwen3_5_text", "spark2_5",
)  # fmt: skip
# Bases of the classes where rope_theta is absent.
MLX_BASES = {
    "llama": "10000", "mistral": "10000", "deepseek_v3": "10000", "phi3": "10000", "phi": "10000", "qwen2": "1000000",
    "mixtral": "1000000", "minicpm3": "1000000", "gpt_oss": "150000",
}  # fmt: skip


def mlx_ignores_new(written: RawConfig) -> bool:
    """Whether the model's class reads no rope_parameters, which the config has."""
    return new_keys(written) and written.model not in MLX_NEW and not written.model.startswith("muse_")


def mlx_without_base(written: RawConfig) -> bool:
    """Whether the base that the model's class takes is not known."""
    known = written.model in (*MLX_BASES, "gemma3_text", "olmo3") or "rope_theta" in written.config
    return mlx_ignores_new(written) and not known


def mlx_class_defaults(params: Params, written: RawConfig) -> Params:
    """Return the plain table of the class's own base."""
    if written.model == "gemma3_text":
        sliding = written.kind == "sliding_attention"
        return {**unscaled(params, written), "base": "10000" if sliding else "1000000"}
    return old_keys(MLX_BASES.get(written.model, "10000"))(params, written)


def mlx_own_base(params: Params, written: RawConfig) -> Params:
    """Return the parameters with the class's own base."""
    return {**params, "base": MLX_BASES[written.model]}


def by_long_mscale(params: Params, written: RawConfig) -> Params:
    """Return LongRoPE with the long list at every length, and long_mscale as the magnitude where it is given."""
    value = number(written.rope.get("long_mscale"))
    found = always_long(params, written)
    if value is None:
        return found
    return {**without(found, "max-position"), "attention-factor": number_text(value)}


def mlx_odd_share(written: RawConfig) -> bool:
    """Whether an odd number of columns would rotate."""
    share = number(written.config.get("partial_rotary_factor"))
    if share is None or written.model in ("llama", "mistral", "qwen2") or not mlx_ignores_new(written):
        return False
    return int(written.head * float(share)) % 2 == 1


# ----- ONNX Runtime GenAI


def mscale_alone(params: Params, written: RawConfig) -> Params:
    """Return mscale over mscale_all_dim, mscale alone as the magnitude itself, else 0.1 ln(factor) + 1."""
    alone, other = (number(written.rope.get(name)) for name in ("mscale", "mscale_all_dim"))
    if alone is not None and other is None:
        return {**without(params, *MAGNITUDE), "attention-factor": number_text(alone)}
    return ratio(params, written) if alone is not None else without(params, *MAGNITUDE)


# ----- vLLM


def four_times_original(params: Params, written: RawConfig) -> Params:
    """Return the parameters with four times the original length."""
    return {**params, "original-max": str(4 * int(params["original-max"]))}


def trained_length(params: Params, written: RawConfig) -> Params:
    """Return dynamic NTK for the served length over the trained one; plain where no key gives the trained length."""
    trained = number(written.rope.get("max_trained_positions"))
    if trained is None or written.length is None:
        return unscaled(params, written)
    return {**params, "max-position": str(int(trained)), "seq-len": str(written.length)}


def alpha(params: Params, written: RawConfig) -> Params:
    """Return NTK with alpha as its factor, where alpha is given."""
    alpha = number(written.rope.get("alpha"))
    ntk = {"scaling": "ntk", "factor": number_text(alpha or 1)}
    return params if alpha is None else {**unscaled(params, written), **ntk}


def nested_truncate(params: Params, written: RawConfig) -> Params:
    """Return the parameters with truncate as the kind of layer has it."""
    return {**params, "truncate": "false"} if written.rope.get("truncate") is False else params


def types_differ(written: RawConfig) -> bool:
    """Whether type and rope_type name different types; old names of one type do not."""
    names = {str(written.scaling[key]) for key in ("type", "rope_type") if key in written.scaling}
    same = ({"su", "longrope"}, {"mrope", "default"})
    return len(names) == 2 and names not in same


# ----- LMDeploy


def without_alpha(params: Params, written: RawConfig) -> Params:
    """Return dynamic NTK by factor and longest position, whatever alpha is."""
    factor = number(written.rope.get("factor"))
    more = {"scaling": "dynamic", "factor": number_text(factor or 1), "max-position": str(written.length)}
    return {**unscaled(params, written), **more}


def declared_original(params: Params, written: RawConfig) -> Params:
    """Return the declared length for the original one."""
    return params if written.length is None else {**params, "original-max": str(written.length)}


def original_at_top(written: RawConfig) -> bool:
    """Whether the original length is a top-level key of a class that has no such field."""
    family = rotary_family(written.model)
    field = written.model in ("phimoe", "minicpm3") or (family is not None and family.option("original"))
    return no_inner_original(written) and not no_original(written) and not field


# ----- ExLlamaV2 and ExLlamaV3


def ramp_of_length(params: Params, written: RawConfig) -> Params:
    """Return YaRN with a ramp by the served length, and plain betas and magnitude."""
    if written.length is None:
        return params
    found = without(plain_magnitude(params, written), "beta-fast", "beta-slow", "truncate")
    return {**found, "original-max": str(written.length)}


def short_unscaled(params: Params, written: RawConfig) -> Params:
    """Return a magnitude of 1 with the short list."""
    return {**without(params, "max-position"), "attention-factor": "1"} if short(params, written) else params


def longer(written: RawConfig) -> bool:
    """Whether the longest sequence exceeds the original length: only then is the factor reckoned with."""
    original = number(written.scaling.get(ORIGINAL))
    return original is None or written.length is None or written.length > original


def two_types(written: RawConfig) -> bool:
    """Whether the file has both type keys; for a word of older releases, the reader has added the other."""
    kind = written.scaling.get("type")
    return written.style == "rope_scaling" and kind not in (None, "su", "mrope") and "rope_type" in written.scaling


def factor_of_lengths(params: Params, written: RawConfig) -> Params:
    """Return YaRN with L/O as its factor; plain where they are equal."""
    if written.length is None:
        return params
    times = CONTEXT.divide(Decimal(written.length), Decimal(params["original-max"]))
    return {**params, "factor": number_text(times)}


def share_outside(params: Params, written: RawConfig) -> Params:
    """Return the share at the top level, which wins over the one in rope_parameters."""
    share = number(written.config.get("partial_rotary_factor"))
    if share is None:
        return params
    width = int(written.head * float(share))
    return {**without(params, "rotary-dim"), **({} if width == written.head else {"rotary-dim": str(width)})}


def plain_by_kind(params: Params, written: RawConfig) -> Params:
    """Return the plain table of the top-level rope_theta; Gemma 3 has separate bases."""
    return (unscaled if written.model == "gemma3_text" else old_keys("10000"))(params, written)


def exllama3_nested(written: RawConfig) -> bool:
    """Whether rope_parameters are by kind of layer, of a model of which only Gemma 4's and Laguna's code reads them."""
    found = written.config.get("rope_parameters")
    if written.model.startswith(("gemma4", "laguna")):
        return False
    return isinstance(found, dict) and any(isinstance(value, dict) for value in found.values())


# ----- LitGPT

DIGITS = Decimal(10) ** -30  # of the lists below; float64 has 16


def reversed_ramp(params: Params, written: RawConfig) -> Params:
    """Return YaRN with its ramp the wrong way round, as divisors of the plain frequencies.

    Pair i is divided by f/(f r + 1 - r), with r the share that YaRN interpolates: 0 for the fastest pair.
    """
    series, factor = PlainSeries.of(params), Decimal(params["factor"])
    fast, slow = (Decimal(params.get(option, usual)) for option, usual in (("beta-fast", "32"), ("beta-slow", "1")))
    with localcontext(CONTEXT):
        truncate, last = params.get("truncate") != "false", series.width // 2 - 1
        shares = index_ramp(series, int(params["original-max"]), fast, slow, truncate, last)
    divisors = (CONTEXT.divide(factor, factor * share + 1 - share) for share in shares)
    listed = join_list([one.quantize(DIGITS, context=CONTEXT) for one in divisors], "+")
    lists = {"scaling": "longrope", "short-factor": listed, "long-factor": listed, "original-max": "2"}
    return {**unscaled(params, written), **lists, "attention-factor": number_text(_litgpt_magnitude(written, factor))}


def _litgpt_magnitude(written: RawConfig, factor: Decimal) -> Decimal:
    """Return the ratio of mscale and mscale_all_dim, or the magnitude of the only one given; 0 counts as absent."""
    found = [value for name in ("mscale", "mscale_all_dim") if (value := number(written.rope.get(name)))]
    if not found or factor <= 1:
        return Decimal(1)
    above, *below = (CONTEXT.add(Decimal("0.1") * Decimal(weight) * factor.ln(CONTEXT), 1) for weight in found)
    return CONTEXT.divide(above, below[0]) if below else above
