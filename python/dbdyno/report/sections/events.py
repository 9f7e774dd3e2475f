"""What happened besides the load: checkpoints, vacuums, dips; when, how long and how deep."""

from collections.abc import Sequence

from dbdyno.analysis.events.events import EventKind, RunEvent
from dbdyno.formatting import NOTHING, counted, percent, seconds, significant, size
from dbdyno.model.run import Run
from dbdyno.report.charts.event_lanes import NAMES, shown_events
from dbdyno.report.content import Block, Folded, Section, Table, Text

_BETWEEN: frozenset[EventKind] = frozenset({"wal_switch"})
"""Kinds known only to lie between two readings: neither their time nor duration is known."""
_ROWS_OPEN = 12
_ROWS_MAX = 200


def build(run: Run) -> Sequence[Block]:
    """A table, folded if it is long."""
    events = shown_events(run)
    if not events:
        return []
    summary = Text(text=_summary(events))
    table = _table(events[:_ROWS_MAX])
    if len(events) <= _ROWS_OPEN:
        return [summary, table]
    which = "all" if len(events) <= _ROWS_MAX else f"the first {_ROWS_MAX} of"
    title = f"Table of {which} {counted(len(events), 'event')}"
    return [summary, Folded(title=title, blocks=[table])]


def _summary(events: Sequence[RunEvent]) -> str:
    kinds = [(NAMES[kind], [one for one in events if one.kind == kind]) for kind in NAMES]
    return "; ".join(_kind_text(name, found) for name, found in kinds if found) + "."


def _kind_text(name: str, events: Sequence[RunEvent]) -> str:
    lasted = sum(event.end_s - event.begin_s for event in events if event.kind not in _BETWEEN)
    text = counted(sum(max(int(event.values.get("count", 1)), 1) for event in events), name)
    return f"{text}, {seconds(lasted)} in total" if lasted else text


def _lasted(event: RunEvent) -> str:
    length = seconds(event.end_s - event.begin_s)
    return f"within {length}" if event.kind in _BETWEEN else length


def _missing(event: RunEvent) -> str:
    """Share of throughput missing during the event; sometimes negative by chance."""
    if event.depth is None:
        return NOTHING
    return percent(event.depth) if event.depth > 0 else "none"


def _table(events: Sequence[RunEvent]) -> Table:
    return Table(
        caption="Events",
        columns=("Start", "Duration", "Throughput loss", "Event", "Details"),
        rows=[
            (
                seconds(event.begin_s),
                _lasted(event),
                _missing(event),
                event.label,
                _details(event),
            )
            for event in events
        ],
        numeric=frozenset({0, 1, 2}),
    )


def _details(event: RunEvent) -> str:
    """The values of an event; if it has none, how long its phases lasted."""
    values = event.values or {f"{name}_s": end - begin for name, begin, end in event.phases}
    return ", ".join(f"{_name(name)} {_value(name, value)}" for name, value in values.items())


def _name(field: str) -> str:
    for unit in ("_bytes", "_kb", "_s"):
        field = field.removesuffix(unit)
    return field.replace("_", " ")


def _value(field: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if field.endswith("_s"):
        return seconds(value)
    if field.endswith("_kb"):
        return size(value * 1024)
    return size(value) if field.endswith("_bytes") else significant(value)


SECTION = Section(id="events", title="Events", build=build)
