"""Why is it not the same? Faults that explain the differences of two tables."""
