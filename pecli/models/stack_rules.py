"""The documented departures of other stacks from what transformers makes of a config.

Each rule says on which key it hangs, and where it was read; what no public
source shows is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pecli.models.heads import rotating_or_none
from pecli.models.keys import number
from pecli.models.reading import Params
from pecli.numbers.text import join_list, number_text

DEEPSEEK = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2")

Change = Callable[[Params, Mapping[str, Any]], Params | None]


@dataclass(frozen=True)
class Rule:
    """One documented departure of a stack.

    Parameters
    ----------
    stack : str
        Whose.
    scaling : str
        The scaling it concerns, "" for any.
    key : str
        The key on which it hangs.
    text : str
        What the stack does, to follow its name.
    source : str
        Where that was read.
    change : callable
        Gives the recipe's parameters from those of transformers and the raw
        ones; None where the stack makes no table at all.
    where : callable, optional
        Whether it concerns a config, from its raw parameters.
    """

    stack: str
    scaling: str
    key: str
    text: str
    source: str
    change: Change
    where: Callable[[Mapping[str, Any]], bool] = lambda raw: True


def _without(params: Params, *names: str) -> dict[str, str]:
    return {name: value for name, value in params.items() if name not in names}


MAGNITUDE = ("attention-factor", "mscale", "mscale-all-dim")


def _plain_magnitude(params: Params, raw: Mapping[str, Any]) -> Params:
    return _without(params, *MAGNITUDE)


def _weighted(params: Params, raw: Mapping[str, Any]) -> Params:
    """Return mscale over mscale_all_dim, 1 and 0 where absent; attention_factor is not read."""
    found = _without(params, *MAGNITUDE)
    for key, option in (("mscale", "mscale"), ("mscale_all_dim", "mscale-all-dim")):
        value = number(raw.get(key))
        if value is not None:
            found[option] = number_text(value)
    return found


def _weighted_or_given(params: Params, raw: Mapping[str, Any]) -> Params:
    return params if "attention-factor" in params else _weighted(params, raw)


def _magnitude_of_one(params: Params, raw: Mapping[str, Any]) -> Params:
    return {**_without(params, *MAGNITUDE), "attention-factor": "1"}


def _truncated(params: Params, raw: Mapping[str, Any]) -> Params:
    return _without(params, "truncate")


def _as_written(params: Params, raw: Mapping[str, Any]) -> Params:
    """Return the truncation that stands beside the other keys of the type."""
    return {**params, "truncate": "false"} if raw.get("truncate") is False else params


def _stretched_once(params: Params, raw: Mapping[str, Any]) -> Params:
    """Return the dynamic base of the longest table: max_position_embeddings times the factor, whatever the length."""
    factor = number(raw.get("factor"))
    return params if factor is None else {**params, "seq-len": str(int(int(params["max-position"]) * factor))}


def _by_context(params: Params, raw: Mapping[str, Any]) -> Params:
    """Return longrope by the context that is served, the config's length, and a magnitude by the ratio of lengths."""
    length = raw.get("length")
    if length is None:
        return params
    found = _without(params, "factor", "attention-factor")
    return {**found, "long-factor": _long_factors(params, raw), "max-position": str(length), "seq-len": str(length)}


def _always_long(params: Params, raw: Mapping[str, Any]) -> Params:
    """Return longrope's long list at every length, and a magnitude by the ratio of lengths."""
    found = _without(params, "factor", "attention-factor", "short-mscale", "long-mscale")
    long = _long_factors(params, raw)
    return {**found, "short-factor": long, "long-factor": long, "max-position": str(raw.get("length"))}


def _long_factors(params: Params, raw: Mapping[str, Any]) -> str:
    """Return the config's own long list: transformers gives some models the short one instead."""
    items = [value for value in map(number, raw.get("long_factor") or ()) if value is not None]
    return join_list(items, "+") if items else params["long-factor"]


def _honoured_share(params: Params, raw: Mapping[str, Any]) -> Params:
    """Return the rotating share of the keys, for the unscaled type too."""
    width = rotating_or_none(int(raw["head"]), raw.get("partial_rotary_factor", 1))
    if width is None or width == int(raw["head"]):
        return params
    return {"dim": params["dim"], "rotary-dim": str(width), **_without(params, "dim", "rotary-dim")}


def _no_factor(params: Params, raw: Mapping[str, Any]) -> Params:
    return _without(params, "factor")


def _whole_head(params: Params, raw: Mapping[str, Any]) -> Params:
    return _without(params, "rotary-dim")


def _llama31(params: Params, raw: Mapping[str, Any]) -> Params:
    return {**params, "low-freq-factor": "1", "high-freq-factor": "4", "original-max": "8192"}


def _unscaled_when_short(params: Params, raw: Mapping[str, Any]) -> Params:
    """Return the plain table where the longest sequence does not exceed the original length."""
    length = raw.get("length")
    if length is not None and int(length) <= int(params["original-max"]):
        return {name: params[name] for name in ("dim", "rotary-dim", "base") if name in params}
    return params


def no_table(params: Params, raw: Mapping[str, Any]) -> None:
    """Return nothing, for a stack that makes no table."""
    return


def is_deepseek(raw: Mapping[str, Any]) -> bool:
    """Whether DeepSeek's own code knows the model."""
    return raw.get("model_type") in DEEPSEEK


def _not_deepseek(raw: Mapping[str, Any]) -> bool:
    return not is_deepseek(raw)


def _scales_all(raw: Mapping[str, Any]) -> bool:
    return is_deepseek(raw) and bool(number(raw.get("mscale_all_dim")))


_VLLM = "vLLM vllm/model_executor/layers/rotary_embedding"
_LLAMA_CPP = "llama.cpp src/llama-context.cpp"
_GGML = "ggml ggml_rope_yarn_corr_dims"
_MEGATRON = "Megatron-LM megatron/core/models/common/embeddings"
_MLX = "mlx-lm mlx_lm/models/rope_utils.py"
_DEEPSEEK = "DeepSeek-V3 inference/model.py"

DOCUMENTED = {
    "vllm": ("none", "linear", "ntk", "dynamic", "yarn", "longrope", "llama3", "proportional"),
    "llama.cpp": ("none", "linear", "yarn", "longrope", "llama3"),
    "megatron": ("none", "linear", "yarn", "llama3"),
    "mlx": ("none", "linear", "yarn", "longrope", "llama3", "proportional"),
    "deepseek": ("none", "yarn"),
}
"""The scalings that a stack is known to have; no rule for another one does not mean that it agrees."""

OTHERS = {"alibi": ("llama.cpp", "mlx"), "t5": ("megatron",)}
"""The stacks that are known to have an encoding other than the rotary one."""

RULES = (
    Rule(
        "vllm",
        "yarn",
        "attention_factor",
        "computes the magnitude as 0.1 ln(factor) + 1, whatever attention_factor, mscale and mscale_all_dim say "
        "(until pull request 56446)",
        f"{_VLLM}/__init__.py, get_rope; issues 46280, 48351",
        _plain_magnitude,
        _not_deepseek,
    ),
    Rule(
        "vllm",
        "yarn",
        "mscale",
        "scales DeepSeek models by mscale over mscale_all_dim, with 1 and 0 for what is absent",
        f"{_VLLM}/deepseek_scaling_rope.py",
        _weighted,
        is_deepseek,
    ),
    Rule(
        "vllm",
        "yarn",
        "truncate",
        "reads truncate beside the other keys of a kind of layer",
        f"{_VLLM}/__init__.py, get_rope",
        _as_written,
        _not_deepseek,
    ),
    Rule(
        "vllm",
        "dynamic",
        "factor",
        "computes one base for max_position_embeddings times the factor, at every length",
        f"{_VLLM}/dynamic_ntk_scaling_rope.py; issue 3488",
        _stretched_once,
    ),
    Rule(
        "vllm",
        "longrope",
        "original_max_position_embeddings",
        "takes the long factors at every length when it serves more than the original length",
        f"{_VLLM}/phi3_long_rope_scaled_rope.py",
        _by_context,
    ),
    Rule(
        "vllm",
        "none",
        "partial_rotary_factor",
        "rotates the given share of a head for the unscaled type of every model",
        f"{_VLLM}/__init__.py, get_rope",
        _honoured_share,
    ),
    Rule(
        "llama.cpp",
        "yarn",
        "mscale_all_dim",
        "leaves cos and sin of DeepSeek models unscaled: the magnitudes of mscale and mscale_all_dim cancel",
        f"{_LLAMA_CPP}; pull request 17945",
        _magnitude_of_one,
        _scales_all,
    ),
    Rule(
        "llama.cpp",
        "yarn",
        "attention_factor",
        "computes the magnitude as 0.1 ln(factor) + 1, whatever attention_factor and mscale say",
        f"{_LLAMA_CPP}; pull request 17945",
        _plain_magnitude,
        lambda raw: not _scales_all(raw),
    ),
    Rule(
        "llama.cpp",
        "yarn",
        "truncate",
        "rounds the ends of the ramp to whole indices, whatever truncate says",
        _GGML,
        _truncated,
    ),
    Rule(
        "llama.cpp",
        "longrope",
        "original_max_position_embeddings",
        "takes the long factors at every length when the context is longer than the original",
        "llama.cpp src/llama-model.cpp, get_rope_factors; issue 8995",
        _by_context,
    ),
    Rule(
        "megatron",
        "llama3",
        "low_freq_factor",
        "has 1, 4 and 8192 for low_freq_factor, high_freq_factor and the original length, whatever the config says",
        f"{_MEGATRON}/rotary_pos_embedding.py",
        _llama31,
    ),
    Rule(
        "megatron",
        "yarn",
        "mscale",
        "scales by mscale over mscale_all_dim, with 1 and 0 for what is absent, and reads no attention_factor",
        f"{_MEGATRON}/yarn_rotary_pos_embedding.py",
        _weighted,
    ),
    Rule(
        "megatron",
        "yarn",
        "partial_rotary_factor",
        "rotates the whole head with YaRN: it ignores the rotary percentage there",
        f"{_MEGATRON}/yarn_rotary_pos_embedding.py",
        _whole_head,
    ),
    Rule(
        "mlx",
        "yarn",
        "mscale",
        "scales by mscale over mscale_all_dim, with 1 and 0 for what is absent, unless attention_factor is given",
        _MLX,
        _weighted_or_given,
    ),
    Rule(
        "mlx",
        "yarn",
        "truncate",
        "rounds the ends of the ramp to whole indices, whatever truncate says",
        _MLX,
        _truncated,
    ),
    Rule(
        "vllm",
        "proportional",
        "factor",
        "divides by no factor with rope type proportional",
        f"{_VLLM}/__init__.py, get_rope",
        _no_factor,
    ),
    Rule("mlx", "longrope", "long_factor", "takes the long factors at every length", _MLX, _always_long),
    Rule("mlx", "dynamic", "rope_type", "has no rope type dynamic", _MLX, no_table),
    Rule(
        "deepseek",
        "yarn",
        "mscale",
        "leaves cos and sin unscaled: the square of mscale multiplies the softmax scale instead",
        _DEEPSEEK,
        _magnitude_of_one,
        is_deepseek,
    ),
    Rule(
        "deepseek",
        "yarn",
        "max_position_embeddings",
        "scales only when the longest sequence exceeds the original length",
        _DEEPSEEK,
        _unscaled_when_short,
        is_deepseek,
    ),
)
