"""A comparison as text: the verdict first, then each metric with its interval, then the doubts.

As text for a terminal and as Markdown for a merge request, from the same rows. The verdicts come
from ``analysis/compare/compare.py``.
"""

from collections.abc import Iterator, Sequence
from math import isinf

from dbdyno.analysis.compare.verdicts import (
    change,
    changes,
    is_left_open,
    lacks_interval,
    ratio_text,
)
from dbdyno.formatting import NOTHING, THIN_SPACE, percent
from dbdyno.layout import Columns, Command, Line, Paragraph, laid_out
from dbdyno.model.comparison import VERDICTS, Comparison, MetricComparison, Verdict
from dbdyno.report.costs import amount_text
from dbdyno.report.pages.comparison_gates import GateResult
from dbdyno.report.render_markdown import escaped

HEADINGS = ("verdict", "metric", "before", "after", "ratio", "95 % interval")
LEFT = 2
UNEQUAL = "The two sides also differ in:"
MOVED = "Other costs per transaction that changed:"
FINDINGS = "Findings of one side:"
_UNDECIDED_MAX = 5


def render_comparison_text(
    comparison: Comparison, results: Sequence[GateResult] = (), screen: int | None = None
) -> str:
    """Render for a terminal of this width, or a log; ends in a newline."""
    blocks: list[Sequence[Line]] = [
        _flowing(
            [
                f"{comparison.after} against {comparison.before}",
                *_listed(UNEQUAL, comparison.unequal),
            ]
        ),
        _flowing([headline(comparison)]),
        [Columns([HEADINGS, *map(metric_row, comparison.metrics)], left=LEFT)],
        _flowing(list(_sentences(comparison.metrics))),
        _flowing(_listed(MOVED, moved_lines(comparison))),
        _flowing(_listed(FINDINGS, comparison.findings)),
        _flowing(_listed("Doubts:", comparison.doubts)),
        [_pasted(line) for line in _decide(comparison)],
        _flowing([one.sentence for one in results]),
    ]
    return "\n\n".join(laid_out(block, screen, flow=None) for block in blocks if block) + "\n"


def _flowing(lines: Sequence[str]) -> list[Line]:
    """Paragraphs with a hanging indent below the list mark."""
    return [Paragraph(line, "    " if line.startswith("  - ") else "  ") for line in lines]


def _pasted(line: str) -> Line:
    """A line of a command; a comment in it must not continue on the next line."""
    if line.lstrip().startswith("#"):
        return Paragraph(line, line[: line.index("#") + 2])
    return Command(line)


def render_comparison_markdown(comparison: Comparison, results: Sequence[GateResult] = ()) -> str:
    """Render for a merge request or an issue; ends in a newline."""
    blocks = [
        [f"### {escaped(comparison.after)} against {escaped(comparison.before)}"],
        _listed(UNEQUAL + "\n", [*map(escaped, comparison.unequal)], "- "),
        [f"**{escaped(headline(comparison))}**"],
        list(_markdown_table(comparison.metrics)),
        _listed(MOVED + "\n", [*map(escaped, moved_lines(comparison))], "- "),
        _listed(FINDINGS + "\n", [*map(escaped, comparison.findings)], "- "),
        _listed("Doubts:\n", [escaped(doubt) for doubt in comparison.doubts], "- "),
        [f"To decide:\n\n```sh\n{comparison.decide_with}\n```"] if comparison.decide_with else [],
        [f"- {escaped(one.sentence)}" for one in results],
    ]
    text = "\n\n".join("\n".join(block) for block in blocks if block)
    return text.replace(THIN_SPACE, " ") + "\n"


def headline(comparison: Comparison) -> str:
    """Which metrics are worse, better or the same, and which cannot tell: one sentence each."""
    by_verdict = {
        verdict: [metric for metric in comparison.metrics if metric.verdict == verdict]
        for verdict in VERDICTS
    }
    return " ".join(
        f"{_verdict_text(verdict, metrics)}: {_named(verdict, metrics)}."
        for verdict, metrics in by_verdict.items()
        if metrics
    )


def _named(verdict: Verdict, metrics: Sequence[MetricComparison]) -> str:
    """The metrics with their changes; of many that cannot tell, the first."""
    shown = metrics[:_UNDECIDED_MAX] if verdict == "cannot tell" else metrics
    more = len(metrics) - len(shown)
    return ", ".join(map(_change, shown)) + (f" and {more} more" if more else "")


def _sentences(metrics: Sequence[MetricComparison]) -> Iterator[str]:
    """A sentence for each metric; one for all that single runs left open for the same reason."""
    yield from (metric.sentence for metric in metrics if not is_left_open(metric))
    lacking = [
        metric.title for metric in metrics if is_left_open(metric) and lacks_interval(metric)
    ]
    if lacking:
        yield (
            "Without an interval within a run that excludes 0, which longer runs may have: "
            f"{', '.join(lacking)}."
        )


def _verdict_text(verdict: Verdict, metrics: Sequence[MetricComparison]) -> str:
    margins = {percent(metric.margin) for metric in metrics}
    if verdict == "same" and len(margins) == 1:
        return f"The same (within ±{margins.pop()})"
    return {"same": "The same", "cannot tell": "Cannot tell"}.get(verdict, verdict.capitalize())


def _change(metric: MetricComparison) -> str:
    if metric.verdict in ("same", "cannot tell"):
        return metric.title
    return f"{metric.title} ({change(metric.ratio)})"


def metric_row(metric: MetricComparison) -> tuple[str, ...]:
    """The cells of a metric, under the headings."""
    unit = metric.unit.removesuffix("per transaction").strip()
    return (
        metric.verdict,
        metric.title,
        amount_text(metric.before, unit),
        amount_text(metric.after, unit),
        NOTHING if isinf(metric.ratio) else ratio_text(metric.ratio),
        _interval(metric),
    )


def _interval(metric: MetricComparison) -> str:
    if metric.low is None or metric.high is None:
        return NOTHING
    return f"{ratio_text(metric.low)} to {ratio_text(metric.high)}"


def moved_lines(comparison: Comparison) -> list[str]:
    """Further costs that changed, each with its interval between runs."""
    return [
        f"{one.title} {change(one.ratio)} "
        f"({changes(one.low, one.high)} at 95{THIN_SPACE}% between runs)"
        for one in comparison.moved
    ]


def _decide(comparison: Comparison) -> list[str]:
    return _listed("To decide:", comparison.decide_with.splitlines(), "  ")


def _listed(title: str, lines: Sequence[str], mark: str = "  - ") -> list[str]:
    return [title, *(f"{mark}{line}" for line in lines)] if lines else []


def _markdown_table(metrics: Sequence[MetricComparison]) -> Iterator[str]:
    rules = ("---",) * LEFT + ("---:",) * (len(HEADINGS) - LEFT)
    for row in (HEADINGS, rules, *map(metric_row, metrics)):
        yield f"| {' | '.join(cell if cell in rules else escaped(cell) for cell in row)} |"
