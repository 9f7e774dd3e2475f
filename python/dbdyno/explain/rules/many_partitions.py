"""A statement opens many partitions, because nothing in it says which of them have its rows.

Looks for: plans of the scripts' statements that read far more tables than the statements name, in a
load in which planning, locks or definitions take CPU time.

Arithmetic: tables and partitions that the plans of one transaction read, R, and those that its
statements name, N. Each partition is locked, planned for, opened and searched; with one instead of
many, 1 − N/R of that work goes away: of the CPU time of the backends that serve the load, without
what surrounds a statement (sockets, protocol, begin and commit). That part of the clients' time on
a CPU, and, of their time waiting for one, the part of the CPU time in use.

Source: PostgreSQL manual, *Table Partitioning: Best Practices*.

Wrong when: the statement needs rows of all partitions, and reads many of each: then it would read
as many from one table.
"""

from typing import ClassVar

from dbdyno.explain.needs import committed, server_facts
from dbdyno.explain.resources.server_work import (
    AROUND_STATEMENTS,
    Served,
    WorkClaim,
    claim_of,
    share_of_work,
    work_on,
)
from dbdyno.explain.rule import Aside, NotFound, Rule
from dbdyno.explain.statements.statements import Statement, plans_of, statements_of, times_run
from dbdyno.formatting import count, percent
from dbdyno.model.run import Run

PARTITIONS_MIN = 10
"""Tables that a plan reads for one that its statement names: with fewer, it hardly matters."""


class ManyPartitions(WorkClaim, frozen=True, kw_only=True):
    """Planning, locking, opening and searching partitions."""

    what: ClassVar[str] = "Partitions"
    read: float
    """Tables and partitions that a transaction's plans read."""
    named: float
    """Tables that its statements name."""
    statement: Aside[str]
    why: ClassVar[str] = (
        "Each partition is locked, planned for, opened and searched, also where it has no row for "
        "the statement."
    )
    refute: ClassVar[str] = (
        "Run again with the partition key in the condition, or with fewer partitions: this part "
        "must shrink in proportion."
    )

    @property
    def summary(self) -> str:
        return (
            f"Plans read {count(self.read)} partitions per transaction where the statements name "
            f"{count(self.named)}: {percent(self.cpu_share)} of the CPU time that the server used "
            "for this load."
        )

    @property
    def seen(self) -> list[str]:
        most = f"Most of it in {', '.join(self.functions)}."
        return [f"The statement: {self.statement}", most]

    @property
    def advice(self) -> list[str]:
        return [
            "Name the partition key in the condition, with a value that is known when the "
            "statement is planned; partition more coarsely, or not at all, a table that is looked "
            "up by other columns."
        ]


def look(run: Run) -> WorkClaim | NotFound:
    """By plans, and by the profile."""
    read = {one: _read(run, one) for one in statements_of(run)}
    many = {one: tables for one, tables in read.items() if tables >= PARTITIONS_MIN * _named(one)}
    if not many:
        return NotFound("no plan reads far more tables than its statement names")
    per_transaction = {one: times_run(run, one.number) / committed(run) for one in read}
    of_plans = sum(tables * per_transaction[one] for one, tables in read.items())
    of_texts = sum(_named(one) * per_transaction[one] for one in read)
    on_rows = 1.0 - share_of_work(run, work_on(*AROUND_STATEMENTS))
    return claim_of(
        run,
        ManyPartitions,
        work_on("planning", "partitions", "locks", "catalog", "execution", "indexes"),
        served=Served(on_rows * (1.0 - of_texts / max(of_plans, of_texts, 1e-9)), on_rows),
        read=of_plans,
        named=of_texts,
        statement=max(many, key=lambda one: many[one] * per_transaction[one]).text,
    )


def _named(statement: Statement) -> int:
    return max(len(set(statement.sql.tables)), 1)


def _read(run: Run, statement: Statement) -> int:
    """Tables and partitions in the plan that reads fewest."""
    plans = plans_of(server_facts(run), statement.number).values()
    return min((len({name for _, name, _ in plan.nodes if name}) for plan in plans), default=0)


RULE = Rule(
    id="many_partitions",
    title="Many partitions for one statement",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
