"""Is it the same? The differences of two tables, block by block."""
