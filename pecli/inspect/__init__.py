"""Content of tables, configs and checkpoints: statistics, properties, expectations, facts."""
