"""A campaign against the command line: by seed and count, in processes with limits; `make fuzz`."""
