"""A foreign session holds locks on which the clients wait.

Looks for: waits for locks whose chain ends at a session that is none of the load's: another
program's connection, often idle in a transaction, or a process of the server such as an
autovacuum worker.

Arithmetic: each wait for a lock is charged to the session at the end of its chain, seen at the
same instant; the finding's share is the client-seconds charged to sessions that are not the
load's. Removing them gains a factor of up to 1/(1 − w).

Source: wait chains of the server's own lock table.

Wrong when: the foreign session itself waits for the load outside of the database, as a batch
job does that talks to the same application.
"""

from collections import defaultdict
from typing import TypeAlias

from dbdyno.analysis.budget import Charge
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.needs import client_time, needed
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.words import and_so_on, gain_words
from dbdyno.words import percent

Root: TypeAlias = tuple[str, str, str]
"""Who, what it was doing, and the wait event."""

_DOING = {
    "idle_in_transaction": "idle in a transaction",
    "cpu": "running a statement",
    "cpu_queue": "waiting for a processor",
    "client_or_network": "talking to its client",
}


def look(case: Case) -> Outcome:
    """What is charged to sessions that are not the load's."""
    spent = client_time(case)
    charges = [charge for charge in spent.charges if charge.root_who != "client"]
    share = sum(charge.seconds for charge in charges) / spent.total
    if share < NOTICED:
        return NotFound(f"clients waited behind foreign sessions for {percent(share)} of the time")
    roots = _roots(charges)
    relations = _relations(case)
    return found(
        f"{_who(roots[0][0])} held locks for which the clients waited "
        f"{percent(share)} of their time{_on(relations)}.",
        title=f"{_name(roots[0][0][0])} holds locks",
        share=share,
        share_of="client time",
        certainty="sure",
        evidence={
            "roots": [
                {"who": who, "doing": doing, "wait": wait, "share": seconds / spent.total}
                for (who, doing, wait), seconds in roots
            ],
            "relations": relations,
        },
        seen=[
            f"{_who(root)}: {percent(seconds / spent.total)} of the clients' time."
            for root, seconds in roots
        ],
        why="A lock is held until its transaction ends, whatever its session does meanwhile; "
        "everyone who needs the row or the table stands still.",
        advice=[
            database_of(case).end_session,
            f"Let such transactions end by themselves: {database_of(case).end_by_itself}.",
        ],
        gain=gain_words(share),
        refute="Run again without the other program: the waits must vanish.",
    )


def _roots(charges: list[Charge]) -> list[tuple[Root, float]]:
    """The one that held back the most first."""
    seconds: dict[Root, float] = defaultdict(float)
    for charge in charges:
        seconds[charge.root_who, charge.root_kind, charge.root_wait] += charge.seconds
    return sorted(seconds.items(), key=lambda root: -root[1])


def _name(who: str) -> str:
    return "A foreign session" if who == "foreign" else f"The server's {who}"


def _who(root: Root) -> str:
    who, doing, wait = root
    state = _DOING.get(doing, f"waiting for {wait}" if wait else "its state is not known")
    return f"{_name(who)} ({state})"


def _relations(case: Case) -> list[str]:
    """The tables that clients wait for right behind sessions of others."""
    queue = needed(case.lock_queue, "locks were not looked at")
    named = (edge.relation for edge in queue.edges if edge.blocker_who != "client")
    return list(dict.fromkeys(filter(None, named)))


def _on(relations: list[str]) -> str:
    return f", on {and_so_on(relations)}" if relations else ""


RULE = Rule(
    id="foreign_lock",
    title="A foreign session holds locks",
    look=look,
    covers=frozenset({"row_lock_convoy", "long_transaction"}),
    accounts_for=frozenset({"lock"}),
)
