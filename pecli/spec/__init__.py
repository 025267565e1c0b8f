"""What an encoding is: parameters, facts, sources and plans; nothing here imports NumPy."""
