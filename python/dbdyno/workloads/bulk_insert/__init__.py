"""Rows by many at once."""
