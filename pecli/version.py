"""The version, which files and the command line name."""

__version__ = "0.1.0"
