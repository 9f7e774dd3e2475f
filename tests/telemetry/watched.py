"""Whole runs on test servers, and what telemetry recorded of them."""

import threading
from collections.abc import Callable

import numpy as np

from dbdyno.model.run import Run
from dbdyno.model.tables import rows
from dbdyno.run.job import check
from dbdyno.run.observer import Observer as RunObserver
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.runner import run
from dbdyno.run.tools import Tools, engine_tools
from dbdyno.servers.base import Server


class Observer(RunObserver):
    """Does something once, at the end of an interval."""

    def __init__(self, action: Callable[[], object] | None = None, at: int = 1) -> None:
        self._action = action
        self._at = at
        self.messages: list[str] = []

    def say(self, text: str) -> None:
        self.messages.append(text)

    def interval(self, interval) -> None:
        if interval.index == self._at and self._action is not None:
            self._action()


def measure(
    server: Server,
    work: str,
    observer: Observer | None = None,
    tools: Tools | None = None,
    **options,
) -> Run:
    chosen = {
        "target": server.url,
        "clients": 2,
        "warmup_ns": 0,
        "duration_ns": 2 * SECOND_NS,
        "interval_ns": SECOND_NS // 4,
        "disturbance_max": 1.0,
        **options,
    }
    tools = tools or engine_tools()
    job = check([WeightedName(work, 1)], RunOptions(**chosen), tools, print)
    return run(job, tools, observer or Observer())


def seen(recording: Run, table: str, **wanted: object) -> int:
    """Return the number of sessions with these properties, over all samples."""
    columns = recording.columns[table]
    fits = np.ones(len(columns["count"]), dtype=bool)
    for name, value in wanted.items():
        fits &= columns[name] == value
    return int(columns["count"][fits].sum())


def nobody_watches() -> bool:
    """Whether no thread of telemetry is left."""
    return not any(its.name.startswith("telemetry") for its in threading.enumerate())


def lacks(recording: Run) -> dict[str, str]:
    return dict(rows(recording.lacks.source, recording.lacks.reason))
