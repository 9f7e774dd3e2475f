"""What people see of a run: one self-contained page, and the table at the end in a terminal.

Everything here is made from a loaded recording; nothing is measured or read. The page stands in
:mod:`dbdyno.report.html`: a run without one need not import it.
"""

from dbdyno.report.text import render_text

__all__ = ["render_text"]
