"""Judging: what a table holds, how it differs from another one, and where."""
