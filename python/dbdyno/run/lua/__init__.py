"""Sysbench scripts: where they are, what follows ``--``, and their commands."""
