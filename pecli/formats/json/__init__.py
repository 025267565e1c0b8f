"""JSON: one object with the recipe, and the arrays as nested lists of the shortest decimals that read back.

Infinity is the string inf; recipe and metadata are keys of their own.
"""

from pecli.formats.common.format import Format

FORMAT = Format(name="json", title="JSON", suffixes=(".json",), reader=".read:JsonTable", place=6, rereads=True)
