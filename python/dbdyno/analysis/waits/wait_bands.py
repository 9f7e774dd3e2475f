"""What the clients did in each interval, by kind: average sessions from session samples.

The kinds are those of client time, here over time instead of in total, and as there the kernel's
CPU time decides how many were on a CPU or waiting for one: short statements begin and end between
two samples, and on busy CPUs the sampler runs only when a session does not. Clients without an
outstanding request are excluded, so the bands reach the number of clients only if all of them are
active.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.timeline import Timeline, whole_intervals
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.waits.processor_split import ProcessorSplit, processor_splits
from dbdyno.analysis.waits.session_samples import SESSIONS
from dbdyno.analysis.waits.wait_kinds import BETWEEN, client_kind, may_run
from dbdyno.model.database import PartKind
from dbdyno.model.run import Run, once
from dbdyno.model.tables import rows
from dbdyno.model.telemetry import NO_STATEMENT


class Bands(Struct, frozen=True):
    """Average sessions of each kind, one value per interval; NaN without samples there.

    Empty if sessions were never sampled. ``knows_cpu`` says that those on a CPU, or waiting for
    one, are the kernel's count; otherwise ``cpu`` are the sessions that samples show active.
    """

    sessions: dict[PartKind, Series]
    knows_cpu: bool


@once
def bands(run: Run) -> Bands:
    """The bands of a run, over its whole intervals."""
    sampled = _sampled(run)
    if sampled is None:
        return Bands({}, knows_cpu=False)
    return Bands(sampled.by_kernel(sampled.places), any(split.is_known for split in sampled.splits))


def statement_sessions(run: Run) -> dict[int, dict[PartKind, Series]]:
    """The same for the clients that wait for each statement; empty without samples."""
    sampled = _sampled(run)
    if sampled is None:
        return {}
    numbers = run.waits.statement
    of_statement: dict[int, dict[PartKind, list[int]]] = defaultdict(lambda: defaultdict(list))
    for kind, places in sampled.places.items():
        for place in places:
            of_statement[int(numbers[place])][kind].append(place)
    return {
        statement: sampled.by_kernel(places)
        for statement, places in sorted(of_statement.items())
        if statement != NO_STATEMENT
    }


class _Sampled(NamedTuple):
    """The session samples over the whole intervals."""

    line: Timeline
    time_s: Series
    """Of each row of ``waits``; ``spent_s`` are the session-seconds that it stands for."""
    spent_s: Series
    known_s: Series
    """How much of each interval samples stand for; NaN for nothing."""
    places: dict[PartKind, list[int]]
    """The rows of each kind, as sampled."""
    splits: list[ProcessorSplit]

    def mean(self, places: Sequence[int]) -> Series:
        """Average sessions in each interval."""
        chosen = np.array(places, dtype=np.intp)
        sums = _per_interval(self.line, self.time_s[chosen], self.spent_s[chosen])
        mean: Series = sums / self.known_s
        return mean

    def by_kernel(self, places: Mapping[PartKind, Sequence[int]]) -> dict[PartKind, Series]:
        """Average sessions of each kind, the sampled kinds divided interval by interval."""
        found: dict[PartKind, Series] = {}
        for seen, rows_seen in places.items():
            sessions = self.mean(rows_seen)
            shares: dict[PartKind, Series] = {}
            for place, split in enumerate(self.splits):
                for kind, share in split.kinds(seen):
                    shares.setdefault(kind, np.zeros(len(sessions)))[place] = share
            for kind, share_of in shares.items():
                found[kind] = found.get(kind, np.zeros(len(sessions))) + sessions * share_of
        return found


@once
def _sampled(run: Run) -> _Sampled | None:
    """None if sessions were never sampled."""
    samples, waits, line = run.samples, run.waits, whole_intervals(run)
    is_sample = samples.source == SESSIONS
    lengths_s = dict(
        zip(
            samples.time_s[is_sample].tolist(),
            samples.seconds[is_sample].tolist(),
            strict=True,
        )
    )
    sampled_s = _per_interval(line, np.array(list(lengths_s)), np.array(list(lengths_s.values())))
    if not sampled_s.any():
        return None
    stands_for_s = np.array([lengths_s.get(time_s, 0.0) for time_s in waits.time_s.tolist()])
    columns = (waits.who, waits.doing, waits.state, waits.wait_type, waits.wait_event)
    described = list(map(_Session._make, rows(*columns)))
    found = _Sampled(
        line,
        waits.time_s,
        waits.count * stands_for_s,
        np.where(sampled_s > 0, sampled_s, np.nan),
        _places(run, described),
        [],
    )
    active = found.mean([place for place, one in enumerate(described) if one.may_run])
    on_the_way = found.places.get("client_or_network", [])
    waiting = found.mean([place for place in on_the_way if not described[place].may_run])
    return found._replace(splits=processor_splits(run, line, active, waiting))


def _per_interval(line: Timeline, time_s: Series, amounts: Series) -> Series:
    """Sum of the amounts in each interval. A sample represents the time before it."""
    if not len(time_s):
        return np.zeros(len(line.time_s))
    place = np.searchsorted(line.time_s, time_s, side="left") - 1
    ends_s = line.time_s + line.seconds
    inside = (place >= 0) & (time_s <= ends_s[place] + 1e-9)
    weights = amounts[inside].astype(float)
    return np.bincount(place[inside], weights, len(line.time_s)).astype(float)


class _Session(NamedTuple):
    """The columns of ``waits`` that describe what a session was doing."""

    who: str
    doing: str
    state: str
    wait_type: str
    wait_event: str

    @property
    def may_run(self) -> bool:
        return may_run(self.who, self.state, self.wait_type)


def _places(run: Run, described: list[_Session]) -> dict[PartKind, list[int]]:
    """The rows of the table that are of each kind."""
    kind_of_columns = cache(partial(client_kind, run.database.wait_kinds))
    found: dict[PartKind, list[int]] = defaultdict(list)
    for place, session in enumerate(described):
        if session.who == "client":
            _, doing, state, wait_type, wait_event = session
            kind = kind_of_columns(
                state=state, doing=doing, wait_type=wait_type, wait_event=wait_event
            )
            if kind is not None and kind not in BETWEEN.values():
                found[kind].append(place)
    return found
