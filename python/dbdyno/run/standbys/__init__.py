"""The standbys of a run: which there are, and the record of each."""
