"""OpenAI's gpt-oss: its own reference code, for its own models alone."""

from __future__ import annotations

from pecli.models.changes import fractional_ends, plain_magnitude
from pecli.models.stack import NO_ATTENTION_FACTOR, NO_MSCALE, Rule, Stack

_PATH = "openai/gpt-oss gpt_oss/torch/model.py"

STACK = Stack(
    title="OpenAI's gpt-oss", version="7b58334", scalings=("none", "yarn"), models=("gpt_oss",), own_reader=True,
    conversion="its own ModelConfig: ntk_alpha and ntk_beta are beta_slow and beta_fast",
    rules=(
        Rule(
            key="truncate", text="never rounds the ends of the ramp", source=_PATH, scaling="yarn",
            change=fractional_ends,
        ),
        Rule(
            key="attention_factor", text="computes the magnitude as 0.1 ln(factor) + 1", source=_PATH, scaling="yarn",
            change=plain_magnitude, remedies=(NO_ATTENTION_FACTOR, NO_MSCALE),
        ),
    ),
)  # fmt: skip
