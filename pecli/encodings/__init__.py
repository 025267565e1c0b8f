"""Encodings, each declared once in a module or folder of its name.

Each subfolder holds encodings only, so that a name is found without importing the others; parts that several share are
in ``shared``.
"""
