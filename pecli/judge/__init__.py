"""Judging tables: describe a table by its values, then compare descriptions (structure, signal, name, arithmetic)."""
