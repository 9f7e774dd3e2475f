"""A foreign session holds locks for which the clients wait.

Looks for: waits for locks whose chain ends at a session outside the load: another program's
connection, often idle in transaction, or a server process such as an autovacuum worker; and the
statements of the load that wait.

Arithmetic: each lock wait is charged to the session at the end of its chain in the same sample; the
finding's share is the client-seconds charged to sessions outside the load, whether a client waits
for such a session itself or behind another client that does. While clients reconnect, a session
that appears in a single sample may be one of theirs and is not charged. A foreign session in the
middle of the chain that waits for the table itself, as ALTER TABLE does behind a reader, is
reported: it is what stops the others. Removing the waits gains a factor of up to 1/(1 − w).

Source: wait chains of the server's own lock table.

Wrong when: the foreign session itself waits for the load outside the database, as a batch job does
that talks to the same application.
"""

from collections import defaultdict
from typing import Any, TypeAlias

from msgspec import Struct

from dbdyno.analysis.budget import Budget, Charge
from dbdyno.analysis.lock_waits import ROW_LOCKS
from dbdyno.analysis.session_samples import client_time_s, measured_s
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.needs import client_time, queue_of
from dbdyno.explain.rule import NOTICED, CouldNotLook, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import amount, and_so_on, gain_of_waits
from dbdyno.explain.statements import statements_of
from dbdyno.formatting import percent
from dbdyno.model.record import Finding

Root: TypeAlias = tuple[str, str, str]
"""Kind of session, its state, and its wait event."""
Waiting: TypeAlias = tuple[int, float]
"""A statement, and the share of client time spent waiting at it."""

_IDLE = "idle_in_transaction"
_DOING = {
    "idle_in_transaction": "idle in transaction",
    "cpu": "running a statement",
    "cpu_queue": "waiting for CPU",
    "client_or_network": "communicating with its client",
}

_BETWEEN = (
    "{} of client time was spent behind a session that itself waits for a table lock, as ALTER "
    "TABLE does: later lock requests queue behind it."
)
_GIVE_UP = "Run DDL with a short lock timeout, and retry it until it succeeds."


class _Held(Struct, frozen=True, kw_only=True):
    """What foreign sessions blocked; shares are of client time."""

    share: float
    roots: list[tuple[Root, float]]
    """The one that blocked the most first."""
    relations: list[str]
    waiting: list[Waiting]
    between: float
    """The share behind foreign sessions that wait for a table themselves."""
    of_tables: float
    """The share directly behind foreign sessions that hold or wait for a lock on a table."""

    @property
    def is_of_statements(self) -> bool:
        """Whether most of it is behind statements that lock a table while they run, as DDL does."""
        working = sum(
            share for (who, doing, _), share in self.roots if who == "foreign" and doing != _IDLE
        )
        return min(working, self.of_tables - self.between) >= self.share / 2


def look(case: Case) -> Outcome:
    """Report lock waits that are charged to sessions outside the load."""
    spent = client_time(case)
    share, unknown = spent.behind_others, spent.behind("unknown")
    if share >= NOTICED:
        return _found(case, _held(case, spent))
    queue_of(case)  # without it the blockers are not known
    if unknown >= NOTICED:
        return CouldNotLook(
            f"clients waited for {percent(unknown)} of the time behind sessions that only a single "
            "sample saw while clients connected: they may belong to the load or not"
        )
    return NotFound(f"clients waited behind foreign sessions for {percent(share)} of the time")


def _held(case: Case, spent: Budget) -> _Held:
    charges = [one for one in spent.charges if one.root_who not in ("client", "unknown")]
    return _Held(
        share=spent.behind_others,
        roots=_roots(charges, spent.total),
        relations=_relations(case),
        waiting=_waiting(charges, spent.total),
        between=_behind(case, only_waiting=True) / spent.total,
        of_tables=_behind(case, only_waiting=False) / spent.total,
    )


def _found(case: Case, held: _Held) -> Finding:
    first, _ = held.roots[0]
    return found(
        f"{_who(first)} held locks{_on(held.relations)}: clients spent {percent(held.share)} of "
        "their time waiting for them.",
        title=f"{_name(first[0])} holds locks",
        share=held.share,
        share_of="client time",
        certainty="sure",
        evidence=_evidence(held),
        seen=_seen(case, held),
        why="A lock is held until its transaction ends, whatever its session does meanwhile; "
        "everyone who needs the row or the table waits.",
        advice=_advice(case, held),
        gain=gain_of_waits(case, held.share),
        refute="Run again without the other program: the waits must disappear.",
    )


def _evidence(held: _Held) -> dict[str, Any]:
    return {
        "roots": [
            {"who": who, "doing": doing, "wait": wait, "share": share}
            for (who, doing, wait), share in held.roots
        ],
        "relations": held.relations,
        "between_share": held.between,
        "waits": [{"statement": number, "share": share} for number, share in held.waiting],
    }


def _seen(case: Case, held: _Held) -> list[str]:
    blockers = [f"{_who(root)}: {percent(share)} of client time." for root, share in held.roots]
    between = [_BETWEEN.format(percent(held.between))] if held.between >= NOTICED else []
    return [*blockers, *_waiting_text(case, held.waiting), *between]


def _advice(case: Case, held: _Held) -> list[str]:
    database = database_of(case)
    if held.is_of_statements:
        return [database.online_ddl, database.end_session]
    return [
        database.end_session,
        f"Set timeouts: {database.end_by_itself}.",
        *([_GIVE_UP] if held.between >= NOTICED else []),
    ]


def _roots(charges: list[Charge], total_s: float) -> list[tuple[Root, float]]:
    shares: dict[Root, float] = defaultdict(float)
    for charge in charges:
        shares[charge.root_who, charge.root_kind, charge.root_wait] += charge.seconds / total_s
    return sorted(shares.items(), key=lambda root: -root[1])


def _waiting(charges: list[Charge], total_s: float) -> list[Waiting]:
    """Where the clients were blocked, the longest wait first."""
    shares: dict[int, float] = defaultdict(float)
    for charge in charges:
        shares[charge.waiter] += charge.seconds / total_s
    return sorted(shares.items(), key=lambda one: -one[1])


def _waiting_text(case: Case, waiting: list[Waiting]) -> list[str]:
    """The statements with noticeable waits; a client between two statements has none to name."""
    texts = {one.number: one.text for one in statements_of(case)}
    clients = client_time_s(case.recording) / measured_s(case.recording)
    return [
        f"On average {amount(share * clients, 'client', 'clients')} waited at “{texts[number]}”: "
        f"{percent(share)} of client time."
        for number, share in waiting
        if number in texts and share >= NOTICED
    ]


def _behind(case: Case, *, only_waiting: bool) -> float:
    """Client-seconds directly behind a foreign session that holds or wants a table's lock."""
    queue = queue_of(case)
    return sum(
        edge.client_seconds
        for edge in queue.edges
        if edge.waiter_who == "client"
        and edge.blocker_who not in ("client", "unknown")
        and not (only_waiting and edge.is_direct_to_root)
        and edge.lock not in ROW_LOCKS
    )


def _name(who: str) -> str:
    return "A foreign session" if who == "foreign" else f"The server's {who}"


def _who(root: Root) -> str:
    who, doing, wait = root
    state = _DOING.get(doing, f"waiting for {wait}" if wait else "state unknown")
    return f"{_name(who)} ({state})"


def _relations(case: Case) -> list[str]:
    """The tables for which clients wait directly behind foreign sessions."""
    queue = queue_of(case)
    named = (
        edge.relation
        for edge in queue.edges
        if edge.waiter_who == "client" and edge.blocker_who not in ("client", "unknown")
    )
    return list(dict.fromkeys(filter(None, named)))


def _on(relations: list[str]) -> str:
    return f" on {and_so_on(relations)}" if relations else ""


RULE = Rule(
    id="foreign_lock",
    title="A foreign session holds locks",
    look=look,
    covers=frozenset({"row_lock_convoy", "long_transaction", "other_waits"}),
    accounts_for=frozenset({"lock"}),
    explains_failures=True,
)
