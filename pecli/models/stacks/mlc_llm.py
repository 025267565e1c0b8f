"""MLC-LLM: its Llama and Phi-3 models, read and not run."""

from __future__ import annotations

from pecli.models.changes import both, of, unscaled
from pecli.models.reading import RawConfig
from pecli.models.stack import SCALED, Rule, Stack

_PATH = "python/mlc_llm/model"


def _old_type(written: RawConfig) -> bool:
    return "type" in written.scaling and "rope_type" not in written.scaling


STACK = Stack(
    title="MLC-LLM", version="79d603f0 (2026-07-23)", scalings=("none", *SCALED), models=("llama", "phi3"),
    own_reader=True, words={"su": "longrope"}, run=False, conversion="mlc_llm convert_weight and gen_config",
    rules=(
        Rule(
            key="type", text="drops a rope_scaling with the old key type: the table is the plain one",
            source=f"{_PATH}/llama", scaling=SCALED, change=unscaled, where=both(_old_type, of("llama")),
        ),
        Rule(
            key="rope_type", text="takes rope type llama3 alone for Llama", source=f"{_PATH}/llama",
            scaling=("linear", "dynamic", "yarn", "longrope"), error="AssertionError", where=of("llama"),
        ),
    ),
)  # fmt: skip
