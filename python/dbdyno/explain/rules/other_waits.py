"""Other waits that the server names: locks that are no row's, standbys, pauses in a statement.

Looks for: waits within statements for what no other rule is about, by the server's name for them:
advisory locks, locks of whole tables and of their definitions, the one lock of NOTIFY, the growing
of a file, parallel workers, a synchronous standby, a sleep.

Arithmetic: the share of the clients' time in such waits, as the looks saw them. Removing them gains
a factor of up to 1/(1 − w).

Source: the PostgreSQL manual, wait events; the MariaDB manual, general thread states.

Wrong when: the wait is meant: a job that takes turns by an advisory lock, a pause that stands for
work, a commit that must not be lost with its server.
"""

from collections import defaultdict
from typing import NamedTuple

from dbdyno.analysis.budget import Budget, Part
from dbdyno.explain.case import Case
from dbdyno.explain.needs import client_time
from dbdyno.explain.row_holds import ROW_LOCKS
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.statements import statements_of
from dbdyno.explain.words import gain_of_waits
from dbdyno.words import percent


class _Known(NamedTuple):
    """What is waited for, why it makes others wait, and what to do."""

    name: str
    why: str
    advice: str


_BY_THE_APPLICATION = _Known(
    "locks of the application's own",
    "The server gives such a lock to one session at a time, whatever else it could do meanwhile.",
    "Hold it for less time, take one for each thing and not one for all, or only try for it and do "
    "something else.",
)
_OF_TABLES = _Known(
    "locks of whole tables",
    "A change of a table, or LOCK TABLE, excludes others from all of it until its transaction "
    "ends; and whoever waits for such a lock makes all behind it wait too.",
    "Keep LOCK TABLE, TRUNCATE and changes of tables out of the load; give those that must be a "
    "short lock_timeout (in MariaDB and MySQL lock_wait_timeout), and try again.",
)
_STANDBY = _Known(
    "the answer of a synchronous standby",
    "A commit is answered when the standby has it: with each comes a way there and back, and "
    "without a standby none ends.",
    "See that the standby is there and near; where losing the last moments with the server is "
    "allowed, let commits not wait for it (synchronous_commit = local; rpl_semi_sync off).",
)
_PAUSE = _Known(
    "a pause within a statement",
    "A statement that sleeps keeps its session, and in a transaction its locks.",
    "Leave the pause out, or let the client make it, outside of transactions: \\sleep, --think.",
)
_PARALLEL = _Known(
    "parallel workers",
    "A statement that is planned to be shared starts processes each time it runs: it waits until "
    "they are there, for their rows, and until they are gone; and they take the processors of "
    "other clients.",
    "Find out why it reads so much (an index may be missing); a short statement is done sooner by "
    "its own process: max_parallel_workers_per_gather = 0 for the load's role.",
)
# How an event's name begins, in small letters.
_KNOWN = {
    "advisory": _BY_THE_APPLICATION,
    "user": _BY_THE_APPLICATION,
    "relation": _OF_TABLES,
    "table": _OF_TABLES,
    "sql/mdl_": _OF_TABLES,
    "object": _Known(
        "locks of objects that are no tables",
        "At a commit it is NOTIFY's: transactions that notify commit one after the other, each "
        "with its own flush, and none shares another's.",
        "Notify less: once for many changes, from a transaction of its own, or let listeners poll.",
    ),
    "extend": _Known(
        "the growing of a table's file",
        "One session at a time adds pages to a table, and all that insert into it need them.",
        "Insert more rows at once, by COPY where you can, or spread them over partitions.",
    ),
    "bgworker": _PARALLEL,
    "executegather": _PARALLEL,
    "messagequeue": _PARALLEL,
    "parallel": _PARALLEL,
    "hash": _PARALLEL,
    "syncrep": _STANDBY,
    "semi-sync": _STANDBY,
    "pgsleep": _PAUSE,
    "sleep": _PAUSE,
}


def look(case: Case) -> Outcome:
    """What takes the largest share gives its name, with the longest of its events."""
    spent = client_time(case)
    events = _events(spent)
    share = sum(events.values())
    if share < NOTICED:
        return NotFound(f"waits of other kinds took {percent(share)} of the clients' time")
    shares = _by_cause(events)
    known = max(shares, key=lambda cause: shares[cause])
    worst = max(
        (event for event in events if _known(event) == known), key=lambda event: events[event]
    )
    return found(
        f"Clients wait for {known.name} {percent(shares[known])} of their time"
        f"{_with_others(share, shares[known])}.",
        title=f"Waits for {known.name}{'' if known.name.endswith(worst) else f': {worst}'}",
        share=share,
        share_of="client time",
        certainty="likely",
        evidence={"events": events},
        seen=_waiting_told(case, spent),
        why=known.why,
        advice=[known.advice],
        gain=gain_of_waits(case, share),
        refute="Run again without what makes them: the waits must vanish.",
    )


def _is_other(part: Part) -> bool:
    """Neither for a row, nor of a kind that has its rule; and named by the server itself.

    Not all servers name all waits: of some the kernel tells, and of some nobody.
    """
    if part.kind == "lock":
        return part.wait_event not in ROW_LOCKS
    return part.kind == "other_wait" and part.wait_type not in {"Kernel", ""}


def _events(spent: Budget) -> dict[str, float]:
    """Shares of the clients' time."""
    shares: dict[str, float] = defaultdict(float)
    for part in filter(_is_other, spent.parts):
        shares[part.wait_event] += part.seconds / spent.total
    return dict(shares)


def _by_cause(events: dict[str, float]) -> dict[_Known, float]:
    """Shares of what is waited for: one thing may have several events."""
    shares: dict[_Known, float] = defaultdict(float)
    for event, share in events.items():
        shares[_known(event)] += share
    return dict(shares)


def _known(event: str) -> _Known:
    fitting = (known for begin, known in _KNOWN.items() if event.casefold().startswith(begin))
    unknown = _Known(
        f"what the server calls {event}",
        "Who waits does nothing else.",
        f"Look up {event} among the waits in the server's manual.",
    )
    return next(fitting, unknown)


def _with_others(share: float, of_worst: float) -> str:
    return f", {percent(share)} with other such waits" if share - of_worst >= NOTICED else ""


def _waiting_told(case: Case, spent: Budget) -> list[str]:
    """Where they wait, the longest first."""
    texts = {one.number: one.words for one in statements_of(case)}
    return [
        f"{part.wait_event} at “{texts[part.statement]}”: "
        f"{percent(part.seconds / spent.total)} of the clients' time."
        for part in filter(_is_other, spent.parts)
        if part.statement in texts and part.seconds / spent.total >= NOTICED
    ]


RULE = Rule(
    id="other_waits",
    title="Other waits that the server names",
    look=look,
    accounts_for=frozenset({"lock", "other_wait"}),
    tells_of_failures=True,
)
