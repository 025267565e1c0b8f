"""The command inspect."""
