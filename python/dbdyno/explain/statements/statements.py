"""The statements of a run as rules use them: their tables, their time, their text."""

from collections.abc import Iterable

from msgspec import Struct

from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.budget import Part, known_budget
from dbdyno.explain.needs import server_facts
from dbdyno.explain.statements.sql import Sql, dialect_of, fits
from dbdyno.model.database import PartKind
from dbdyno.model.run import Run, once
from dbdyno.model.tables import rows
from dbdyno.model.telemetry import IndexFacts, PlanFacts, ServerFacts, TableFacts

WORKING: frozenset[PartKind] = frozenset({"cpu", "cpu_queue", "io", "wal", "lwlock"})
"""The kinds of client time in which the server worked for a statement."""
_PARALLEL = ("bgworker", "executegather", "messagequeue", "parallel", "hash")
"""How the server's names of waits for parallel workers begin, in lower case."""
_WORDS_MAX = 90


class Statement(Struct, frozen=True):
    """A statement of the scripts; ``number`` is its position in the table of statements.

    ``script`` is the position of its script in the plan, ``line`` where it begins there; 0 for the
    statements of Lua scripts.
    """

    number: int
    sql: Sql
    script: int = 0
    line: int = 0

    @property
    def text(self) -> str:
        """The text on one line, shortened."""
        return in_one_line(self.sql.text)


def in_one_line(sql: str) -> str:
    """Put a text on one line, shortened."""
    text = " ".join(sql.split())
    return text if len(text) <= _WORDS_MAX else text[: _WORDS_MAX - 1] + "…"


@once
def statements_of(run: Run) -> list[Statement]:
    """All statements, by number."""
    found, dialect = run.statement_texts, dialect_of(run.database)
    return [
        Statement(number, Sql(text, dialect), script, line)
        for number, script, line, text in rows(found.statement, found.script, found.line, found.sql)
    ]


def statements_on(run: Run, table: TableFacts) -> list[Statement]:
    """Statements that name the table, or the table whose partition it is."""
    names = {table.name, whole_name(table)}
    return [
        one
        for one in statements_of(run)
        if any(fits(written, name) for written in one.sql.tables for name in names)
    ]


def working_share(run: Run, statement: int | None = None) -> float | None:
    """The share of client time in which the server worked; None if not sampled."""
    spent = known_budget(run)
    return sum(spent.share(kind, statement=statement) for kind in WORKING) if spent else None


def for_workers(part: Part) -> bool:
    """Whether it is time in which a statement waited for its parallel workers."""
    return part.kind == "other_wait" and part.wait_event.casefold().startswith(_PARALLEL)


def waiting_for_workers(run: Run, statement: int) -> float:
    """The share of client time in which the statement waited for its parallel workers."""
    spent = known_budget(run)
    if spent is None:
        return 0.0
    parts = filter(for_workers, spent.parts)
    return sum(part.seconds for part in parts if part.statement == statement) / spent.total


def table_of(facts: ServerFacts, name: str) -> TableFacts | None:
    """The facts of a table; None if there are none."""
    return next((table for table in facts.tables if table.name == name), None)


def whole_name(table: TableFacts) -> str:
    """The table's name in statements: for a partition, that of the whole table."""
    return table.partition_of or table.name


def reads_all(run: Run, statement: int, table: str) -> bool:
    """Whether the server plans to find the statement's rows by reading the whole table."""
    full_reads = run.database.terms.full_reads
    return any(
        kind in full_reads and relation == table
        for plan in plans_of(server_facts(run), statement).values()
        for kind, relation, _ in plan.nodes
    )


def converted_columns(run: Run, statement: int, table: str) -> list[str]:
    """The table's columns that the statement compares in another type or collation."""
    plans = plans_of(server_facts(run), statement).values()
    return _columns_of(table, (pair for plan in plans for pair in plan.converted))


def compared_columns(run: Run, statement: int, table: str) -> list[str]:
    """The table's columns with whose values the statement's scan compares, by its plan."""
    plans = plans_of(server_facts(run), statement).values()
    return _columns_of(table, (pair for plan in plans for pair in plan.compared))


def _columns_of(table: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(column for relation, column in pairs if relation == table))


def index_text(table: TableFacts, index: IndexFacts) -> str:
    """An index as SQL names it: in its table's schema, without the table."""
    schema, dot, _ = table.name.rpartition(".")
    return schema + dot + index.name.removeprefix(f"{table.name}.")


def plans_of(facts: ServerFacts, statement: int) -> dict[str, PlanFacts]:
    """The plans of a statement by variant."""
    return {plan.variant: plan for plan in facts.plans if plan.statement == statement}


def time_share(run: Run, statement: int) -> float | None:
    """The share of client time that a statement took, including its waits.

    From the engine's own latencies: known even if the server was not sampled.
    """
    client_s = run.plan.clients * (full_record(run).duration_s or 0.0)
    if not client_s or statement >= len(full_record(run).statements):
        return None
    measured = full_record(run).statements[statement]
    if measured.count is None:
        return None
    return float(measured.count * (measured.mean_ms or 0.0) / 1e3 / client_s)


def times_run(run: Run, statement: int) -> int:
    """How often a statement was run while measuring; 0 if it was not timed."""
    measured = full_record(run).statements
    return measured[statement].count or 0 if statement < len(measured) else 0
