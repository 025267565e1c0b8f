"""Encodings, each declared once in a module or folder of its name.

A folder here holds encodings alone, so that a name is found without importing the others; what several share lies in
``shared``.
"""
