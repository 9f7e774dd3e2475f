"""pg_stat_statements: the cost of all statements of this database, and of each script statement.

The extension stores a statement's text as first seen, with $1 and so on for constants; a script has
it with ``:name``. Both are normalized to match each other. Texts are fetched only early in the
load, since the server reads them from a file. A text may have several entries, for example one for
a dropped table of the same name: all count.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection
from dbdyno.databases.postgresql.telemetry.combined_query import CombinedQuery
from dbdyno.databases.postgresql.telemetry.prepared_queries import array_of, execute_numbers
from dbdyno.databases.postgresql.telemetry.server_context import ServerContext
from dbdyno.databases.script_text import with_marks
from dbdyno.databases.telemetry import ScriptStatement, SourceUnavailableError
from dbdyno.model.source import Numbers, Source

EVERY_S = 5.0
LOOKS_MAX = 6
TEXT_MAX = 10_000

HOME = """
    select extnamespace::regnamespace::text from pg_extension
    where extname = 'pg_stat_statements'"""

# Only counters can be summed; the other columns are IDs and extremes.
COLUMNS = """
    select quote_ident(attname) from pg_attribute
    where attrelid = %s::regclass and attnum > 0
        and atttypid = any('{int8,float8,numeric}'::regtype[])
        and attname !~ '^(min|max|mean|stddev)_|^queryid$'
    order by attnum"""

TEXTS = """
    select queryid, query from {home}.pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database())
        and queryid is not null and length(query) <= %s"""

READ = """
    select coalesce(script.object, ''), {sums}
    from {home}.pg_stat_statements(false) s
    left join unnest($1::int8[], $2::text[]) script(id, object) on id = queryid
    where dbid = (select oid from pg_database where datname = current_database())
    group by grouping sets ((), (script.object))
    having grouping(script.object) = 1 or script.object is not null"""


def statement_counters(
    connection: PostgresqlConnection, context: ServerContext, _combined: CombinedQuery
) -> Source[PostgresqlConnection]:
    """Return the source, if the extension is installed."""
    row = connection.execute(HOME).fetchone()
    if row is None:
        raise SourceUnavailableError(
            "the extension is not installed: it must be in shared_preload_libraries, "
            "and then: create extension pg_stat_statements"
        )
    reader = _Reader(connection, row[0], context.statements)
    return Source(name="pg_stat_statements", read=reader.read, every_s=EVERY_S)


class _Reader:
    """Reads the sums of this database and of the statements found so far."""

    def __init__(
        self, connection: PostgresqlConnection, home: str, statements: Iterable[ScriptStatement]
    ) -> None:
        columns = connection.execute(COLUMNS, [f"{home}.pg_stat_statements"])
        sums = ", ".join(f"sum({name})::float8 as {name}" for (name,) in columns)
        self._query = READ.format(home=home, sums=sums)
        self._texts = TEXTS.format(home=home).encode()
        self._wanted = wanted_shapes(statements)
        self._found: dict[int, str] = {}
        self._looks_left = LOOKS_MAX

    def read(self, connection: PostgresqlConnection) -> Mapping[str, Numbers]:
        if self._wanted and self._looks_left:
            self._looks_left -= 1
            for entry, text in connection.execute(self._texts, [TEXT_MAX]):
                if name := self._wanted.get(shape(text)):
                    self._found[entry] = name
        found = array_of(self._found), array_of(self._found.values())
        return execute_numbers(connection, self._query, *found)


def wanted_shapes(statements: Iterable[ScriptStatement]) -> dict[str, str]:
    """Return the shapes to look for, and the objects under which they are reported.

    Statements that share a shape cannot be distinguished and are left out.
    """
    shapes = [(shape(statement.sql), statement.statement) for statement in statements]
    times = Counter(text for text, _ in shapes)
    return {text: f"statement {number}" for text, number in shapes if times[text] == 1}


def shape(text: str) -> str:
    """Return a statement without its values, superfluous spaces and final semicolon."""
    spaced = re.sub(r"\s+", " ", with_marks(text, "postgresql")).strip("; ")
    dense = re.sub(r" ?([(),]) ?", r"\1", spaced)
    return re.sub(r"\?(,\?)+", "?", dense).lower()
