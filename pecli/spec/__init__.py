"""Declarations of encodings: parameters, facts, sources and plans; nothing here imports NumPy."""
