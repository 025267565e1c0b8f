"""Encodings that need content."""
