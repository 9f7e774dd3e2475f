"""A comparison as a page: the verdict, what differs, each metric with its interval, the doubts."""

from collections.abc import Iterator, Sequence

from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import counted
from dbdyno.model.comparison import CHANGED, Comparison
from dbdyno.report.content import Block, Page, PageSection, Sentence, Table, Text
from dbdyno.report.pages.answering_page import answering_page
from dbdyno.report.pages.comparison import (
    HEADINGS,
    LEFT,
    headline,
    metric_row,
    moved_lines,
)
from dbdyno.report.pages.comparison_gates import GateResult

_NOTHING = "nothing that is recorded, except the results"
_METHODS = {
    "single runs": "A change is judged by the intervals within two single runs, which say nothing "
    "about how runs vary.",
    "size": "A change is judged by its size and its reason, which is not a test.",
}
FOOTER = (
    "The unit is the run. Ratios are after over before; better, worse and the same are judged "
    "against the margin, and all metrics of several runs together (Holm)."
)


def comparison_page(
    comparison: Comparison, results: Sequence[GateResult], runs: tuple[int, int]
) -> Page:
    """The whole page; ``runs`` are the numbers of runs of both sides."""
    decided = [metric for metric in comparison.metrics if metric.verdict != "cannot tell"]
    return answering_page(
        name="comparison",
        title=f"{comparison.after} against {comparison.before}",
        question="What changed between the two, and is it better?",
        when=f"{counted(runs[0], 'run')} against {counted(runs[1], 'run')}",
        verdict=headline(comparison),
        status=_status(len(decided), len(comparison.metrics)),
        is_decided=bool(decided),
        doubts=comparison.doubts,
        sections=[
            _section("What differs", _lines(comparison.unequal or [_NOTHING])),
            _section("Metrics", [*_metrics(comparison)]),
            _section("Other costs that changed", _lines(moved_lines(comparison))),
            _section("Findings of one side", _lines(comparison.findings)),
            _section("Conditions", _lines([one.sentence for one in results])),
            _section("To decide", [*_decide(comparison)]),
        ],
        footer=FOOTER,
    )


def _section(title: str, blocks: Sequence[Block]) -> PageSection:
    return PageSection(id=title.lower().replace(" ", "-"), title=title, blocks=blocks)


def _status(decided: int, metrics: int) -> str:
    return f"{decided} of {counted(metrics, 'metric')} decided"


def _metrics(comparison: Comparison) -> Iterator[Block]:
    """All in a table, and a sentence for each that is decided."""
    yield Table(
        caption="Metrics, and the 95 % interval of the ratio",
        columns=[heading.capitalize() for heading in HEADINGS],
        rows=[metric_row(metric) for metric in comparison.metrics],
        numeric=frozenset(range(LEFT, len(HEADINGS))),
    )
    for metric in comparison.metrics:
        if metric.verdict in CHANGED:
            doubt = _METHODS.get(metric.method, "")
            yield Sentence(text=metric.sentence, is_decided=True, doubt=doubt)


def _lines(lines: Sequence[str]) -> list[Block]:
    return [Text(text=capitalized(line)) for line in lines]


def _decide(comparison: Comparison) -> Iterator[Block]:
    if comparison.decide_with:
        yield Text(text=comparison.decide_with, code=True)
