"""Factors, repeats, order: many runs, and what they come to."""
