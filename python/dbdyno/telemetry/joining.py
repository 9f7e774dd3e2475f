"""Joins one sample of the server's sessions with what the engine knows of its clients. No I/O.

The two see the same clients at almost the same instant, and for a short statement *almost* is not
enough: the server may already be two statements ahead of the engine's frame. Therefore the
statement of a session is taken from its text where that is unambiguous, and otherwise from the
engine. A client that has sent a request while its session is idle is still "asking": the request or
the reply is on its way, in the network or in the client's own process.

A session that the engine does not name may belong to another program, or to a client that had no
connection when the engine took its frame and has one by now. While clients connect (``-C``, or
after an outage), a session counts as foreign only if the sample before had it too, also unnamed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbdyno.databases.telemetry import PendingSample, Sessions
from dbdyno.model.frame import Activity
from dbdyno.model.telemetry import (
    IDLE,
    NO_STATEMENT,
    PAUSING,
    UNCONNECTED,
    UNLISTED,
    BlockCount,
    Doing,
    WaitCount,
    Waits,
)
from dbdyno.telemetry.blocking import Conflicts, Wait, find_waits
from dbdyno.telemetry.statement_texts import StatementTexts

ACTIVE = "active"
CLIENT, FOREIGN, UNKNOWN = "client", "foreign", "unknown"
_PREPARED_TRANSACTION = 0
"""The process number of a prepared transaction, which holds locks without a process."""

_NUMBER_MAX = 0xFFFFFFFF

_BETWEEN: dict[int, Doing] = {
    UNCONNECTED: "unconnected",
    IDLE: "idle",
    PAUSING: "pausing",
    UNLISTED: "asking",
}


class SessionSample(Struct, frozen=True, kw_only=True):
    """A sample of the server at one instant, and the ``seconds`` of the run that it stands for.

    Its locks stand for ``locks_seconds``, which is None for a sample without locks.
    """

    at_ns: int
    seconds: float
    cost_us: int
    pending: PendingSample
    locks_seconds: float | None = None


class _SessionState(Struct, frozen=True, eq=False):
    """A session as it is counted: the columns of ``WaitCount`` except the count.

    Each distinct value is created once, by :func:`_session_state`, and hashed and compared by
    identity: hundreds of sessions are counted in each sample.
    """

    who: str
    statement: int
    doing: Doing
    state: str
    wait_type: str
    wait_event: str

    def times(self, count: int) -> WaitCount:
        """Return the count of this many such sessions."""
        return WaitCount(
            self.who,
            self.statement,
            self.doing,
            self.state,
            self.wait_type,
            self.wait_event,
            count,
        )


_session_state = lru_cache(maxsize=10_000)(_SessionState)


class Joiner:
    """Joins samples with the engine's frames; telemetry's ``own_sessions`` are left out."""

    def __init__(self, texts: StatementTexts, conflicts: Conflicts, own_sessions: set[int]) -> None:
        self._texts = texts
        self._conflicts = conflicts
        self._own_sessions = own_sessions
        self._unnamed: Set[int] = frozenset()

    def join(self, sample: SessionSample, activity: Activity) -> Waits:
        """Return all sessions and clients of one instant, those that are alike counted together."""
        sessions, locks = sample.pending()
        numbered = _statement_numbers(activity)
        named = dict(numbered)
        seen = self._states(sessions, named)
        counts = Counter(seen.values())
        counts.update(
            _session_state(CLIENT, *_between(number), "", "", "")
            for pid, number in numbered
            if pid not in seen
        )
        return Waits(
            at_ns=sample.at_ns,
            seconds=sample.seconds,
            cost_us=sample.cost_us,
            waits=[alike.times(count) for alike, count in counts.items()],
            blocking=_block_counts(
                find_waits(locks, self._conflicts),
                lambda pid: seen.get(pid) or _unseen(pid, named),
            ),
            locks_seconds=sample.locks_seconds,
        )

    def _states(
        self, sessions: Sequence[Sessions], numbered: dict[int, int]
    ) -> dict[int, _SessionState]:
        """Map each process number to its session; within a group, equal sessions are built once."""
        found: dict[int, _SessionState] = {}
        unnamed = {pid for alike in sessions for pid in alike.pids if pid not in numbered}
        newcomers = unnamed - self._unnamed if _is_any_unconnected(numbered) else frozenset()
        self._unnamed = unnamed
        for alike in sessions:
            states: dict[tuple[int | None, str], _SessionState] = {}
            for pid in alike.pids:
                known = numbered.get(pid), UNKNOWN if pid in newcomers else FOREIGN
                seen = states.get(known)
                if seen is None:
                    seen = states[known] = self._state_of(alike, *known)
                found[pid] = seen
        # A server that restarts gives the numbers of telemetry's lost sessions to clients.
        for pid in self._own_sessions.difference(numbered):
            found.pop(pid, None)
        return found

    def _state_of(self, alike: Sessions, number: int | None, stranger: str) -> _SessionState:
        """Build the counted session; ``stranger`` is its kind if the engine does not name it."""
        shown = (alike.state, alike.wait_type, alike.wait_event)
        if number is None:
            who = stranger if alike.kind == CLIENT else alike.kind
            return _session_state(who, NO_STATEMENT, "", *shown)
        if alike.state == ACTIVE:
            fitting = self._texts.fitting(alike.text)
            if len(fitting) == 1 and number not in fitting:
                (number,) = fitting
        return _session_state(CLIENT, *_between(number), *shown)


def _between(number: int) -> tuple[int, Doing]:
    """Return a client's statement and what it was doing, from the engine's code for it."""
    doing = _BETWEEN.get(number)
    return (number, "asking") if doing is None else (NO_STATEMENT, doing)


def with_strange_numbers(activity: Activity) -> Activity:
    """Return it with numbers that no session has; clients without a connection keep theirs, 0.

    A pooler counts its own sessions, and the server may have others of the same numbers.
    """
    numbers = np.frombuffer(activity.backends, dtype="<u4")
    strange = np.arange(_NUMBER_MAX - len(numbers), _NUMBER_MAX, dtype="<u4")
    return replace(activity, backends=np.where(numbers == 0, numbers, strange).tobytes())


def backends_of(activity: Activity) -> list[int]:
    """Return the server's process number for each client."""
    backends: list[int] = np.frombuffer(activity.backends, dtype="<u4").tolist()
    return backends


def _statement_numbers(activity: Activity) -> list[tuple[int, int]]:
    """Return each client's process number and the engine's code for what it was doing."""
    numbered = np.frombuffer(activity.statements, dtype="<u2").tolist()
    return list(zip(backends_of(activity), numbered, strict=True))


class _Alike(NamedTuple):
    """What the waits that are counted together have in common."""

    waiter: _SessionState
    blocker: int
    root: int
    lock: str
    mode: str
    relation: str
    row: str
    depth: int


def _block_counts(waits: list[Wait], seen_as: Callable[[int], _SessionState]) -> list[BlockCount]:
    """Count the waiters that differ only in their process number together."""
    together: dict[_Alike, list[float | None]] = defaultdict(list)
    for wait in waits:
        its = wait.locks
        place = (wait.blocker, wait.root, its.kind, its.mode, its.relation, its.row, wait.depth)
        waited: dict[_SessionState, list[float | None]] = defaultdict(list)
        for pid, waited_s in zip(its.pids, its.waited_s, strict=True):
            waited[seen_as(pid)].append(waited_s)
        for waiter, times in waited.items():
            together[_Alike(waiter, *place)] += times
    return [_block_count(alike, waited, seen_as) for alike, waited in together.items()]


def _block_count(
    alike: _Alike, waited: list[float | None], seen_as: Callable[[int], _SessionState]
) -> BlockCount:
    blocker, root = seen_as(alike.blocker), seen_as(alike.root)
    known = [seconds for seconds in waited if seconds is not None]
    return BlockCount(
        waiter_who=alike.waiter.who,
        waiter=alike.waiter.statement,
        blocker_who=blocker.who,
        blocker=blocker.statement,
        root_who=root.who,
        root=root.statement,
        root_state=root.state,
        root_wait=root.wait_event,
        lock=alike.lock,
        mode=alike.mode,
        relation=alike.relation,
        row=alike.row,
        depth=alike.depth,
        count=len(waited),
        waited_s=sum(known) if known else None,
    )


def _unseen(pid: int, numbered: dict[int, int]) -> _SessionState:
    """Return a session that has or awaits a lock, but connected after the sessions were read."""
    if pid == _PREPARED_TRANSACTION:
        return _session_state(FOREIGN, NO_STATEMENT, "", "", "", "")
    if pid in numbered:
        return _session_state(CLIENT, *_between(numbered[pid]), "", "", "")
    who = UNKNOWN if _is_any_unconnected(numbered) else FOREIGN
    return _session_state(who, NO_STATEMENT, "", "", "", "")


def _is_any_unconnected(numbered: dict[int, int]) -> bool:
    """Whether any client has no connection: the engine gives its process number as 0."""
    return 0 in numbered
