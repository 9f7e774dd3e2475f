"""The standbys of a run: which there are, and how old what they show is."""
