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
    kinds = {NAMES[kind]: [one for one in events if one.kind == kind] for kind in NAMES}
    summary = "; ".join(_kind_text(name, found) for name, found in kinds.items() if found)
    table = Table(
        caption="Events",
        columns=("Start", "Duration", "Throughput loss", "Event", "Details"),
        rows=[_cells(event) for event in events[:_ROWS_MAX]],
        numeric=frozenset({0, 1, 2}),
    )
    if len(events) <= _ROWS_OPEN:
        return [Text(text=f"{summary}."), table]
    which = "all" if len(events) <= _ROWS_MAX else f"the first {_ROWS_MAX} of"
    title = f"Table of {which} {counted(len(events), 'event')}"
    return [Text(text=f"{summary}."), Folded(title=title, blocks=[table])]


def _kind_text(name: str, events: Sequence[RunEvent]) -> str:
    lasted = sum(event.end_s - event.begin_s for event in events if event.kind not in _BETWEEN)
    text = counted(sum(max(int(event.values.get("count", 1)), 1) for event in events), name)
    return f"{text}, {seconds(lasted)} in total" if lasted else text


def _cells(event: RunEvent) -> tuple[str, ...]:
    """Details are the values of the event; if it has none, how long its phases lasted.

    The share of throughput that was missing is sometimes negative, by chance.
    """
    length = seconds(event.end_s - event.begin_s)
    missing = NOTHING if event.depth is None else "none"
    values = event.values or {f"{name}_s": end - begin for name, begin, end in event.phases}
    return (
        seconds(event.begin_s),
        f"within {length}" if event.kind in _BETWEEN else length,
        percent(event.depth) if event.depth and event.depth > 0 else missing,
        event.label,
        ", ".join(_value_text(name, value) for name, value in values.items()),
    )


def _value_text(field: str, value: float | str) -> str:
    """A value with its name, in the unit with which the name ends."""
    stem, _, unit = field.rpartition("_")
    match value, unit:
        case str(), _:
            return f"{field.replace('_', ' ')} {value}"
        case _, "s":
            text = seconds(value)
        case _, "kb":
            text = size(value * 1024)
        case _, "bytes":
            text = size(value)
        case _:
            stem, text = field, significant(value)
    return f"{stem.replace('_', ' ')} {text}"


SECTION = Section(id="events", title="Events", build=build)
