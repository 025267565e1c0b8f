"""ExLlamaV3: util/rope.py, with the settings that its own Config reads."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from pecli.models import changes, common_rules
from pecli.models.config import number
from pecli.models.reading import Params, RawConfig
from pecli.models.stack import EVERY, NO_MSCALE, NO_SHARE, Rule, Stack
from pecli.numbers.decimals import CONTEXT, number_text

_PATH = "exllamav3/util/rope.py"
_RATIO = ("deepseek_v3", "deepseek_v32", "kimi_k2")  # whose mscale and mscale_all_dim it reads: one architecture
_BY_KIND = ("gemma4", "laguna")  # models whose parameters it reads by kind of layer: architecture/gemma4.py, laguna.py
_GIVEN, _BETA = changes.given("attention_factor"), changes.given("llama_4_scaling_beta")
_OTHERWISE = changes.given("attention_factor", "llama_4_scaling_beta")
_yarn = partial(Rule, scaling="yarn", source=f"{_PATH}:284-330")


def _factor_of_lengths(params: Params, written: RawConfig) -> Params:
    """Return YaRN with L/O as its factor; plain where they are equal."""
    if written.length is None:
        return params
    times = CONTEXT.divide(Decimal(written.length), Decimal(params["original-max"]))
    return {**params, "factor": number_text(times)}


def _share_beside(params: Params, written: RawConfig) -> Params:
    """Return the share at the top level, which wins over the one in rope_parameters."""
    share = number(written.config.get("partial_rotary_factor"))
    if share is None:
        return params
    width = int(written.head * float(share))
    return {**changes.without(params, "rotary-dim"), **({} if width == written.head else {"rotary-dim": str(width)})}


def _plain(params: Params, written: RawConfig) -> Params:
    """Return the plain table of rope_theta beside the kinds of layers; Gemma 3 has bases of its own."""
    return (changes.unscaled if written.model == "gemma3_text" else changes.old_keys("10000"))(params, written)


def _nested(written: RawConfig) -> bool:
    found = written.config.get("rope_parameters")
    if written.model.startswith(_BY_KIND):
        return False
    return isinstance(found, dict) and any(isinstance(value, dict) for value in found.values())


STACK = Stack(
    title="ExLlamaV3", version="1.6.5", scalings=("none", *EVERY), own_reader=True,
    words={"mrope": "default", "su": "longrope"},
    rules=(
        Rule(
            scaling=("dynamic", "ntk"), key="rope_type", text="has no rope type dynamic", source=_PATH,
            error="ValueError: Unknown rope_type: dynamic",
        ),
        Rule(
            key="rope_parameters", text="reads no parameters by kind of layer: the table is the plain one",
            source=_PATH, change=_plain, where=_nested,
        ),
        common_rules.null_betas(
            f"{_PATH}:284-330", "TypeError: float() argument must be a string or a real number, not 'NoneType'"
        ),
        common_rules.inner_original(f"{_PATH}:284-330", "yarn"),
        common_rules.null_factor(
            f"{_PATH}:284-330", where=lambda written: written.scaling.get(changes.ORIGINAL) is None
        ),
        _yarn(
            key="factor",
            text="takes max_position_embeddings over the original length for the factor, whatever the key says",
            change=_factor_of_lengths, where=lambda written: not changes.no_original(written),
        ),
        _yarn(
            key="mscale", text="reads mscale and mscale_all_dim for DeepSeek-V3's architecture alone",
            change=changes.plain_magnitude,
            where=lambda written: written.model not in _RATIO and not _OTHERWISE(written),
            remedies=(NO_MSCALE,),
        ),
        _yarn(
            key="llama_4_scaling_beta", text="leaves cos and sin unscaled where llama_4_scaling_beta is set",
            change=changes.magnitude_of_one,
            where=lambda written: _BETA(written) and not _GIVEN(written),
        ),
        Rule(
            scaling="longrope", key=changes.ORIGINAL,
            text="takes the long factors at every position when the configured length exceeds the original one, "
            "else the short ones; the magnitude follows the ratio of the lengths alone",
            source=_PATH, change=changes.after(changes.magnitude_by_lengths, changes.by_served_length),
        ),
        common_rules.absent_original(8192, _PATH, "llama3"),
        common_rules.honoured_share(_PATH),
        Rule(
            key="partial_rotary_factor",
            text="takes partial_rotary_factor at the top level before the one in rope_parameters", source=_PATH,
            change=_share_beside, where=changes.both(changes.new_keys, changes.of("phi")), remedies=(NO_SHARE,),
        ),
    ),
)  # fmt: skip
