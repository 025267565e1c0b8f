"""Text Generation Inference (archived): layers/rotary.py, read and not run."""

from __future__ import annotations

from pecli.models import common_rules
from pecli.models.changes import no_original
from pecli.models.stack import SCALED, Rule, Stack

_PATH = "server/text_generation_server/layers/rotary.py"

STACK = Stack(
    title="Text Generation Inference", version="db931fcf (2026-01-08, archived)", scalings=("none", *SCALED), run=False,
    conversion="config.json; ROPE_SCALING and ROPE_FACTOR of the environment override it",
    rules=(
        common_rules.null_factor(_PATH),
        common_rules.ratio(_PATH),
        Rule(
            key="original_max_position_embeddings", scaling="llama3", text="has no default for the original length",
            source=_PATH, error="KeyError: 'original_max_position_embeddings'", where=no_original,
        ),
        Rule(
            key="short_factor", scaling="longrope",
            text="takes rows below the original length from the short list and the others from the long one",
            source=_PATH, error="two tables in one, which no recipe gives",
        ),
    ),
)  # fmt: skip
