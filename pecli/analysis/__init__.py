"""What is found out about tables: dataclasses out, nothing printed."""
