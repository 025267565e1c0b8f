"""SGLang: its rotary classes, behind transformers' config classes."""

from __future__ import annotations

from functools import partial

from pecli.models import changes, common_rules
from pecli.models.stack import EVERY, NO_ATTENTION_FACTOR, NO_FACTOR, NO_MSCALE, SCALED, Rule, Stack

_PATH = "sglang/srt/layers/rotary_embedding"
_yarn = partial(Rule, scaling="yarn", source=f"{_PATH}/factory.py:310-390, yarn.py:122")

STACK = Stack(
    title="SGLang", version="0.5.23", scalings=("none", *EVERY), words={"mrope": "default"},
    rules=(
        Rule(
            key="type", text="knows no rope type mrope where transformers does not read it as default",
            source=f"{_PATH}/factory.py", error="ValueError: Unknown RoPE scaling type mrope",
            where=changes.foreign_mrope,
        ),
        _yarn(
            key="attention_factor",
            text="drops attention_factor, and takes mscale over mscale_all_dim where both are given, 0 too",
            change=changes.ratio_of_both,
            where=lambda written: changes.not_of(*changes.DEEPSEEK)(written) and not changes.sections(written),
            remedies=(NO_ATTENTION_FACTOR, NO_MSCALE),
        ),
        _yarn(
            key="mrope_section",
            text="reads no mscale where position streams share the frequencies: the magnitude is 0.1 ln(factor) + 1",
            change=changes.plain_magnitude, where=changes.sections, remedies=(NO_MSCALE,),
        ),
        common_rules.ratio("sglang/srt/models/deepseek_v2.py:2066", where=changes.of(*changes.DEEPSEEK)),
        common_rules.null_betas(f"{_PATH}/factory.py:310-390, yarn.py:122"),
        common_rules.null_factor(f"{_PATH}/yarn.py"),
        common_rules.honoured_share(
            "sglang/srt/models/llama.py:199",
            where=changes.both(changes.of("llama", "mistral"), changes.share_beside),
        ),
        Rule(
            scaling="dynamic", key="factor",
            text="computes one base for max_position_embeddings times the factor, at every length",
            source=f"{_PATH}/rope_variant.py:881", change=changes.stretched_once,
            where=lambda written: not changes.given("alpha")(written),
        ),
        common_rules.whole_factor(f"{_PATH}/base.py:640"),
        Rule(
            scaling="longrope", key="attention_factor",
            text="takes the long factors for a whole batch as soon as one position exceeds the original length; "
            "the magnitude follows the ratio of the lengths, or short_mscale and long_mscale",
            source=f"{_PATH}/rope_variant.py:69-150", change=changes.magnitude_by_mscales,
            remedies=(NO_ATTENTION_FACTOR, NO_FACTOR),
        ),
        Rule(
            scaling="proportional", key="factor", text="divides by no factor with rope type proportional",
            source=f"{_PATH}/factory.py", change=changes.no_factor, remedies=(NO_FACTOR,),
        ),
        Rule(
            key="rope_scaling",
            text="drops the scaling of Gemma 3's global layers on a CPU (AMX); a GPU runs transformers' functions",
            source="sglang/srt/models/gemma3_causal.py:216, 418-441", scaling=SCALED, where=changes.of("gemma3_text"),
        ),
    ),
)  # fmt: skip
