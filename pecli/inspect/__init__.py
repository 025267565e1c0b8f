"""What a table, a config or a checkpoint holds: statistics, properties, expectations, facts."""
