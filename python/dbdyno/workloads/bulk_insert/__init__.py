"""Inserts of many rows per statement."""
