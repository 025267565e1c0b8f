"""Input and output: atomic files, remote files, sources, and blocks of rows computed by threads."""
