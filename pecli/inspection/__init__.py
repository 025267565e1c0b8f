"""What does it hold? Statistics, properties, facts and verification of a table."""
