"""The judge of tables: structure, signal, name, arithmetic, and the difference of two descriptions."""
