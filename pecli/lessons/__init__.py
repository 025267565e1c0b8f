"""How is it computed? The steps of a table, worked out as on a board."""
