"""Purge lag: old versions of rows are made faster than they are removed.

Looks for: a history list that grows throughout the run though no transaction is older than the
load's own. What an old transaction holds back is the business of ``long_transaction``.

Arithmetic: the list counts transactions whose old versions were not purged yet. Its growth a
second over the transactions that are committed in one is the part of the work that is put off: at
a fifth and more it is minor, at half major, as what is put off must still be done, and takes from a
later load.

Source: MySQL manual, purge configuration (innodb_purge_threads, innodb_max_purge_lag).

Wrong when: the run is short: purge works in batches, and begins late after a pause.
"""

from dbdyno.analysis.protocol import MYSQL
from dbdyno.explain.case import Case
from dbdyno.explain.needs import throughput_tps
from dbdyno.explain.purge import History, history_of
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.model.record import Severity
from dbdyno.words import count, percent, seconds

PUT_OFF_MUCH = 0.2
PUT_OFF_MOST = 0.5
LENGTH_MIN = 10_000


def look(case: Case) -> Outcome:
    """What was put off, of all that was done."""
    history = history_of(case)
    put_off = max(history.length.per_s, 0.0) / throughput_tps(case)
    if history.is_held:
        return NotFound(f"a transaction {seconds(history.oldest_s)} old holds the purge back")
    if put_off < NOTICED or history.length.last < LENGTH_MIN:
        return NotFound(f"the history list ended at {count(history.length.last)} transactions")
    return found(
        f"The history list grew from {count(history.length.first)} to "
        f"{count(history.length.last)} transactions: purge lags behind by {percent(put_off)} of "
        "what was committed.",
        severity=_severity(put_off),
        certainty="likely",
        evidence={
            "history_first": history.length.first,
            "history_last": history.length.last,
            "put_off": put_off,
        },
        seen=[_growth_told(history)],
        why="Old versions are walked over by readers and fill the undo log; a load that lasts "
        "pays for their removal, this run did not.",
        advice=[
            "Give the purge more threads (innodb_purge_threads) and storage that keeps up.",
            "Run longer before you compare: the list must stop growing.",
        ],
        refute="Run at half the rate: the list must stay short.",
    )


def _severity(put_off: float) -> Severity:
    if put_off >= PUT_OFF_MOST:
        return "major"
    return "minor" if put_off >= PUT_OFF_MUCH else "note"


def _growth_told(history: History) -> str:
    return f"It grew by {count(history.length.per_s)} transactions a second."


RULE = Rule(
    id="purge_lag",
    title="Purge lag: old versions pile up",
    look=look,
    protocols=frozenset({MYSQL}),
)
