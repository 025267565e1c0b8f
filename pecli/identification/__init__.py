"""What is it? The search for a recipe that gives a table's values, and the verdict."""
