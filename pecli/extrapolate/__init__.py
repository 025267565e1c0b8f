"""What an encoding does beyond the length it was trained on, and longer tables."""
