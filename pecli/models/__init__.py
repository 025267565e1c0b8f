"""A model's config.json -> recipes, as the frameworks read it.

Nothing here imports NumPy.  Families live in data: families.txt (rotary),
others.txt (everything else), composites.txt (text, vision and audio parts).
"""

from pecli.models.reader import read_config
from pecli.models.reading import STACKS, Key, LayerReading, Reading

__all__ = ["STACKS", "Key", "LayerReading", "Reading", "read_config"]
