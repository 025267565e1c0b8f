"""vLLM: its rotary classes, behind transformers' config classes."""

from __future__ import annotations

from functools import partial

from pecli.models import changes, common_rules
from pecli.models.config import number
from pecli.models.reading import Params, RawConfig
from pecli.models.stack import EVERY, NO_ATTENTION_FACTOR, NO_FACTOR, NO_MSCALE, NO_TRUNCATE, SCALED, Rule, Stack
from pecli.numbers.decimals import number_text

_PATH = "vllm/model_executor/layers/rotary_embedding"
_OWN = ("phi", "gpt_neox", "glm", "olmo", "olmo2", "olmo3")
_yarn = partial(Rule, scaling="yarn")
_dynamic = partial(Rule, scaling="dynamic", source=f"{_PATH}/dynamic_ntk_scaling_rope.py:52-66")


def _four_times(params: Params, written: RawConfig) -> Params:
    return {**params, "original-max": str(4 * int(params["original-max"]))}


def _trained(params: Params, written: RawConfig) -> Params:
    """Return dynamic NTK for the served length over the trained one; plain where no key says what that was."""
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


STACK = Stack(
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
            source=f"{_PATH}/yarn_scaling_rope.py; issues 46280, 48351, pull request 56446",
            change=changes.plain_magnitude, where=changes.not_of(*changes.DEEPSEEK, "gpt_oss"), until="0.30.0",
            checked="0.29.0",
        ),
        common_rules.ratio(
            "vllm/model_executor/models/deepseek_v2.py:542; deepseek_scaling_rope.py",
            where=changes.of(*changes.DEEPSEEK),
        ),
        _yarn(
            key="attention_factor",
            text="hands no attention_factor and no mscale on to gpt-oss: the magnitude is 0.1 ln(factor) + 1",
            source="vllm/model_executor/models/gpt_oss.py:115", change=changes.plain_magnitude,
            where=changes.of("gpt_oss"), remedies=(NO_ATTENTION_FACTOR, NO_MSCALE),
        ),
        common_rules.null_betas(f"{_PATH}/yarn_scaling_rope.py:60-70"),
        common_rules.null_factor(f"{_PATH}/yarn_scaling_rope.py"),
        _yarn(
            key="mrope_section",
            text="computes the ramp's ends from four times the original length where position streams share it",
            source=f"{_PATH}/mrope.py:351-355, 369", change=_four_times,
            where=lambda written: changes.sections(written) and not written.model.startswith("qwen3_5"),
        ),
        _yarn(
            key="truncate", text="reads truncate beside the other keys of a kind of layer",
            source=f"{_PATH}/__init__.py, get_rope", change=_nested_truncate, where=changes.not_of(*changes.DEEPSEEK),
            remedies=(NO_TRUNCATE,),
        ),
        _dynamic(
            key="alpha", text="takes alpha before factor: one base at every length", change=_alpha,
            where=changes.given("alpha"),
        ),
        _dynamic(
            key="factor",
            text="raises the base by max_trained_positions, which is max_position_embeddings where it is not "
            "given: then the table is the plain one",
            change=_trained, since="0.22.1",
        ),
        _dynamic(
            key="factor", text="computes one base for max_position_embeddings times the factor, at every length",
            change=changes.stretched_once, until="0.22.1", checked="0.22.0",
        ),
        common_rules.whole_factor(f"{_PATH}/linear_scaling_rope.py:70"),
        Rule(
            scaling="longrope", key="original_max_position_embeddings",
            text="takes the long factors at every position when it serves more than the original length, else the "
            "short ones; the magnitude follows the ratio of the lengths, or short_mscale and long_mscale",
            source=f"{_PATH}/phi3_long_rope_scaled_rope.py:54-78",
            change=changes.after(changes.magnitude_by_mscales, changes.by_served_length),
        ),
        Rule(
            scaling="longrope", key="original_max_position_embeddings",
            text="serves the top-level original length alone, with the short factors, unless --max-model-len asks "
            "for more: the table here is that of --max-model-len max_position_embeddings",
            source="vllm/config/model.py:2643-2650",
            where=lambda written: "original_max_position_embeddings" in written.config,
        ),
        common_rules.honoured_share(
            f"{_PATH}/__init__.py, get_rope", where=lambda written: changes.type_of(written.rope) == "default"
        ),
        Rule(
            key="model_type",
            text="has no class of its own for this model and runs transformers' code: then the table is "
            "transformers', and the one here is what vLLM's own layers make of the config",
            source="vllm/model_executor/models/registry.py:752-764", scaling=SCALED, where=changes.of(*_OWN),
        ),
        Rule(
            scaling="proportional", key="factor", text="divides by no factor with rope type proportional",
            source=f"{_PATH}/gemma4_rope.py", change=changes.no_factor, remedies=(NO_FACTOR,),
        ),
    ),
)  # fmt: skip
