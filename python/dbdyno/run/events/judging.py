"""What the witness has seen of each event, and what each of them may have lost. Pure."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from msgspec.structs import replace

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
    records: list[FailoverRecord] = []
    losses: list[_Losses] = []
    for one, next_ns in zip(happened, nexts_ns, strict=True):
        error_ns = _first(seen.errors_ns, one.begin_ns, next_ns)
        commit_ns = error_ns and _first(seen.resumed_ns, error_ns, next_ns)
        # While a server is killed, session by session, others are still acknowledged: it may lose
        # whatever was acknowledged until there was a server again.
        until_ns = (commit_ns or next_ns) if error_ns else one.end_ns
        before_ns = _within(seen.acknowledged_ns, since_ns, until_ns)
        known_ns = [one.begin_ns, *_within(seen.acknowledged_ns, one.begin_ns, next_ns)]
        known_ns.append(max(known_ns[-1], int(min(next_ns, seen.ended_ns))))
        allowed_ms = _allowed_ms(
            one,
            lost_max_ms,
            is_same=seen.is_of_one_server(one.begin_ns, next_ns),
            has_broken=error_ns is not None,
        )
        losses.append(
            _Losses(
                until_ns=until_ns,
                gone_ns=max([error_ns, *before_ns[-1:]]) if error_ns else one.end_ns,
                allowed_ms=allowed_ms,
                has_broken=error_ns is not None,
            )
        )
        records.append(
            FailoverRecord(
                event=one.event.name,
                at_s=(one.begin_ns - measured_from_ns) / 1e9,
                took_ms=None if one.error else (one.end_ns - one.begin_ns) / 1e6,
                error=one.error,
                first_error_ms=error_ns and (error_ns - one.begin_ns) / 1e6,
                first_commit_ms=commit_ns and (commit_ns - one.begin_ns) / 1e6,
                longest_pause_ms=max((b - a for a, b in pairwise(known_ns)), default=0) / 1e6,
                acknowledged=len(before_ns),
                loss_allowed_ms=None if math.isinf(allowed_ms) else allowed_ms,
            )
        )
        since_ns = until_ns
    if seen.lost_ns is None or not losses:
        return records
    for row_ns in seen.lost_ns:
        _to_blame(losses, row_ns).rows_ns.append(row_ns)
    return [
        replace(record, lost=len(its.rows_ns), lost_ms=its.lost_ms)
        for record, its in zip(records, losses, strict=True)
    ]


@dataclass(kw_only=True)
class _Losses:
    """What an event may have lost, and what is booked on it; instants in ns."""

    until_ns: float
    """What was acknowledged later it cannot have lost."""
    gone_ns: float
    allowed_ms: float
    has_broken: bool
    """Whether the witness saw an error."""
    rows_ns: list[int] = field(default_factory=list)
    """When the rows that are missing were acknowledged."""

    def allows(self, row_ns: int) -> bool:
        """Whether nothing that was promised is broken if it has lost this row."""
        return self.allowed_ms > 0 and self.gone_ns - row_ns <= self.allowed_ms * 1e6

    @property
    def lost_ms(self) -> float | None:
        """For how long before its server was gone commits were lost."""
        return max(0.0, (self.gone_ns - self.rows_ns[0]) / 1e6) if self.rows_ns else None


def _to_blame(losses: Sequence[_Losses], row_ns: int) -> _Losses:
    """Return the event that has lost a row: of those since, the first that was allowed to.

    Which one it was cannot be seen in the data, and no event is accused of what a later one may
    have done. If none was allowed to, it is the first that broke something. After the last event
    there is no other that could have lost it.
    """
    later = [one for one in losses if row_ns < one.until_ns] or losses[-1:]
    allowed = (one for one in later if one.allows(row_ns))
    broken = (one for one in later if one.has_broken)
    return next(allowed, None) or next(broken, None) or later[0]


def _allowed_ms(one: Happened, lost_max_ms: float, *, is_same: bool, has_broken: bool) -> float:
    """Return for how long before an event commits may be lost; infinite if nothing is promised.

    A durability level is about one host: what another one has, its standbys decide. Only of a
    command it is not known to which of them it leads. A level lets a crash lose something: no
    connection survives one, and neither a cut nor a clean restart is one.
    """
    action = one.event.action
    if action == "promote":
        return 0.0 if one.is_followed else math.inf
    if action == "exec" and not is_same:
        return math.inf
    is_crash = action == "kill-server" or bool(one.error) or (action == "exec" and has_broken)
    return lost_max_ms if is_crash else 0.0


def _within(instants_ns: Sequence[int], begin_ns: float, end_ns: float) -> Sequence[int]:
    """Return those of instants in order that are not before the begin, and before the end."""
    return instants_ns[bisect_left(instants_ns, begin_ns) : bisect_left(instants_ns, end_ns)]


def _first(instants_ns: Sequence[int], begin_ns: float, end_ns: float) -> int | None:
    return next(iter(_within(instants_ns, begin_ns, end_ns)), None)
