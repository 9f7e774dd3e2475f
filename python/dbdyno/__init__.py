"""A dynamometer for OLTP databases."""
