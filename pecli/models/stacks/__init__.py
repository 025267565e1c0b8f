"""The stacks that pecli knows, one file of rules each; `pecli.models.stack` reads them."""

from __future__ import annotations

import os

_FILES = [name.removesuffix(".toml") for name in os.listdir(__path__[0]) if name.endswith(".toml")]
# Whose reading of a model's config; the first is the default.
STACKS = ("transformers", *sorted(_FILES))  # names alone: a command line lists them and loads no rule
