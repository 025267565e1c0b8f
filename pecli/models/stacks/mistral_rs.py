"""mistral.rs: mistralrs-core/src/layers.rs, read and not run."""

from __future__ import annotations

from pecli.models import changes
from pecli.models.stack import SCALED, Rule, Stack

_PATH = "mistralrs-core/src/layers.rs"
_YARN = (*changes.DEEPSEEK, "mistral", "mistral3", "ministral3")

STACK = Stack(
    title="mistral.rs", version="9e922623f (2026-08-22)", scalings=("none", *SCALED), own_reader=True, run=False,
    rules=(
        Rule(
            key="rope_type", text="has YaRN for DeepSeek and Mistral alone, as far as it was read", source=_PATH,
            scaling="yarn", error="its table is not known", where=changes.not_of(*_YARN),
        ),
        Rule(
            key="mscale",
            text="scales by mscale over mscale_all_dim, with 1 and 0 for what is absent, and rounds the ramp's ends",
            source=_PATH, scaling="yarn", change=changes.after(changes.ratio, changes.whole_ends),
            where=changes.of(*_YARN),
        ),
        Rule(
            key="rope_type", text="refuses linear and dynamic scalings of DeepSeek models", source=_PATH,
            scaling=("linear", "dynamic"), error="an error", where=changes.of(*changes.DEEPSEEK),
        ),
        Rule(
            key="rope_type", text="has no linear or dynamic scaling, as far as it was read", source=_PATH,
            scaling=("linear", "dynamic"), error="its table is not known", where=changes.not_of(*changes.DEEPSEEK),
        ),
        Rule(
            key="attention_factor",
            text="takes the long factors where the sequence so far exceeds the original length; the magnitude "
            "follows the ratio of the lengths",
            source=_PATH, scaling="longrope", change=changes.magnitude_by_lengths,
        ),
    ),
)  # fmt: skip
