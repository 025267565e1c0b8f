"""What reaches the terminal."""
