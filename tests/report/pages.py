"""Parts of a page as text."""

import dataclasses
import re
from html import unescape

import msgspec

from dbdyno.report.pages.run import run_page
from dbdyno.report.render_html import render_html


def section_of(recording, name, **changes):
    """A section with its entities decoded; empty if the page has none.

    ``changes`` apply to the run's record.
    """
    record = msgspec.structs.replace(recording.record, **changes)
    page = render_html(run_page(dataclasses.replace(recording, record=record)))
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    return unescape(found.group(0)) if found else ""
