"""MaxText: layers/embeddings.py with YAML keys of its own, read and not run."""

from __future__ import annotations

from pecli.models.changes import after, built_in, giving, magnitude_of_one
from pecli.models.stack import Rule, Stack

_PATH = "src/maxtext/layers/embeddings.py"

STACK = Stack(
    title="MaxText", version="e591f30cb (2026-08-22)", scalings=("none", "yarn", "llama3"), own_reader=True,
    run=False, conversion="YAML keys of its own; the config's values are taken under their names there",
    rules=(
        Rule(
            key="factor",
            text="has 8, 1, 4 and 8192 for the factors and the original length of Llama 3.1, whatever the config "
            "says",
            source=_PATH, scaling="llama3", change=after(giving(factor="8"), built_in),
        ),
        Rule(
            key="attention_factor",
            text="leaves cos and sin unscaled unless rope_attention_scaling is set, and then takes 0.1 ln(factor) "
            "+ 1; multi-latent attention scales the softmax instead",
            source=_PATH, scaling="yarn", change=magnitude_of_one,
        ),
    ),
)  # fmt: skip
