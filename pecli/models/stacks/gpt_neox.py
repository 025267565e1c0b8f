"""GPT-NeoX: the trainer that the models are named after, read and not run."""

from __future__ import annotations

from pecli.models.changes import unscaled
from pecli.models.stack import SCALED, Rule, Stack

_PATH = "megatron/model/positional_embeddings.py:38-80"

STACK = Stack(
    title="GPT-NeoX", version="ea7aefd8 (2026-05)", models=("gpt_neox",), own_reader=True, run=False,
    scalings=("none", *SCALED), conversion="its own YAML keys, rotary_pct and rotary_emb_base",
    rules=(
        Rule(
            key="rope_scaling", text="has no scaling: the table is the plain one", source=_PATH, scaling=SCALED,
            change=unscaled,
        ),
        Rule(
            key="torch_dtype", source=_PATH,
            text="casts the inverse frequencies to the model's precision: the table here is the exact one",
        ),
    ),
)  # fmt: skip
