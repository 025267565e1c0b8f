"""candle: the rotary tables of candle-transformers, read and not run."""

from __future__ import annotations

from pecli.models import changes, common_rules
from pecli.models.stack import SCALED, Rule, Stack

_PATH = "candle-transformers/src/models"
_PLAIN = ("qwen2", "qwen3", "mistral", "gemma3_text")

STACK = Stack(
    title="candle", version="2a13b0f3f (2026-08-14)", scalings=("none", *SCALED),
    models=("llama", "phi3", "glm4", "gemma4_text", *_PLAIN, *changes.DEEPSEEK), own_reader=True, run=False,
    rules=(
        Rule(
            key="rope_scaling", text="has no rope_scaling for this model: the table is the plain one", source=_PATH,
            scaling=SCALED, change=changes.unscaled, where=changes.of(*_PLAIN, "glm4"),
        ),
        Rule(
            key="rope_type", text="has llama3 and default alone for Llama", source=f"{_PATH}/llama.rs",
            scaling=("linear", "dynamic", "yarn", "longrope"), error="no such rope type", where=changes.of("llama"),
        ),
        common_rules.ratio(f"{_PATH}/deepseek2.rs", where=changes.of(*changes.DEEPSEEK)),
        Rule(
            key="short_factor",
            text="multiplies the frequencies by the lists instead of dividing, with no magnitude, and takes rows "
            "below the original length from the short one",
            source=f"{_PATH}/phi3.rs:99-119", scaling="longrope", error="two tables in one, which no recipe gives",
            where=changes.not_of(*_PLAIN, "llama"),
        ),
    ),
)  # fmt: skip
