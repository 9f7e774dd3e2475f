"""Whether a statement finds few rows of a table: as the server expects, unless measured otherwise.

Only where few rows qualify does an index help. The expectation is the server's own, for the values
for which it expects fewest; a statement that returned or changed far fewer proves it wrong.
"""

from collections.abc import Set

from dbdyno.explain.needs import server_facts
from dbdyno.explain.statements.rows_found import rows_found_at_most
from dbdyno.explain.statements.statements import Statement, plans_of
from dbdyno.model.run import Run
from dbdyno.model.telemetry import TableFacts

FEW = 0.1
"""Of a table's rows: an index helps to find so many, and hardly more."""


def finds_few(run: Run, statement: Statement, table: TableFacts) -> bool:
    """Whether few rows of the table qualify: as expected for some values, or else as measured."""
    few = FEW * table.rows
    return expected_rows(run, statement, table) <= few or is_misjudged(run, statement, table)


def is_misjudged(run: Run, statement: Statement, table: TableFacts) -> bool:
    """Whether the server expects many rows, but the statement was measured to find few."""
    few = FEW * table.rows
    most = rows_found_at_most(run, statement, table)
    return most is not None and most <= few < expected_rows(run, statement, table)


def expected_rows(run: Run, statement: Statement, table: TableFacts) -> float:
    """The rows that the server expects to qualify, for the values for which it expects fewest."""
    full_reads = run.database.terms.full_reads
    expected = [
        rows
        for plan in plans_of(server_facts(run), statement.number).values()
        for kind, name, rows in plan.nodes
        if name == table.name and kind in full_reads
    ]
    return min(expected, default=table.rows)


def expects_few(run: Run, statement: Statement, table: TableFacts, of: Set[str]) -> bool:
    """Whether the server expects few rows from each step of these kinds."""
    expected = [
        rows
        for plan in plans_of(server_facts(run), statement.number).values()
        for kind, _, rows in plan.nodes
        if kind in of
    ]
    return max(expected, default=table.rows) <= FEW * table.rows
