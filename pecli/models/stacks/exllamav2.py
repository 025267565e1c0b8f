"""ExLlamaV2: rope.py, with the settings of its config.py."""

from __future__ import annotations

from functools import partial

from pecli.models import changes, common_rules
from pecli.models.config import number
from pecli.models.reading import Params, RawConfig
from pecli.models.stack import EVERY, INNER_ORIGINAL, OLD_STYLE, ONE_TYPE, Rule, Stack

_PATH = "exllamav2/rope.py; config.py:383-412"
_yarn = partial(Rule, scaling="yarn", source=_PATH)
_longrope = partial(Rule, scaling="longrope", source=_PATH)


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
    original = number(written.scaling.get(changes.ORIGINAL))
    return original is None or written.length is None or written.length > original


def _two_types(written: RawConfig) -> bool:
    """Whether both keys stand in the file; where one is a word of older releases, the reader has added the other."""
    kind = written.scaling.get("type")
    return written.style == "rope_scaling" and kind not in (None, "su", "mrope") and "rope_type" in written.scaling


STACK = Stack(
    title="ExLlamaV2", version="0.3.2", scalings=("none", *EVERY), own_reader=True,
    words={"mrope": "default", "su": "longrope"},
    rules=(
        Rule(
            key="rope_parameters", text="reads no rope_parameters: theta is 10000, and the scaling is dropped",
            source=_PATH, change=changes.old_keys("10000"), where=changes.new_keys, remedies=(OLD_STYLE,),
        ),
        Rule(
            key=changes.ORIGINAL, scaling=("yarn", "llama3"),
            text="looks for the original length inside the scaling alone", source=_PATH,
            error="KeyError: 'original_max_position_embeddings'", where=changes.no_inner_original,
            remedies=(INNER_ORIGINAL,),
        ),
        common_rules.inner_original(_PATH, ("yarn", "llama3")),
        common_rules.null_factor(_PATH, where=lambda written: _longer(written)),
        common_rules.honoured_share("exllamav2/config.py:381; rope.py", where=changes.old_share),
        Rule(
            key="type", text="takes one of type and rope_type, not both", source=_PATH,
            error="AssertionError: rope_scaling key has both `type` and `rope_type` subkeys",
            where=_two_types,
            remedies=(ONE_TYPE,),
        ),
        _yarn(
            key="max_position_embeddings", text="scales only when the longest sequence exceeds the original length",
            change=changes.unscaled_when_short,
        ),
        _yarn(
            key=changes.ORIGINAL,
            text="computes the ramp's ends from the longest sequence instead of the original length, and reads no "
            "attention_factor, mscale, beta or truncate",
            change=_ramp_of_length,
        ),
        Rule(
            scaling=("dynamic", "ntk", "proportional"), key="rope_type",
            text="ignores this rope type: the table is the plain one (its NTK alpha is the user's to give)",
            source=_PATH, change=changes.unscaled,
        ),
        _longrope(
            key=changes.ORIGINAL, text="looks for the original length at the top level alone",
            error="TypeError: '>' not supported between instances of 'int' and 'NoneType'",
            where=lambda written: written.config.get(changes.ORIGINAL) is None, remedies=(INNER_ORIGINAL,),
        ),
        _longrope(
            key=changes.ORIGINAL,
            text="takes the long factors at every position when the longest sequence exceeds the original length, "
            "else the short ones with a magnitude of 1; the magnitude follows the ratio of the lengths alone",
            change=changes.after(changes.magnitude_by_lengths, changes.by_served_length, _short_unscaled),
        ),
    ),
)  # fmt: skip
