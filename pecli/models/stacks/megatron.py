"""Megatron-core: its rotary classes, with the arguments that Megatron-Bridge makes of a config."""

from __future__ import annotations

from functools import partial

from pecli.models import changes, common_rules
from pecli.models.config import number
from pecli.models.reading import RawConfig
from pecli.models.stack import BETAS, EVERY, NO_ATTENTION_FACTOR, NO_MSCALE, Rule, Stack

_CORE = "megatron/core/models/common/embeddings"
_BRIDGE = "Megatron-Bridge 067f987df conversion"
_OWN_BRIDGES = ("gemma3_text", "gemma4_text", "exaone4", "exaone_moe")  # not run
_yarn = partial(Rule, scaling="yarn")


def _zero_beta(written: RawConfig) -> bool:
    return any(number(written.scaling.get(name)) == 0 for name in ("beta_fast", "beta_slow"))


STACK = Stack(
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
            error="ZeroDivisionError: float division by zero", where=_zero_beta, remedies=(BETAS,),
        ),
        common_rules.null_factor(f"{_CORE}/yarn_rotary_pos_embedding.py"),
        common_rules.inner_original(f"{_BRIDGE}/model_bridge.py:600-633", "yarn"),
        _yarn(
            key="mscale",
            text="reads no attention_factor, and takes mscale over mscale_all_dim where both are given, 0 too",
            source=f"{_CORE}/yarn_rotary_pos_embedding.py:267; gpt_provider.py:156", change=changes.ratio_of_both,
            where=changes.not_of(*changes.DEEPSEEK), remedies=(NO_ATTENTION_FACTOR, NO_MSCALE),
        ),
        common_rules.ratio("megatron/core/transformer/transformer_config.py:2948", where=changes.of(*changes.DEEPSEEK)),
        common_rules.whole_ends(f"{_BRIDGE}/model_bridge.py:621", where=changes.of(*changes.DEEPSEEK)),
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
        common_rules.honoured_share(f"{_BRIDGE}/model_bridge.py:477", ("none", "linear", "llama3")),
    ),
)  # fmt: skip
