"""Write amplification: bytes that a server writes for each changed row, and for each changed byte.

Log bytes are counted exactly. Pages count when they are written out, which is mostly after the run:
in a run shorter than a few checkpoint cycles they are missing, and the answer states this. InnoDB
writes each page twice (doublewrite), PostgreSQL writes it into the WAL instead.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbdyno.answers.answer import Answer, Answered, Claim, Trial, Trials
from dbdyno.answers.grouping import by_level, chosen
from dbdyno.answers.measuring import Number, cost_of, hot_share, mean_of
from dbdyno.answers.tables import Points, or_nothing
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
    points = Points(trials, among)
    shown = points.table(
        "Bytes written per changed row",
        points.runs,
        {
            "rows": _mean(_rows, significant),
            "log": _mean(cost_of("wal_bytes"), size),
            "log per row": _mean(_log, size),
            "of which images": _images_share,
            "pages per row": _mean(_pages, size),
            "total": _mean(_all, size),
            "times the row": _mean(_amplification, significant),
            "HOT": lambda runs: or_nothing(hot_share(runs), percent),
        },
        note="Rows and log are per transaction. Arithmetic means over runs. Pages that were still "
        "dirty at the end are not counted. HOT: the share of updates that touched no index.",
    )
    return Answered(claims=claims, shown=[shown])


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


def _mean(number: Number, format_value: Callable[[float], str]) -> Callable[[Sequence[Trial]], str]:
    return lambda among: or_nothing(mean_of(among, number), format_value)


def _images_share(among: Sequence[Trial]) -> str:
    log = mean_of(among, cost_of("wal_bytes"))
    images = mean_of(among, cost_of("wal_full_page_bytes"))
    return NOTHING if images is None or not log else percent(images / log)


def _claim(load: str, sides: Mapping[str, Sequence[Trial]]) -> Claim:
    parts = []
    for engine, among in sides.items():
        whole, log, pages = (_mean(number, size)(among) for number in (_all, _log, _pages))
        times = mean_of(among, _amplification)
        row = "" if times is None else f"; {significant(times)} times the row"
        parts.append(
            f"{engine} writes {whole} per changed row ({log} of log, {pages} of pages{row})"
        )
    return Claim(
        sentence=f"{load}: {'; '.join(parts)}.",
        is_decided=True,
        doubt=""
        if all(mean_of(among, _pages) for among in sides.values())
        else "Hardly any page was written during the measurement: only a run of several "
        "checkpoint cycles shows what pages cost.",
        evidence={engine: mean_of(among, _all) for engine, among in sides.items()},
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
