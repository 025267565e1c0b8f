"""What several encodings share."""
