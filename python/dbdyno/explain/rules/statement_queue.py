"""Clients queue before one statement, by the latencies that another tool printed.

Looks for: a statement that takes far longer than others of its script that write, in a run of
another tool. In a run of dbdyno's own, lock samples show who waits for whom.

Arithmetic: by Little's law, a statement of latency R has X·R clients at any time, if X transactions
a second execute it. What the fastest statement of the script that writes takes is its own work, the
rest of R is waiting. Statements after it that wait too have no more clients than it lets past: as
many as the rows that it draws from.

Source: Little, Operations Research 9, 1961.

Wrong when: the statement has more work than the others that write: more rows, more indexes, a read
from disk. With one client it then takes as long.
"""

from typing import ClassVar

from msgspec import Struct

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.needs import clients_at_once, needed
from dbdyno.explain.rule import NOTICED, Aside, Claim, NotFound, Rule
from dbdyno.explain.statements.statements import in_one_line
from dbdyno.formatting import count, milliseconds, percent, significant
from dbdyno.model.record import Certainty, StatementRecord
from dbdyno.model.run import Run

TIMES_LONGER_MIN = 2.0
TIMES_LONGER_SURE = 10.0
_WRITES = ("update", "delete", "insert", "merge", "replace")
_TELLERS, _TELLERS_A_BRANCH = "update pgbench_tellers", 10


class Queue(Struct, frozen=True, kw_only=True):
    """The clients that are within one statement at any time."""

    statement: str
    mean_ms: float
    clients: float


class StatementQueue(Claim, frozen=True, kw_only=True):
    """Where the clients are, statement by statement."""

    longest: Queue
    behind: list[Queue]
    """Later statements of the script that wait, too."""
    fastest: Queue
    """The one whose latency is taken for the work of each."""
    clients: int
    rows: Aside[int | None] = None
    """How many rows the statement with the queue draws from, if that is known."""

    @property
    def certainty(self) -> Certainty:
        is_sure = self.longest.mean_ms >= TIMES_LONGER_SURE * self.fastest.mean_ms
        return "likely" if is_sure else "hint"

    @property
    def summary(self) -> str:
        return (
            f"The queue stands before “{self.longest.statement}”: "
            f"{significant(self.longest.clients)} of {count(self.clients)} clients are there at "
            f"any time, and wait for {percent(self.share or 0.0)} of client time."
        )

    @property
    def seen(self) -> list[str]:
        lines = [
            f"It takes {milliseconds(self.longest.mean_ms)} on average, and "
            f"“{self.fastest.statement}”, which also writes, "
            f"{milliseconds(self.fastest.mean_ms)}."
        ]
        lines += [
            f"It holds the crowd back from “{one.statement}”: only {significant(one.clients)} "
            f"clients are there, for {milliseconds(one.mean_ms)}{self._past}."
            for one in self.behind
        ]
        return lines

    @property
    def _past(self) -> str:
        if self.rows is None:
            return ""
        return f", since no more than {count(self.rows)} get past at a time, one for each row"

    why: ClassVar[str] = (
        "A row is held from its statement to the end of the transaction. Whichever contended "
        "statement comes first has the queue, and holds its row while it waits for the later ones."
    )

    @property
    def advice(self) -> list[str]:
        return [
            "Run fewer clients: those that wait do no work, and make the others slower.",
            "Put the statement whose row most transactions need last, so that it is held for the "
            "shortest time.",
        ]

    refute: ClassVar[str] = (
        "Run one client: the statement must then take no longer than the others that write."
    )


def look(run: Run) -> StatementQueue | NotFound:
    """The slowest statement that writes, against the fastest of its script."""
    if run.record.imported is None:
        return NotFound("lock samples show who waits for whom")
    timed = full_record(run).statements
    needed(timed or None, "the text has no latencies of statements (-r)")
    writing = [one for one in timed if one.mean_ms and one.sql.lower().startswith(_WRITES)]
    longest = max(writing, key=lambda one: one.mean_ms or 0.0, default=None)
    others = [one for one in writing if longest and one is not longest]
    others = [one for one in others if longest and one.script == longest.script]
    if longest is None or not others:
        return NotFound("no script has two statements that write, to be compared")
    clients = clients_at_once(run)
    per_s = _rate(run, longest.script)
    fastest = min(others, key=lambda one: one.mean_ms or 0.0)
    work_ms = fastest.mean_ms or 0.0
    queue = _queue(longest, per_s)
    share = per_s * (queue.mean_ms - work_ms) / 1e3 / clients
    if share < NOTICED or queue.mean_ms < TIMES_LONGER_MIN * work_ms:
        return NotFound("no statement that writes takes much longer than the others")
    waits = [
        _queue(one, per_s)
        for one in others
        if one.index > longest.index and (one.mean_ms or 0.0) >= TIMES_LONGER_MIN * work_ms
    ]
    return StatementQueue(
        share=min(share, 1.0),
        longest=queue,
        behind=waits,
        fastest=_queue(fastest, per_s),
        clients=clients,
        rows=_rows(run, longest),
    )


def _rate(run: Run, script: str) -> float:
    """How many transactions a second execute the script."""
    record = full_record(run)
    if len(record.scripts) < 2:
        return needed(record.throughput_tps, "the text has no rate").value
    executed = next((one.ok for one in record.scripts if one.name == script), None)
    needed(executed, "the text does not say how often each script was executed")
    return (executed or 0) / needed(record.duration_s, "no time was measured")


def _queue(one: StatementRecord, per_s: float) -> Queue:
    mean_ms = one.mean_ms or 0.0
    return Queue(statement=in_one_line(one.sql), mean_ms=mean_ms, clients=per_s * mean_ms / 1e3)


def _rows(run: Run, statement: StatementRecord) -> int | None:
    """The tellers of pgbench, whose number its scale tells."""
    told = run.record.imported
    if told is None or told.scale is None or not statement.sql.lower().startswith(_TELLERS):
        return None
    return _TELLERS_A_BRANCH * told.scale


RULE = Rule(
    id="statement_queue",
    title="Clients queue before one statement",
    look=look,
    accounts_for=frozenset({"lock"}),
    reads_texts=True,
)
