"""Studies: from a file with factors to runs in a fair order, and their results.

A file is read and resolved for a size (``spec``), multiplied out and put in order
(``matrix``), checked against the host (``plan``) and run (``execute``).
"""
