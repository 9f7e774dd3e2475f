"""A page that answers a question: question, answer, doubts, then sections.

Self-contained like a run's report, and without any script: all its charts are drawn already.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.report.content import Block
from dbdyno.report.html import rendered, style


class PageSection(Struct, frozen=True, kw_only=True):
    """One part of a page; without blocks it is left out."""

    id: str
    title: str
    blocks: Sequence[Block]


class Page(Struct, frozen=True, kw_only=True):
    """The contents of a page. ``name`` states what kind of thing it is about, and which."""

    name: str
    title: str
    question: str
    when: str
    verdict: str
    status: str
    """How far the verdict can be relied on, in a few words."""
    is_decided: bool
    doubts: Sequence[str]
    sections: Sequence[PageSection]
    footer: str


def render_page(page: Page) -> str:
    """Render the whole page as one file."""
    sections = [section for section in page.sections if section.blocks]
    return rendered(
        "page.html",
        page=replace(page, sections=sections),
        sections=[(section, section.blocks) for section in sections],
        style=style("report.css", "curves.css", "page.css"),
    )
