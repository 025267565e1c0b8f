"""Numbers added to the logits, one for each head, query and key."""
