"""What happened besides the load, as the labels and rows that charts and tables share."""

from collections.abc import Iterable

from msgspec.structs import replace

from dbdyno.analysis.events.events import EventKind, RunEvent, events
from dbdyno.analysis.series.timeline import timeline
from dbdyno.model.run import Run
from dbdyno.report.content import Lane, Span

# In the order of the rows. An outage has no row: charts shade it like the warm-up.
NAMES: dict[EventKind, str] = {
    "checkpoint": "checkpoint",
    "autovacuum": "autovacuum",
    "wal_switch": "WAL switch",
    "deadlock": "deadlock",
    "stall": "stall",
    "dip": "dip",
    "level": "level shift",
}
_STRONG_PHASES = frozenset({"sync"})
_PLACES = 400
"""Distinguishable positions in a row on a wide page."""


def shown_events(run: Run) -> list[RunEvent]:
    """The events that have a row, in order of time."""
    return [event for event in events(run) if event.kind in NAMES]


def lanes(run: Run) -> list[Lane]:
    """A row for each kind that occurred."""
    happened = shown_events(run)
    rows = {kind: [one for one in happened if one.kind == kind] for kind in NAMES}
    line = timeline(run)
    gap_s = float(line.time_s[-1] + line.seconds[-1] - line.time_s[0]) / _PLACES
    found = []
    for kind, those in rows.items():
        # The whole of each event, and over it the parts that are emphasized.
        whole = [Span(event.begin_s, event.end_s) for event in those]
        strong = [
            Span(begin_s, end_s, strong=True)
            for event in those
            for name, begin_s, end_s in event.phases
            if name in _STRONG_PHASES
        ]
        if whole:
            found.append(Lane(NAMES[kind], [*_joined(whole, gap_s), *_joined(strong, gap_s)]))
    return found


def _joined(spans: Iterable[Span], gap_s: float) -> list[Span]:
    """Merge spans that are indistinguishable on the page, so that a long run has a small page."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: span.begin_s):
        last = joined[-1] if joined else None
        if last is not None and span.begin_s - last.end_s < gap_s:
            joined[-1] = replace(last, end_s=max(span.end_s, last.end_s))
        else:
            joined.append(span)
    return joined


def lane_text(run: Run) -> str:
    """What the rows above a plot show, for its caption; empty if nothing happened."""
    names = [lane.label for lane in lanes(run)]
    titles = ["checkpoint (sync phase darker)" if name == "checkpoint" else name for name in names]
    return f"; above: {', '.join(titles)}" if titles else ""
