"""Purge lag: old row versions are created faster than they are purged.

Looks for: a history list that grows throughout the run although no transaction is older than the
load's own. What an old transaction holds back is reported by ``long_transaction``.

Arithmetic: the history list counts transactions whose old versions have not been purged yet. Its
growth per second over the commits per second is the part of the purging that is deferred: from a
fifth on it is minor, from half on major, because deferred work must still be done, at the expense
of a later load.

Source: MySQL manual, purge configuration (innodb_purge_threads, innodb_max_purge_lag).

Wrong when: the run is short: purge works in batches, and starts late after a pause.
"""

from dbdyno.analysis.protocol import MYSQL
from dbdyno.explain.case import Case
from dbdyno.explain.needs import throughput_tps
from dbdyno.explain.purge import History, history_of
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.formatting import count, percent, seconds
from dbdyno.model.record import Severity

PUT_OFF_MUCH = 0.2
PUT_OFF_MOST = 0.5
LENGTH_MIN = 10_000


def look(case: Case) -> Outcome:
    """Report the part of the purging that was deferred."""
    history = history_of(case)
    put_off = max(history.length.per_s, 0.0) / throughput_tps(case)
    if history.is_held:
        return NotFound(f"a transaction {seconds(history.oldest_s)} old holds the purge back")
    if put_off < NOTICED or history.length.last < LENGTH_MIN:
        return NotFound(f"the history list ended at {count(history.length.last)} transactions")
    return found(
        f"The history list grew from {count(history.length.first)} to "
        f"{count(history.length.last)} transactions: {percent(put_off)} of what was committed was "
        "not purged.",
        severity=_severity(put_off),
        certainty="likely",
        evidence={
            "history_first": history.length.first,
            "history_last": history.length.last,
            "put_off": put_off,
        },
        seen=[_growth_text(history)],
        why="Readers step through old versions, and the undo log grows; a continuous load pays for "
        "their removal, this run did not.",
        advice=[
            "Give purge more threads (innodb_purge_threads) and storage that keeps up.",
            "Run longer before you compare: the list must stop growing.",
        ],
        refute="Run at half the rate: the list must stay short.",
    )


def _severity(put_off: float) -> Severity:
    if put_off >= PUT_OFF_MOST:
        return "major"
    return "minor" if put_off >= PUT_OFF_MUCH else "note"


def _growth_text(history: History) -> str:
    return f"It grew by {count(history.length.per_s)} transactions per second."


RULE = Rule(
    id="purge_lag",
    title="Purge lag: old row versions accumulate",
    look=look,
    protocols=frozenset({MYSQL}),
)
