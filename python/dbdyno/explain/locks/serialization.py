"""Advice against serialization failures, by the server's message.

A server that tracks reads distinguishes two kinds by their message alone. If the message is not
known, as for failures that were retried until they succeeded, the advice covers both. Other
databases have advice of their own among their terms.
"""

from collections.abc import Collection

from dbdyno.model.database import Database

_BY_READS = "read/write dependencies"
_BY_UPDATE = "concurrent update"
_AGAINST = {
    _BY_READS: [
        "Let statements find their rows through an index, and check with EXPLAIN that they do, "
        "also on small tables: at SERIALIZABLE all reads are tracked, and a sequential scan reads "
        "the whole table, so that any change to it is a conflict.",
        "Start read-only transactions with READ ONLY, and long reports with READ ONLY, DEFERRABLE: "
        "they rarely or never cause a failure.",
        "Where a transaction reads many rows, raise max_pred_locks_per_transaction, _per_relation "
        "and _per_page: without room, row locks are promoted to pages and whole tables.",
    ],
    _BY_UPDATE: [
        "Change a contended row with a single UPDATE that computes the new value itself, at READ "
        "COMMITTED: it waits and continues where REPEATABLE READ and SERIALIZABLE fail.",
    ],
}
_SHORTER = (
    "Make the transactions shorter, touch fewer of the same rows in each, or run fewer at a time."
)


def against_conflicts(database: Database, messages: Collection[str]) -> list[str]:
    """Advice, the closest to the cause first."""
    if not database.has("predicate_locks"):
        return [*database.terms.against_conflicts, _SHORTER]
    matching = [pattern for pattern in _AGAINST if any(pattern in one for one in messages)]
    return [*(advice for pattern in matching or _AGAINST for advice in _AGAINST[pattern]), _SHORTER]
