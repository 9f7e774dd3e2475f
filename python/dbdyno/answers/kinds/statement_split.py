"""Statement split: how long two updates take over the number of clients, and what of it waits.

The statement that comes first and has few rows lets only as many transactions past it: the crowd
waits there, and the one behind is waited for by few, although its row is the hotter. With fewer
clients than rows nobody is held back, and the hotter row is the slower. Where the two change
places is worked out block by block (``answers/crossing.py``).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dbdyno.analysis.effect import Ratio
from dbdyno.answers.answer import (
    Answer,
    Answered,
    BarOf,
    Claim,
    CurveOf,
    CurveSeries,
    PartsOf,
    TableOf,
    Trial,
    Trials,
)
from dbdyno.answers.crossing import Crossing, crossing
from dbdyno.answers.grouping import by_level, chosen, mean_of, over_runs, throughput, title_of
from dbdyno.answers.measuring import series_over
from dbdyno.answers.statement_times import (
    clients_words,
    lock_ms_of,
    mean_ms_of,
    rows_of,
    update_of,
    waiting_of,
    working_ms_of,
)
from dbdyno.words import NOTHING, count, milliseconds, percent, significant, tps

_MOSTLY = 0.5
"""A statement that waits for a lock for more of its time than this is slow by waiting."""


class _Pair(Struct, frozen=True):
    """The two statements by their labels and tables, in the order of the script."""

    first: str
    second: str
    tables: Mapping[str, str]

    def table(self, label: str) -> str:
        return self.tables[label]


class _Level(Struct, frozen=True):
    """The runs at one number of clients."""

    clients: float
    runs: Sequence[Trial]

    def mean_ms(self, table: str) -> float:
        found = over_runs(self.runs, mean_ms_of(table))
        return found.value if found else 0.0

    def lock_share(self, table: str) -> float | None:
        """Of the update's time; None where nobody looked."""
        lock = mean_of(self.runs, lock_ms_of(table))
        working = mean_of(self.runs, working_ms_of(table))
        if lock is None or working is None or not lock + working:
            return None
        return lock / (lock + working)

    def waiting(self, table: str) -> float | None:
        return mean_of(self.runs, waiting_of(table))


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """The verdict on who is slower and why, the table, the curves, and where the time goes."""
    over = str(options.get("over", "clients"))
    among = chosen(trials, options.get("at"))
    pair = _pair(among, options["statements"])
    levels = [_Level(float(level), runs) for level, runs in by_level(trials, among, over).items()]
    if pair is None or not levels:
        return Answered(claims=[], missing="no run has updates of both tables")
    tables = [pair.table(label) for label in (pair.first, pair.second)]
    found = crossing(among, over, *map(mean_ms_of, tables))
    if found is None:
        return Answered(claims=[], missing="the statements were not timed")
    return Answered(
        claims=[_verdict(pair, levels, found), *_behind(pair, levels[-1])],
        shown=[
            _table(pair, levels, over),
            _curve(trials, among, pair, over),
            *_where_time_goes(trials, pair, levels, over),
        ],
    )


def _pair(among: Sequence[Trial], statements: Mapping[str, str]) -> _Pair | None:
    """In the order of the first run's script."""
    if not among:
        return None
    places = {label: update_of(among[0].case, table) for label, table in statements.items()}
    order = sorted((place, label) for label, place in places.items() if place is not None)
    if len(order) != 2:
        return None
    return _Pair(order[0][1], order[1][1], statements)


def _verdict(pair: _Pair, levels: Sequence[_Level], found: Crossing) -> Claim:
    most = levels[-1]
    ratio = found.ratios[most.clients]
    slower = pair.first if ratio.value > 1 else pair.second
    sentences = (_why(pair, most, slower), _below(pair, levels, found))
    return Claim(
        sentence=". ".join(filter(None, sentences)),
        told=ratio.is_told_apart,
        effect=found.at.value if found.at else ratio.value,
        low=found.at.low if found.at else ratio.low,
        high=found.at.high if found.at else ratio.high,
        doubt=_verdict_doubt(found, most),
        evidence={
            "ratios": {significant(level): of.value for level, of in found.ratios.items()},
            "crossing_clients": found.at.value if found.at else None,
        },
    )


def _why(pair: _Pair, most: _Level, slower: str) -> str:
    """The reason, where rows and waits show it; else what is seen alone."""
    clients = clients_words(most.clients)
    first, second = (pair.table(label) for label in (pair.first, pair.second))
    share = most.lock_share(first)
    waits = f" ({percent(share)} of it waiting for a lock)" if share is not None else ""
    times = (
        f"the update of {pair.first} takes {milliseconds(most.mean_ms(first))}{waits} and that of "
        f"{pair.second} {milliseconds(most.mean_ms(second))}"
    )
    rows = rows_of(most.runs[0].case, first)
    shields = slower == pair.first and rows is not None and rows < most.clients
    if shields and share is not None and share > _MOSTLY:
        return (
            f"Because {pair.first} come first: with {clients} their {count(rows or 0)} rows let at "
            f"most {count(rows or 0)} past to {pair.second} and hold back the rest, so {times}"
        )
    return f"With {clients} {times}"


def _below(pair: _Pair, levels: Sequence[_Level], found: Crossing) -> str:
    """How it is with fewer clients, and between which levels the two change places."""
    below = [level for level in levels if found.ratios[level.clients].value < 1]
    if found.at is None or not below:
        return ""
    last = below[-1]
    above = next(level for level in levels if level.clients > last.clients)
    between = f"{significant(last.clients)} and {significant(above.clients)}"
    return (
        f"With {clients_words(last.clients)} {pair.second} are the slower "
        f"({milliseconds(last.mean_ms(pair.table(pair.second)))} against "
        f"{milliseconds(last.mean_ms(pair.table(pair.first)))}); between {between} the two cross, "
        "by interpolation at about "
        f"{significant(found.at.value)}{_interval_words(found.at)}"
    )


def _interval_words(at: Ratio) -> str:
    if at.low is None or at.high is None:
        return ""
    return f" (95 % over blocks: {significant(at.low)} to {significant(at.high)})"


def _verdict_doubt(found: Crossing, most: _Level) -> str:
    said = []
    if found.at is None:
        said.append("The runs of these levels do not show in every block where the two cross")
    elif not found.is_told:
        said.append("Where they cross is not told: no level on one of its sides is beyond doubt")
    if not found.ratios[most.clients].is_told_apart:
        said.append(f"with {clients_words(most.clients)} the two are not told apart")
    return "; ".join(said)


def _behind(pair: _Pair, most: _Level) -> Iterator[Claim]:
    """How many wait at each statement: the crowd, and those that it lets past."""
    first, second = (most.waiting(pair.table(label)) for label in (pair.first, pair.second))
    rows = rows_of(most.runs[0].case, pair.table(pair.first))
    if first is None or second is None:
        return
    past = f"; no more than {count(rows)} can be past {pair.first}" if rows else ""
    yield Claim(
        sentence=f"With {clients_words(most.clients)} on average {significant(first)} wait "
        f"for a lock at {pair.first} and {significant(second)} at {pair.second}{past}",
        told=True,
        effect=first,
        evidence={"waiting_first": first, "waiting_second": second, "rows_first": rows},
    )


def _table(pair: _Pair, levels: Sequence[_Level], over: str) -> TableOf:
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
        note="Means over runs. Latencies are timed exactly; how they divide is told by looks at "
        "the server's sessions.",
    )


def _row(pair: _Pair, level: _Level) -> tuple[str, ...]:
    tables = [pair.table(label) for label in (pair.first, pair.second)]
    rate = over_runs(level.runs, throughput)
    return (
        significant(level.clients),
        *(significant(level.mean_ms(table)) for table in tables),
        tps(rate.value if rate else None),
        *(cell for table in tables for cell in _split_cells(level, table)),
    )


def _split_cells(level: _Level, table: str) -> tuple[str, str]:
    """The mean latency by the shares of its parts."""
    share, mean_ms = level.lock_share(table), level.mean_ms(table)
    if share is None:
        return NOTHING, NOTHING
    return milliseconds(mean_ms * share), milliseconds(mean_ms * (1 - share))


def _curve(trials: Trials, among: Sequence[Trial], pair: _Pair, over: str) -> CurveOf:
    """Both in full, and both without waits for locks."""
    labels = (pair.first, pair.second)
    full = [series_over(label, among, over, mean_ms_of(pair.table(label))) for label in labels]
    working = [
        series_over(f"{label} without waits", among, over, working_ms_of(pair.table(label)))
        for label in labels
    ]
    return CurveOf(
        title="Latency of the two updates",
        summary=" ".join(map(_ends, full)),
        x_title=title_of(trials, over),
        y_title="ms",
        series=[series for series in (*full, *working) if series.x],
        x_axis="log",
        y_axis="log",
    )


def _ends(series: CurveSeries) -> str:
    return (
        f"{series.label}: {milliseconds(series.y[0])} with {clients_words(series.x[0])}, "
        f"{milliseconds(series.y[-1])} with {significant(series.x[-1])}."
    )


def _where_time_goes(
    trials: Trials, pair: _Pair, levels: Sequence[_Level], over: str
) -> Iterator[PartsOf]:
    """Each number of clients as a bar: a mean transaction by what it waits for."""
    bars = [bar for level in levels if (bar := _bar(pair, level))]
    if not bars:
        return
    waits = [f"waiting at {label}" for label in (pair.first, pair.second)]
    yield PartsOf(
        title=f"Where the time of a transaction goes, by {title_of(trials, over)}",
        summary=" ".join(f"With {bar.label}: {_shares_words(bar, waits)}." for bar in bars[-2:]),
        kinds=(*waits, "waiting for other locks", "working", "other waits"),
        bars=bars,
    )


def _shares_words(bar: BarOf, kinds: Sequence[str]) -> str:
    whole = sum(bar.parts)
    shares = zip(kinds, bar.parts, strict=False)
    return ", ".join(f"{kind} {percent(part / whole)}" for kind, part in shares)


def _bar(pair: _Pair, level: _Level) -> BarOf | None:
    parts = [found for trial in level.runs if (found := _parts(pair, trial)) is not None]
    if not parts:
        return None
    means = [sum(column) / len(parts) for column in zip(*parts, strict=True)]
    return BarOf(label=significant(level.clients), parts=means, words=milliseconds(sum(means)))


def _parts(pair: _Pair, trial: Trial) -> list[float] | None:
    """Milliseconds of a transaction: lock waits by statement, working, other waits."""
    queue = trial.case.lock_queue
    if queue is None or not queue.statements:
        return None
    numbers = [update_of(trial.case, pair.table(label)) for label in (pair.first, pair.second)]
    lock_ms = {one.statement: one.lock_ms for one in queue.statements}
    at_the_two = [lock_ms.pop(number, 0.0) for number in numbers if number is not None]
    return [
        *at_the_two,
        sum(lock_ms.values()),
        sum(one.working_ms for one in queue.statements),
        sum(one.other_wait_ms for one in queue.statements),
    ]


ANSWER = Answer(
    id="statement-split",
    title="Which statement waits, and for what",
    options={
        "statements": "two tables whose updates are compared, each under a label",
        "over": "the factor that counts the clients (clients)",
        "at": "levels of the other factors",
    },
    answer=answer,
)
