"""What is smaller here than in the published study, so that no number is taken at its size.

The published figures are in the study's file; ours are read from the runs. Nothing is judged: how a
number would change at the published size is not known here.
"""

from collections.abc import Callable, Mapping
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


def _setting(name: str, format_value: Callable[[float], str]) -> Reader:
    def read(trial: Trial) -> str | None:
        value = trial.run.before.settings.get(name) if trial.run.before else None
        return None if value is None else format_value(float(value))

    return read


READERS: Mapping[str, Reader] = {
    "rows": _rows,
    "clients": lambda trial: str(trial.run.plan.clients),
    "time": lambda trial: (
        None if trial.record.duration_s is None else seconds(trial.record.duration_s)
    ),
    "cores": lambda trial: (
        None if (cores := trial.run.host.cpu.cores_online) is None else str(cores)
    ),
    "checkpoint_timeout": _setting("checkpoint_timeout", seconds),
    "max_wal_size": _setting("max_wal_size", lambda megabytes: size(megabytes * MEGABYTE)),
}


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """Each published figure beside that of the runs that have one."""
    among = chosen(trials, options.get("at"))
    published: Mapping[str, object] = options["published"]
    if not among:
        return Answered(claims=[], missing="no run completed")
    rows = []
    for name, value in published.items():
        here = dict.fromkeys(known for trial in among if (known := READERS[name](trial)))
        rows.append((name, str(value), ", ".join(here) or NOTHING))
    differences = "; ".join(
        f"{name} {here} (published: {there})"
        for name, there, here in rows
        if here.replace(THIN_SPACE, " ") != there
    )
    claim = Claim(
        sentence=f"The study is scaled to this host: {differences}."
        if differences
        else "Every published size is that of this host, too.",
        is_decided=True,
        doubt="Shapes carry over from one size to another, numbers do not." if differences else "",
    )
    shown = TableOf(
        title="Scaled to this host",
        columns=("", "published", "here"),
        rows=rows,
        numeric=frozenset({1, 2}),
    )
    return Answered(claims=[claim], shown=[shown])


ANSWER = Answer(
    id="scaled-down",
    title="What is smaller here than in the published study",
    options={
        "published": f"figures of the published study by name: {', '.join(READERS)}",
        "at": "levels of factors to select runs; default: all runs",
    },
    answer=answer,
)
