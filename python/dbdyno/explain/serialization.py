"""What helps against serialization failures, by what the server said of them.

PostgreSQL tells two kinds apart by their message alone. Of failures that were tried again until
they succeeded no message is known: then what helps against either is told.
"""

from collections.abc import Collection

from dbdyno.analysis.protocol import MYSQL

_BY_READS = "read/write dependencies"
_BY_UPDATE = "concurrent update"
_AGAINST = {
    _BY_READS: [
        "Let statements find their rows by an index, and see by EXPLAIN that they do, on small "
        "tables, too: at SERIALIZABLE what is read is remembered, and a sequential scan has read "
        "the whole table, so that any change of it is a conflict.",
        "Begin what only reads with READ ONLY, and long reports with READ ONLY, DEFERRABLE: they "
        "are seldom or never the cause of a failure.",
        "Where a transaction reads many rows, raise max_pred_locks_per_transaction, _per_relation "
        "and _per_page: without room, single rows are remembered as whole pages and tables.",
    ],
    _BY_UPDATE: [
        "Change a row that many want by one UPDATE that works out the new value itself, at READ "
        "COMMITTED: that waits and goes on where REPEATABLE READ and SERIALIZABLE fail.",
    ],
}
_OF_SNAPSHOTS = (
    "Lock what is to be changed by the first statement of the transaction (SELECT … FOR UPDATE), "
    "before there is a snapshot that it could have changed since; or run at READ COMMITTED."
)
_SHORTER = (
    "Make the transactions shorter, touch fewer of the same rows in each, or run fewer at once."
)


def against_conflicts(protocol: str, messages: Collection[str]) -> list[str]:
    """Advice, what is nearest to the cause first."""
    if protocol == MYSQL:
        return [_OF_SNAPSHOTS, _SHORTER]
    said = [words for words in _AGAINST if any(words in one for one in messages)]
    return [*(advice for words in said or _AGAINST for advice in _AGAINST[words]), _SHORTER]
