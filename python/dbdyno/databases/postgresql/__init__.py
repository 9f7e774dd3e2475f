"""PostgreSQL, version 12 and later."""
