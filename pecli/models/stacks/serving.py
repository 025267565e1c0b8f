"""Engines that serve models on PyTorch: vLLM and its kin, and the ExLlamas."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from pecli.models import changes, stack
from pecli.models.config import number
from pecli.models.families import rotary_family
from pecli.models.reading import ORIGINAL, Params, RawConfig
from pecli.models.stack import EVERY, SCALED, Rule, Stack
from pecli.numbers.decimals import CONTEXT, number_text

STACKS: dict[str, Stack] = {}
_yarn = partial(Rule, scaling="yarn")


# ----- vLLM: its rotary classes, behind transformers' config classes

_VLLM = "vllm/model_executor/layers/rotary_embedding"
_FOREIGN = ("phi", "gpt_neox", "glm", "olmo", "olmo2", "olmo3")
_vllm_dynamic = partial(Rule, scaling="dynamic", source=f"{_VLLM}/dynamic_ntk_scaling_rope.py:52-66")


def _four_times(params: Params, written: RawConfig) -> Params:
    return {**params, "original-max": str(4 * int(params["original-max"]))}


def _trained(params: Params, written: RawConfig) -> Params:
    """Return dynamic NTK for the served length over the trained one; plain where no key gives the trained length."""
    trained = number(written.rope.get("max_trained_positions"))
    if trained is None or written.length is None:
        return changes.unscaled(params, written)
    return {**params, "max-position": str(int(trained)), "seq-len": str(written.length)}


def _alpha(params: Params, written: RawConfig) -> Params:
    alpha = number(written.rope.get("alpha"))
    ntk = {"scaling": "ntk", "factor": number_text(alpha or 1)}
    return params if alpha is None else {**changes.unscaled(params, written), **ntk}


def _nested_truncate(params: Params, written: RawConfig) -> Params:
    return {**params, "truncate": "false"} if written.rope.get("truncate") is False else params


def _names_differ(written: RawConfig) -> bool:
    """Whether type and rope_type name different types; old names of one type do not."""
    names = {str(written.scaling[key]) for key in ("type", "rope_type") if key in written.scaling}
    same = ({"su", "longrope"}, {"mrope", "default"})
    return len(names) == 2 and names not in same


STACKS["vllm"] = Stack(
    title="vLLM", version="0.33.0", scalings=("none", *EVERY), words={"mrope": "default"},
    rules=(
        Rule(
            key="type", text="refuses a type and a rope_type that differ",
            source="vllm/transformers_utils/config.py, patch_legacy_rope_type",
            error="ValueError: Found conflicts between 'rope_type' and 'type'", where=_names_differ,
        ),
        _yarn(
            key="attention_factor",
            text="computes the magnitude as 0.1 ln(factor) + 1, whatever attention_factor and mscale say",
            source=f"{_VLLM}/yarn_scaling_rope.py; issues 46280, 48351, pull request 56446",
            change=changes.plain_magnitude, where=changes.not_of(*changes.DEEPSEEK, "gpt_oss"), until="0.30.0",
            checked="0.29.0",
        ),
        stack.ratio(
            "vllm/model_executor/models/deepseek_v2.py:542; deepseek_scaling_rope.py",
            where=changes.of(*changes.DEEPSEEK),
        ),
        _yarn(
            key="attention_factor",
            text="hands no attention_factor and no mscale on to gpt-oss: the magnitude is 0.1 ln(factor) + 1",
            source="vllm/model_executor/models/gpt_oss.py:115", change=changes.plain_magnitude,
            where=changes.of("gpt_oss"), remedies=(stack.NO_ATTENTION_FACTOR, stack.NO_MSCALE),
        ),
        stack.null_betas(f"{_VLLM}/yarn_scaling_rope.py:60-70"),
        stack.null_factor(f"{_VLLM}/yarn_scaling_rope.py"),
        _yarn(
            key="mrope_section",
            text="computes the ramp's ends from four times the original length where position streams share it",
            source=f"{_VLLM}/mrope.py:351-355, 369", change=_four_times,
            where=lambda written: changes.sections(written) and not written.model.startswith("qwen3_5"),
        ),
        _yarn(
            key="truncate", text="reads truncate beside the other keys of a kind of layer",
            source=f"{_VLLM}/__init__.py, get_rope", change=_nested_truncate, where=changes.not_of(*changes.DEEPSEEK),
            remedies=(stack.NO_TRUNCATE,),
        ),
        _vllm_dynamic(
            key="alpha", text="takes alpha before factor: one base at every length", change=_alpha,
            where=changes.given("alpha"),
        ),
        _vllm_dynamic(
            key="factor",
            text="raises the base by max_trained_positions, which is max_position_embeddings where it is not "
            "given: then the table is the plain one",
            change=_trained, since="0.22.1",
        ),
        _vllm_dynamic(
            key="factor", text="computes one base for max_position_embeddings times the factor, at every length",
            change=changes.base_of_longest, until="0.22.1", checked="0.22.0",
        ),
        stack.whole_factor(f"{_VLLM}/linear_scaling_rope.py:70"),
        Rule(
            scaling="longrope", key="original_max_position_embeddings",
            text="takes the long factors at every position when it serves more than the original length, else the "
            "short ones; the magnitude follows the ratio of the lengths, or short_mscale and long_mscale",
            source=f"{_VLLM}/phi3_long_rope_scaled_rope.py:54-78",
            change=changes.after(changes.magnitude_by_mscales, changes.by_served_length),
        ),
        Rule(
            scaling="longrope", key="original_max_position_embeddings",
            text="serves the top-level original length alone, with the short factors, unless --max-model-len asks "
            "for more: the table here is that of --max-model-len max_position_embeddings",
            source="vllm/config/model.py:2643-2650",
            where=lambda written: "original_max_position_embeddings" in written.config,
        ),
        stack.honoured_share(
            f"{_VLLM}/__init__.py, get_rope", where=lambda written: changes.type_of(written.rope) == "default"
        ),
        Rule(
            key="model_type",
            text="has no class of its own for this model and runs transformers' code: then the table is "
            "transformers', and the one here is what vLLM's own layers make of the config",
            source="vllm/model_executor/models/registry.py:752-764", scaling=SCALED, where=changes.of(*_FOREIGN),
        ),
        Rule(
            scaling="proportional", key="factor", text="divides by no factor with rope type proportional",
            source=f"{_VLLM}/gemma4_rope.py", change=changes.no_factor, remedies=(stack.NO_FACTOR,),
        ),
    ),
)  # fmt: skip


# ----- SGLang: its rotary classes, behind transformers' config classes

_SGLANG = "sglang/srt/layers/rotary_embedding"
_sglang_yarn = partial(Rule, scaling="yarn", source=f"{_SGLANG}/factory.py:310-390, yarn.py:122")

STACKS["sglang"] = Stack(
    title="SGLang", version="0.5.23", scalings=("none", *EVERY), words={"mrope": "default"},
    rules=(
        Rule(
            key="type", text="knows no rope type mrope where transformers does not read it as default",
            source=f"{_SGLANG}/factory.py", error="ValueError: Unknown RoPE scaling type mrope",
            where=changes.foreign_mrope,
        ),
        _sglang_yarn(
            key="attention_factor",
            text="drops attention_factor, and takes mscale over mscale_all_dim where both are given, 0 too",
            change=changes.ratio_of_both,
            where=lambda written: changes.not_of(*changes.DEEPSEEK)(written) and not changes.sections(written),
            remedies=(stack.NO_ATTENTION_FACTOR, stack.NO_MSCALE),
        ),
        _sglang_yarn(
            key="mrope_section",
            text="reads no mscale where position streams share the frequencies: the magnitude is 0.1 ln(factor) + 1",
            change=changes.plain_magnitude, where=changes.sections, remedies=(stack.NO_MSCALE,),
        ),
        stack.ratio("sglang/srt/models/deepseek_v2.py:2066", where=changes.of(*changes.DEEPSEEK)),
        stack.null_betas(f"{_SGLANG}/factory.py:310-390, yarn.py:122"),
        stack.null_factor(f"{_SGLANG}/yarn.py"),
        stack.honoured_share(
            "sglang/srt/models/llama.py:199",
            where=changes.both(changes.of("llama", "mistral"), changes.top_level_share),
        ),
        Rule(
            scaling="dynamic", key="factor",
            text="computes one base for max_position_embeddings times the factor, at every length",
            source=f"{_SGLANG}/rope_variant.py:881", change=changes.base_of_longest,
            where=lambda written: not changes.given("alpha")(written),
        ),
        stack.whole_factor(f"{_SGLANG}/base.py:640"),
        Rule(
            scaling="longrope", key="attention_factor",
            text="takes the long factors for a whole batch as soon as one position exceeds the original length; "
            "the magnitude follows the ratio of the lengths, or short_mscale and long_mscale",
            source=f"{_SGLANG}/rope_variant.py:69-150", change=changes.magnitude_by_mscales,
            remedies=(stack.NO_ATTENTION_FACTOR, stack.NO_FACTOR),
        ),
        Rule(
            scaling="proportional", key="factor", text="divides by no factor with rope type proportional",
            source=f"{_SGLANG}/factory.py", change=changes.no_factor, remedies=(stack.NO_FACTOR,),
        ),
        Rule(
            key="rope_scaling",
            text="drops the scaling of Gemma 3's global layers on a CPU (AMX); a GPU runs transformers' functions",
            source="sglang/srt/models/gemma3_causal.py:216, 418-441", scaling=SCALED, where=changes.of("gemma3_text"),
        ),
    ),
)  # fmt: skip


# ----- LMDeploy's PyTorch engine: its rotary classes, behind transformers' config classes

_LMDEPLOY = "lmdeploy/pytorch/nn/rotary_embedding.py; backends/default/rotary_embedding.py"
_LMDEPLOY_LACKS = ("olmo", "olmo2", "olmo3", "olmoe", "olmo_hybrid", "flex_olmo")
"""Models of which no class is in its module map."""
_lmdeploy_longrope = partial(Rule, scaling="longrope", source=_LMDEPLOY)


def _without_alpha(params: Params, written: RawConfig) -> Params:
    factor = number(written.rope.get("factor"))
    more = {"scaling": "dynamic", "factor": number_text(factor or 1), "max-position": str(written.length)}
    return {**changes.unscaled(params, written), **more}


def _declared(params: Params, written: RawConfig) -> Params:
    """Return the declared length for the original one."""
    return params if written.length is None else {**params, "original-max": str(written.length)}


def _original_at_top(written: RawConfig) -> bool:
    """Whether the original length is a top-level key of a class that has no such field."""
    family = rotary_family(written.model)
    field = written.model in ("phimoe", "minicpm3") or (family is not None and family.option("original"))
    return changes.no_inner_original(written) and not changes.no_original(written) and not field


STACKS["lmdeploy"] = Stack(
    title="LMDeploy", version="1263d5cd8 (2026-08-21)", scalings=("none", *EVERY), words={"mrope": "default"},
    rules=(
        Rule(
            key="model_type", text="has no such model", source="lmdeploy/pytorch/models/module_map.py, patch.py:196",
            error="RuntimeError: Can not found rewrite for architectures", where=changes.of(*_LMDEPLOY_LACKS),
        ),
        stack.null_betas(_LMDEPLOY),
        stack.null_factor(_LMDEPLOY),
        stack.inner_original(_LMDEPLOY, ("yarn", "llama3")),
        Rule(
            scaling="ntk", key="alpha",
            text="reads no alpha: the base follows factor and the longest position of the call", source=_LMDEPLOY,
            change=_without_alpha, where=changes.given("alpha"),
        ),
        _lmdeploy_longrope(
            key=ORIGINAL,
            text="takes max_position_embeddings for an original length that stands at the top level of this model",
            change=_declared, where=_original_at_top, remedies=(stack.INNER_ORIGINAL,),
        ),
        _lmdeploy_longrope(
            key="attention_factor",
            text="reads no attention_factor, factor, short_mscale or long_mscale: the magnitude follows the ratio "
            "of the lengths",
            change=changes.magnitude_by_lengths, remedies=(stack.NO_ATTENTION_FACTOR, stack.NO_FACTOR),
        ),
        Rule(
            scaling="proportional", key="rope_type", text="has no rope type proportional", source=_LMDEPLOY,
            error="KeyError: 'proportional'",
        ),
        stack.honoured_share(_LMDEPLOY, where=lambda written: changes.type_of(written.rope) == "default"),
    ),
)  # fmt: skip


# ----- TensorRT-LLM: RopeParams and RopeEmbeddingUtils, read and not run

_TENSORRT = "tensorrt_llm/_torch/attention_backend/interface.py, RopeParams.from_config"

STACKS["tensorrt-llm"] = Stack(
    title="TensorRT-LLM", version="unknown (a stored file)", scalings=("none", "yarn", "longrope", "llama3"),
    run=False,
    rules=(
        stack.null_factor(_TENSORRT),
        stack.ratio(_TENSORRT),
        stack.whole_ends(_TENSORRT),
        stack.absent_original(1024, _TENSORRT, ("yarn", "llama3")),
        Rule(
            key="low_freq_factor", scaling="llama3",
            text="has 1 and 4 for low_freq_factor and high_freq_factor, whatever the config says", source=_TENSORRT,
            change=changes.giving(low_freq_factor="1", high_freq_factor="4"),
        ),
        Rule(
            key="max_position_embeddings", scaling="longrope",
            text="takes the long factors unless the longest sequence is at most the original length; the magnitude "
            "follows the ratio of the lengths alone",
            source=_TENSORRT, change=changes.after(changes.magnitude_by_lengths, changes.by_served_length),
        ),
    ),
)  # fmt: skip


# ----- Text Generation Inference (archived): layers/rotary.py, read and not run

_TGI = "server/text_generation_server/layers/rotary.py"

STACKS["tgi"] = Stack(
    title="Text Generation Inference", version="db931fcf (2026-01-08, archived)", scalings=("none", *SCALED), run=False,
    conversion="config.json; ROPE_SCALING and ROPE_FACTOR of the environment override it",
    rules=(
        stack.null_factor(_TGI),
        stack.ratio(_TGI),
        Rule(
            key="original_max_position_embeddings", scaling="llama3", text="has no default for the original length",
            source=_TGI, error="KeyError: 'original_max_position_embeddings'", where=changes.no_original,
        ),
        Rule(
            key="short_factor", scaling="longrope",
            text="takes rows below the original length from the short list and the others from the long one",
            source=_TGI, error="two tables in one, which no recipe gives",
        ),
    ),
)  # fmt: skip


# ----- ExLlamaV2: rope.py, with the settings of its config.py

_EXLLAMA2 = "exllamav2/rope.py; config.py:383-412"
_exllama2_yarn = partial(Rule, scaling="yarn", source=_EXLLAMA2)
_exllama2_longrope = partial(Rule, scaling="longrope", source=_EXLLAMA2)


def _ramp_of_length(params: Params, written: RawConfig) -> Params:
    """Return YaRN with a ramp by the served length, and plain betas and magnitude."""
    if written.length is None:
        return params
    found = changes.without(changes.plain_magnitude(params, written), "beta-fast", "beta-slow", "truncate")
    return {**found, "original-max": str(written.length)}


def _short_unscaled(params: Params, written: RawConfig) -> Params:
    """Return a magnitude of 1 with the short list."""
    short = changes.short(params, written)
    return {**changes.without(params, "max-position"), "attention-factor": "1"} if short else params


def _longer(written: RawConfig) -> bool:
    """Whether the longest sequence exceeds the original length: only then is the factor reckoned with."""
    original = number(written.scaling.get(ORIGINAL))
    return original is None or written.length is None or written.length > original


def _two_types(written: RawConfig) -> bool:
    """Whether the file has both type keys; for a word of older releases, the reader has added the other."""
    kind = written.scaling.get("type")
    return written.style == "rope_scaling" and kind not in (None, "su", "mrope") and "rope_type" in written.scaling


STACKS["exllamav2"] = Stack(
    title="ExLlamaV2", version="0.3.2", scalings=("none", *EVERY), own_reader=True,
    words={"mrope": "default", "su": "longrope"},
    rules=(
        Rule(
            key="rope_parameters", text="reads no rope_parameters: theta is 10000, and the scaling is dropped",
            source=_EXLLAMA2, change=changes.old_keys("10000"), where=changes.new_keys, remedies=(stack.OLD_STYLE,),
        ),
        Rule(
            key=ORIGINAL, scaling=("yarn", "llama3"),
            text="looks for the original length inside the scaling alone", source=_EXLLAMA2,
            error="KeyError: 'original_max_position_embeddings'", where=changes.no_inner_original,
            remedies=(stack.INNER_ORIGINAL,),
        ),
        stack.inner_original(_EXLLAMA2, ("yarn", "llama3")),
        stack.null_factor(_EXLLAMA2, where=lambda written: _longer(written)),
        stack.honoured_share("exllamav2/config.py:381; rope.py", where=changes.old_share),
        Rule(
            key="type", text="takes one of type and rope_type, not both", source=_EXLLAMA2,
            error="AssertionError: rope_scaling key has both `type` and `rope_type` subkeys",
            where=_two_types,
            remedies=(stack.ONE_TYPE,),
        ),
        _exllama2_yarn(
            key="max_position_embeddings", text="scales only when the longest sequence exceeds the original length",
            change=changes.unscaled_when_short,
        ),
        _exllama2_yarn(
            key=ORIGINAL,
            text="computes the ramp's ends from the longest sequence instead of the original length, and reads no "
            "attention_factor, mscale, beta or truncate",
            change=_ramp_of_length,
        ),
        Rule(
            scaling=("dynamic", "ntk", "proportional"), key="rope_type",
            text="ignores this rope type: the table is the plain one (its NTK alpha is the user's to give)",
            source=_EXLLAMA2, change=changes.unscaled,
        ),
        _exllama2_longrope(
            key=ORIGINAL, text="looks for the original length at the top level alone",
            error="TypeError: '>' not supported between instances of 'int' and 'NoneType'",
            where=lambda written: written.config.get(ORIGINAL) is None, remedies=(stack.INNER_ORIGINAL,),
        ),
        _exllama2_longrope(
            key=ORIGINAL,
            text="takes the long factors at every position when the longest sequence exceeds the original length, "
            "else the short ones with a magnitude of 1; the magnitude follows the ratio of the lengths alone",
            change=changes.after(changes.magnitude_by_lengths, changes.by_served_length, _short_unscaled),
        ),
    ),
)  # fmt: skip


# ----- ExLlamaV3: util/rope.py, with the settings that its own Config reads

_EXLLAMA3 = "exllamav3/util/rope.py"
_EXLLAMA3_RATIO = ("deepseek_v3", "deepseek_v32", "kimi_k2")
"""Models whose mscale and mscale_all_dim it reads: one architecture."""
_BY_KIND = ("gemma4", "laguna")  # models whose parameters it reads by kind of layer: architecture/gemma4.py, laguna.py
_GIVEN, _BETA = changes.given("attention_factor"), changes.given("llama_4_scaling_beta")
_OTHERWISE = changes.given("attention_factor", "llama_4_scaling_beta")
_exllama3_yarn = partial(Rule, scaling="yarn", source=f"{_EXLLAMA3}:284-330")


def _factor_of_lengths(params: Params, written: RawConfig) -> Params:
    """Return YaRN with L/O as its factor; plain where they are equal."""
    if written.length is None:
        return params
    times = CONTEXT.divide(Decimal(written.length), Decimal(params["original-max"]))
    return {**params, "factor": number_text(times)}


def _share_outside(params: Params, written: RawConfig) -> Params:
    """Return the share at the top level, which wins over the one in rope_parameters."""
    share = number(written.config.get("partial_rotary_factor"))
    if share is None:
        return params
    width = int(written.head * float(share))
    return {**changes.without(params, "rotary-dim"), **({} if width == written.head else {"rotary-dim": str(width)})}


def _plain(params: Params, written: RawConfig) -> Params:
    """Return the plain table of the top-level rope_theta; Gemma 3 has separate bases."""
    return (changes.unscaled if written.model == "gemma3_text" else changes.old_keys("10000"))(params, written)


def _nested(written: RawConfig) -> bool:
    found = written.config.get("rope_parameters")
    if written.model.startswith(_BY_KIND):
        return False
    return isinstance(found, dict) and any(isinstance(value, dict) for value in found.values())


STACKS["exllamav3"] = Stack(
    title="ExLlamaV3", version="1.6.5", scalings=("none", *EVERY), own_reader=True,
    words={"mrope": "default", "su": "longrope"},
    rules=(
        Rule(
            scaling=("dynamic", "ntk"), key="rope_type", text="has no rope type dynamic", source=_EXLLAMA3,
            error="ValueError: Unknown rope_type: dynamic",
        ),
        Rule(
            key="rope_parameters", text="reads no parameters by kind of layer: the table is the plain one",
            source=_EXLLAMA3, change=_plain, where=_nested,
        ),
        stack.null_betas(
            f"{_EXLLAMA3}:284-330", "TypeError: float() argument must be a string or a real number, not 'NoneType'"
        ),
        stack.inner_original(f"{_EXLLAMA3}:284-330", "yarn"),
        stack.null_factor(
            f"{_EXLLAMA3}:284-330", where=lambda written: written.scaling.get(ORIGINAL) is None
        ),
        _exllama3_yarn(
            key="factor",
            text="takes max_position_embeddings over the original length for the factor, whatever the key says",
            change=_factor_of_lengths, where=lambda written: not changes.no_original(written),
        ),
        _exllama3_yarn(
            key="mscale", text="reads mscale and mscale_all_dim for DeepSeek-V3's architecture alone",
            change=changes.plain_magnitude,
            where=lambda written: written.model not in _EXLLAMA3_RATIO and not _OTHERWISE(written),
            remedies=(stack.NO_MSCALE,),
        ),
        _exllama3_yarn(
            key="llama_4_scaling_beta", text="leaves cos and sin unscaled where llama_4_scaling_beta is set",
            change=changes.magnitude_of_one,
            where=lambda written: _BETA(written) and not _GIVEN(written),
        ),
        Rule(
            scaling="longrope", key=ORIGINAL,
            text="takes the long factors at every position when the configured length exceeds the original one, "
            "else the short ones; the magnitude follows the ratio of the lengths alone",
            source=_EXLLAMA3, change=changes.after(changes.magnitude_by_lengths, changes.by_served_length),
        ),
        stack.absent_original(8192, _EXLLAMA3, "llama3"),
        stack.honoured_share(_EXLLAMA3),
        Rule(
            key="partial_rotary_factor",
            text="takes partial_rotary_factor at the top level before the one in rope_parameters", source=_EXLLAMA3,
            change=_share_outside, where=changes.both(changes.new_keys, changes.of("phi")), remedies=(stack.NO_SHARE,),
        ),
    ),
)  # fmt: skip
