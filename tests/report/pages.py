"""Parts of a page as text."""

import re
from html import unescape

import msgspec

from dbdyno.report.html import render_html
from tests.store import hdr


def section_of(recording, name, **changes):
    """A section with its entities decoded; empty if the page has none.

    ``changes`` apply to the run's record.
    """
    record = msgspec.structs.replace(recording.record, **changes)
    page = render_html(msgspec.structs.replace(recording, record=record), hdr.HISTOGRAMS)
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    return unescape(found.group(0)) if found else ""
