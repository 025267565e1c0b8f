"""What every format shares."""
