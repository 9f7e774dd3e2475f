"""What is smaller here than in the published study, so that no number is taken at its size.

The published figures are in the study's file; ours are read from the runs. Nothing is judged: how a
number would change at the published size is not known here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dbdyno.answers.answer import Answer, Answered, Claim, TableOf, Trial, Trials
from dbdyno.answers.grouping import chosen
from dbdyno.formatting import NOTHING, THIN_SPACE, count, seconds, size

MEGABYTE = 2**20

Reader: TypeAlias = Callable[[Trial], str | None]


def _rows(trial: Trial) -> str | None:
    """Rows of the largest table."""
    facts = trial.run.before
    return count(max(table.rows for table in facts.tables)) if facts and facts.tables else None


def _time(trial: Trial) -> str | None:
    return None if trial.record.duration_s is None else seconds(trial.record.duration_s)


def _setting(name: str, format_value: Callable[[float], str]) -> Reader:
    def read(trial: Trial) -> str | None:
        value = trial.run.before.settings.get(name) if trial.run.before else None
        return None if value is None else format_value(float(value))

    return read


def _cores(trial: Trial) -> str | None:
    cores = trial.run.host.cpu.cores_online
    return None if cores is None else str(cores)


READERS: Mapping[str, Reader] = {
    "rows": _rows,
    "clients": lambda trial: str(trial.run.plan.clients),
    "time": _time,
    "cores": _cores,
    "checkpoint_timeout": _setting("checkpoint_timeout", seconds),
    "max_wal_size": _setting("max_wal_size", lambda megabytes: size(megabytes * MEGABYTE)),
}


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """Each published figure beside that of the runs that have one."""
    among = chosen(trials, options.get("at"))
    published: Mapping[str, object] = options["published"]
    rows = [(name, str(value), _here(among, name)) for name, value in published.items()]
    if not among:
        return Answered(claims=[], missing="no run completed")
    return Answered(claims=[_claim(rows)], shown=[_table(rows)])


def _here(among: Sequence[Trial], name: str) -> str:
    """Every value that occurs."""
    found = dict.fromkeys(value for trial in among if (value := READERS[name](trial)))
    return ", ".join(found) or NOTHING


def _claim(rows: Sequence[tuple[str, str, str]]) -> Claim:
    differences = "; ".join(
        f"{name} {here} (published: {there})"
        for name, there, here in rows
        if here.replace(THIN_SPACE, " ") != there
    )
    if not differences:
        return Claim(sentence="Every published size is that of this host, too.", is_decided=True)
    return Claim(
        sentence=f"The study is scaled to this host: {differences}.",
        is_decided=True,
        doubt="Shapes carry over from one size to another, numbers do not.",
    )


def _table(rows: Sequence[tuple[str, str, str]]) -> TableOf:
    return TableOf(
        title="Scaled to this host",
        columns=("", "published", "here"),
        rows=rows,
        numeric=frozenset({1, 2}),
    )


ANSWER = Answer(
    id="scaled-down",
    title="What is smaller here than in the published study",
    options={
        "published": f"figures of the published study by name: {', '.join(READERS)}",
        "at": "levels of factors to select runs; default: all runs",
    },
    answer=answer,
)
