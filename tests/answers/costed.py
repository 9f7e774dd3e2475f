"""Costs and facts for the runs of a made-up study."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dbdyno.answers.answer import Trial, Trials
from dbdyno.model.record import CostRecord
from dbdyno.model.telemetry import IndexFacts, ServerFacts, TableFacts

Costs = Mapping[str, float]


def costed(trials: Trials, costs_of: Callable[[Mapping[str, str]], Costs], **changes) -> Trials:
    """The same runs, each with the cost of a transaction at its levels, ± 1 ‰ by block."""
    return changed(
        trials, lambda trial: {"costs": _costs(trial.block, costs_of(trial.point)), **changes}
    )


def changed(trials: Trials, changes_of: Callable[[Trial], Mapping[str, Any]]) -> Trials:
    """The same runs with other records."""
    return msgspec.structs.replace(
        trials, trials=[_changed(trial, changes_of(trial)) for trial in trials.trials]
    )


def _changed(trial: Trial, changes: Mapping[str, Any]) -> Trial:
    record = msgspec.structs.replace(trial.record, **changes)
    recording = dataclasses.replace(trial.run, record=record)
    return Trial(trial.point, trial.block, record, lambda: recording)


def _costs(block: int, costs: Costs) -> list[CostRecord]:
    luck = 1 + 0.001 * (block % 3)
    return [
        CostRecord(
            id=name, title=name, unit="", side="server", value=value * luck, low=None, high=None
        )
        for name, value in costs.items()
    ]


def facts(name="tbl", *, rows=1e6, size=8_192_000, index_size=819_200, row_bytes=100.0, **settings):
    """A server with one table and its primary key."""
    key = IndexFacts(
        name=f"{name}_pkey", columns=("id",), is_unique=True, is_primary=True, bytes=index_size
    )
    table = TableFacts(
        name=name,
        rows=rows,
        bytes=size,
        pages=size // 8192,
        fillfactor=100,
        row_bytes=row_bytes,
        columns=("id", "info"),
        indexes=(key,),
    )
    return ServerFacts(settings={k: str(v) for k, v in settings.items()}, tables=(table,))
