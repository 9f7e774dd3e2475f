"""One-row transactions by primary key."""
