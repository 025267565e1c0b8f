"""Tables as other programs embed them: written, and read back by those programs alone."""
