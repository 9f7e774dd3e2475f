"""Which kind of client time a server's wait event is, by the table of its database."""

from collections.abc import Mapping

from dbdyno.model.database import PartKind, WaitKinds

ACTIVE = frozenset({"active", "fastpath function call"})
"""States of a session that the server is working for."""
_SESSIONS = frozenset({"client", "foreign", "unknown"})
"""Kinds of sessions; all others are the server's own processes, which may report no state."""
BETWEEN: Mapping[str, PartKind] = {
    "pausing": "pause",
    "idle": "idle",
    "unconnected": "unconnected",
}
"""What the engine reports of a client that has no request outstanding."""


def may_run(who: str, state: str, wait_type: str) -> bool:
    """Whether it is on a CPU or waiting for one, as far as the server reports."""
    return not wait_type and (state in ACTIVE or who not in _SESSIONS)


def kind_of(kinds: WaitKinds, wait_type: str, wait_event: str) -> PartKind:
    """The kind of one wait of a session that the server is working for."""
    event = wait_event.casefold()
    fitting = (
        kind for known, begin, kind in kinds if known == wait_type and event.startswith(begin)
    )
    return next(fitting, "other_wait")


def client_kind(
    kinds: WaitKinds, *, state: str, doing: str, wait_type: str, wait_event: str
) -> PartKind | None:
    """What a client is doing: by the server's state if it is working for it, else by the engine's.

    None if neither is known.
    """
    if state in ACTIVE:
        return kind_of(kinds, wait_type, wait_event)
    if doing == "asking" and state.startswith("idle"):
        return "client_or_network"
    return BETWEEN.get(doing)
