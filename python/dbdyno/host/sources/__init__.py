"""What is read of the machine while a run lasts: a file a source, each ending in ``SOURCE``."""
