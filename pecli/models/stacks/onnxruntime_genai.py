"""ONNX Runtime GenAI: the rope methods of its model builder."""

from __future__ import annotations

from functools import partial

from pecli.models import changes, common_rules
from pecli.models.config import number
from pecli.models.reading import Params, RawConfig
from pecli.models.stack import BETAS, EVERY, NO_ATTENTION_FACTOR, NO_MSCALE, Rule, Stack, Where
from pecli.numbers.decimals import number_text

_PATH = "onnxruntime_genai/models/builders/base.py:665-700, 3291-3398"
_yarn = partial(Rule, scaling="yarn", source=_PATH)


def _magnitude(params: Params, written: RawConfig) -> Params:
    """Return both as a ratio, mscale alone as the magnitude itself, else 0.1 ln(factor) + 1."""
    alone, other = (number(written.rope.get(name)) for name in ("mscale", "mscale_all_dim"))
    if alone is not None and other is None:
        return {**changes.without(params, *changes.MAGNITUDE), "attention-factor": number_text(alone)}
    return changes.ratio(params, written) if alone is not None else changes.without(params, *changes.MAGNITUDE)


def _no_betas(written: RawConfig) -> bool:
    return any(name not in written.scaling for name in ("beta_fast", "beta_slow"))


def _unsupported(style: str, *scaling: str, where: Where | None = None) -> Rule:
    return Rule(
        key="rope_type", text=f"supports no {style} here", source=_PATH, scaling=scaling, where=where,
        error=f"NotImplementedError: The {style} RoPE style is not currently supported.",
    )  # fmt: skip


STACK = Stack(
    title="ONNX Runtime GenAI", version="0.18.0", scalings=("none", *EVERY), words={"mrope": "default"},
    conversion="its model builder; of LongRoPE the builders of Phi-3's ONNX models have caches of their own",
    rules=(
        _unsupported("mrope", where=changes.foreign_mrope),
        _unsupported("dynamic", "dynamic", "ntk"),
        _unsupported("longrope", "longrope"),
        _unsupported("proportional", "proportional"),
        common_rules.null_betas(_PATH),
        _yarn(
            key="beta_fast", text="has no defaults for the betas", error="ZeroDivisionError: float division by zero",
            where=_no_betas, remedies=(BETAS,),
        ),
        _yarn(key="truncate", text="never rounds the ends of the ramp", change=changes.fractional_ends),
        _yarn(
            key="mscale",
            text="reads no attention_factor, takes mscale alone as the magnitude itself, and both as a ratio",
            change=_magnitude, remedies=(NO_ATTENTION_FACTOR, NO_MSCALE),
        ),
    ),
)  # fmt: skip
