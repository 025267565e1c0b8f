"""The command extrapolate."""
