"""What users see of runs: pages, the summary in a terminal, and plain data for programs.

Everything here is made from loaded recordings; nothing is measured or read. A page (``pages``) is a
title, a verdict and sections of blocks (``content``), the sections of a run a file each
(``sections``); ``charts`` draws a block's figure. Each ``render_…`` module shows every kind of
block in one form. The page is in :mod:`dbdyno.report.render_html`: a run without one need not
import it.
"""
