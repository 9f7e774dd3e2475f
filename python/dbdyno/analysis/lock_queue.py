"""Who waited for whom: the queue of statements behind locks, as it was on average."""

from msgspec import Struct

from dbdyno.model.recording import Recording


class Edge(Struct, frozen=True, kw_only=True):
    """Waiters of one statement behind blockers of one statement.

    ``relation`` is the table whose row (or which itself) is locked; ``rows`` are the places
    seen, the most frequent first. ``waiters_mean`` is over all looks, also those with none;
    ``waited_ms`` the mean time a waiter had waited when seen, None where it is not known.
    """

    waiter: int
    waiter_who: str
    blocker: int
    blocker_who: str
    lock: str
    relation: str
    rows: tuple[tuple[str, float], ...]
    client_seconds: float
    low: float
    high: float
    waiters_mean: float
    waited_ms: float | None
    is_direct_to_root: bool


class StatementTime(Struct, frozen=True, kw_only=True):
    """One statement's mean latency, split. The parts add up to ``mean_ms``."""

    statement: int
    mean_ms: float
    lock_ms: float
    other_wait_ms: float
    working_ms: float


class LockQueue(Struct, frozen=True, kw_only=True):
    """The queue in the measured part of the run."""

    edges: list[Edge]
    statements: list[StatementTime]


def lock_queue(recording: Recording) -> LockQueue | None:
    """None when locks were not looked at; no edges when nobody waited."""
    raise NotImplementedError
