"""A study's answers as blocks of a page: sentences with their doubts, then what they show."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dbdyno.answers.answer import (
    Answered,
    CurveOf,
    PartsOf,
    ProfileOf,
    QueueOf,
    ScatterOf,
    Shown,
    TableOf,
)
from dbdyno.answers.answering import Answers, title_of, without_verdict
from dbdyno.explain.sentences import capitalized
from dbdyno.report.charts.curves import curve_figure
from dbdyno.report.charts.parts import parts_figure
from dbdyno.report.charts.scatter import scatter_figure
from dbdyno.report.content import Block, Figure, PageSection, Sentence, Table, Text
from dbdyno.report.pages.profile_differences import profile_figure
from dbdyno.report.sections import locks


def answer_sections(answers: Answers) -> list[PageSection]:
    """One section per answer, in the order of the study's file."""
    return [
        PageSection(
            id=f"answer-{number}",
            title=title_of(question),
            blocks=answer_blocks(answer, f"answer-{number}"),
        )
        for number, (question, answer) in enumerate(without_verdict(answers), 1)
    ]


def answer_blocks(answer: Answered, name: str) -> list[Block]:
    """Its claims, its tables and charts, and what it could not answer."""
    sentences: list[Block] = [
        Sentence(
            text=capitalized(claim.sentence),
            is_decided=claim.is_decided,
            doubt=capitalized(claim.doubt) if claim.doubt else "",
        )
        for claim in answer.claims
    ]
    missing = [Text(text=capitalized(f"Not answered: {answer.missing}"))] if answer.missing else []
    shown = [
        block
        for number, one in enumerate(answer.shown, 1)
        for block in _shown(one, f"{name}-{number}")
    ]
    return [*sentences, *missing, *shown]


def _shown(shown: Shown, name: str) -> Iterator[Block]:
    if isinstance(shown, TableOf):
        yield from table_blocks(shown)
    elif isinstance(shown, CurveOf):
        yield curve_figure(shown, name)
    elif isinstance(shown, ScatterOf):
        yield scatter_figure(shown, name)
    elif isinstance(shown, PartsOf):
        yield parts_figure(shown, name)
    elif isinstance(shown, ProfileOf):
        yield profile_figure(shown, name)
    else:
        yield from queue_blocks(shown, name)


def table_blocks(table: TableOf) -> Iterator[Block]:
    """The table, and below it the note needed to read it."""
    yield Table(caption=table.title, columns=table.columns, rows=table.rows, numeric=table.numeric)
    if table.note:
        yield Text(text=table.note, note=True)


def queue_blocks(queue: QueueOf, name: str) -> Sequence[Figure | Text]:
    """The lock diagram of that run's own report, or that nobody waited."""
    drawn = locks.build(queue.trial.run)
    if not drawn:
        return [Text(text=f"{queue.title}: no session was sampled waiting for a lock.")]
    return [
        replace(figure, id=name, summary=f"{queue.title}. {figure.summary}")
        for figure in drawn
        if isinstance(figure, Figure)
    ]
