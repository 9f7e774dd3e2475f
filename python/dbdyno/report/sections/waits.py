"""What the clients waited for, on the time axis of the throughput curve above it."""

from collections.abc import Mapping, Sequence

import numpy as np

from dbdyno.analysis.wait_kinds import PartKind
from dbdyno.formatting import percent, significant
from dbdyno.report import resample
from dbdyno.report.content import Block, Figure, LineChart, Section, Series, Subject, Table
from dbdyno.report.events import lane_text
from dbdyno.report.over_time import chart, sampled_rows, shading_text
from dbdyno.report.waits import Bands, bands

# From the bottom: the server at work, then what it waits for, then who keeps it waiting.
_KINDS: Mapping[PartKind, tuple[str, str]] = {
    "cpu": ("CPU", "on a CPU or waiting for one"),
    "io": ("I/O", "reading or writing data"),
    "wal": ("WAL", "writing or flushing WAL, redo log or binary log"),
    "lwlock": ("LWLock", "lightweight locks on the server's internal structures"),
    "lock": ("lock", "row, table and transaction locks"),
    "other_wait": ("other", "other waits"),
    "client_or_network": (
        "client",
        "request sent, server not working on it: client, network, no free CPU",
    ),
}


def build(subject: Subject) -> Sequence[Block]:
    """One point per interval; for long runs the mean of a group of intervals."""
    line = subject.whole_intervals
    found = bands(subject.recording, line) if len(line.tps) else {}
    shown = {kind: found[kind] for kind in _KINDS if kind in found}
    return [_figure(subject, shown)] if shown else []


def _figure(subject: Subject, shown: Bands) -> Figure:
    return Figure(
        id="waits-chart",
        caption="Clients by sampled session state, on average"
        f"{shading_text(subject)}{lane_text(subject)}. "
        "Clients without an outstanding request are not shown.",
        summary=_summary(subject, shown),
        table=_table(subject, shown),
        key=[(_colour(kind), f"{_KINDS[kind][0]}: {_KINDS[kind][1]}") for kind in shown],
        chart=_chart(subject, shown),
    )


def _colour(kind: PartKind) -> str:
    return f"--wait-{kind.replace('_', '-')}"


def _chart(subject: Subject, shown: Bands) -> LineChart:
    size = resample.group_size(len(subject.whole_intervals.tps))
    from_the_top = reversed(list(shown.items()))
    series = [
        Series(
            _KINDS[kind][0],
            _colour(kind),
            resample.json_numbers(resample.mean_of(values, size)),
        )
        for kind, values in from_the_top
    ]
    return chart(subject, series, scale="linear", unit="sessions", stacked=True, height=200)


def _summary(subject: Subject, shown: Bands) -> str:
    """The kinds with most of the clients' time, idle time excluded."""
    measured = subject.whole_intervals.phase == "measure"
    means = {
        kind: float(np.nanmean(values[measured]))
        for kind, values in shown.items()
        if np.isfinite(values[measured]).any()
    }
    if not means:
        return "Sessions were sampled only before the measured part."
    whole = sum(means.values())
    if not whole:
        return "No sampled client was working or waiting."
    first = sorted(means, key=lambda kind: -means[kind])[:3]
    parts = ", ".join(
        f"{_KINDS[kind][0]} {percent(means[kind] / whole)}" for kind in first if means[kind]
    )
    return f"On average {significant(whole)} clients were working or waiting: {parts}."


def _table(subject: Subject, shown: Bands) -> Table:
    return Table(
        caption="Clients by sampled session state",
        columns=("Time", "Phase", *(_KINDS[kind][0] for kind in shown)),
        rows=sampled_rows(subject.whole_intervals, list(shown.values()), significant),
        numeric=frozenset({0, *range(2, len(shown) + 2)}),
    )


SECTION = Section(id="waits", title="What clients waited for", order=12, build=build)
