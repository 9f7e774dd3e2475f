"""What the clients waited for, on the time axis of the throughput curve above it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dbdyno.analysis.series.timeline import whole_intervals
from dbdyno.analysis.waits.wait_bands import bands
from dbdyno.formatting import percent, significant
from dbdyno.model.database import PartKind
from dbdyno.model.run import Run
from dbdyno.report.charts import resample
from dbdyno.report.charts.event_lanes import lane_text
from dbdyno.report.charts.over_time import chart, sampled_rows, shading_text
from dbdyno.report.content import Block, Figure, Section, Series, Table

# From the bottom: the server at work, then what it waits for, then who keeps it waiting.
_KINDS: Mapping[PartKind, tuple[str, str]] = {
    "cpu": ("CPU", "on a CPU"),
    "cpu_queue": ("queue", "ready to run, waiting for a CPU"),
    "io": ("I/O", "reading or writing data"),
    "wal": ("WAL", "writing or flushing WAL, redo log or binary log"),
    "lwlock": ("LWLock", "lightweight locks on the server's internal structures"),
    "lock": ("lock", "row, table and transaction locks"),
    "other_wait": ("other", "other waits"),
    "client_or_network": (
        "client",
        "request or reply on its way: network, or the client has not read it yet",
    ),
}
_BY_SAMPLES_ALONE: Mapping[PartKind, tuple[str, str]] = {
    "cpu": ("active", "at work, waiting for a CPU, or in a wait that the server does not report"),
    "client_or_network": (
        "client",
        "request sent, no sample shows the server working on it: client, network, no free CPU, or "
        "on a CPU between two samples",
    ),
}
_SAMPLES_ALONE = (
    " The server's CPU time was not read, so what was on a CPU is not known: samples see few of "
    "the sessions that are."
)
_WITH_KERNEL = " Time on a CPU or waiting for one is the kernel's count."


def build(run: Run) -> Sequence[Block]:
    """One point per interval; for long runs the mean of a group of intervals."""
    line = whole_intervals(run)
    if not len(line.tps):
        return []
    found = bands(run)
    names = _KINDS if found.knows_cpu else {**_KINDS, **_BY_SAMPLES_ALONE}
    shown = [
        _Band(*names[kind], f"--wait-{kind.replace('_', '-')}", found.sessions[kind])
        for kind in _KINDS
        if kind in found.sessions
    ]
    if not shown:
        return []
    size = resample.group_size(len(line.tps))
    series = [
        Series(band.name, band.colour, resample.json_numbers(resample.mean_of(band.sessions, size)))
        for band in reversed(shown)
    ]
    figure = Figure(
        id="waits-chart",
        caption="Clients by sampled session state, on average"
        f"{shading_text(run)}{lane_text(run)}. "
        "Clients without an outstanding request are not shown."
        f"{_WITH_KERNEL if found.knows_cpu else _SAMPLES_ALONE}",
        summary=_summary(run, shown),
        table=Table(
            caption="Clients by sampled session state",
            columns=("Time", "Phase", *(band.name for band in shown)),
            rows=sampled_rows(line, [band.sessions for band in shown], significant),
            numeric=frozenset({0, *range(2, len(shown) + 2)}),
        ),
        key=[(band.colour, f"{band.name}: {band.meaning}") for band in shown],
        chart=chart(run, series, scale="linear", unit="sessions", stacked=True, height=200),
    )
    return [figure]


class _Band(NamedTuple):
    """A band as it is shown; ``sessions`` has one value per interval."""

    name: str
    meaning: str
    colour: str
    sessions: resample.Values


def _summary(run: Run, shown: list[_Band]) -> str:
    """The kinds with most of the clients' time, idle time excluded."""
    measured = whole_intervals(run).phase == "measure"
    means = {
        band.name: float(np.nanmean(band.sessions[measured]))
        for band in shown
        if np.isfinite(band.sessions[measured]).any()
    }
    if not means:
        return "Sessions were sampled only before the measured part."
    whole = sum(means.values())
    if not whole:
        return "No sampled client was working or waiting."
    first = sorted(means, key=lambda name: -means[name])[:3]
    parts = ", ".join(f"{name} {percent(means[name] / whole)}" for name in first if means[name])
    return f"On average {significant(whole)} clients were working or waiting: {parts}."


SECTION = Section(id="waits", title="What clients waited for", build=build)
