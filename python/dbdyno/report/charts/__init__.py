"""Charts: the drawing surface, scales and axes, and one file for each kind of picture."""
