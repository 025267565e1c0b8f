"""DeepSeek's own inference code: models of DeepSeek alone."""

from __future__ import annotations

from functools import partial

from pecli.models.changes import DEEPSEEK, magnitude_of_one, unscaled_when_short
from pecli.models.stack import NO_MSCALE, Rule, Stack

_rule = partial(Rule, scaling="yarn", source="DeepSeek-V3 inference/model.py:297-372, 435")

STACK = Stack(
    title="DeepSeek's own code", version="9b4e978", scalings=("none", "yarn"), models=DEEPSEEK, own_reader=True,
    conversion="its own ModelArgs: the longest sequence is max_seq_len there, 16384 unless given; here it is "
    "max_position_embeddings",
    rules=(
        _rule(
            key="mscale",
            text="leaves cos and sin unscaled: the square of mscale multiplies the softmax scale instead",
            change=magnitude_of_one, remedies=(NO_MSCALE,),
        ),
        _rule(
            key="max_position_embeddings", text="scales only when the longest sequence exceeds the original length",
            change=unscaled_when_short,
        ),
    ),
)  # fmt: skip
