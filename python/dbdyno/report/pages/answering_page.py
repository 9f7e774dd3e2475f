"""A page that answers a question: the question, the answer, its doubts, then what shows it."""

from collections.abc import Sequence

from dbdyno.report.content import HeadLine, Page, PageSection, Verdict


def answering_page(  # noqa: PLR0913 - all that such a page has
    *,
    name: str,
    title: str,
    question: str,
    when: str,
    verdict: str,
    status: str,
    is_decided: bool,
    doubts: Sequence[str],
    sections: Sequence[PageSection],
    footer: str,
) -> Page:
    """The page; ``status`` is how far the verdict can be relied on, in a few words."""
    return Page(
        name=name,
        title=title,
        head=[HeadLine(text=question, style="question"), HeadLine(text=when, style="when")],
        top=[Verdict(status=status, text=verdict, is_good=is_decided, doubts=doubts)],
        sections=[section for section in sections if section.blocks],
        footer=footer,
    )
