"""The stacks that pecli knows, in modules by kind: each adds them to its ``STACKS``."""

from __future__ import annotations

# names alone, by module: a command line lists them and loads no rule
_NAMES = {
    "serving": ("vllm", "sglang", "lmdeploy", "tensorrt-llm", "tgi", "exllamav2", "exllamav3"),
    "native": ("llama.cpp", "ollama", "mlx", "candle", "mistral.rs", "mlc-llm", "onnxruntime-genai"),
    "training": ("deepseek", "gpt-neox", "gpt-oss", "litgpt", "maxtext", "megatron", "torchtune"),
}
MODULES = {name: module for module, names in _NAMES.items() for name in names}
STACKS = ("transformers", *sorted(MODULES))
"""Whose reading of a model's config; the first is the default."""
