"""Order entry, derived from TPC-C; its results are not comparable with published TPC results."""
