"""Recipe, positions and request -> rows."""
