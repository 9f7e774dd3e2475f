"""One question about the machine a file."""
