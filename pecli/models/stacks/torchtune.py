"""torchtune: plain and Llama 3 tables from constructor arguments, read and not run."""

from __future__ import annotations

from pecli.models.changes import built_in
from pecli.models.stack import SCALED, Rule, Stack

STACK = Stack(
    title="torchtune", version="0.6.1", scalings=("none", *SCALED, "proportional"), own_reader=True, run=False,
    conversion="arguments of its model builders, not config.json",
    rules=(
        Rule(
            key="rope_type", text="has plain and Llama 3 tables alone",
            source="torchtune/modules/position_embeddings.py, models/llama3_1/_position_embeddings.py",
            scaling=("linear", "dynamic", "yarn", "longrope", "proportional"), error="no such table",
        ),
        Rule(
            key="low_freq_factor",
            text="has 1, 4 and 8192 for low_freq_factor, high_freq_factor and the original length",
            source="torchtune/models/llama3_1/_position_embeddings.py", scaling="llama3", change=built_in,
        ),
    ),
)  # fmt: skip
