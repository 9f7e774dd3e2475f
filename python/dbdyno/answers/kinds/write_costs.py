"""Write amplification: bytes that a server writes for each changed row, and for each changed byte.

Log bytes are counted exactly. Pages count when they are written out, which is mostly after the run:
in a run shorter than a few checkpoint cycles they are missing, and the answer states this. InnoDB
writes each page twice (doublewrite), PostgreSQL writes it into the WAL instead.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import (
    Number,
    by_level,
    by_point,
    chosen,
    cost_of,
    mean_of,
    point_cells,
    titles_of,
    varied,
)
from dbdyno.answers.hot_updates import hot_share
from dbdyno.formatting import NOTHING, percent, significant, size

WRITTEN_MIN = 0.05


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A row for each point that changed rows, a claim for each load."""
    among = [trial for trial in chosen(trials, options.get("at")) if _rows(trial)]
    if not among:
        return Answered(claims=[], missing="no run counted the rows that it changed")
    engines, by = str(options["factor"]), str(options["by"])
    claims = [
        _claim(load, by_level(trials, of, engines))
        for load, of in by_level(trials, among, by).items()
    ]
    return Answered(claims=claims, shown=[_table(trials, among)])


def _rows(trial: Trial) -> float | None:
    """Rows changed by a transaction; None if next to none."""
    rows = cost_of("rows_written")(trial)
    return rows if rows and rows > WRITTEN_MIN else None


def _log(trial: Trial) -> float | None:
    """Bytes of the log, including the binary log if there is one, per changed row."""
    rows, log = _rows(trial), cost_of("wal_bytes")(trial)
    if rows is None or log is None:
        return None
    return (log + (cost_of("binlog_bytes")(trial) or 0.0)) / rows


def _pages(trial: Trial) -> float | None:
    """Bytes of pages written out per changed row."""
    rows, written = _rows(trial), cost_of("buffers_written")(trial)
    if rows is None or written is None:
        return None
    pages = written + (cost_of("doublewrite_pages")(trial) or 0.0)
    return pages * trial.run.database.page_bytes / rows


def _all(trial: Trial) -> float | None:
    log, pages = _log(trial), _pages(trial)
    return None if log is None or pages is None else log + pages


def _amplification(trial: Trial) -> float | None:
    """Bytes written per byte of changed rows; a row counts with its whole size."""
    facts, written = trial.run.before, _all(trial)
    widths = [table.row_bytes for table in facts.tables if table.row_bytes] if facts else []
    return written / max(widths) if widths and written is not None else None


def _claim(load: str, sides: Mapping[str, Sequence[Trial]]) -> Claim:
    parts = [
        f"{engine} writes {_size(among, _all)} per changed row ({_size(among, _log)} of log, "
        f"{_size(among, _pages)} of pages{_times(among)})"
        for engine, among in sides.items()
    ]
    pages = [mean_of(among, _pages) for among in sides.values()]
    return Claim(
        sentence=f"{load}: {'; '.join(parts)}.",
        is_decided=True,
        doubt=""
        if all(pages)
        else "Hardly any page was written during the measurement: only a run of several "
        "checkpoint cycles shows what pages cost.",
        evidence={engine: mean_of(among, _all) for engine, among in sides.items()},
    )


def _times(among: Sequence[Trial]) -> str:
    found = mean_of(among, _amplification)
    return "" if found is None else f"; {significant(found)} times the row"


def _size(among: Sequence[Trial], number: Number) -> str:
    found = mean_of(among, number)
    return NOTHING if found is None else size(found)


def _table(trials: Trials, among: Sequence[Trial]) -> TableOf:
    factors = varied(trials, among)
    return TableOf(
        title="Bytes written per changed row",
        columns=(
            *titles_of(trials, factors), "rows", "log", "log per row", "of which images",
            "pages per row", "total", "times the row", "HOT",
        ),
        rows=[(*point_cells(point, factors), *_cells(of)) for point, of in by_point(among).items()],
        numeric=frozenset(range(len(factors), len(factors) + 8)),
        note="Rows and log are per transaction. Arithmetic means over runs. Pages that were still "
        "dirty at the end are not counted. HOT: the share of updates that touched no index.",
    )  # fmt: skip


def _cells(among: Sequence[Trial]) -> tuple[str, ...]:
    rows, log = mean_of(among, _rows), mean_of(among, cost_of("wal_bytes"))
    images = mean_of(among, cost_of("wal_full_page_bytes"))
    times, hot = mean_of(among, _amplification), hot_share(among)
    return (
        NOTHING if rows is None else significant(rows),
        NOTHING if log is None else size(log),
        _size(among, _log),
        NOTHING if images is None or not log else percent(images / log),
        _size(among, _pages),
        _size(among, _all),
        NOTHING if times is None else significant(times),
        NOTHING if hot is None else percent(hot),
    )


ANSWER = Answer(
    id="write-costs",
    title="Write amplification per changed row",
    options={
        "factor": "the factor of the engines",
        "by": "the factor of the kinds of load, with a claim for each",
        "at": "levels of other factors",
    },
    answer=answer,
)
