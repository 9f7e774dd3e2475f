"""What is read of the host while a run lasts: one file for each source, ending in ``SOURCE``."""
