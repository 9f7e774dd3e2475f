"""Reads any row."""
