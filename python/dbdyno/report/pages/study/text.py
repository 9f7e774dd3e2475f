"""A study's report for a terminal or a log: the question, the answer, the doubt, the tables.

Plain text of about 100 columns, or as wide as the screen; charts appear as their summaries.
"""

from collections.abc import Iterator, Sequence

from dbdyno.answers.answer import Answered, Claim, QueueOf, Shown, TableOf, Trials
from dbdyno.answers.answering import Answers, title_of, verdict, without_verdict
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import counted
from dbdyno.layout import Columns, Line, Paragraph, laid_out, printable
from dbdyno.report.content import Figure
from dbdyno.report.pages.study.answers import queue_blocks
from dbdyno.report.pages.study.making import preparation_facts, time_facts
from dbdyno.report.pages.study.page import doubts, status_text, when_text


def render_study_text(trials: Trials, answers: Answers, screen: int | None = None) -> str:
    """Render the whole report, ending in a newline, for a screen of this width."""
    claim = verdict(answers)
    blocks = [
        list(_head(trials)),
        list(_answer(trials, claim)),
        *(
            list(_answered(title_of(question), answer))
            for question, answer in without_verdict(answers)
        ),
        list(_published(trials)),
        list(_making(trials)),
    ]
    return "\n\n".join(laid_out(block, screen) for block in blocks if block) + "\n"


def _head(trials: Trials) -> Iterator[Line]:
    yield _flowing(f"{trials.spec.title} (study {trials.study.study_id})")
    yield _flowing(trials.spec.question)
    yield when_text(trials)


def _answer(trials: Trials, claim: Claim) -> Iterator[Line]:
    yield _flowing(f"{status_text(claim)}: {capitalized(claim.sentence)}")
    found = list(doubts(trials, claim))
    if found:
        yield "Doubts:"
        for doubt in found:
            yield _flowing(doubt, "  - ")
    yield "Below, * marks what the data decides, ? what it does not."


def _answered(title: str, answer: Answered) -> Iterator[Line]:
    yield title
    yield "-" * len(title)
    for claim in answer.claims:
        yield _flowing(capitalized(claim.sentence), "* " if claim.is_decided else "? ")
        if claim.doubt:
            yield _flowing(capitalized(claim.doubt), "    ")
    if answer.missing:
        yield _flowing(f"Not answered: {capitalized(answer.missing)}")
    for shown in answer.shown:
        yield ""
        yield from _shown(shown)


def _shown(shown: Shown) -> Iterator[Line]:
    if isinstance(shown, TableOf):
        yield from _table(shown)
    elif isinstance(shown, QueueOf):
        for block in queue_blocks(shown, "queue"):
            yield _flowing(block.summary if isinstance(block, Figure) else block.text)
    else:
        yield _flowing(f"{shown.title}. {shown.summary}")


def _table(table: TableOf) -> Iterator[Line]:
    yield _flowing(f"{table.title}:")
    rows = [tuple(table.columns), *(tuple(map(printable, row)) for row in table.rows)]
    yield _columns(rows, table.numeric)
    if table.note:
        yield _flowing(table.note)


def _columns(rows: Sequence[Sequence[str]], numeric: frozenset[int]) -> Columns:
    """Left-aligned up to the first numeric column."""
    return Columns(rows, left=min(numeric, default=len(rows[0])))


def _published(trials: Trials) -> Iterator[Line]:
    if trials.spec.published:
        yield "As published (other hardware: only shapes can be compared)"
    for one in trials.spec.published:
        yield _flowing(f"{one.title} ({one.source}):")
        yield Columns([one.columns, *one.rows], left=1)
        for sentence in one.found:
            yield _flowing(sentence, "  - ")


def _making(trials: Trials) -> Iterator[Line]:
    spec = trials.spec
    points = f"{counted(len(trials.study.points), 'point')} × {counted(spec.repeats, 'repeat')}"
    prepared = (f"{name.lower()}: {value}" for name, value in preparation_facts(trials))
    yield _flowing(
        f"Run as {points} in randomized complete blocks, seed {spec.seed}; {'; '.join(prepared)}."
    )
    spent = [f"{name.lower()} {value}" for name, value in time_facts(trials.study)]
    if spent:
        yield _flowing(capitalized("; ".join(spent)))
    for result in trials.study.results:
        if result.status != "done":
            reason = (result.error or {}).get("message", "")
            yield _flowing(
                f"Turn {result.turn.number} ({result.turn.point}) {result.status}: {reason}", "  - "
            )


def _flowing(text: str, mark: str = "") -> Paragraph:
    return Paragraph(mark + printable(text), " " * len(mark))
