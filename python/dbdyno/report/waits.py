"""What the clients did in each interval, by kind: average sessions from session samples.

The kinds are those of client time, here over time instead of in total. Clients without an
outstanding request are excluded, so the bands reach the number of clients only if all of them are
active.
"""

from collections import defaultdict
from functools import cache
from typing import NamedTuple

import numpy as np

from dbdyno.analysis.estimate import Series
from dbdyno.analysis.session_samples import SESSIONS
from dbdyno.analysis.timeline import Timeline
from dbdyno.analysis.wait_kinds import BETWEEN, PartKind, WaitKinds, client_kind, wait_kinds
from dbdyno.model.recording import Recording, rows

Bands = dict[PartKind, Series]


def bands(recording: Recording, line: Timeline) -> Bands:
    """Average sessions of each kind, one value per interval; NaN without samples there.

    Empty if sessions were never sampled.
    """
    samples, waits = recording.tables["samples"], recording.tables["waits"]
    is_sample = samples["source"] == SESSIONS
    lengths_s = dict(
        zip(
            samples["time_s"][is_sample].tolist(),
            samples["seconds"][is_sample].tolist(),
            strict=True,
        )
    )
    sampled_s = _per_interval(line, np.array(list(lengths_s)), np.array(list(lengths_s.values())))
    if not sampled_s.any():
        return {}
    stands_for_s = np.array([lengths_s.get(time_s, 0.0) for time_s in waits["time_s"].tolist()])
    spent_s = waits["count"] * stands_for_s
    known_s = np.where(sampled_s > 0, sampled_s, np.nan)
    return {
        kind: _per_interval(line, waits["time_s"][places], spent_s[places]) / known_s
        for kind, places in _places(recording).items()
    }


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


def _places(recording: Recording) -> dict[PartKind, list[int]]:
    """The rows of the table that are of each kind."""
    known = wait_kinds(recording.plan)
    kind_of_session = cache(lambda session: _kind(known, session))
    found: dict[PartKind, list[int]] = defaultdict(list)
    for place, row in enumerate(rows(recording.tables["waits"], _Session._fields)):
        kind = kind_of_session(_Session._make(row))
        if kind is not None:
            found[kind].append(place)
    return found


def _kind(known: WaitKinds, session: _Session) -> PartKind | None:
    who, doing, state, wait_type, wait_event = session
    if who != "client":
        return None
    kind = client_kind(known, state=state, doing=doing, wait_type=wait_type, wait_event=wait_event)
    return None if kind in BETWEEN.values() else kind
