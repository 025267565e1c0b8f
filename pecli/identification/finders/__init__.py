"""What an unknown table may be: each module finds recipes for one kind of table from its values."""
