"""What the witness has seen of each event, and what each of them may have lost. Pure."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.model.record import FailoverRecord
from dbdyno.run.bystanders.witness import Testimony
from dbdyno.run.events.planned import PlannedEvent


@dataclass(frozen=True, kw_only=True)
class Happened:
    """One event that has happened; instants are in ns of the monotonic clock."""

    event: PlannedEvent
    begin_ns: int
    end_ns: int
    error: str
    is_followed: bool
    """Whether all standbys have received whatever was acknowledged before."""


def judged(
    happened: Sequence[Happened], seen: Testimony, lost_max_ms: float, measured_from_ns: int
) -> list[FailoverRecord]:
    """Return the record of each event; ``happened`` is in order.

    ``lost_max_ms`` is what the server's settings allow a crash to lose; infinite if they promise
    nothing.
    """
    nexts_ns = [*(one.begin_ns for one in happened[1:]), math.inf]
    since_ns = 0.0
    records = []
    for one, next_ns in zip(happened, nexts_ns, strict=True):
        error_ns = _first(seen.errors_ns, one.begin_ns, next_ns)
        commits_ns = seen.resumed_ns if error_ns else seen.acknowledged_ns
        commit_ns = _first(commits_ns, error_ns or one.begin_ns, next_ns)
        # While a server is killed, session by session, others are still acknowledged: it may lose
        # whatever was acknowledged until there was a server again.
        until_ns = (commit_ns or next_ns) if error_ns else one.begin_ns
        before_ns = _within(seen.acknowledged_ns, since_ns, until_ns)
        gone_ns = max([error_ns, *before_ns[-1:]]) if error_ns else one.begin_ns
        # Of what is missing after the last event there is no other that could have lost it.
        lost_until_ns = until_ns if next_ns < math.inf else math.inf
        lost_ns = seen.lost_ns and _within(seen.lost_ns, since_ns, lost_until_ns)
        allowed_ms = _allowed_ms(
            one, lost_max_ms, is_same=seen.is_of_one_server(one.begin_ns, next_ns)
        )
        records.append(
            FailoverRecord(
                event=one.event.name,
                at_s=(one.begin_ns - measured_from_ns) / 1e9,
                took_ms=None if one.error else (one.end_ns - one.begin_ns) / 1e6,
                error=one.error,
                first_error_ms=error_ns and (error_ns - one.begin_ns) / 1e6,
                first_commit_ms=commit_ns and (commit_ns - one.begin_ns) / 1e6,
                acknowledged=len(before_ns),
                lost=None if lost_ns is None else len(lost_ns),
                lost_ms=max(0.0, (gone_ns - lost_ns[0]) / 1e6) if lost_ns else None,
                loss_allowed_ms=None if math.isinf(allowed_ms) else allowed_ms,
            )
        )
        since_ns = until_ns
    return records


def _allowed_ms(one: Happened, lost_max_ms: float, *, is_same: bool) -> float:
    """Return for how long before an event commits may be lost; infinite if nothing is promised.

    A durability level is about one host: what another one has, its standbys decide. Only of a
    command it is not known to which of them it leads.
    """
    if one.event.action == "promote":
        return 0.0 if one.is_followed else math.inf
    if one.event.action == "exec" and not is_same:
        return math.inf
    return lost_max_ms


def _within(instants_ns: Sequence[int], begin_ns: float, end_ns: float) -> Sequence[int]:
    """Return those of instants in order that are not before the begin, and before the end."""
    return instants_ns[bisect_left(instants_ns, begin_ns) : bisect_left(instants_ns, end_ns)]


def _first(instants_ns: Sequence[int], begin_ns: float, end_ns: float) -> int | None:
    return next(iter(_within(instants_ns, begin_ns, end_ns)), None)
