"""Position -> a vector that is added to the embedding."""
