"""A model's config.json -> recipes, as the frameworks read it.

Nothing here imports NumPy.  Families live in data: families.txt (rotary),
others.txt (everything else), composites.txt (text, vision and audio parts).
A stack other than transformers is one module of ``stacks/``.
"""
