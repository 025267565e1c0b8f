"""Trainers, and reference code of models' authors."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial

from pecli.models import changes, stack
from pecli.models.config import number
from pecli.models.reading import ORIGINAL, Params, RawConfig
from pecli.models.stack import EVERY, SCALED, Rule, Stack
from pecli.numbers.decimals import CONTEXT, TAU, join_list, number_text

STACKS: dict[str, Stack] = {}
_yarn = partial(Rule, scaling="yarn")


# ----- DeepSeek's own inference code: models of DeepSeek alone

_deepseek = partial(Rule, scaling="yarn", source="DeepSeek-V3 inference/model.py:297-372, 435")

STACKS["deepseek"] = Stack(
    title="DeepSeek's own code", version="9b4e978", scalings=("none", "yarn"), models=changes.DEEPSEEK, own_reader=True,
    conversion="its own ModelArgs: the longest sequence is max_seq_len there, 16384 unless given; here it is "
    "max_position_embeddings",
    rules=(
        _deepseek(
            key="mscale",
            text="leaves cos and sin unscaled: the square of mscale multiplies the softmax scale instead",
            change=changes.magnitude_of_one, remedies=(stack.NO_MSCALE,),
        ),
        _deepseek(
            key="max_position_embeddings", text="scales only when the longest sequence exceeds the original length",
            change=changes.unscaled_when_short,
        ),
    ),
)  # fmt: skip


# ----- GPT-NeoX: the trainer that the models are named after, read and not run

_GPT_NEOX = "megatron/model/positional_embeddings.py:38-80"

STACKS["gpt-neox"] = Stack(
    title="GPT-NeoX", version="ea7aefd8 (2026-05)", models=("gpt_neox",), own_reader=True, run=False,
    scalings=("none", *SCALED), conversion="its own YAML keys, rotary_pct and rotary_emb_base",
    rules=(
        Rule(
            key="rope_scaling", text="has no scaling: the table is the plain one", source=_GPT_NEOX, scaling=SCALED,
            change=changes.unscaled,
        ),
        Rule(
            key="torch_dtype", source=_GPT_NEOX,
            text="casts the inverse frequencies to the model's precision: the table here is the exact one",
        ),
    ),
)  # fmt: skip


# ----- OpenAI's gpt-oss: its own reference code, for its own models alone

_GPT_OSS = "openai/gpt-oss gpt_oss/torch/model.py"

STACKS["gpt-oss"] = Stack(
    title="OpenAI's gpt-oss", version="7b58334", scalings=("none", "yarn"), models=("gpt_oss",), own_reader=True,
    conversion="its own ModelConfig: ntk_alpha and ntk_beta are beta_slow and beta_fast",
    rules=(
        Rule(
            key="truncate", text="never rounds the ends of the ramp", source=_GPT_OSS, scaling="yarn",
            change=changes.fractional_ends,
        ),
        Rule(
            key="attention_factor", text="computes the magnitude as 0.1 ln(factor) + 1", source=_GPT_OSS,
            scaling="yarn", change=changes.plain_magnitude, remedies=(stack.NO_ATTENTION_FACTOR, stack.NO_MSCALE),
        ),
    ),
)  # fmt: skip


# ----- LitGPT: model.py's rope cache, from configs of its own

_LITGPT = "litgpt/model.py:939-1036"
_litgpt_yarn = partial(Rule, scaling="yarn", source=_LITGPT)
_DIGITS = Decimal(10) ** -30  # of the lists below; float64 has 16


def _reversed_ramp(params: Params, written: RawConfig) -> Params:
    """Return YaRN with its ramp the wrong way round, as divisors of the plain frequencies.

    Pair i is divided by f/(f r + 1 - r), with r the share that YaRN interpolates: 0 for the fastest pair.
    """
    d = int(params.get("rotary-dim", params["dim"]))
    factor, base = Decimal(params["factor"]), Decimal(params["base"])

    def at(turns: str) -> Decimal:
        rotations = CONTEXT.multiply(Decimal(turns), TAU)
        return d * CONTEXT.divide(Decimal(params["original-max"]), rotations).ln(CONTEXT) / (2 * base.ln(CONTEXT))

    low, high = at(params.get("beta-fast", "32")), at(params.get("beta-slow", "1"))
    if params.get("truncate") != "false":
        low, high = low.to_integral_value(ROUND_FLOOR), high.to_integral_value(ROUND_CEILING)
    low, high = max(low, Decimal(0)), min(high, Decimal(d // 2 - 1))
    spread = high - low or Decimal("0.001")
    shares = [min(max((i - low) / spread, Decimal(0)), Decimal(1)) for i in range((d + 1) // 2)]
    divisors = (CONTEXT.divide(factor, factor * share + 1 - share) for share in shares)
    listed = join_list([one.quantize(_DIGITS, context=CONTEXT) for one in divisors], "+")
    lists = {"scaling": "longrope", "short-factor": listed, "long-factor": listed, "original-max": "2"}
    return {**changes.unscaled(params, written), **lists, "attention-factor": number_text(_magnitude(written, factor))}


def _magnitude(written: RawConfig, factor: Decimal) -> Decimal:
    """Return the ratio of mscale and mscale_all_dim, or the magnitude of the only one given; 0 counts as absent."""
    found = [value for name in ("mscale", "mscale_all_dim") if (value := number(written.rope.get(name)))]
    if not found or factor <= 1:
        return Decimal(1)
    above, *below = (CONTEXT.add(Decimal("0.1") * Decimal(weight) * factor.ln(CONTEXT), 1) for weight in found)
    return CONTEXT.divide(above, below[0]) if below else above


def _none(word: str) -> Rule:
    return Rule(
        key="rope_type", text=f"has no {word} scaling", source=_LITGPT,
        error=f"ValueError: build_rope_cache has no {word} scaling",
        where=lambda written: not changes.new_keys(written) and changes.typed(written, word),
    )  # fmt: skip


STACKS["litgpt"] = Stack(
    title="LitGPT", version="0.5.13", scalings=("none", *EVERY), own_reader=True,
    words={"mrope": "default", "su": "longrope"},
    conversion="configs of its own, litgpt/config.py: a config.json's values are taken as its extra_config",
    rules=(
        *(_none(word) for word in ("mrope", "su", "longrope", "dynamic", "xdrope", "proportional")),
        Rule(
            key="rope_parameters",
            text="has the keys of transformers 4: rope_theta, rope_scaling and the share beside them", source=_LITGPT,
            change=changes.old_keys("10000"), where=changes.new_keys,
        ),
        Rule(
            key=ORIGINAL, text="looks for the original length inside the scaling alone", source=_LITGPT,
            scaling=("yarn", "llama3"), error="KeyError: 'original_max_position_embeddings'",
            where=changes.no_inner_original,
        ),
        stack.inner_original(_LITGPT, ("yarn", "llama3")),
        stack.null_betas(_LITGPT),
        stack.null_factor(_LITGPT),
        _litgpt_yarn(
            key="rope_type",
            text="has YaRN's ramp the wrong way round: fast pairs are interpolated, slow ones left; the magnitude "
            "is 1 unless mscale or mscale_all_dim is given",
            change=_reversed_ramp,
        ),
        stack.honoured_share("litgpt/config.py:145, rotary_percentage", where=changes.old_share),
    ),
)  # fmt: skip


# ----- MaxText: layers/embeddings.py with YAML keys of its own, read and not run

_MAXTEXT = "src/maxtext/layers/embeddings.py"

STACKS["maxtext"] = Stack(
    title="MaxText", version="e591f30cb (2026-08-22)", scalings=("none", "yarn", "llama3"), own_reader=True,
    run=False, conversion="YAML keys of its own; the config's values are taken under their names there",
    rules=(
        Rule(
            key="factor",
            text="has 8, 1, 4 and 8192 for the factors and the original length of Llama 3.1, whatever the config "
            "says",
            source=_MAXTEXT, scaling="llama3", change=changes.after(changes.giving(factor="8"), changes.built_in),
        ),
        Rule(
            key="attention_factor",
            text="leaves cos and sin unscaled unless rope_attention_scaling is set, and then takes 0.1 ln(factor) "
            "+ 1; multi-latent attention scales the softmax instead",
            source=_MAXTEXT, scaling="yarn", change=changes.magnitude_of_one,
        ),
    ),
)  # fmt: skip


# ----- Megatron-core: its rotary classes, with the arguments that Megatron-Bridge makes of a config

_CORE = "megatron/core/models/common/embeddings"
_BRIDGE = "Megatron-Bridge 067f987df conversion"
_OWN_BRIDGES = ("gemma3_text", "gemma4_text", "exaone4", "exaone_moe")  # not run


def _zero_beta(written: RawConfig) -> bool:
    return any(number(written.scaling.get(name)) == 0 for name in ("beta_fast", "beta_slow"))


STACKS["megatron"] = Stack(
    title="Megatron-core", version="0.19.2", scalings=("none", *EVERY), encodings=("t5",), words={"mrope": "default"},
    conversion="Megatron-Bridge 067f987df (2026-08-22); Megatron-LM's own arguments have other defaults",
    rules=(
        Rule(
            key="model_type", text="has a bridge of its own for this model, which was not run",
            source=f"{_BRIDGE}, models/gemma, exaone", error="its table is not known",
            where=changes.of(*_OWN_BRIDGES),
        ),
        _yarn(
            key="beta_slow", text="divides by a beta of 0", source=f"{_CORE}/yarn_rotary_pos_embedding.py",
            error="ZeroDivisionError: float division by zero", where=_zero_beta, remedies=(stack.BETAS,),
        ),
        stack.null_factor(f"{_CORE}/yarn_rotary_pos_embedding.py"),
        stack.inner_original(f"{_BRIDGE}/model_bridge.py:600-633", "yarn"),
        _yarn(
            key="mscale",
            text="reads no attention_factor, and takes mscale over mscale_all_dim where both are given, 0 too",
            source=f"{_CORE}/yarn_rotary_pos_embedding.py:267; gpt_provider.py:156", change=changes.ratio_of_both,
            where=changes.not_of(*changes.DEEPSEEK), remedies=(stack.NO_ATTENTION_FACTOR, stack.NO_MSCALE),
        ),
        stack.ratio("megatron/core/transformer/transformer_config.py:2948", where=changes.of(*changes.DEEPSEEK)),
        stack.whole_ends(f"{_BRIDGE}/model_bridge.py:621", where=changes.of(*changes.DEEPSEEK)),
        _yarn(
            key="partial_rotary_factor",
            text="rotates the whole head with YaRN: it ignores the rotary percentage there",
            source=f"{_CORE}/yarn_rotary_pos_embedding.py:66", change=changes.whole_head,
            where=changes.not_of(*changes.DEEPSEEK),
        ),
        Rule(
            key="rope_type", text="drops the scaling without a word: the table is the plain one",
            source=f"{_BRIDGE}/model_bridge.py:600-633", scaling=("ntk", "dynamic", "longrope", "proportional"),
            change=changes.after(changes.unscaled, changes.whole_head, changes.honoured_share),
        ),
        Rule(
            scaling="linear", key="factor",
            text="reads a linear scaling in the bridge of Llama alone: the table is the plain one",
            source=f"{_BRIDGE}, llama_bridge.py:72", change=changes.after(changes.unscaled, changes.no_factor),
            where=changes.not_of("llama"),
        ),
        Rule(
            scaling="llama3", key="low_freq_factor",
            text="has 1, 4 and 8192 for low_freq_factor, high_freq_factor and the original length, whatever the "
            "config says",
            source=f"{_CORE}/rotary_pos_embedding.py:91; llama_bridge.py:69", change=changes.built_in,
        ),
        stack.honoured_share(f"{_BRIDGE}/model_bridge.py:477", ("none", "linear", "llama3")),
    ),
)  # fmt: skip


# ----- torchtune: plain and Llama 3 tables from constructor arguments, read and not run

STACKS["torchtune"] = Stack(
    title="torchtune", version="0.6.1", scalings=("none", *SCALED, "proportional"), own_reader=True, run=False,
    conversion="arguments of its model builders, not config.json",
    rules=(
        Rule(
            key="rope_type", text="has plain and Llama 3 tables alone",
            source="torchtune/modules/position_embeddings.py, models/llama3_1/_position_embeddings.py",
            scaling=("linear", "dynamic", "yarn", "longrope", "proportional"), error="no such table",
        ),
        Rule(
            key="low_freq_factor",
            text="has 1, 4 and 8192 for low_freq_factor, high_freq_factor and the original length",
            source="torchtune/models/llama3_1/_position_embeddings.py", scaling="llama3", change=changes.built_in,
        ),
    ),
)  # fmt: skip
