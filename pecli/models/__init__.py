"""A model's config.json -> recipes, as the frameworks read it.

Nothing here imports NumPy.  Families live in data: families.txt (rotary),
others.txt (everything else), composites.txt (text, vision and audio parts).
A stack other than transformers is one module of ``stacks/``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pecli.models.stacks import STACKS as STACKS

if TYPE_CHECKING:
    from pecli.models.reader import read_config as read_config
    from pecli.models.reading import ConfigReading as ConfigReading
    from pecli.models.reading import Key as Key
    from pecli.models.reading import LayerReading as LayerReading

_PUBLIC = {
    "Key": "pecli.models.reading",
    "LayerReading": "pecli.models.reading",
    "ConfigReading": "pecli.models.reading",
    "read_config": "pecli.models.reader",
}
__all__ = ["STACKS", "ConfigReading", "Key", "LayerReading", "read_config"]


def __getattr__(name: str) -> Any:
    """Return a public name, loaded when first asked for: the stacks' names are wanted by ``--help``."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'pecli.models' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
