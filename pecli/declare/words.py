"""Words of the command line that help and completion need before anything is imported."""

from __future__ import annotations

STACKS = ("transformers", "vllm", "llama.cpp", "megatron", "mlx", "deepseek")
"""Whose reading of a model's config; the first is the default."""

PURPOSES = ("language-modelling", "masked-lm", "long-context", "short", "vision", "research")
"""What encodings are chosen for; the rules are in :mod:`pecli.inspection.purposes`."""

PICTURES = ("heatmap", "waves", "similarity", "rotation", "bias", "slopes")
"""What inspect draws of a table."""
