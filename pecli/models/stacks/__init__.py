"""The stacks that pecli knows, in modules by kind: each adds them to its ``STACKS``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pecli.models.stack import Stack

# names alone, by module: a command line lists them and loads no rule
_NAMES = {
    "serving": ("vllm", "sglang", "lmdeploy", "tensorrt-llm", "tgi", "exllamav2", "exllamav3"),
    "native": ("llama.cpp", "ollama", "mlx", "candle", "mistral.rs", "mlc-llm", "onnxruntime-genai"),
    "training": ("deepseek", "gpt-neox", "gpt-oss", "litgpt", "maxtext", "megatron", "torchtune"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
STACKS = ("transformers", *sorted(_MODULES))
"""Whose reading of a model's config; the first is the default."""


@cache
def stack_of(name: str) -> Stack:
    """Return a stack by its name; transformers, which the others are measured by, is none."""
    from importlib import import_module

    found: Stack = import_module(f"{__name__}.{_MODULES[name]}").STACKS[name]
    return found
