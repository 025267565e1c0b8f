"""A model's config.json -> recipes, as the frameworks read it.

Nothing here imports NumPy.  Families live in data: families.txt (rotary),
others.txt (everything else), composites.txt (text, vision and audio parts).
Stacks other than transformers are in ``stacks/``.
"""
