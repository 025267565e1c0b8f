"""LMDeploy's PyTorch engine: its rotary classes, behind transformers' config classes."""

from __future__ import annotations

from functools import partial

from pecli.models import changes, common_rules
from pecli.models.config import number
from pecli.models.families import rotary_family
from pecli.models.reading import Params, RawConfig
from pecli.models.stack import EVERY, INNER_ORIGINAL, NO_ATTENTION_FACTOR, NO_FACTOR, Rule, Stack
from pecli.numbers.decimals import number_text

_PATH = "lmdeploy/pytorch/nn/rotary_embedding.py; backends/default/rotary_embedding.py"
_ABSENT = ("olmo", "olmo2", "olmo3", "olmoe", "olmo_hybrid", "flex_olmo")  # of which no class is in its module map
_longrope = partial(Rule, scaling="longrope", source=_PATH)


def _without_alpha(params: Params, written: RawConfig) -> Params:
    factor = number(written.rope.get("factor"))
    more = {"scaling": "dynamic", "factor": number_text(factor or 1), "max-position": str(written.length)}
    return {**changes.unscaled(params, written), **more}


def _declared(params: Params, written: RawConfig) -> Params:
    """Return the declared length for the original one."""
    return params if written.length is None else {**params, "original-max": str(written.length)}


def _beside(written: RawConfig) -> bool:
    """Whether the original length stands at the top level of a class that has no such field."""
    family = rotary_family(written.model)
    field = written.model in ("phimoe", "minicpm3") or (family is not None and family.option("original"))
    return changes.no_inner_original(written) and not changes.no_original(written) and not field


STACK = Stack(
    title="LMDeploy", version="1263d5cd8 (2026-08-21)", scalings=("none", *EVERY), words={"mrope": "default"},
    rules=(
        Rule(
            key="model_type", text="has no such model", source="lmdeploy/pytorch/models/module_map.py, patch.py:196",
            error="RuntimeError: Can not found rewrite for architectures", where=changes.of(*_ABSENT),
        ),
        common_rules.null_betas(_PATH),
        common_rules.null_factor(_PATH),
        common_rules.inner_original(_PATH, ("yarn", "llama3")),
        Rule(
            scaling="ntk", key="alpha",
            text="reads no alpha: the base follows factor and the longest position of the call", source=_PATH,
            change=_without_alpha, where=changes.given("alpha"),
        ),
        _longrope(
            key=changes.ORIGINAL,
            text="takes max_position_embeddings for an original length that stands at the top level of this model",
            change=_declared, where=_beside, remedies=(INNER_ORIGINAL,),
        ),
        _longrope(
            key="attention_factor",
            text="reads no attention_factor, factor, short_mscale or long_mscale: the magnitude follows the ratio "
            "of the lengths",
            change=changes.magnitude_by_lengths, remedies=(NO_ATTENTION_FACTOR, NO_FACTOR),
        ),
        Rule(
            scaling="proportional", key="rope_type", text="has no rope type proportional", source=_PATH,
            error="KeyError: 'proportional'",
        ),
        common_rules.honoured_share(_PATH, where=lambda written: changes.type_of(written.rope) == "default"),
    ),
)  # fmt: skip
