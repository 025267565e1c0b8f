"""Relative encodings: a vector for each distance, and the index of the vector for each query and key."""
