"""The commands of ``dbdyno``, one file for each: its name, its options, its ``app``."""
