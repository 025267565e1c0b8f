"""Position -> cos and sin that turn pairs of queries and keys."""
