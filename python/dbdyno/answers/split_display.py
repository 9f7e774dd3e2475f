"""Two updates over the number of clients as a table, as curves, and as parts of a transaction."""

from collections.abc import Iterator, Sequence

from dbdyno.analysis.waits.lock_queue import lock_queue
from dbdyno.answers.answer import BarOf, CurveOf, CurveSeries, PartsOf, TableOf, Trial, Trials
from dbdyno.answers.grouping import over_runs, throughput, title_of
from dbdyno.answers.measuring import series_over
from dbdyno.answers.statement_times import clients_text, mean_ms_of, update_of
from dbdyno.answers.two_updates import Level, Pair
from dbdyno.formatting import NOTHING, milliseconds, percent, significant, tps

LOCK_NOTE = (
    "Lock waits are for locks of rows and tables, with the way through the table of locks; waits "
    "for other internal locks of the server are part of the rest."
)


def split_table(pair: Pair, levels: Sequence[Level], over: str) -> TableOf:
    """A row for each number of clients; the first columns are those of the published table."""
    labels = (pair.first, pair.second)
    return TableOf(
        title="Average latency of the two updates",
        columns=(
            over,
            *(f"{label} ms" for label in labels),
            "TPS",
            *(f"{label}: {part}" for label in labels for part in ("lock wait", "the rest")),
        ),
        rows=[_row(pair, level) for level in levels],
        numeric=frozenset(range(8)),
        note="Latencies and TPS are geometric means over runs. Latencies are timed exactly; how "
        f"they divide is estimated from samples of the server's sessions. {LOCK_NOTE}",
    )


def _row(pair: Pair, level: Level) -> tuple[str, ...]:
    tables = [pair.table(label) for label in (pair.first, pair.second)]
    rate = over_runs(level.runs, throughput)
    return (
        significant(level.clients),
        *(significant(level.mean_ms(table)) for table in tables),
        tps(rate.value if rate else None),
        *(cell for table in tables for cell in _split_cells(level, table)),
    )


def _split_cells(level: Level, table: str) -> tuple[str, str]:
    """The mean latency and the shares of its parts."""
    share, mean_ms = level.lock_share(table), level.mean_ms(table)
    if share is None:
        return NOTHING, NOTHING
    return milliseconds(mean_ms * share), milliseconds(mean_ms * (1 - share))


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
    return CurveOf(
        title="Latency of the two updates",
        summary=" ".join([*map(_ends, full), LOCK_NOTE]),
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


def _ends(series: CurveSeries) -> str:
    return (
        f"{series.label}: {milliseconds(series.y[0])} with {clients_text(series.x[0])}, "
        f"{milliseconds(series.y[-1])} with {significant(series.x[-1])}."
    )


def where_time_goes(
    trials: Trials, pair: Pair, levels: Sequence[Level], over: str
) -> Iterator[PartsOf]:
    """Each number of clients as a bar: a mean transaction by what it waits for."""
    bars = [bar for level in levels if (bar := _bar(pair, level))]
    if not bars:
        return
    waits = [f"waiting at {label}" for label in (pair.first, pair.second)]
    yield PartsOf(
        title=f"Where the time of a transaction goes, by {title_of(trials, over)}",
        summary=" ".join(f"With {bar.label}: {_shares_text(bar, waits)}." for bar in bars[-2:]),
        kinds=(*waits, "waiting for other locks", "working", "other waits"),
        bars=bars,
    )


def _shares_text(bar: BarOf, kinds: Sequence[str]) -> str:
    whole = sum(bar.parts)
    shares = zip(kinds, bar.parts, strict=False)
    return ", ".join(f"{kind} {percent(part / whole)}" for kind, part in shares)


def _bar(pair: Pair, level: Level) -> BarOf | None:
    parts = [found for trial in level.runs if (found := _parts(pair, trial)) is not None]
    if not parts:
        return None
    means = [sum(column) / len(parts) for column in zip(*parts, strict=True)]
    return BarOf(label=significant(level.clients), parts=means, text=milliseconds(sum(means)))


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
