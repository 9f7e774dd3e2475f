"""Scripts for sysbench: where they are, what follows ``--``, and their commands."""
