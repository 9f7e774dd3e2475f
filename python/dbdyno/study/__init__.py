"""Studies: from a file with factors to runs in a fair order, and what they came to.

A file is read and settled on a size (``spec``), multiplied out (``matrix``), put in order
(``order``), held against the machine (``plan``) and run (``execute``).
"""
