"""Studies: from a file with factors to runs in a fair order, and their results.

A file is read and resolved for a size (``spec``), multiplied out (``matrix``), put in order
(``order``), checked against the host (``plan``) and run (``execute``).
"""
