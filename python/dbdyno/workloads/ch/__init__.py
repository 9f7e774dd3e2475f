"""Analysts beside order entry, as in CH-benCHmark: what they cost it, and how fast they are."""
