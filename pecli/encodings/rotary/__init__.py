"""Position -> cos and sin that rotate pairs of queries and keys."""
