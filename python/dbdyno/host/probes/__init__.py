"""One file for each question about the host."""
