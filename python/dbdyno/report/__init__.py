"""What users see of runs: pages, the summary in a terminal, and plain data for programs.

Everything here is made from loaded recordings; nothing is measured or read. The page is in
:mod:`dbdyno.report.render_html`: a run without one need not import it.
"""
