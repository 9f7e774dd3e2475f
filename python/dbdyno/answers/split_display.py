"""Two updates over the number of clients as a table, as curves, and as parts of a transaction."""

from collections.abc import Iterator, Sequence

from dbdyno.analysis.waits.lock_queue import lock_queue
from dbdyno.answers.answer import BarOf, CurveOf, CurveSeries, PartsOf, TableOf, Trial, Trials
from dbdyno.answers.curves import series_over
from dbdyno.answers.grouping import title_of
from dbdyno.answers.measuring import over_runs, throughput
from dbdyno.answers.two_updates import Level, Pair, clients_text, mean_ms_of, update_of
from dbdyno.formatting import milliseconds, percent, significant, tps

LOCK_NOTE = (
    "Lock waits are for locks of rows and tables, with the way through the table of locks; waits "
    "for other internal locks of the server are part of the rest."
)


def split_table(pair: Pair, levels: Sequence[Level], over: str) -> TableOf:
    """A row for each number of clients; the first columns are those of the published table."""
    labels = (pair.first, pair.second)
    tables = [pair.table(label) for label in labels]
    rows = []
    for level in levels:
        rate = over_runs(level.runs, throughput)
        parts_ms: list[float | None] = []
        for updated in tables:
            share, mean_ms = level.lock_share(updated), level.mean_ms(updated)
            parts_ms += (
                [mean_ms * share, mean_ms * (1 - share)] if share is not None else 2 * [None]
            )
        rows.append(
            (
                significant(level.clients),
                *(significant(level.mean_ms(updated)) for updated in tables),
                tps(rate.value if rate else None),
                *map(milliseconds, parts_ms),
            )
        )
    return TableOf(
        title="Average latency of the two updates",
        columns=(
            over,
            *(f"{label} ms" for label in labels),
            "TPS",
            *(f"{label}: {part}" for label in labels for part in ("lock wait", "the rest")),
        ),
        rows=rows,
        numeric=frozenset(range(8)),
        note="Latencies and TPS are geometric means over runs. Latencies are timed exactly; how "
        f"they divide is estimated from samples of the server's sessions. {LOCK_NOTE}",
    )


def split_curve(
    trials: Trials, among: Sequence[Trial], pair: Pair, levels: Sequence[Level], over: str
) -> CurveOf:
    """The latency of both, with and without waits for locks of rows and tables.

    Samples may show the waits in some of the runs only: their share is applied to the latency of
    all, so that a part is never above its whole.
    """
    labels = (pair.first, pair.second)
    full = [series_over(label, among, over, mean_ms_of(pair.table(label))) for label in labels]
    working = [_without_lock_waits(whole, pair.table(whole.label), levels) for whole in full]
    summaries = (
        f"{one.label}: {milliseconds(one.y[0])} with {clients_text(one.x[0])}, "
        f"{milliseconds(one.y[-1])} with {significant(one.x[-1])}."
        for one in full
    )
    return CurveOf(
        title="Latency of the two updates",
        summary=" ".join([*summaries, LOCK_NOTE]),
        x_title=title_of(trials, over),
        y_title="ms",
        series=[series for series in (*full, *working) if series.x],
        x_axis="log",
        y_axis="log",
    )


def _without_lock_waits(whole: CurveSeries, table: str, levels: Sequence[Level]) -> CurveSeries:
    """The part of each point of a latency that is not spent waiting for locks, where known."""
    shares = {level.clients: level.lock_share(table) for level in levels}
    points = [
        (clients, mean_ms * (1 - share))
        for clients, mean_ms in zip(whole.x, whole.y, strict=True)
        if (share := shares.get(clients)) is not None
    ]
    return CurveSeries(
        label=f"{whole.label} without lock waits",
        x=[clients for clients, _ in points],
        y=[part_ms for _, part_ms in points],
    )


def where_time_goes(
    trials: Trials, pair: Pair, levels: Sequence[Level], over: str
) -> Iterator[PartsOf]:
    """Each number of clients as a bar: a mean transaction by what it waits for."""
    bars = []
    for level in levels:
        parts = [found for trial in level.runs if (found := _parts(pair, trial)) is not None]
        if parts:
            means = [sum(column) / len(parts) for column in zip(*parts, strict=True)]
            label, text = significant(level.clients), milliseconds(sum(means))
            bars.append(BarOf(label=label, parts=means, text=text))
    if not bars:
        return
    waits = [f"waiting at {label}" for label in (pair.first, pair.second)]
    summary = []
    for bar in bars[-2:]:
        waited = zip(waits, bar.parts, strict=False)
        shares = (f"{kind} {percent(part / sum(bar.parts))}" for kind, part in waited)
        summary.append(f"With {bar.label}: {', '.join(shares)}.")
    yield PartsOf(
        title=f"Where the time of a transaction goes, by {title_of(trials, over)}",
        summary=" ".join(summary),
        kinds=(*waits, "waiting for other locks", "working", "other waits"),
        bars=bars,
    )


def _parts(pair: Pair, trial: Trial) -> list[float] | None:
    """Milliseconds of a transaction: lock waits by statement, working, other waits."""
    queue = lock_queue(trial.run)
    if queue is None or not queue.statements:
        return None
    numbers = [update_of(trial.run, pair.table(label)) for label in (pair.first, pair.second)]
    lock_ms = {one.statement: one.lock_ms for one in queue.statements}
    at_the_two = [lock_ms.pop(number, 0.0) for number in numbers if number is not None]
    return [
        *at_the_two,
        sum(lock_ms.values()),
        sum(one.working_ms for one in queue.statements),
        sum(one.other_wait_ms for one in queue.statements),
    ]
