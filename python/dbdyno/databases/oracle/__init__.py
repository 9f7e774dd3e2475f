"""Oracle 12.2 and later."""
