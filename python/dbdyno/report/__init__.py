"""What people see of a run: one self-contained page, and the table at the end in a terminal.

Everything here is made from a loaded recording; nothing is measured or read.
"""

from dbdyno.report.html import render_html
from dbdyno.report.text import render_text

__all__ = ["render_html", "render_text"]
