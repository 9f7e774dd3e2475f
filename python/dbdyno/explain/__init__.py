"""Explains why the numbers of a run are what they are: rules over the recording."""
