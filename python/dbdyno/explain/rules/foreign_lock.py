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
from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct

from dbdyno.analysis.waits.budget import Budget, Charge
from dbdyno.analysis.waits.lock_waits import ROW_LOCKS
from dbdyno.analysis.waits.session_samples import client_time_s, measured_s
from dbdyno.explain.gains import WaitClaim, gains_of_waits_in
from dbdyno.explain.needs import client_time, queue_of
from dbdyno.explain.rule import NOTICED, Aside, CouldNotLook, NotFound, Rule
from dbdyno.explain.sentences import amount, and_so_on
from dbdyno.explain.statements.statements import statements_of
from dbdyno.formatting import percent
from dbdyno.model.record import Certainty
from dbdyno.model.run import Run

_IDLE = "idle_in_transaction"
_DOING = {
    "idle_in_transaction": "idle in transaction",
    "cpu": "running a statement",
    "cpu_queue": "waiting for CPU",
    "client_or_network": "communicating with its client",
}


class Root(Struct, frozen=True):
    """Sessions outside the load that are alike, and the client time that they blocked."""

    who: str
    doing: str
    wait: str
    share: float

    @property
    def name(self) -> str:
        """For a title."""
        return "A foreign session" if self.who == "foreign" else f"The server's {self.who}"

    @property
    def text(self) -> str:
        """With what it does."""
        other = f"waiting for {self.wait}" if self.wait else "state unknown"
        return f"{self.name} ({_DOING.get(self.doing, other)})"


class BlockedAt(Struct, frozen=True):
    """A statement, and the share of client time spent waiting at it."""

    statement: int
    share: float


class ForeignLock(WaitClaim, frozen=True, kw_only=True):
    """What sessions outside the load blocked; shares are of client time."""

    roots: list[Root]
    """The one that blocked the most first."""
    relations: list[str]
    between_share: float
    """Behind foreign sessions that wait for a table themselves."""
    waits: list[BlockedAt]
    """The longest first."""
    tables_share: Aside[float] = 0.0
    """Directly behind foreign sessions that hold or wait for a lock on a table."""
    texts: Aside[Mapping[int, str]]
    """The statements; a client between two has none to name."""
    clients: Aside[float] = 0.0
    """On average."""
    end_session: Aside[str]
    end_by_itself: Aside[str]
    online_ddl: Aside[str]
    certainty: ClassVar[Certainty] = "sure"

    @property
    def is_of_statements(self) -> bool:
        """Whether most of it is behind statements that lock a table while they run, as DDL does."""
        working = sum(
            one.share for one in self.roots if one.who == "foreign" and one.doing != _IDLE
        )
        of_tables = self.tables_share - self.between_share
        return min(working, of_tables) >= (self.share or 0.0) / 2

    @property
    def title(self) -> str:
        return f"{self.roots[0].name} holds locks"

    @property
    def summary(self) -> str:
        on = f" on {and_so_on(self.relations)}" if self.relations else ""
        return (
            f"{self.roots[0].text} held locks{on}: clients spent {percent(self.share or 0.0)} of "
            "their time waiting for them."
        )

    @property
    def seen(self) -> list[str]:
        waiting = [
            f"On average {amount(one.share * self.clients, 'client', 'clients')} waited at "
            f"“{self.texts[one.statement]}”: {percent(one.share)} of client time."
            for one in self.waits
            if one.statement in self.texts and one.share >= NOTICED
        ]
        between = (
            f"{percent(self.between_share)} of client time was spent behind a session that itself "
            "waits for a table lock, as ALTER TABLE does: later lock requests queue behind it."
        )
        return [
            *(f"{one.text}: {percent(one.share)} of client time." for one in self.roots),
            *waiting,
            *([between] if self.between_share >= NOTICED else []),
        ]

    why: ClassVar[str] = (
        "A lock is held until its transaction ends, whatever its session does meanwhile; everyone "
        "who needs the row or the table waits."
    )

    @property
    def advice(self) -> list[str]:
        if self.is_of_statements:
            return [self.online_ddl, self.end_session]
        give_up = "Run DDL with a short lock timeout, and retry it until it succeeds."
        return [
            self.end_session,
            f"Set timeouts: {self.end_by_itself}.",
            *([give_up] if self.between_share >= NOTICED else []),
        ]

    refute: ClassVar[str] = "Run again without the other program: the waits must disappear."


def look(run: Run) -> ForeignLock | NotFound | CouldNotLook:
    """Report lock waits that are charged to sessions outside the load."""
    spent = client_time(run)
    share, unknown = spent.behind_others, spent.behind("unknown")
    if share >= NOTICED:
        return _held(run, spent)
    queue_of(run)  # without it the blockers are not known
    if unknown >= NOTICED:
        return CouldNotLook(
            f"clients waited for {percent(unknown)} of the time behind sessions that only a single "
            "sample saw while clients connected: they may belong to the load or not"
        )
    return NotFound(f"clients waited behind foreign sessions for {percent(share)} of the time")


def _held(run: Run, spent: Budget) -> ForeignLock:
    charges = [one for one in spent.charges if one.root_who not in ("client", "unknown")]
    terms = run.database.terms
    return ForeignLock(
        share=spent.behind_others,
        roots=_roots(charges, spent.total),
        relations=_relations(run),
        between_share=_behind(run, only_waiting=True) / spent.total,
        waits=_waits(charges, spent.total),
        tables_share=_behind(run, only_waiting=False) / spent.total,
        texts={one.number: one.text for one in statements_of(run)},
        clients=client_time_s(run) / measured_s(run),
        end_session=terms.end_session,
        end_by_itself=terms.end_by_itself,
        online_ddl=terms.online_ddl,
        gains=gains_of_waits_in(run),
    )


def _roots(charges: list[Charge], total_s: float) -> list[Root]:
    shares: dict[tuple[str, str, str], float] = defaultdict(float)
    for charge in charges:
        shares[charge.root_who, charge.root_kind, charge.root_wait] += charge.seconds / total_s
    roots = [Root(*root, share) for root, share in shares.items()]
    return sorted(roots, key=lambda root: -root.share)


def _waits(charges: list[Charge], total_s: float) -> list[BlockedAt]:
    shares: dict[int, float] = defaultdict(float)
    for charge in charges:
        shares[charge.waiter] += charge.seconds / total_s
    return sorted((BlockedAt(*one) for one in shares.items()), key=lambda one: -one.share)


def _behind(run: Run, *, only_waiting: bool) -> float:
    """Client-seconds directly behind a foreign session that holds or wants a table's lock."""
    queue = queue_of(run)
    return sum(
        edge.client_seconds
        for edge in queue.edges
        if edge.waiter_who == "client"
        and edge.blocker_who not in ("client", "unknown")
        and not (only_waiting and edge.is_direct_to_root)
        and edge.lock not in ROW_LOCKS
    )


def _relations(run: Run) -> list[str]:
    """The tables for which clients wait directly behind foreign sessions."""
    queue = queue_of(run)
    named = (
        edge.relation
        for edge in queue.edges
        if edge.waiter_who == "client" and edge.blocker_who not in ("client", "unknown")
    )
    return list(dict.fromkeys(filter(None, named)))


RULE = Rule(
    id="foreign_lock",
    title="A foreign session holds locks",
    look=look,
    accounts_for=frozenset({"lock"}),
    explains_failures=True,
)
