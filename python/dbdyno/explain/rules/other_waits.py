"""Other named waits: locks other than row locks, standbys, sleeps in a statement.

Looks for: waits within statements that no other rule covers, by the server's name for them:
advisory locks, locks of whole tables and of their definitions, the read lock on everything that a
backup takes, the one lock of NOTIFY, the query cache, the extension of a file, a synchronous
standby, a sleep.

Arithmetic: the share of client time in such waits, from the session samples. Removing them gains a
factor of up to 1/(1 − w).

Source: the PostgreSQL manual, wait events; the MariaDB manual, general thread states.

Wrong when: the wait is intended: a job that takes turns by an advisory lock, a pause that stands
for work, a commit that must survive the loss of its server.
"""

from collections import defaultdict
from typing import NamedTuple

from dbdyno.analysis.budget import Part
from dbdyno.analysis.lock_waits import ROW_LOCKS
from dbdyno.explain.case import Case
from dbdyno.explain.named_waits import shares_by_event, waiting_text
from dbdyno.explain.needs import client_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import gain_of_waits
from dbdyno.explain.statements import for_workers
from dbdyno.formatting import percent


class _Known(NamedTuple):
    """What is waited for, why it makes others wait, and what to do."""

    name: str
    why: str
    advice: str


_BY_THE_APPLICATION = _Known(
    "application-defined locks",
    "The server grants such a lock to one session at a time, however idle it is otherwise.",
    "Hold it for less time, use one lock per object instead of one for all, or only try to take it "
    "and do something else if it is held.",
)
_OF_TABLES = _Known(
    "table locks",
    "DDL or LOCK TABLE excludes others from the whole table until its transaction ends; and a "
    "session that waits for such a lock makes all requests behind it wait too.",
    "Keep LOCK TABLE, TRUNCATE and DDL out of the load; run what you cannot avoid with a short "
    "lock_timeout (MariaDB and MySQL: lock_wait_timeout), and retry it.",
)
_OF_EVERYTHING = _Known(
    "the global read lock",
    "FLUSH TABLES WITH READ LOCK, as some backups use it, or a stage of a backup (BACKUP STAGE, "
    "LOCK INSTANCE FOR BACKUP) stops all changes until its session releases the lock.",
    "Back up without it (mariadb-backup, XtraBackup, mysqldump --single-transaction), or hold it "
    "for a moment only: long statements that it has to wait for prolong the stop.",
)
_STANDBY = _Known(
    "the reply of a synchronous standby",
    "A commit returns when the standby has it: each commit costs a round trip to the standby, and "
    "without a standby none returns.",
    "Check that the standby is running and near; where losing the last commits with the server is "
    "acceptable, do not wait for it (synchronous_commit = local; rpl_semi_sync off).",
)
_PAUSE = _Known(
    "a pause within a statement",
    "A statement that sleeps occupies its session and, in a transaction, keeps its locks.",
    "Remove the pause, or let the client pause outside transactions: \\sleep, --think.",
)
# By the event's prefix, in lower case.
_KNOWN = {
    "advisory": _BY_THE_APPLICATION,
    "user": _BY_THE_APPLICATION,
    "relation": _OF_TABLES,
    "table": _OF_TABLES,
    "sql/mdl_": _OF_TABLES,
    "backup": _OF_EVERYTHING,
    "global": _OF_EVERYTHING,
    "object": _Known(
        "the lock of NOTIFY, or of another object that is no table",
        "At commit it is the lock of NOTIFY: transactions that notify commit one after the other, "
        "each with its own flush, without group commit.",
        "Notify less often: once for many changes, in a separate transaction, or let listeners "
        "poll.",
    ),
    "query cache": _Known(
        "the query cache's lock",
        "One lock protects the query cache: each statement looks for its result under it, and each "
        "change of a table removes that table's results under it.",
        "Set query_cache_type = OFF and compare.",
    ),
    "extend": _Known(
        "the extension of a table's file",
        "One session at a time adds pages to a table, and all sessions that insert into it need "
        "them.",
        "Insert more rows at once, with COPY where possible, or spread them over partitions.",
    ),
    "syncrep": _STANDBY,
    "semi-sync": _STANDBY,
    "pgsleep": _PAUSE,
    "sleep": _PAUSE,
}


def look(case: Case) -> Outcome:
    """The cause with the largest share names the finding, with its longest event."""
    spent = client_time(case)
    waits = list(filter(_is_other, spent.parts))
    events = shares_by_event(spent, waits)
    share = sum(events.values())
    if share < NOTICED:
        return NotFound(f"waits of other kinds took {percent(share)} of client time")
    shares = _by_cause(events)
    known = max(shares, key=lambda cause: shares[cause])
    worst = max(
        (event for event in events if _known(event) == known), key=lambda event: events[event]
    )
    return found(
        f"Clients spend {percent(shares[known])} of their time waiting for {known.name}"
        f"{_with_others(share, shares[known])}.",
        title=f"Waits for {known.name}{'' if known.name.endswith(worst) else f': {worst}'}",
        share=share,
        share_of="client time",
        certainty="likely",
        evidence={"events": events},
        seen=waiting_text(case, spent, waits),
        why=known.why,
        advice=[known.advice],
        gain=gain_of_waits(case, share),
        refute="Run again without what causes them: the waits must disappear.",
    )


def _is_other(part: Part) -> bool:
    """Whether a wait is no row lock, has no rule of its own, and is named by the server.

    Not all servers name all waits: some are only reported by the kernel, and some by nobody.
    """
    if part.kind == "lock":
        return part.wait_event not in ROW_LOCKS
    is_named = part.kind == "other_wait" and part.wait_type not in {"Kernel", ""}
    return is_named and not for_workers(part)


def _by_cause(events: dict[str, float]) -> dict[_Known, float]:
    """Shares by cause, which may have several events."""
    shares: dict[_Known, float] = defaultdict(float)
    for event, share in events.items():
        shares[_known(event)] += share
    return dict(shares)


def _known(event: str) -> _Known:
    fitting = (known for begin, known in _KNOWN.items() if event.casefold().startswith(begin))
    unknown = _Known(
        f"what the server calls {event}",
        "A waiting client does nothing else.",
        f"Look up {event} among the wait events in the server's manual.",
    )
    return next(fitting, unknown)


def _with_others(share: float, of_worst: float) -> str:
    return f", {percent(share)} with other such waits" if share - of_worst >= NOTICED else ""


RULE = Rule(
    id="other_waits",
    title="Other named waits",
    look=look,
    accounts_for=frozenset({"lock", "other_wait"}),
    explains_failures=True,
)
