"""The transactions that failed: how many of those that ended, and what clients did meanwhile.

What made them fail is for the rules to say.
"""

from dbdyno.analysis.budget import PartKind
from dbdyno.explain.case import Case
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import NOTICED
from dbdyno.explain.statements import in_one_line
from dbdyno.model.record import FailureRecord, TransactionCounts

DEADLOCK = "deadlock"
SERIALIZATION = "serialization"
"""The engine's classes of failures that another try may mend, whichever codes a server has."""
OUTSIDE: tuple[PartKind, ...] = ("idle", "pause", "unconnected")
"""What clients do that have no transaction under way."""


def transactions_of(case: Case) -> TransactionCounts:
    """As the engine counted them."""
    return needed(case.record.transactions, "no transaction was counted")


def did_nothing(case: Case) -> bool:
    """Whether so few succeeded of those that ended that the load did none of its work."""
    counts = case.record.transactions
    return counts is not None and counts.failed > (1 - NOTICED) * (counts.ok + counts.failed)


def first_message(failure: FailureRecord) -> str:
    """What the server said first, and at which statement."""
    place = f", first at “{in_one_line(failure.statement)}”" if failure.statement else ""
    return f"{failure.code}{place}: {failure.message}."


def time_in_transactions(case: Case) -> float:
    """The share of the clients' time with a transaction under way; all, where nobody looked."""
    if case.budget is None:
        return 1.0
    return 1.0 - sum(case.budget.share(kind) for kind in OUTSIDE)
