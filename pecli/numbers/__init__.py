"""Exact text and numbers; knows no encoding."""
