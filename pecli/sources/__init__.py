"""What a user may name: a recipe, a file, a folder, a config; and two of them laid side by side."""
