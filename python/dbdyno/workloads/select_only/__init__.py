"""Reads by key."""
