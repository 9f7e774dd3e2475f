"""What happened beside the load, in the words and rows that charts and tables share."""

from collections.abc import Iterable

from dbdyno.analysis.events import EventKind, RunEvent
from dbdyno.report.content import Lane, Span, Subject

# In the order of the rows. An outage has no row: charts shade it as they shade the warm-up.
NAMES: dict[EventKind, str] = {
    "checkpoint": "checkpoint",
    "autovacuum": "autovacuum",
    "wal_switch": "WAL switch",
    "deadlock": "deadlock",
    "stall": "stall",
    "dip": "dip",
    "level": "level",
}
_STRONG_PHASES = frozenset({"sync"})


def shown_events(subject: Subject) -> list[RunEvent]:
    """Those that have a row, in the order of time."""
    return [event for event in subject.events if event.kind in NAMES]


def lanes(subject: Subject) -> list[Lane]:
    """A row for each kind that happened."""
    happened = shown_events(subject)
    rows = {kind: [one for one in happened if one.kind == kind] for kind in NAMES}
    return [Lane(NAMES[kind], list(_spans(events))) for kind, events in rows.items() if events]


def _spans(events: Iterable[RunEvent]) -> Iterable[Span]:
    """The whole of each event, and over it the parts that stand out."""
    for event in events:
        yield Span(event.begin_s, event.end_s)
        for name, begin_s, end_s in event.phases:
            if name in _STRONG_PHASES:
                yield Span(begin_s, end_s, strong=True)


def lane_words(subject: Subject) -> str:
    """What stands above a plot, for its caption; nothing when nothing happened."""
    names = [lane.label for lane in lanes(subject)]
    told = ["checkpoint (its sync stronger)" if name == "checkpoint" else name for name in names]
    return f"; above: {', '.join(told)}" if told else ""
