"""mlx-lm: each model's own attention class."""

from __future__ import annotations

from functools import partial

from pecli.models import changes, common_rules
from pecli.models.config import number
from pecli.models.reading import Params, RawConfig
from pecli.models.stack import EVERY, INNER_ORIGINAL, NO_SHARE, OLD_STYLE, Rule, Stack
from pecli.numbers.decimals import number_text

_PATH = "mlx-lm mlx_lm/models"
_UTILS = f"{_PATH}/rope_utils.py"
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
_UNSCALED = ("phi", "gpt_neox", "stablelm", "glm", "glm4", "cohere", "cohere2", "nemotron")  # nn.RoPE without a scaling
_WHOLE = ("llama", "mistral", "qwen2")  # mistral is run by llama's class
_OWN_LISTS = ("phi3", "phimoe", "minicpm3")

_longrope = partial(Rule, scaling="longrope", source=f"{_UTILS}:10-60")


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


STACK = Stack(
    title="mlx-lm", version="0.32.2", scalings=("none", *EVERY), encodings=("alibi",), own_reader=True,
    words={"mrope": "default", "su": "longrope"},
    rules=(
        Rule(
            key="rope_parameters",
            text="reads no rope_parameters for this model, whose class has no default for rope_theta",
            source=f"{_PATH}/olmo3.py",
            error="TypeError: ModelArgs.__init__() missing 1 required positional argument: 'rope_theta'",
            where=lambda w: _ignores_new(w) and w.model == "olmo3" and "rope_theta" not in w.config,
            remedies=(OLD_STYLE,),
        ),
        Rule(
            key="rope_parameters", text="reads no rope_parameters for this model", source=f"{_PATH}/llama.py:30",
            error="what its class takes for rope_theta is not known", where=_without_known_base,
            remedies=(OLD_STYLE,),
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
            source=f"{_PATH}/llama.py:30", change=_class_defaults, where=_ignores_new, remedies=(OLD_STYLE,),
        ),
        Rule(
            key="rope_theta", text="has a default of its own for a rope_theta that is absent",
            source=f"{_PATH}/minicpm3.py:33", change=_own_base,
            where=lambda w: w.model in _BASES and "rope_theta" not in w.config and "rope_theta" not in w.scaling,
        ),
        Rule(
            key="rope_scaling", text="has no scaling for this model: the table is the plain one",
            source=f"{_PATH}, nn.RoPE", scaling=EVERY, change=changes.unscaled, where=changes.of(*_UNSCALED),
        ),
        Rule(
            key="rope_scaling", text="takes the linear type alone for Qwen2-MoE", source=f"{_PATH}/qwen2_moe.py:42",
            scaling=("ntk", "dynamic", "yarn", "longrope", "llama3", "proportional"),
            error="ValueError: rope_scaling 'type' currently only supports 'linear'", where=changes.of("qwen2_moe"),
        ),
        Rule(
            key="partial_rotary_factor", text="turns the whole head of this model, whatever partial_rotary_factor says",
            source=f"{_PATH}/llama.py", change=changes.whole_head, where=changes.of(*_WHOLE), remedies=(NO_SHARE,),
        ),
        common_rules.null_betas(_UTILS, where=changes.not_of(*_UNSCALED)),
        common_rules.null_factor(_UTILS, where=changes.not_of(*_UNSCALED)),
        common_rules.ratio(f"{_UTILS}:169, 328-337; pull request 1507, closed"),
        common_rules.whole_ends(f"{_UTILS}:154"),
        common_rules.inner_original(_UTILS, ("yarn", "llama3", "longrope"), where=changes.not_of(*_OWN_LISTS)),
        common_rules.absent_original(4096, f"{_UTILS}:134", "yarn", where=changes.no_inner_original),
        Rule(
            scaling="dynamic", key="rope_type", text="has no rope type dynamic", source=_UTILS,
            error="ValueError: Unsupported RoPE type dynamic", until="0.32.0", checked="0.31.3",
        ),
        Rule(
            scaling="dynamic", key="rope_type",
            text="raises the base at each call by the length so far: cached keys keep the base of their own step",
            source=f"{_UTILS}:234, 309", since="0.32.0",
        ),
        _longrope(
            key=changes.ORIGINAL, text="looks for the original length inside the scaling alone",
            error="KeyError: 'original_max_position_embeddings'",
            where=lambda w: w.model not in _OWN_LISTS and changes.no_inner_original(w), remedies=(INNER_ORIGINAL,),
        ),
        _longrope(
            key="type", text="knows the type su in Phi-3, PhiMoE and MiniCPM3 alone",
            error="ValueError: Unsupported RoPE type su",
            where=lambda w: w.model not in _OWN_LISTS and changes.typed(w, "su"),
        ),
        _longrope(
            key="long_mscale", text="takes the long factors at every length, and long_mscale as the magnitude",
            source=f"{_PATH}/phimoe.py:53", change=_by_long_mscale, where=changes.of("phimoe"),
        ),
        _longrope(
            key="long_factor",
            text="takes the long factors at every length; the magnitude follows the ratio of the lengths alone",
            source=f"{_UTILS}:10-60; phi3.py:67", change=changes.always_long, where=changes.not_of("phimoe"),
        ),
        common_rules.absent_original(8192, f"{_UTILS}:85", "llama3", where=changes.no_inner_original),
    ),
)  # fmt: skip
