"""How many rows of a table a statement finds: as the server expects, and at most, as measured.

Only where few rows qualify does an index help. The expectation is the server's own, for the values
for which it expects fewest. These may be far more frequent, or rarer, than those of the load: a
statement that returned or changed far fewer proves it wrong. What clients received, or what the
server counted as changed, is an upper bound of the rows found, provided that each row found is
returned or changed: no step of the plan combines, counts or drops rows.

Source: PostgreSQL manual, message formats (DataRow); pg_stat_user_tables.
"""

from collections.abc import Set

from dbdyno.explain.needs import grown, server_facts
from dbdyno.explain.statements.statements import Statement, plans_of, times_run, whole_name
from dbdyno.model.counters import PgUserTables
from dbdyno.model.run import Run
from dbdyno.model.telemetry import PlanFacts, TableFacts

FEW = 0.1
"""Of a table's rows: an index helps to find so many, and hardly more."""
_ROW_BYTES_MIN = 7
"""Of a row that is returned: its type, its length and its number of columns."""
_MODIFIES = "ModifyTable"
_PASSES_ALL_ON = frozenset(
    {"Gather", "Gather Merge", "Sort", "Incremental Sort", "Append", "Merge Append", "LockRows"}
)
_CHANGED = (PgUserTables.n_tup_upd, PgUserTables.n_tup_del, PgUserTables.n_tup_ins)


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


def rows_found_at_most(run: Run, statement: Statement, table: TableFacts) -> float | None:
    """Rows of the table that one execution finds on average; None if nothing bounds them.

    Everything that clients received, or that was changed in the table, counts as this statement's.
    Only PostgreSQL estimates how many rows are found, rather than read, and has such messages.
    """
    if not run.database.has("row_estimates"):
        return None
    ran = times_run(run, statement.number)
    plans = plans_of(server_facts(run), statement.number).values()
    if not ran or not plans or not all(_keeps_rows(run, plan, table) for plan in plans):
        return None
    if any(kind == _MODIFIES for plan in plans for kind, _, _ in plan.nodes):
        return sum(grown(run, counter, table.name) for counter in _CHANGED) / ran
    intervals = run.intervals
    received = float(intervals.bytes_received[intervals.phase == "measure"].sum())
    return received / _ROW_BYTES_MIN / ran


def _keeps_rows(run: Run, plan: PlanFacts, table: TableFacts) -> bool:
    """Whether each row that it finds by reading the whole table is returned or changed."""
    whole = {one.name: whole_name(one) for one in server_facts(run).tables}
    read = {whole.get(relation, relation) for _, relation, _ in plan.nodes if relation}
    reading = run.database.terms.full_reads | {_MODIFIES}
    return read == {whole_name(table)} and all(
        kind in (reading if relation else _PASSES_ALL_ON) for kind, relation, _ in plan.nodes
    )
