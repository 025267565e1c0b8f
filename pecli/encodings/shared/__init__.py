"""Parts shared by several encodings."""
