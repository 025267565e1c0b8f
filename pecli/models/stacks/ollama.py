"""Ollama: its converter, read and not run."""

from __future__ import annotations

from pecli.models import changes
from pecli.models.config import number
from pecli.models.reading import Params, RawConfig
from pecli.models.stack import BETAS, SCALED, Rule, Stack

_PATH = "convert"


def _deepseek(params: Params, written: RawConfig) -> Params:
    scaled = number(written.rope.get("mscale_all_dim"))
    magnitude = changes.magnitude_of_one if scaled else changes.plain_magnitude
    return changes.whole_ends(magnitude(params, written), written)


STACK = Stack(
    title="Ollama", version="fb3076099 (2026-08-21)", scalings=("none", *SCALED),
    models=("llama", "gpt_oss", "gemma3_text", "mistral3", "ministral3", *changes.DEEPSEEK), own_reader=True, run=False,
    conversion="a GGUF file by its own converter, ollama create",
    rules=(
        Rule(
            key="rope_type",
            text="reads linear (by the key type) and llama3 alone for Llama: the table is the plain one",
            source=f"{_PATH}/convert_llama.go", scaling=("dynamic", "yarn", "longrope"), change=changes.unscaled,
            where=changes.of("llama"),
        ),
        Rule(
            key="rope_type", text="reads a linear scaling by the key type alone: the table is the plain one",
            source=f"{_PATH}/convert_llama.go", scaling="linear", change=changes.unscaled,
            where=lambda written: written.model == "llama" and "type" not in written.scaling,
        ),
        Rule(
            key="mscale_all_dim",
            text="leaves cos and sin of DeepSeek models unscaled where mscale_all_dim is given, and rounds the "
            "ramp's ends, as llama.cpp does",
            source=f"{_PATH}/convert_deepseek2.go", scaling="yarn", change=_deepseek,
            where=changes.of(*changes.DEEPSEEK),
        ),
        Rule(
            key="attention_factor",
            text="hands on factor, original length and betas alone: the magnitude is 0.1 ln(factor) + 1, and the "
            "ramp's ends are rounded",
            source=f"{_PATH}/convert_gptoss.go", scaling="yarn",
            change=changes.after(changes.plain_magnitude, changes.whole_ends),
            where=changes.of("gpt_oss", "gemma3_text"),
        ),
        Rule(
            key="beta_fast", text="takes 64 for a beta_fast of Gemma 3 that is absent",
            source=f"{_PATH}/convert_gemma3.go", scaling="yarn",
            change=lambda params, written: {**params, "beta-fast": params.get("beta-fast", "64")},
            where=changes.of("gemma3_text"), remedies=(BETAS,),
        ),
    ),
)  # fmt: skip
