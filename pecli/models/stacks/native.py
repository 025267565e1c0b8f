"""Programs with tensor code of their own: llama.cpp, MLX, candle and others."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from pecli.models import changes, stack
from pecli.models.config import number
from pecli.models.reading import ORIGINAL, Params, RawConfig, Where
from pecli.models.stack import EVERY, SCALED, Rule, Stack
from pecli.numbers.decimals import CONTEXT, number_text

STACKS: dict[str, Stack] = {}
_yarn = partial(Rule, scaling="yarn")


# ----- llama.cpp: its converter to GGUF, and ggml's rotation

_CONVERTER = "llama.cpp conversion"
_LLAMA_CPP_UNSCALED = ("phi", "gpt_neox", "stablelm")  # their set_gguf_parameters does not call the base's
_LISTS = ("phi3", "phimoe", "minicpm", "minicpm3")
_DEEPSEEK2 = ("deepseek_v2", "deepseek_v3", "kimi_k2")
_RATIO = ("deepseek_v32", "mistral3", "ministral3")


def _scales_all(written: RawConfig) -> bool:
    return written.model in _DEEPSEEK2 and bool(number(written.rope.get("mscale_all_dim")))


def _by_logarithm(params: Params, written: RawConfig) -> Params:
    """Return the parameters with magnitude 0.1 ln(L/O) + 1, for frequency lists of type yarn."""
    if written.length is None:
        return params
    times = CONTEXT.divide(Decimal(written.length), Decimal(params["original-max"]))
    magnitude = CONTEXT.add(CONTEXT.multiply(Decimal("0.1"), times.ln(CONTEXT)), 1) if times > 1 else Decimal(1)
    return {**changes.without(params, "max-position"), "attention-factor": number_text(+magnitude)}


STACKS["llama.cpp"] = Stack(
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
            where=changes.of(*_LLAMA_CPP_UNSCALED),
        ),
        Rule(
            key="partial_rotary_factor", text="turns the whole head of a Llama, whatever partial_rotary_factor says",
            source=f"{_CONVERTER}/llama.py", scaling=SCALED, change=changes.whole_head, where=changes.of("llama"),
            remedies=(stack.NO_SHARE,),
        ),
        _yarn(
            key=ORIGINAL, text="has no default for the original length", source=f"{_CONVERTER}/base.py:1474",
            error="set_gguf_parameters: KeyError: 'original_max_position_embeddings'", where=changes.no_original,
            remedies=(stack.INNER_ORIGINAL,),
        ),
        _yarn(
            key="factor", text="writes no scaling where the factor is null: the table is the plain one",
            source=f"{_CONVERTER}/base.py:1470", change=changes.unscaled, where=changes.null("factor"),
        ),
        stack.inner_original(f"{_CONVERTER}/base.py:1376", ("yarn", "llama3", "longrope")),
        _yarn(
            key="mscale_all_dim",
            text="leaves cos and sin of DeepSeek models unscaled: the magnitudes of mscale and mscale_all_dim "
            "cancel",
            source="llama.cpp src/llama-context.cpp:185-198; pull request 17945", change=changes.magnitude_of_one,
            where=_scales_all,
        ),
        stack.ratio("llama.cpp src/llama-context.cpp:194; src/models/mistral3.cpp:9", where=changes.of(*_RATIO)),
        _yarn(
            key="attention_factor",
            text="computes the magnitude as 0.1 ln(factor) + 1, whatever attention_factor and mscale say",
            source=f"{_CONVERTER}/base.py:1477; src/llama-context.cpp:177-211; pull request 17945",
            change=changes.plain_magnitude,
            where=lambda written: not _scales_all(written) and written.model not in _RATIO,
            remedies=(stack.NO_ATTENTION_FACTOR, stack.NO_MSCALE),
        ),
        stack.whole_ends("ggml/src/ggml.c:4486, ggml_rope_yarn_corr_dims"),
        _yarn(
            key="beta_slow", text="takes a beta_slow of 0 as it is: the ramp ends at the last index",
            source=f"{_CONVERTER}/base.py:1479; ggml/src/ggml.c:4486",
            change=changes.giving(beta_slow="1e-60"),  # one too small to end the ramp before the last index
            where=lambda written: number(written.scaling.get("beta_slow")) == 0, remedies=(stack.BETAS,),
        ),
        Rule(
            scaling="dynamic", key="rope_type",
            text="writes nothing of a dynamic scaling: the table is the plain one",
            source=f"{_CONVERTER}/base.py:1487", change=changes.unscaled,
        ),
        stack.absent_original(8192, f"{_CONVERTER}/llama.py:306-309", "llama3"),
        Rule(
            scaling="longrope", key="rope_type",
            text="writes the lists of Phi-3, PhiMoE, MiniCPM and MiniCPM3 alone: the table is the plain one",
            source=f"{_CONVERTER}/phi.py:178-212; src/llama-model.cpp:2345", change=changes.unscaled,
            where=changes.not_of(*_LISTS),
        ),
        Rule(
            scaling="longrope", key=ORIGINAL,
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


# ----- Ollama: its converter, read and not run

_OLLAMA = "convert"


def _deepseek(params: Params, written: RawConfig) -> Params:
    scaled = number(written.rope.get("mscale_all_dim"))
    magnitude = changes.magnitude_of_one if scaled else changes.plain_magnitude
    return changes.whole_ends(magnitude(params, written), written)


STACKS["ollama"] = Stack(
    title="Ollama", version="fb3076099 (2026-08-21)", scalings=("none", *SCALED),
    models=("llama", "gpt_oss", "gemma3_text", "mistral3", "ministral3", *changes.DEEPSEEK), own_reader=True, run=False,
    conversion="a GGUF file by its own converter, ollama create",
    rules=(
        Rule(
            key="rope_type",
            text="reads linear (by the key type) and llama3 alone for Llama: the table is the plain one",
            source=f"{_OLLAMA}/convert_llama.go", scaling=("dynamic", "yarn", "longrope"), change=changes.unscaled,
            where=changes.of("llama"),
        ),
        Rule(
            key="rope_type", text="reads a linear scaling by the key type alone: the table is the plain one",
            source=f"{_OLLAMA}/convert_llama.go", scaling="linear", change=changes.unscaled,
            where=lambda written: written.model == "llama" and "type" not in written.scaling,
        ),
        Rule(
            key="mscale_all_dim",
            text="leaves cos and sin of DeepSeek models unscaled where mscale_all_dim is given, and rounds the "
            "ramp's ends, as llama.cpp does",
            source=f"{_OLLAMA}/convert_deepseek2.go", scaling="yarn", change=_deepseek,
            where=changes.of(*changes.DEEPSEEK),
        ),
        Rule(
            key="attention_factor",
            text="hands on factor, original length and betas alone: the magnitude is 0.1 ln(factor) + 1, and the "
            "ramp's ends are rounded",
            source=f"{_OLLAMA}/convert_gptoss.go", scaling="yarn",
            change=changes.after(changes.plain_magnitude, changes.whole_ends),
            where=changes.of("gpt_oss", "gemma3_text"),
        ),
        Rule(
            key="beta_fast", text="takes 64 for a beta_fast of Gemma 3 that is absent",
            source=f"{_OLLAMA}/convert_gemma3.go", scaling="yarn",
            change=lambda params, written: {**params, "beta-fast": params.get("beta-fast", "64")},
            where=changes.of("gemma3_text"), remedies=(stack.BETAS,),
        ),
    ),
)  # fmt: skip


# ----- mlx-lm: each model's own attention class

_MLX = "mlx-lm mlx_lm/models"
_UTILS = f"{_MLX}/rope_utils.py"
_NEW = (
    "exaone_moe", "gemma4_text", "glm_moe_dsa", "granitemoehybrid", "laguna", "lfm2", "lfm2_moe", "mellum",
    "minimax_m3_vl", "ministral3", "mistral4", "olmo_hybrid", "qwen3", "qwen3_5_text", "spark2_5",
)  # fmt: skip
"""Models whose classes read rope_parameters (muse_* besides)."""
_BASES = {
    "llama": "10000", "mistral": "10000", "deepseek_v3": "10000", "phi3": "10000", "phi": "10000", "qwen2": "1000000",
    "mixtral": "1000000", "minicpm3": "1000000", "gpt_oss": "150000",
}  # fmt: skip
"""Bases of the classes where rope_theta is absent."""
_MLX_UNSCALED = ("phi", "gpt_neox", "stablelm", "glm", "glm4", "cohere", "cohere2", "nemotron")
"""Models with nn.RoPE, which has no scaling."""
_WHOLE = ("llama", "mistral", "qwen2")  # mistral is run by llama's class
_OWN_LISTS = ("phi3", "phimoe", "minicpm3")

_mlx_longrope = partial(Rule, scaling="longrope", source=f"{_UTILS}:10-60")


def _reads_new(written: RawConfig) -> bool:
    return written.model in _NEW or written.model.startswith("muse_")


def _ignores_new(written: RawConfig) -> bool:
    return changes.new_keys(written) and not _reads_new(written)


def _without_known_base(written: RawConfig) -> bool:
    known = written.model in (*_BASES, "gemma3_text", "olmo3") or "rope_theta" in written.config
    return _ignores_new(written) and not known


def _class_defaults(params: Params, written: RawConfig) -> Params:
    if written.model == "gemma3_text":
        sliding = written.kind == "sliding_attention"
        return {**changes.unscaled(params, written), "base": "10000" if sliding else "1000000"}
    return changes.old_keys(_BASES.get(written.model, "10000"))(params, written)


def _own_base(params: Params, written: RawConfig) -> Params:
    return {**params, "base": _BASES[written.model]}


def _by_long_mscale(params: Params, written: RawConfig) -> Params:
    value = number(written.rope.get("long_mscale"))
    found = changes.always_long(params, written)
    if value is None:
        return found
    return {**changes.without(found, "max-position"), "attention-factor": number_text(value)}


def _odd_share(written: RawConfig) -> bool:
    share = number(written.config.get("partial_rotary_factor"))
    if share is None or written.model in _WHOLE or not _ignores_new(written):
        return False
    return int(written.head * float(share)) % 2 == 1


STACKS["mlx"] = Stack(
    title="mlx-lm", version="0.32.2", scalings=("none", *EVERY), encodings=("alibi",), own_reader=True,
    words={"mrope": "default", "su": "longrope"},
    rules=(
        Rule(
            key="rope_parameters",
            text="reads no rope_parameters for this model, whose class has no default for rope_theta",
            source=f"{_MLX}/olmo3.py",
            error="TypeError: ModelArgs.__init__() missing 1 required positional argument: 'rope_theta'",
            where=lambda w: _ignores_new(w) and w.model == "olmo3" and "rope_theta" not in w.config,
            remedies=(stack.OLD_STYLE,),
        ),
        Rule(
            key="rope_parameters", text="reads no rope_parameters for this model", source=f"{_MLX}/llama.py:30",
            error="what its class takes for rope_theta is not known", where=_without_known_base,
            remedies=(stack.OLD_STYLE,),
        ),
        Rule(
            key="rope_parameters",
            text="turns an even number of columns only, and reads no rope_parameters for this model",
            source="mlx fast.rope", error="ValueError: [rope] dims must be even but got an odd width",
            where=_odd_share,
        ),
        Rule(
            key="rope_parameters",
            text="reads no rope_parameters for this model: theta is the class's default, and the scaling is dropped",
            source=f"{_MLX}/llama.py:30", change=_class_defaults, where=_ignores_new, remedies=(stack.OLD_STYLE,),
        ),
        Rule(
            key="rope_theta", text="has a default of its own for a rope_theta that is absent",
            source=f"{_MLX}/minicpm3.py:33", change=_own_base,
            where=lambda w: w.model in _BASES and "rope_theta" not in w.config and "rope_theta" not in w.scaling,
        ),
        Rule(
            key="rope_scaling", text="has no scaling for this model: the table is the plain one",
            source=f"{_MLX}, nn.RoPE", scaling=EVERY, change=changes.unscaled, where=changes.of(*_MLX_UNSCALED),
        ),
        Rule(
            key="rope_scaling", text="takes the linear type alone for Qwen2-MoE", source=f"{_MLX}/qwen2_moe.py:42",
            scaling=("ntk", "dynamic", "yarn", "longrope", "llama3", "proportional"),
            error="ValueError: rope_scaling 'type' currently only supports 'linear'", where=changes.of("qwen2_moe"),
        ),
        Rule(
            key="partial_rotary_factor", text="turns the whole head of this model, whatever partial_rotary_factor says",
            source=f"{_MLX}/llama.py", change=changes.whole_head, where=changes.of(*_WHOLE), remedies=(stack.NO_SHARE,),
        ),
        stack.null_betas(_UTILS, where=changes.not_of(*_MLX_UNSCALED)),
        stack.null_factor(_UTILS, where=changes.not_of(*_MLX_UNSCALED)),
        stack.ratio(f"{_UTILS}:169, 328-337; pull request 1507, closed"),
        stack.whole_ends(f"{_UTILS}:154"),
        stack.inner_original(_UTILS, ("yarn", "llama3", "longrope"), where=changes.not_of(*_OWN_LISTS)),
        stack.absent_original(4096, f"{_UTILS}:134", "yarn", where=changes.no_inner_original),
        Rule(
            scaling="dynamic", key="rope_type", text="has no rope type dynamic", source=_UTILS,
            error="ValueError: Unsupported RoPE type dynamic", until="0.32.0", checked="0.31.3",
        ),
        Rule(
            scaling="dynamic", key="rope_type",
            text="raises the base at each call by the length so far: cached keys keep the base of their own step",
            source=f"{_UTILS}:234, 309", since="0.32.0",
        ),
        _mlx_longrope(
            key=ORIGINAL, text="looks for the original length inside the scaling alone",
            error="KeyError: 'original_max_position_embeddings'", remedies=(stack.INNER_ORIGINAL,),
            where=changes.both(changes.not_of(*_OWN_LISTS), changes.no_inner_original),
        ),
        _mlx_longrope(
            key="type", text="knows the type su in Phi-3, PhiMoE and MiniCPM3 alone",
            error="ValueError: Unsupported RoPE type su",
            where=lambda w: w.model not in _OWN_LISTS and changes.typed(w, "su"),
        ),
        _mlx_longrope(
            key="long_mscale", text="takes the long factors at every length, and long_mscale as the magnitude",
            source=f"{_MLX}/phimoe.py:53", change=_by_long_mscale, where=changes.of("phimoe"),
        ),
        _mlx_longrope(
            key="long_factor",
            text="takes the long factors at every length; the magnitude follows the ratio of the lengths alone",
            source=f"{_UTILS}:10-60; phi3.py:67", change=changes.always_long, where=changes.not_of("phimoe"),
        ),
        stack.absent_original(8192, f"{_UTILS}:85", "llama3", where=changes.no_inner_original),
    ),
)  # fmt: skip


# ----- candle: the rotary tables of candle-transformers, read and not run

_CANDLE = "candle-transformers/src/models"
_PLAIN = ("qwen2", "qwen3", "mistral", "gemma3_text")

STACKS["candle"] = Stack(
    title="candle", version="2a13b0f3f (2026-08-14)", scalings=("none", *SCALED),
    models=("llama", "phi3", "glm4", "gemma4_text", *_PLAIN, *changes.DEEPSEEK), own_reader=True, run=False,
    rules=(
        Rule(
            key="rope_scaling", text="has no rope_scaling for this model: the table is the plain one", source=_CANDLE,
            scaling=SCALED, change=changes.unscaled, where=changes.of(*_PLAIN, "glm4"),
        ),
        Rule(
            key="rope_type", text="has llama3 and default alone for Llama", source=f"{_CANDLE}/llama.rs",
            scaling=("linear", "dynamic", "yarn", "longrope"), error="no such rope type", where=changes.of("llama"),
        ),
        stack.ratio(f"{_CANDLE}/deepseek2.rs", where=changes.of(*changes.DEEPSEEK)),
        Rule(
            key="short_factor",
            text="multiplies the frequencies by the lists instead of dividing, with no magnitude, and takes rows "
            "below the original length from the short one",
            source=f"{_CANDLE}/phi3.rs:99-119", scaling="longrope", error="two tables in one, which no recipe gives",
            where=changes.not_of(*_PLAIN, "llama"),
        ),
    ),
)  # fmt: skip


# ----- mistral.rs: mistralrs-core/src/layers.rs, read and not run

_MISTRAL_RS = "mistralrs-core/src/layers.rs"
_MISTRAL_RS_YARN = (*changes.DEEPSEEK, "mistral", "mistral3", "ministral3")

STACKS["mistral.rs"] = Stack(
    title="mistral.rs", version="9e922623f (2026-08-22)", scalings=("none", *SCALED), own_reader=True, run=False,
    rules=(
        Rule(
            key="rope_type", text="has YaRN for DeepSeek and Mistral alone, as far as it was read", source=_MISTRAL_RS,
            scaling="yarn", error="its table is not known", where=changes.not_of(*_MISTRAL_RS_YARN),
        ),
        Rule(
            key="mscale",
            text="scales by mscale over mscale_all_dim, with 1 and 0 for what is absent, and rounds the ramp's ends",
            source=_MISTRAL_RS, scaling="yarn", change=changes.after(changes.ratio, changes.whole_ends),
            where=changes.of(*_MISTRAL_RS_YARN),
        ),
        Rule(
            key="rope_type", text="refuses linear and dynamic scalings of DeepSeek models", source=_MISTRAL_RS,
            scaling=("linear", "dynamic"), error="an error", where=changes.of(*changes.DEEPSEEK),
        ),
        Rule(
            key="rope_type", text="has no linear or dynamic scaling, as far as it was read", source=_MISTRAL_RS,
            scaling=("linear", "dynamic"), error="its table is not known", where=changes.not_of(*changes.DEEPSEEK),
        ),
        Rule(
            key="attention_factor",
            text="takes the long factors where the sequence so far exceeds the original length; the magnitude "
            "follows the ratio of the lengths",
            source=_MISTRAL_RS, scaling="longrope", change=changes.magnitude_by_lengths,
        ),
    ),
)  # fmt: skip


# ----- MLC-LLM: its Llama and Phi-3 models, read and not run

_MLC_LLM = "python/mlc_llm/model"


def _old_type(written: RawConfig) -> bool:
    return "type" in written.scaling and "rope_type" not in written.scaling


STACKS["mlc-llm"] = Stack(
    title="MLC-LLM", version="79d603f0 (2026-07-23)", scalings=("none", *SCALED), models=("llama", "phi3"),
    own_reader=True, words={"su": "longrope"}, run=False, conversion="mlc_llm convert_weight and gen_config",
    rules=(
        Rule(
            key="type", text="drops a rope_scaling with the old key type: the table is the plain one",
            source=f"{_MLC_LLM}/llama", scaling=SCALED, change=changes.unscaled,
            where=changes.both(_old_type, changes.of("llama")),
        ),
        Rule(
            key="rope_type", text="takes rope type llama3 alone for Llama", source=f"{_MLC_LLM}/llama",
            scaling=("linear", "dynamic", "yarn", "longrope"), error="AssertionError", where=changes.of("llama"),
        ),
    ),
)  # fmt: skip


# ----- ONNX Runtime GenAI: the rope methods of its model builder

_GENAI = "onnxruntime_genai/models/builders/base.py:665-700, 3291-3398"
_genai_yarn = partial(Rule, scaling="yarn", source=_GENAI)


def _magnitude(params: Params, written: RawConfig) -> Params:
    """Return mscale over mscale_all_dim, mscale alone as the magnitude itself, else 0.1 ln(factor) + 1."""
    alone, other = (number(written.rope.get(name)) for name in ("mscale", "mscale_all_dim"))
    if alone is not None and other is None:
        return {**changes.without(params, *changes.MAGNITUDE), "attention-factor": number_text(alone)}
    return changes.ratio(params, written) if alone is not None else changes.without(params, *changes.MAGNITUDE)


def _no_betas(written: RawConfig) -> bool:
    return any(name not in written.scaling for name in ("beta_fast", "beta_slow"))


def _unsupported(style: str, *scaling: str, where: Where | None = None) -> Rule:
    return Rule(
        key="rope_type", text=f"supports no {style} here", source=_GENAI, scaling=scaling, where=where,
        error=f"NotImplementedError: The {style} RoPE style is not currently supported.",
    )  # fmt: skip


STACKS["onnxruntime-genai"] = Stack(
    title="ONNX Runtime GenAI", version="0.18.0", scalings=("none", *EVERY), words={"mrope": "default"},
    conversion="its model builder; of LongRoPE the builders of Phi-3's ONNX models have caches of their own",
    rules=(
        _unsupported("mrope", where=changes.foreign_mrope),
        _unsupported("dynamic", "dynamic", "ntk"),
        _unsupported("longrope", "longrope"),
        _unsupported("proportional", "proportional"),
        stack.null_betas(_GENAI),
        _genai_yarn(
            key="beta_fast", text="has no defaults for the betas", error="ZeroDivisionError: float division by zero",
            where=_no_betas, remedies=(stack.BETAS,),
        ),
        _genai_yarn(key="truncate", text="never rounds the ends of the ramp", change=changes.fractional_ends),
        _genai_yarn(
            key="mscale",
            text="reads no attention_factor, takes mscale alone as the magnitude itself, and both as a ratio",
            change=_magnitude, remedies=(stack.NO_ATTENTION_FACTOR, stack.NO_MSCALE),
        ),
    ),
)  # fmt: skip
