"""csv: a row for each position, a column for each value: the shortest decimal that reads back to the same float.

It holds no recipe.
"""

from pecli.formats.common.format import Format

FORMAT = Format(name="csv", title="csv", suffixes=(".csv",), reader=".read:CsvTable", place=5, rereads=True)
