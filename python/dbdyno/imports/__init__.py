"""Runs that other tools measured, from the text that they printed.

``text`` makes lines of a file, ``reading`` offers each to the readers of the tools, and what a
reader found is an ``ImportedRun``; ``recording`` makes a run of it, which is kept as any other.
"""
