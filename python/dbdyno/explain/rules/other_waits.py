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
from typing import ClassVar, NamedTuple

from dbdyno.analysis.waits.budget import Part
from dbdyno.analysis.waits.lock_waits import ROW_LOCKS
from dbdyno.explain.resources.named_waits import NamedWaits
from dbdyno.explain.rule import NOTICED, NotFound, Rule
from dbdyno.explain.statements.statements import for_workers
from dbdyno.formatting import percent
from dbdyno.model.run import Run


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


class OtherWaits(NamedWaits, frozen=True, kw_only=True):
    """Shares of client time by event; the cause with the largest share names the finding."""

    @property
    def by_cause(self) -> dict[_Known, float]:
        """Shares by cause, which may have several events."""
        shares: dict[_Known, float] = defaultdict(float)
        for event, share in self.events.items():
            shares[_known(event)] += share
        return dict(shares)

    @property
    def cause(self) -> _Known:
        """The one with the largest share."""
        return max(self.by_cause, key=self.by_cause.__getitem__)

    @property
    def title(self) -> str:
        """With the longest event of the cause, unless its name says as much."""
        events = [event for event in self.events if _known(event) == self.cause]
        worst = max(events, key=self.events.__getitem__)
        name = self.cause.name
        return f"Waits for {name}{'' if name.endswith(worst) else f': {worst}'}"

    @property
    def summary(self) -> str:
        whole, share = self.share or 0.0, self.by_cause[self.cause]
        others = f", {percent(whole)} with other such waits" if whole - share >= NOTICED else ""
        return (
            f"Clients spend {percent(share)} of their time waiting for {self.cause.name}{others}."
        )

    @property
    def why(self) -> str:
        return self.cause.why

    @property
    def advice(self) -> list[str]:
        return [self.cause.advice]

    refute: ClassVar[str] = "Run again without what causes them: the waits must disappear."


def look(run: Run) -> OtherWaits | NotFound:
    """All waits of this kind together."""
    waits = OtherWaits.of(run, _is_other)
    share = waits.share or 0.0
    if share < NOTICED:
        return NotFound(f"waits of other kinds took {percent(share)} of client time")
    return waits


def _is_other(part: Part) -> bool:
    """Whether a wait is no row lock, has no rule of its own, and is named by the server.

    Not all servers name all waits: some are only reported by the kernel, and some by nobody.
    """
    if part.kind == "lock":
        return part.wait_event not in ROW_LOCKS
    is_named = part.kind == "other_wait" and part.wait_type not in {"Kernel", ""}
    return is_named and not for_workers(part)


def _known(event: str) -> _Known:
    fitting = (known for begin, known in _KNOWN.items() if event.casefold().startswith(begin))
    unknown = _Known(
        f"what the server calls {event}",
        "A waiting client does nothing else.",
        f"Look up {event} among the wait events in the server's manual.",
    )
    return next(fitting, unknown)


RULE = Rule(
    id="other_waits",
    title="Other named waits",
    look=look,
    accounts_for=frozenset({"lock", "other_wait"}),
    explains_failures=True,
)
