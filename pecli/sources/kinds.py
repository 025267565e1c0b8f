"""Is it a recipe, a model's config, a folder or a file?  Asking loads no NumPy, and of a file's name no encoding."""

from __future__ import annotations

import glob
import json
import os
from enum import Enum
from pathlib import Path

from pecli.numbers.reader import is_url
from pecli.spec.catalogue import CATALOGUE

LARGEST_CONFIG = 16 << 20  # bytes; a file of this suffix that is larger holds values
CONFIG_KEYS = {"model_type", "architectures", "rope_scaling", "rope_theta", "rope_parameters", "text_config"}


class Kind(Enum):
    """What a source's text names."""

    RECIPE = "recipe"
    CONFIG = "config"
    FOLDER = "folder"
    FILE = "file"


def kind_of(text: str) -> Kind:
    """Return what a text names; a file need not exist.

    A word that is an encoding's name, before any colon, is a recipe; ``./name``
    is a file of that name.  A config is a JSON object with keys that models have.  Behind a URL a folder is what ends
    with a slash, and no store: whoever only asks what a word means waits for no server.
    """
    if text.partition(":")[0] in CATALOGUE:
        return Kind.RECIPE
    if is_url(text):
        from pecli.formats import is_store

        return Kind.FOLDER if text.endswith("/") and not is_store(text) else Kind.FILE
    path = Path(text)
    if path.is_dir() or is_pattern(text):
        from pecli.formats import is_store

        return Kind.FILE if is_store(text) else Kind.FOLDER
    return Kind.CONFIG if path.suffix == ".json" and _is_config(path) else Kind.FILE


def is_pattern(text: str) -> bool:
    """Whether a text is no file, and a pattern that files match."""
    return any(mark in text for mark in "*?[") and not os.path.exists(text) and bool(glob.glob(text, recursive=True))


def is_checkpoint(folder: str) -> bool:
    """Whether a folder is a model's: it has a config.json."""
    return (Path(folder) / "config.json").is_file()


def _is_config(path: Path) -> bool:
    """Whether a JSON file holds one object that says ``model_type`` or has rotary keys."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_CONFIG:
            return False
        with path.open("rb") as file:
            if not file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
                return False
            file.seek(0)
            loaded = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(loaded, dict) and bool(CONFIG_KEYS & loaded.keys())
