"""Charts of characters, made from the same contents as the drawings of a page (``charts``).

A chart of a terminal has a few hundred cells and perhaps no colours. So lines differ by their
marks, and areas by letters; colours, where a terminal has them, only add to that.
"""
