"""Runs beside each other: two variants, or many runs over time."""
