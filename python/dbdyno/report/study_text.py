"""A study's report for a terminal or a log: the question, the answer, the doubt, the tables.

Plain text of about 100 columns; pictures are told by their summaries.
"""

import textwrap
from collections.abc import Iterator, Sequence

from dbdyno.answers.answer import Answered, Claim, Shown, TableOf, Trials
from dbdyno.answers.answering import Answers, title_of, verdict
from dbdyno.report.study import doubts, status_words, when_words
from dbdyno.report.study_answers import without_verdict
from dbdyno.report.study_making import time_facts
from dbdyno.report.text import aligned, printable
from dbdyno.report.verdict import capitalized
from dbdyno.report.words import THIN_SPACE
from dbdyno.words import counted

_WIDTH = 100


def render_study_text(trials: Trials, answers: Answers) -> str:
    """The whole report, ending in a newline."""
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
    text = "\n\n".join("\n".join(block) for block in blocks if block)
    return text.replace(THIN_SPACE, " ") + "\n"


def _head(trials: Trials) -> Iterator[str]:
    yield printable(f"{trials.spec.title} (study {trials.study.study_id})")
    yield from _wrapped(trials.spec.question)
    yield when_words(trials)


def _answer(trials: Trials, claim: Claim) -> Iterator[str]:
    yield from _wrapped(f"{status_words(claim)}: {capitalized(claim.sentence)}")
    found = list(doubts(trials, claim))
    if found:
        yield "Doubts:"
        for doubt in found:
            yield from _wrapped(doubt, "  - ")


def _answered(title: str, answer: Answered) -> Iterator[str]:
    yield title
    yield "-" * len(title)
    for claim in answer.claims:
        yield from _wrapped(capitalized(claim.sentence), "* " if claim.told else "? ")
        if claim.doubt:
            yield from _wrapped(capitalized(claim.doubt), "    ")
    if answer.missing:
        yield from _wrapped(f"Not answered: {capitalized(answer.missing)}")
    for shown in answer.shown:
        yield ""
        yield from _shown(shown)


def _shown(shown: Shown) -> Iterator[str]:
    if isinstance(shown, TableOf):
        yield from _table(shown)
    elif hasattr(shown, "summary"):
        yield from _wrapped(f"{shown.title}. {shown.summary}")
    else:
        yield f"{shown.title}: drawn in the page."


def _table(table: TableOf) -> Iterator[str]:
    yield f"{table.title}:"
    rows = [tuple(table.columns), *(tuple(map(printable, row)) for row in table.rows)]
    yield from _columns(rows, table.numeric)
    if table.note:
        yield from _wrapped(table.note)


def _columns(rows: Sequence[Sequence[str]], numeric: frozenset[int]) -> Iterator[str]:
    """Flush left up to the first column of numbers."""
    words = min(numeric, default=len(rows[0]))
    yield from aligned(rows, left=words)


def _published(trials: Trials) -> Iterator[str]:
    if trials.spec.published:
        yield "As published (their machine: only shapes can be compared)"
    for one in trials.spec.published:
        yield from _wrapped(f"{one.title}. {one.source}:")
        yield from aligned([one.columns, *one.rows], left=1)
        for sentence in one.found:
            yield from _wrapped(sentence, "  - ")


def _making(trials: Trials) -> Iterator[str]:
    spec = trials.spec
    points = f"{counted(len(trials.study.points), 'point')} × {counted(spec.repeats, 'repeat')}"
    yield f"Made as {points} in randomised complete blocks, seed {spec.seed}; cache {spec.cache}."
    spent = [f"{name.lower()} {value}" for name, value in time_facts(trials.study)]
    if spent:
        yield capitalized("; ".join(spent))
    for result in trials.study.results:
        if result.status != "done":
            reason = (result.error or {}).get("message", "")
            yield from _wrapped(
                f"Turn {result.turn.number} ({result.turn.point}) {result.status}: {reason}", "  - "
            )


def _wrapped(text: str, mark: str = "") -> list[str]:
    return textwrap.wrap(
        printable(text), _WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark)
    )
