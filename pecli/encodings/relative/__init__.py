"""A vector for each distance, and which of them belongs to a query and a key."""
