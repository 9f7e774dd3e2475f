"""The transactions that failed: their share of those that ended, and the time spent on them.

The rules decide what made them fail; the advice for each class of failures is here.
"""

from collections.abc import Sequence

from dbdyno.analysis.series.totals import total_with_drain
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import known_budget
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import NOTICED
from dbdyno.explain.statements.statements import in_one_line
from dbdyno.model.database import PartKind
from dbdyno.model.record import FailureRecord, TransactionCounts
from dbdyno.model.run import Run
from dbdyno.model.tables import Latencies

DEADLOCK = "deadlock"
SERIALIZATION = "serialization"
"""The engine's classes of failures that a retry may fix, whichever codes a server has."""
THROWN_AWAY = frozenset({DEADLOCK, SERIALIZATION})
"""Covered by the rule on deadlocks; rules that know no better cause cover the others."""
OUTSIDE: tuple[PartKind, ...] = ("idle", "pause", "unconnected")
"""Client states with no transaction in progress."""
_READ_ON = "Read the message and the server's log: they are more specific than the error class."
# By the code with which a server ends the connection because of what the client has sent: it is not
# the server that went away.
_CLOSED_FOR = {
    "1153": "Raise max_allowed_packet on the server, or send shorter statements: it ends the "
    "connection of a client that sends more.",
}
# By the server's code for a variable that cannot be a parameter where it stands. Most of these are
# found before the run; the tables that a script itself creates do not exist then.
_WRITE_IT = "or use -M simple, which writes its value into the text."
_AGAINST_CODE = {
    "08P01": "The statement has another number of parameters than of variables: where one of them "
    f"is only text to the server (inside quotes), use a variable that stands outside, {_WRITE_IT}",
    "22003": "Draw values that the statement's expressions and columns accept. If the column does, "
    "the server has inferred a narrower type for a variable from what stands beside it "
    f"(integer for :n + 10): cast the variable (:n::bigint), {_WRITE_IT}",
    "0A000": "If another session has altered the table, nothing is to be done: what was prepared "
    "before is refused once for each client whose transaction is open, and the next transaction "
    "prepares it anew; -M simple has no such statements. Otherwise the server does not support "
    "what the statement asks.",
    "42P18": f"The server cannot infer the type of a variable: cast it (:n::bigint), {_WRITE_IT}",
}
# By the engine's class of a failure.
_AGAINST = {
    "duplicate_key": "Draw keys that do not exist yet, let the server generate them, or handle "
    "existing rows (ON CONFLICT, ON DUPLICATE KEY).",
    "constraint": "Draw values that the constraint allows: load the data at the size that the "
    "script draws from.",
    "lock_timeout": "Find the blocker (other findings may name it), or raise the lock timeout.",
    "cancelled": "Find what cancelled them: a timeout of the server or of the role, or a user.",
    "connection": "Check the server's log for why it closed or refused these connections.",
    "resource": "Give the server the resource that its message names: connections, memory, disk.",
    "permission": "Grant the role the privileges that the statement needs; "
    "if transactions are read-only, connect to the primary, or set default_transaction_read_only "
    "to off.",
    "statement": "Correct the statement, or load the tables that it names.",
    "data": "Draw values that the statement's expressions and columns accept: type, range, length.",
    "script": "Correct the script at the place of the error.",
}


def transactions_of(run: Run) -> TransactionCounts:
    """The engine's counts of transactions."""
    return needed(full_record(run).transactions, "no transaction was counted")


def ended_in(run: Run) -> int:
    """The transactions that succeeded or failed."""
    unknown = "the text that was imported does not say how many transactions failed"
    return needed(transactions_of(run).ended, unknown)


def did_nothing(run: Run) -> bool:
    """Whether so small a part of the ended transactions succeeded that the load did no work."""
    counts = full_record(run).transactions
    return bool(counts and counts.ended and counts.ok < NOTICED * counts.ended)


def first_message(failure: FailureRecord) -> str:
    """The server's first message, and its statement."""
    place = f", first at “{in_one_line(failure.statement)}”" if failure.statement else ""
    return f"{failure.code}{place}: {failure.message}."


def kind_and_code(failure: FailureRecord) -> str:
    """The failure's class as text, and the server's code."""
    return f"{failure.failure_class.replace('_', ' ')} ({failure.code})"


def advice_against(failures: Sequence[FailureRecord]) -> list[str]:
    """Advice for their codes and classes, each once."""
    against = (
        _CLOSED_FOR.get(one.code)
        or _AGAINST_CODE.get(one.code)
        or _AGAINST.get(one.failure_class, _READ_ON)
        for one in failures
    )
    return list(dict.fromkeys(against))


def closed_for_what_was_sent(failures: Sequence[FailureRecord]) -> int:
    """The number of connections that the server ended because of what the client had sent."""
    return sum(one.count for one in failures if one.code in _CLOSED_FOR)


def share_of_time(run: Run, seconds: float) -> float:
    """The share of client time that these seconds of attempts are.

    If no transaction has ended, they are all of it.
    """
    tables: tuple[Latencies, ...] = (run.scripts, run.failed)
    ended_s = sum(total_with_drain(run, table).seconds for table in tables)
    whole_s = max(ended_s, seconds)
    return seconds / whole_s * time_in_transactions(run) if whole_s else 0.0


def time_in_transactions(run: Run) -> float:
    """The share of client time with a transaction in progress; 1 if sessions were not sampled."""
    spent = known_budget(run)
    return 1.0 - sum(spent.share(kind) for kind in OUTSIDE) if spent else 1.0
