"""llama.cpp: its converter to GGUF, and ggml's rotation."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from pecli.models import changes, common_rules
from pecli.models.config import number
from pecli.models.reading import Params, RawConfig
from pecli.models.stack import (
    BETAS,
    EVERY,
    INNER_ORIGINAL,
    NO_ATTENTION_FACTOR,
    NO_MSCALE,
    NO_SHARE,
    SCALED,
    Rule,
    Stack,
)
from pecli.numbers.decimals import CONTEXT, number_text

_CONVERTER = "llama.cpp conversion"
_UNSCALED = ("phi", "gpt_neox", "stablelm")  # their set_gguf_parameters does not call the base's
_LISTS = ("phi3", "phimoe", "minicpm", "minicpm3")
_DEEPSEEK2 = ("deepseek_v2", "deepseek_v3", "kimi_k2")
_RATIO = ("deepseek_v32", "mistral3", "ministral3")
_yarn = partial(Rule, scaling="yarn")


def _scales_all(written: RawConfig) -> bool:
    return written.model in _DEEPSEEK2 and bool(number(written.rope.get("mscale_all_dim")))


def _by_logarithm(params: Params, written: RawConfig) -> Params:
    """Return the magnitude 0.1 ln(L/O) + 1 of lists whose type says yarn."""
    if written.length is None:
        return params
    times = CONTEXT.divide(Decimal(written.length), Decimal(params["original-max"]))
    magnitude = CONTEXT.add(CONTEXT.multiply(Decimal("0.1"), times.ln(CONTEXT)), 1) if times > 1 else Decimal(1)
    return {**changes.without(params, "max-position"), "attention-factor": number_text(+magnitude)}


STACK = Stack(
    title="llama.cpp", version="0c1e57098 (2026-10-01)", scalings=("none", *EVERY), encodings=("alibi",),
    own_reader=True, words={"mrope": "default", "su": "longrope"}, conversion="a GGUF file by convert_hf_to_gguf.py",
    rules=(
        Rule(
            key="architectures", text="has no architecture Phi3VForCausalLM in its converter",
            source=f"{_CONVERTER}/phi.py",
            error="NotImplementedError: Architecture 'Phi3VForCausalLM' not supported!",
            where=lambda written: "Phi3VForCausalLM" in str(written.config.get("architectures")),
        ),
        Rule(
            key="rope_scaling", text="writes no scaling for Phi, GPT-NeoX and StableLM: the table is the plain one",
            source=f"{_CONVERTER}/phi.py:21, gptneox.py:20, stablelm.py:25", scaling=EVERY, change=changes.unscaled,
            where=changes.of(*_UNSCALED),
        ),
        Rule(
            key="partial_rotary_factor", text="turns the whole head of a Llama, whatever partial_rotary_factor says",
            source=f"{_CONVERTER}/llama.py", scaling=SCALED, change=changes.whole_head, where=changes.of("llama"),
            remedies=(NO_SHARE,),
        ),
        _yarn(
            key=changes.ORIGINAL, text="has no default for the original length", source=f"{_CONVERTER}/base.py:1474",
            error="set_gguf_parameters: KeyError: 'original_max_position_embeddings'", where=changes.no_original,
            remedies=(INNER_ORIGINAL,),
        ),
        _yarn(
            key="factor", text="writes no scaling where the factor is null: the table is the plain one",
            source=f"{_CONVERTER}/base.py:1470", change=changes.unscaled, where=changes.null("factor"),
        ),
        common_rules.inner_original(f"{_CONVERTER}/base.py:1376", ("yarn", "llama3", "longrope")),
        _yarn(
            key="mscale_all_dim",
            text="leaves cos and sin of DeepSeek models unscaled: the magnitudes of mscale and mscale_all_dim "
            "cancel",
            source="llama.cpp src/llama-context.cpp:185-198; pull request 17945", change=changes.magnitude_of_one,
            where=_scales_all,
        ),
        common_rules.ratio("llama.cpp src/llama-context.cpp:194; src/models/mistral3.cpp:9", where=changes.of(*_RATIO)),
        _yarn(
            key="attention_factor",
            text="computes the magnitude as 0.1 ln(factor) + 1, whatever attention_factor and mscale say",
            source=f"{_CONVERTER}/base.py:1477; src/llama-context.cpp:177-211; pull request 17945",
            change=changes.plain_magnitude,
            where=lambda written: not _scales_all(written) and written.model not in _RATIO,
            remedies=(NO_ATTENTION_FACTOR, NO_MSCALE),
        ),
        common_rules.whole_ends("ggml/src/ggml.c:4486, ggml_rope_yarn_corr_dims"),
        _yarn(
            key="beta_slow", text="takes a beta_slow of 0 as it is: the ramp ends at the last index",
            source=f"{_CONVERTER}/base.py:1479; ggml/src/ggml.c:4486",
            change=changes.giving(beta_slow="1e-60"),  # one too small to end the ramp before the last index
            where=lambda written: number(written.scaling.get("beta_slow")) == 0, remedies=(BETAS,),
        ),
        Rule(
            scaling="dynamic", key="rope_type",
            text="writes nothing of a dynamic scaling: the table is the plain one",
            source=f"{_CONVERTER}/base.py:1487", change=changes.unscaled,
        ),
        common_rules.absent_original(8192, f"{_CONVERTER}/llama.py:306-309", "llama3"),
        Rule(
            scaling="longrope", key="rope_type",
            text="writes the lists of Phi-3, PhiMoE, MiniCPM and MiniCPM3 alone: the table is the plain one",
            source=f"{_CONVERTER}/phi.py:178-212; src/llama-model.cpp:2345", change=changes.unscaled,
            where=changes.not_of(*_LISTS),
        ),
        Rule(
            scaling="longrope", key=changes.ORIGINAL,
            text="takes the long factors at every position when the context is longer than the original, else the "
            "short ones; the magnitude follows the ratio of the lengths alone",
            source=f"{_CONVERTER}/phi.py:178-212; src/llama-model.cpp:2345; issue 8995",
            change=changes.after(changes.magnitude_by_lengths, changes.by_served_length), where=changes.of(*_LISTS),
        ),
        Rule(
            scaling="longrope", key="type",
            text="takes 0.1 ln(L/O) + 1 as the magnitude of lists whose type says yarn",
            source=f"{_CONVERTER}/phi.py:178-212", change=_by_logarithm,
            where=lambda written: changes.type_of(written.scaling) == "yarn" and written.model in _LISTS,
        ),
        Rule(
            scaling="proportional", key="rope_type",
            text="knows rope type proportional for Gemma 4 alone: the table is the plain one",
            source=f"{_CONVERTER}/gemma.py:730-762", change=changes.after(changes.unscaled, changes.whole_head),
            where=changes.not_of("gemma4_text", "gemma4"),
        ),
    ),
)  # fmt: skip
