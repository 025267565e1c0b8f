"""The command generate."""
