"""How many rows a statement finds at most, by what it returned or changed.

The server's estimate is for the values of one example, which may be far more frequent, or rarer,
than those of the load. What clients received, or what the server counted as changed, is an upper
bound of the rows found, provided that each row found is returned or changed: no step of the plan
combines, counts or drops rows.

Source: PostgreSQL manual, message formats (DataRow); pg_stat_user_tables.
"""

from dbdyno.explain.needs import grown, server_facts
from dbdyno.explain.statements.statements import Statement, plans_of, times_run, whole_name
from dbdyno.model.counters import PgUserTables
from dbdyno.model.run import Run
from dbdyno.model.telemetry import PlanFacts, TableFacts

_ROW_BYTES_MIN = 7
"""Of a row that is returned: its type, its length and its number of columns."""
_MODIFIES = "ModifyTable"
_PASSES_ALL_ON = frozenset(
    {"Gather", "Gather Merge", "Sort", "Incremental Sort", "Append", "Merge Append", "LockRows"}
)
_CHANGED = (PgUserTables.n_tup_upd, PgUserTables.n_tup_del, PgUserTables.n_tup_ins)


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
    return _received_bytes(run) / _ROW_BYTES_MIN / ran


def _keeps_rows(run: Run, plan: PlanFacts, table: TableFacts) -> bool:
    """Whether each row that it finds by reading the whole table is returned or changed."""
    whole = {one.name: whole_name(one) for one in server_facts(run).tables}
    read = {whole.get(relation, relation) for _, relation, _ in plan.nodes if relation}
    reading = run.database.terms.full_reads | {_MODIFIES}
    return read == {whole_name(table)} and all(
        kind in (reading if relation else _PASSES_ALL_ON) for kind, relation, _ in plan.nodes
    )


def _received_bytes(run: Run) -> float:
    intervals = run.intervals
    return float(intervals.bytes_received[intervals.phase == "measure"].sum())
