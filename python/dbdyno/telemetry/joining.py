"""One look at the server's sessions, joined with what the engine knows of its clients. Pure.

The two see the same clients at almost the same instant, and for a short statement *almost*
is not enough: the server may be two statements further than the engine was. So what a session
runs is told from its text where that is clear, and else from the engine; and a client that
has asked while its session is idle is on the way, in the network or in its own process.
"""

from collections import Counter, defaultdict
from collections.abc import Set
from typing import Any

import numpy as np
from msgspec import Struct

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
from dbdyno.targets.telemetry import Lock, Session
from dbdyno.telemetry.blocking import Conflicts, Wait, find_waits
from dbdyno.telemetry.statement_texts import StatementTexts

ACTIVE = "active"
CLIENT, FOREIGN = "client", "foreign"

_BETWEEN: dict[int, Doing] = {
    UNCONNECTED: "unconnected",
    IDLE: "idle",
    PAUSING: "pausing",
    UNLISTED: "asking",
}


class Look(Struct, frozen=True, kw_only=True):
    """What the server showed at one instant; ``seconds`` of the run it stands for."""

    at_ns: int
    seconds: float
    cost_us: int
    sessions: list[Session]
    locks: list[Lock]


class _Seen(Struct, frozen=True, gc=False):
    """A session as it is counted."""

    who: str
    statement: int
    doing: Doing
    session: Session

    @property
    def counted(self) -> tuple[str, int, Doing, str, str, str]:
        its = self.session
        return self.who, self.statement, self.doing, its.state, its.wait_type, its.wait_event


class Joiner:
    """Joins looks with the engine's words; ``ours`` are sessions of telemetry itself."""

    def __init__(self, texts: StatementTexts, conflicts: Conflicts) -> None:
        self._texts = texts
        self._conflicts = conflicts

    def join(self, look: Look, activity: Activity, ours: Set[int]) -> Waits:
        """All sessions and clients of one instant, those alike counted together."""
        clients = _clients(activity)
        words = dict(clients)
        seen = {
            session.pid: self._seen(session, words.get(session.pid))
            for session in look.sessions
            if session.pid not in ours
        }
        unseen = Counter(
            (CLIENT, *_between(word), "", "", "") for pid, word in clients if pid not in seen
        )
        counts = Counter(its.counted for its in seen.values()) + unseen
        return Waits(
            at_ns=look.at_ns,
            seconds=look.seconds,
            cost_us=look.cost_us,
            waits=[WaitCount(*alike, count) for alike, count in counts.items()],
            blocking=_block_counts(find_waits(look.locks, self._conflicts), seen),
        )

    def _seen(self, session: Session, word: int | None) -> _Seen:
        if word is None:
            who = FOREIGN if session.kind == CLIENT else session.kind
            return _Seen(who, NO_STATEMENT, "", session)
        if session.state == ACTIVE:
            fitting = self._texts.fitting(session.text)
            if len(fitting) == 1 and word not in fitting:
                (word,) = fitting
        return _Seen(CLIENT, *_between(word), session)


def _between(word: int) -> tuple[int, Doing]:
    """The engine's word for a client: its statement, and what it was doing."""
    doing = _BETWEEN.get(word)
    return (word, "asking") if doing is None else (NO_STATEMENT, doing)


def backends_of(activity: Activity) -> list[int]:
    """The server's process that serves each client."""
    backends: list[int] = np.frombuffer(activity.backends, dtype="<u4").tolist()
    return backends


def _clients(activity: Activity) -> list[tuple[int, int]]:
    """Each client's backend and the engine's word for it."""
    words = np.frombuffer(activity.statements, dtype="<u2").tolist()
    return list(zip(backends_of(activity), words, strict=True))


def _block_counts(waits: list[Wait], seen: dict[int, _Seen]) -> list[BlockCount]:
    """Waiters that are alike in all but themselves, counted together."""
    counts: Counter[tuple[Any, ...]] = Counter()
    waited: dict[tuple[Any, ...], float] = defaultdict(float)
    for wait in waits:
        alike = _alike(wait, seen)
        counts[alike] += 1
        if wait.lock.waited_s is not None:
            waited[alike] += wait.lock.waited_s
    return [BlockCount(*(*alike, count, waited.get(alike))) for alike, count in counts.items()]


def _alike(wait: Wait, seen: dict[int, _Seen]) -> tuple[Any, ...]:
    """All of a wait's columns but the count and the time."""
    root = seen.get(wait.root, _UNKNOWN)
    return (
        *_named(wait.lock.pid, seen),
        *_named(wait.blocker, seen),
        root.who,
        root.statement,
        root.session.state,
        root.session.wait_event,
        wait.lock.kind,
        wait.lock.mode,
        wait.lock.relation,
        wait.lock.row,
        wait.depth,
    )


def _named(pid: int, seen: dict[int, _Seen]) -> tuple[str, int]:
    its = seen.get(pid, _UNKNOWN)
    return its.who, its.statement


# A session that came after the sessions were looked at, or a prepared transaction.
_UNKNOWN = _Seen(FOREIGN, NO_STATEMENT, "", Session(0, "", "", "", "", ""))
