"""What the full screen shows, as a canvas: nothing here reads a file, a clock or a terminal.

The parts are drawn in the order in which they are needed: on a small screen the last are left out
(in 80 × 24 characters, response times over time), on a wide one they are in two columns.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from dbdyno.analysis.series.timeline import timeline
from dbdyno.cli.progress import clock
from dbdyno.formatting import count, milliseconds, percent, tps
from dbdyno.layout import folded
from dbdyno.model.record import Finding
from dbdyno.model.run import Run
from dbdyno.report.content import Figure, LineChart
from dbdyno.report.sections import waits
from dbdyno.report.sections.latency import latency_chart
from dbdyno.report.sections.locks import queue_now
from dbdyno.report.sections.throughput import throughput_chart
from dbdyno.report.text_charts.canvas import Canvas, Glyphs, cut, length_of, one_line
from dbdyno.report.text_charts.time_plot import time_plot
from dbdyno.run.plan import planned_ns

WIDTH_MIN, HEIGHT_MIN = 40, 10
_TWO_COLUMNS = 120
_WIDTH_MAX = 240
_GAP = 3
_ROWS_LEAST, _ROWS_MOST = 2, 14
_MESSAGES_MAX = 4
_SEVERITY = {"critical": "--red", "major": "--amber"}
_TIMES = (("p50", "p95", "p99", "max"), ("p50", "p95", "p99"), ("p50", "p99"), ("p99",))
"""The response times of the last interval: those for which there is room."""
_TITLE = "title"
"""The colour of titles, which are no series."""


@dataclass
class Seen:
    """All that is known of a run so far."""

    what: str
    messages: list[str] = field(default_factory=list)
    loading: str = ""
    run: Run | None = None
    findings: Sequence[Finding] = ()
    findings_until_s: float | None = None
    """How far into the run; None before the first look."""
    is_stopping: bool = False
    is_asking: bool = False
    """Whether the user is asked to confirm the end."""
    cost: float | None = None
    """The share of a core that this screen takes."""

    def head(self, width: int) -> list[str]:
        """What runs, and its numbers of the last interval."""
        run = self.run
        if run is None:
            return [
                self.what,
                self.loading or (self.messages[-1] if self.messages else "beginning"),
            ]
        line = timeline(run)
        title = f"{self.what}   {count(run.plan.clients)} clients   {run.record.run_id}"
        if not len(line.tps):
            return [title, "no interval has ended"]
        now_s = float(line.time_s[-1] + line.seconds[-1])
        phase = {"warmup": "warm-up", "measure": "measuring"}.get(str(line.phase[-1]), "ending")
        planned = planned_ns(run.plan)
        left = f", {clock(max(planned / 1e9 - now_s, 0))} left" if planned is not None else ""
        rate = f"{tps(float(line.tps[-1]))} TPS"
        failed = f"{count(int(run.intervals.completed_failed.sum()))} failed"
        for names in _TIMES:
            times = (
                f"{name} {milliseconds(float(line.latencies_ms[f'{name}_ms'][-1]))}"
                for name in names
            )
            numbers = "  ".join([f"{phase}{left}", rate, *times, failed])
            if length_of(numbers) <= width:
                break
        return [title, numbers]

    @property
    def foot(self) -> str:
        """The keys, or the question, and what the screen costs."""
        if self.is_asking:
            return "Stop the run? What was measured is kept. y: stop   any other key: go on"
        cost = f"   this screen: {percent(self.cost)} of a core" if self.cost is not None else ""
        if self.is_stopping:
            return f"stopping; Ctrl-C again ends it at once{cost}"
        return f"q: stop the run{cost}"

    @property
    def findings_title(self) -> str:
        """With the part of the run that they are of."""
        until_s = self.findings_until_s
        return "Findings so far" if until_s is None else f"Findings so far, until {clock(until_s)}"

    @property
    def finding_lines(self) -> list[tuple[str, str]]:
        """Each finding, with its colour."""
        if self.findings_until_s is None:
            return [("after the first seconds that are measured", "")]
        return [
            (f"{one.severity}: {one.title}. {one.summary}", _SEVERITY.get(one.severity, ""))
            for one in self.findings
        ] or [("nothing so far", "")]


def drawn(seen: Seen, width: int, height: int, glyphs: Glyphs) -> Canvas:
    """The whole screen."""
    canvas = Canvas(width, height)
    if width < WIDTH_MIN or height < HEIGHT_MIN:
        canvas.put(0, 0, cut(f"needs {WIDTH_MIN} × {HEIGHT_MIN} characters", width))
        return canvas
    head = seen.head(width)
    for row, line in enumerate(head):
        canvas.put(row, 0, cut(line, width), _TITLE if row == 0 else "")
    top, bottom = len(head), height - 1
    # In two columns, the second has the words.
    is_wide = width >= _TWO_COLUMNS
    columns = (min(width, _WIDTH_MAX) - _GAP) // 2 if is_wide else width
    parts = list(_parts(seen, columns, glyphs))
    for is_second in (False, True) if is_wide else (None,):
        row = top
        shown = [part for part in parts if is_second in (None, part.is_second)]
        for part, rows in _shared(shown, bottom - top):
            canvas.paste(row, columns + _GAP if is_second else 0, part.draw(rows))
            row += rows + 1
    canvas.put(height - 1, 0, cut(seen.foot, width), _TITLE)
    return canvas


class _Part(NamedTuple):
    """A part of the screen, with the rows that it needs and those that it can use."""

    least: int
    most: int
    draw: Callable[[int], Canvas]
    """In so many rows."""
    is_second: bool


def _parts(seen: Seen, width: int, glyphs: Glyphs) -> Iterator[_Part]:
    run = seen.run
    if run is not None and len(timeline(run).whole_intervals().tps):
        yield _chart("Throughput", throughput_chart(run), width, glyphs)
        for figure in waits.build(run):
            if isinstance(figure, Figure) and figure.chart:
                yield _chart("What clients wait for", figure.chart, width, glyphs)
        yield _text(seen.findings_title, seen.finding_lines, width, least=2)
        yield _text("Lock queue now", _lock_lines(run), width)
        if (times := latency_chart(run)) is not None:
            yield _chart("Response time", times, width, glyphs)
    if seen.messages:
        yield _text("Messages", [(one, "") for one in seen.messages[-_MESSAGES_MAX:]], width)


def _chart(title: str, chart: LineChart, width: int, glyphs: Glyphs) -> _Part:
    around = 4 + chart.stacked  # title, unit, axis, times, key

    def draw(height: int) -> Canvas:
        canvas = Canvas(width, height)
        lanes = chart.lanes if height - around - len(chart.lanes) >= _ROWS_LEAST else ()
        rows = height - around - len(lanes)
        canvas.put(0, 0, title, _TITLE)
        canvas.paste(1, 0, time_plot(replace(chart, lanes=lanes), width, glyphs, rows))
        return canvas

    most = around + len(chart.lanes) + _ROWS_MOST
    return _Part(around + _ROWS_LEAST, most, draw, is_second=False)


def _text(title: str, lines: Sequence[tuple[str, str]], width: int, least: int = 1) -> _Part:
    """Paragraphs with their colours; where there is no room, the beginning of each, or of some."""
    rows = [
        (row, colour) for text, colour in lines for row in folded(one_line(text), width - 2, "  ")
    ]

    def draw(height: int) -> Canvas:
        canvas = Canvas(width, height)
        canvas.put(0, 0, cut(title, width), _TITLE)
        shown = rows if len(rows) < height else lines
        if len(shown) >= height:
            shown = [*shown[: height - 2], ("…", "")]
        for place, (row, colour) in enumerate(shown, 1):
            canvas.put(place, 2, cut(row, width - 2), colour)
        return canvas

    return _Part(1 + min(len(rows), least), 1 + len(rows), draw, is_second=True)


def _lock_lines(run: Run) -> list[tuple[str, str]]:
    found = queue_now(run)
    if found is None:
        return [("locks were not read", "")]
    return [(line, "--red") for line in found] or [("nobody waits for a lock", "")]


def _shared(parts: Sequence[_Part], height: int) -> Iterator[tuple[_Part, int]]:
    """The parts for which there is room, one row apart, with their rows."""
    rows: list[int] = []
    for part in parts:
        if sum(rows) + len(rows) + part.least > height:
            break
        rows.append(part.least)
    left = height - sum(rows) - max(len(rows) - 1, 0)
    while left and any(have < part.most for have, part in zip(rows, parts, strict=False)):
        for place, part in enumerate(parts[: len(rows)]):
            if left and rows[place] < part.most:
                rows[place] += 1
                left -= 1
    return zip(parts, rows, strict=False)
