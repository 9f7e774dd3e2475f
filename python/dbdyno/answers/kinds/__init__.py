"""The answers, one file each."""
