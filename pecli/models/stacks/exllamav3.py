"""ExLlamaV3: util/rope.py, with the settings that its own Config reads."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from pecli.models.changes import (
    ORIGINAL,
    after,
    both,
    by_served_length,
    given,
    honoured_share,
    inner_original,
    magnitude_by_lengths,
    magnitude_of_one,
    new_keys,
    no_original,
    null,
    of,
    old_keys,
    original,
    plain_magnitude,
    unscaled,
    without,
)
from pecli.models.keys import number
from pecli.models.reading import Params, Written
from pecli.models.remedies import BETAS, INNER_ORIGINAL, NO_MSCALE, NO_SHARE
from pecli.models.stack import Rule, Stack
from pecli.numbers.decimals import CONTEXT
from pecli.numbers.text import number_text

_PATH = "exllamav3/util/rope.py"
_yarn = partial(Rule, scaling="yarn", source=f"{_PATH}:284-330")


def _factor_of_lengths(params: Params, written: Written) -> Params:
    """Return YaRN with L/O as its factor; plain where they are equal."""
    if written.length is None:
        return params
    times = CONTEXT.divide(Decimal(written.length), Decimal(params["original-max"]))
    return {**params, "factor": number_text(times)}


def _share_beside(params: Params, written: Written) -> Params:
    """Return the share at the top level, which wins over the one in rope_parameters."""
    share = number(written.config.get("partial_rotary_factor"))
    if share is None:
        return params
    width = int(written.head * float(share))
    return {**without(params, "rotary-dim"), **({} if width == written.head else {"rotary-dim": str(width)})}


def _plain(params: Params, written: Written) -> Params:
    """Return the plain table of rope_theta beside the kinds of layers; Gemma 3 has bases of its own."""
    return (unscaled if written.model == "gemma3_text" else old_keys("10000"))(params, written)


def _nested(written: Written) -> bool:
    found = written.config.get("rope_parameters")
    return isinstance(found, dict) and any(isinstance(value, dict) for value in found.values())


STACK = Stack(
    title="ExLlamaV3",
    version="1.6.5",
    scalings=("none", "linear", "yarn", "longrope", "llama3", "proportional", "ntk", "dynamic"),
    own_reader=True,
    words={"mrope": "default", "su": "longrope"},
    rules=(
        Rule(
            scaling=("dynamic", "ntk"),
            key="rope_type",
            text="has no rope type dynamic",
            source=_PATH,
            error="ValueError: Unknown rope_type: dynamic",
        ),
        Rule(
            key="rope_parameters",
            text="reads no parameters by kind of layer: the table is the plain one",
            source=_PATH,
            change=_plain,
            where=_nested,
        ),
        _yarn(
            key="beta_fast",
            text="makes a number of a beta that is null",
            error="TypeError: float() argument must be a string or a real number, not 'NoneType'",
            where=null("beta_fast", "beta_slow"),
            remedies=(BETAS,),
        ),
        _yarn(
            key=ORIGINAL,
            text="takes the original length inside the scaling before the one at the top level",
            change=inner_original,
            remedies=(INNER_ORIGINAL,),
        ),
        _yarn(
            key="factor",
            text="takes max_position_embeddings over the original length for the factor, whatever the key says",
            change=_factor_of_lengths,
            where=lambda written: not no_original(written),
        ),
        _yarn(
            key="mscale",
            text="reads mscale and mscale_all_dim for DeepSeek-V3's architecture alone",
            change=plain_magnitude,
            where=lambda written: (
                written.model not in ("deepseek_v3", "deepseek_v32")
                and not given("attention_factor", "llama_4_scaling_beta")(written)
            ),
            remedies=(NO_MSCALE,),
        ),
        _yarn(
            key="llama_4_scaling_beta",
            text="leaves cos and sin unscaled where llama_4_scaling_beta is set",
            change=magnitude_of_one,
            where=lambda written: given("llama_4_scaling_beta")(written) and not given("attention_factor")(written),
        ),
        Rule(
            scaling="longrope",
            key=ORIGINAL,
            text="takes the long factors at every position when the configured length exceeds the original one, else "
            "the short ones; the magnitude follows the ratio of the lengths alone",
            source=_PATH,
            change=after(magnitude_by_lengths, by_served_length),
        ),
        Rule(
            scaling="llama3",
            key=ORIGINAL,
            text="takes 8192 for an original length that is absent",
            source=_PATH,
            change=original(8192),
            where=no_original,
            remedies=(INNER_ORIGINAL,),
        ),
        Rule(
            scaling="none",
            key="partial_rotary_factor",
            text="rotates the given share of a head for every model",
            source=_PATH,
            change=honoured_share,
            remedies=(NO_SHARE,),
        ),
        Rule(
            key="partial_rotary_factor",
            text="takes partial_rotary_factor at the top level before the one in rope_parameters",
            source=_PATH,
            change=_share_beside,
            where=both(new_keys, of("phi")),
            remedies=(NO_SHARE,),
        ),
    ),
)
