"""Finds the highest rate at which a service meets its objectives, on one server.

A closed loop first shows what the server can do at all, then an open loop is tried at lower rates;
each trial is an ordinary run with a record and tags of its own. The next rate is chosen by
``analysis/search/rate_search.py``, and judged by ``analysis/search/sequential.py``.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace as replaced

from dbdyno.analysis.search.objective import Objective
from dbdyno.analysis.search.objective_windows import concatenated, evaluate, objective_windows
from dbdyno.analysis.search.rate_search import Search, Trial, counts, error_each, next_rate
from dbdyno.analysis.search.sequential import LOOKS_MAX
from dbdyno.errors import DbdynoError
from dbdyno.fleet.ray_cluster import kept_nodes
from dbdyno.formatting import tps
from dbdyno.model.record import RunRecord
from dbdyno.model.run import Run
from dbdyno.run.job import Job, check
from dbdyno.run.observer import Observer, Relay
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.plan import INTERVAL_MIN_NS, refuse_contradictions
from dbdyno.run.runner import end_with, run
from dbdyno.run.tools import Tools
from dbdyno.servers.base import Server

DURATION_DEFAULT_NS = 10 * SECOND_NS
# A rate is judged by the variation between its intervals: this many per run or more, unless they
# would be too short.
_INTERVALS = 40
# Failures are judged by the objectives. The limit is below 100%, at which a script that can never
# succeed would not end its run, either.
_FAILURES_MAX = 0.999


class Wanted(Struct, frozen=True, kw_only=True):
    """What is searched for. ``error`` covers all rates together, in each direction."""

    objectives: Sequence[Objective]
    error: float = 0.05
    rate_max_tps: float | None = None


@dataclass(frozen=True)
class _Load:
    """What is tried, where and how long, and who is shown it."""

    job: Job
    tools: Tools
    observer: Observer
    server: Server
    duration_ns: int

    def run(self, rate_tps: float | None, duration_ns: int) -> Run:
        """Run once, at a rate or in a closed loop."""
        tag = "closed loop" if rate_tps is None else f"{rate_tps:g}"
        given = self.job.options
        job = self.job.with_options(
            rate_tps=rate_tps,
            duration_ns=duration_ns,
            arrivals=given.arrivals if rate_tps else None,
            # All trials use the data that the closed loop, the first run, has loaded.
            replace=given.replace and rate_tps is None,
            tags=(*given.tags, ("rate", tag)),
        )
        recording = run(job, self.tools, self.observer, self.server)
        record = recording.record
        end_with(record)
        if record.status == "failed":
            raise DbdynoError(
                "search_failed",
                f"run {record.run_id} failed: {'; '.join(record.invalid_reasons)}",
                f"See dbdyno report {record.run_id}.",
                exit_code=2,
            )
        return recording

    def probe(self) -> RunRecord:
        """Measure a closed loop: no higher rate can be sustained."""
        self.observer.say("measuring the capacity in a closed loop")
        record = self.run(None, self.duration_ns).record
        if record.throughput_tps is None or not record.throughput_tps.value:
            raise DbdynoError(
                "no_capacity",
                "the closed loop that measures the capacity completed no transaction",
                f"See dbdyno report {record.run_id}.",
                exit_code=2,
            )
        return record

    def trial(self, found: Search, rate_tps: float) -> Trial:
        """Run at one rate until it can be judged, or the maximum number of runs is reached.

        From the second on, each run is as long as all before it together: stalls are rare, and a
        few more windows hardly settle what the windows so far have left open. Runs that are not
        valid say nothing about the server: they are shown, and not judged.
        """
        recordings: list[Run] = []
        judged: list[Run] = []
        while True:
            length_ns = self.duration_ns * 2 ** max(len(judged) - 1, 0)
            recordings.append(self.run(rate_tps, length_ns))
            judged = [one for one in recordings if counts(one.record)]
            for reason in recordings[-1].record.invalid_reasons:
                self.observer.say(f"{rate_tps:g} TPS: a run is invalid: {reason}")
            trial = Trial(
                rate_tps=rate_tps,
                runs=[recording.record for recording in recordings],
                results=[
                    evaluate(
                        one,
                        concatenated(objective_windows(each, one) for each in judged),
                        error_each(found),
                    )
                    for one in found.objectives
                    if judged
                ],
            )
            if trial.outcome != "open" or len(recordings) == LOOKS_MAX:
                return trial


class _Once(Relay):
    """Shows messages that are the same for all runs of a search only once."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(observer)
        self._reported: set[str] = set()

    def say(self, text: str) -> None:
        """Pass on a new message."""
        if text not in self._reported:
            self._reported.add(text)
            super().say(text)

    def placed(self, verified: Sequence[str]) -> None:
        """Say each sentence once, too."""
        Observer.placed(self, verified)


def check_search(
    items: Sequence[WeightedName], options: RunOptions, tools: Tools, say: Callable[[str], None]
) -> Job:
    """Return the job of a search, whose load each trial sets."""
    return check(items, options, tools, say, _refuse_contradictions)


def search(
    job: Job,
    wanted: Wanted,
    tools: Tools,
    observer: Observer,
    *,
    known: Callable[[Search], None],
) -> Search:
    """Search to the last rate; ``known`` is called with the state after the probe and each rate."""
    duration_ns = job.options.duration_ns or DURATION_DEFAULT_NS
    search_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    options = job.options
    trial_job = job.with_options(
        interval_ns=min(options.interval_ns, max(duration_ns // _INTERVALS, INTERVAL_MIN_NS)),
        failures_max=max(options.failures_max, _FAILURES_MAX),
        tags=(*options.tags, ("search", search_id)),
    )
    with kept_nodes(), job.server.open(job.clients) as server:
        load = _Load(trial_job, tools, _Once(observer), server, duration_ns)
        found = Search(
            search_id=search_id,
            objectives=wanted.objectives,
            error=wanted.error,
            rate_max_tps=wanted.rate_max_tps,
            probe=load.probe(),
        )
        known(found)
        observer.say(f"capacity: {tps(found.capacity_tps)} TPS")
        for reason in found.probe.invalid_reasons:
            observer.say(f"the capacity may be higher: {reason}")
        while rate := next_rate(found):
            trial = load.trial(found, rate)
            found = replaced(found, trials=[*found.trials, trial])
            known(found)
            observer.say(f"{rate:g} TPS: {trial.outcome}")
    return replaced(found, is_over=True)


def _refuse_contradictions(options: RunOptions) -> None:
    """Refuse options that set the load, which the search does, and those that contradict it."""
    given = {
        "--rate": options.rate_tps,
        "--stages": options.stages,
        "--transactions": options.transactions,
        "--think": options.think,
        "--latency-limit": options.latency_limit_ns,
        "--event": options.events or None,
    }
    if named := [flag for flag, value in given.items() if value is not None]:
        raise DbdynoError(
            "usage",
            f"a search sets the load itself: {', '.join(named)} cannot be given",
            "--rate-max limits the rates; -c sets the number of connections.",
        )
    refuse_contradictions(replace(options, rate_tps=1.0), "search")
