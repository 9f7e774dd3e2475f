"""What users see of a run: one self-contained page, and the summary in a terminal.

Everything here is made from a loaded recording; nothing is measured or read. The page is in
:mod:`dbdyno.report.html`: a run without one need not import it.
"""

from dbdyno.report.text import render_text

__all__ = ["render_text"]
