"""A comparison as a page: the verdict, what differs, each metric with its interval, the doubts.

The verdicts come from ``analysis/compare/compare.py``.
"""

from collections.abc import Iterator, Sequence
from math import isinf

from msgspec.structs import replace

from dbdyno.analysis.compare.verdicts import (
    change,
    changes,
    is_left_open,
    lacks_interval,
    ratio_text,
)
from dbdyno.explain.sentences import capitalized
from dbdyno.formatting import NOTHING, THIN_SPACE, counted, percent
from dbdyno.model.comparison import VERDICTS, Comparison, MetricComparison
from dbdyno.report.content import (
    Block,
    Commands,
    Folded,
    HeadLine,
    Items,
    Page,
    PageSection,
    Sentence,
    Table,
    Text,
    Verdict,
    filled,
)
from dbdyno.report.costs import amount_text
from dbdyno.report.pages.comparison_gates import GateResult
from dbdyno.report.pages.profile_differences import profile_blocks

_HEADINGS = ("Verdict", "Metric", "Before", "After", "Ratio", "95 % interval")
_LEFT = 2
_UNDECIDED_MAX = 5
_EQUAL = "Nothing that is recorded differs, except the results."
_METHODS = {
    "single runs": "A change is judged by the intervals within two single runs, which say nothing "
    "about how runs vary.",
    "size": "A change is judged by its size and its reason, which is not a test.",
}
_FOOTER = (
    "The unit is the run. Ratios are after over before; better, worse and the same are judged "
    "against the margin, and all metrics of several runs together (Holm)."
)


def comparison_page(
    comparison: Comparison, results: Sequence[GateResult], runs: tuple[int, int]
) -> Page:
    """The whole page; ``runs`` are the numbers of runs of both sides."""
    metrics = comparison.metrics
    unequal = [Items(title="The two sides also differ in:", sentences=comparison.unequal)]
    decided = sum(metric.verdict != "cannot tell" for metric in metrics)
    moved = [
        f"{one.title} {change(one.ratio)} "
        f"({changes(one.low, one.high)} at 95{THIN_SPACE}% between runs)"
        for one in comparison.moved
    ]
    commands = [Commands(text=comparison.decide_with)] if comparison.decide_with else []
    return Page(
        name="comparison",
        title=f"{comparison.after} against {comparison.before}",
        head=[
            HeadLine(text="What changed between the two, and is it better?", style="question"),
            HeadLine(text=f"{counted(runs[0], 'run')} against {counted(runs[1], 'run')}"),
        ],
        top=[
            *(unequal if comparison.unequal else []),
            Verdict(
                status=f"{decided} of {counted(len(metrics), 'metric')} decided",
                text=_headline(metrics),
                is_good=decided > 0,
                reasons=[] if comparison.unequal else [_EQUAL],
                doubts=comparison.doubts,
            ),
        ],
        sections=filled(
            _section("Metrics", [_table(metrics), *_sentences(metrics)]),
            _section("Other costs that changed", _items(moved)),
            _detail("Server CPU by subsystem and function", profile_blocks(comparison)),
            _section("Findings of one side", _items(comparison.findings)),
            _detail("Settings", [*_settings(comparison)]),
            _detail("To decide", commands),
            _section("Conditions", _items([one.sentence for one in results])),
        ),
        footer=_FOOTER,
    )


def _section(title: str, blocks: Sequence[Block]) -> PageSection:
    return PageSection(id=title.lower().replace(" ", "-"), title=title, blocks=blocks)


def _detail(title: str, blocks: Sequence[Block]) -> PageSection:
    return replace(_section(title, blocks), is_detail=True)


def _items(sentences: Sequence[str]) -> list[Block]:
    return [Items(sentences=[*map(capitalized, sentences)])] if sentences else []


def _headline(metrics: Sequence[MetricComparison]) -> str:
    """Which metrics are worse, better or the same, and which cannot tell: one sentence each."""
    sentences = []
    for verdict in VERDICTS:
        found = [one for one in metrics if one.verdict == verdict]
        titles = [one.title for one in found]
        if verdict == "cannot tell":
            more = len(found) - _UNDECIDED_MAX
            named = ", ".join(titles[:_UNDECIDED_MAX])
            text = f"Cannot tell: {named}{f' and {more} more' if more > 0 else ''}."
        elif verdict == "same":
            margins = {percent(metric.margin) for metric in found}
            within = f" (within ±{margins.pop()})" if len(margins) == 1 else ""
            text = f"The same{within}: {', '.join(titles)}."
        else:
            named = ", ".join(f"{one.title} ({change(one.ratio)})" for one in found)
            text = f"{verdict.capitalize()}: {named}."
        if found:
            sentences.append(text)
    return " ".join(sentences)


def _table(metrics: Sequence[MetricComparison]) -> Table:
    rows = []
    for metric in metrics:
        unit = metric.unit.removesuffix("per transaction").strip()
        interval = NOTHING
        if metric.low is not None and metric.high is not None:
            interval = f"{ratio_text(metric.low)} to {ratio_text(metric.high)}"
        rows.append(
            (
                metric.verdict,
                metric.title,
                amount_text(metric.before, unit),
                amount_text(metric.after, unit),
                NOTHING if isinf(metric.ratio) else ratio_text(metric.ratio),
                interval,
            )
        )
    return Table(
        caption="Metrics, and the 95 % interval of the ratio",
        columns=_HEADINGS,
        rows=rows,
        numeric=frozenset(range(_LEFT, len(_HEADINGS))),
    )


def _settings(comparison: Comparison) -> Iterator[Block]:
    """The settings that differ, and behind a fold those that are equal."""
    differing = _setting_table(comparison, "Settings that differ", differs=True)
    equal = _setting_table(comparison, "Settings that are equal", differs=False)
    if differing.rows:
        yield differing
    elif equal.rows:
        yield Text(text="All settings are equal.")
    if equal.rows:
        yield Folded(title=f"{counted(len(equal.rows), 'equal setting')}", blocks=[equal])


def _setting_table(comparison: Comparison, caption: str, *, differs: bool) -> Table:
    return Table(
        caption=caption,
        columns=("Setting", comparison.before, comparison.after),
        rows=[
            (one.name, one.before, one.after)
            for one in comparison.settings
            if one.differs is differs
        ],
        code=frozenset({0, 1, 2}),
    )


def _sentences(metrics: Sequence[MetricComparison]) -> Iterator[Block]:
    """A sentence for each metric; one for all that single runs left open for the same reason."""
    for metric in metrics:
        if not is_left_open(metric):
            is_decided = metric.verdict != "cannot tell"
            doubt = _METHODS.get(metric.method, "") if is_decided else ""
            yield Sentence(text=metric.sentence, is_decided=is_decided, doubt=doubt)
    lacking = [one.title for one in metrics if is_left_open(one) and lacks_interval(one)]
    if lacking:
        yield Text(
            text="Without an interval within a run that excludes 0, which longer runs may have: "
            f"{', '.join(lacking)}."
        )
