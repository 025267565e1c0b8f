"""Worked examples and recommendations."""
