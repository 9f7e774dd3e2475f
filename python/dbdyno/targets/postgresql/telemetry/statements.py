"""pg_stat_statements: what all statements of this database cost, and each of the scripts' own.

The extension keeps a statement's text as it came first, with $1 and so on for constants; a
script has it with ``:name``. Both are brought to one shape to find each other. Texts are
fetched only while the load is young, since the server reads them from a file. A text may have
several entries, such as one for a table of this name that was dropped since: all count.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from psycopg import Connection

from dbdyno.model.source import Numbers, Source
from dbdyno.targets.postgresql.telemetry.combined_query import CombinedQuery
from dbdyno.targets.postgresql.telemetry.prepared_queries import array_of, ask_numbers
from dbdyno.targets.postgresql.telemetry.server_context import ServerContext, SourceUnavailableError
from dbdyno.targets.script_text import with_marks
from dbdyno.targets.telemetry import ScriptStatement

EVERY_S = 5.0
LOOKS_MAX = 6
TEXT_MAX = 10_000

HOME = """
    select extnamespace::regnamespace::text from pg_extension
    where extname = 'pg_stat_statements'"""

# Sums can be taken of what only grows; the rest are ids and extremes.
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
    connection: Connection, context: ServerContext, _combined: CombinedQuery
) -> Source[Connection]:
    """The source, where the extension is installed."""
    row = connection.execute(HOME).fetchone()
    if row is None:
        raise SourceUnavailableError(
            "the extension is not installed: it must be in shared_preload_libraries, "
            "and then: create extension pg_stat_statements"
        )
    reader = _Reader(connection, row[0], context.statements)
    return Source(name="pg_stat_statements", read=reader.read, every_s=EVERY_S)


class _Reader:
    """Sums of this database and of the statements found so far."""

    def __init__(
        self, connection: Connection, home: str, statements: Iterable[ScriptStatement]
    ) -> None:
        columns = connection.execute(COLUMNS, [f"{home}.pg_stat_statements"])
        sums = ", ".join(f"sum({name})::float8 as {name}" for (name,) in columns)
        self._query = READ.format(home=home, sums=sums)
        self._texts = TEXTS.format(home=home).encode()
        self._wanted = wanted_shapes(statements)
        self._found: dict[int, str] = {}
        self._looks_left = LOOKS_MAX

    def read(self, connection: Connection) -> Mapping[str, Numbers]:
        if self._wanted and self._looks_left:
            self._looks_left -= 1
            self._find(connection)
        found = array_of(self._found), array_of(self._found.values())
        return ask_numbers(connection, self._query, *found)

    def _find(self, connection: Connection) -> None:
        for entry, text in connection.execute(self._texts, [TEXT_MAX]):
            if name := self._wanted.get(shape(text)):
                self._found[entry] = name


def wanted_shapes(statements: Iterable[ScriptStatement]) -> dict[str, str]:
    """Shapes to look for and the objects to report them as.

    Statements of one shape cannot be told apart and are left out.
    """
    shapes = [(shape(statement.sql), statement.statement) for statement in statements]
    times = Counter(text for text, _ in shapes)
    return {text: f"statement {number}" for text, number in shapes if times[text] == 1}


def shape(text: str) -> str:
    """A statement without its values, its spaces and its closing semicolon."""
    spaced = re.sub(r"\s+", " ", with_marks(text)).strip("; ")
    dense = re.sub(r" ?([(),]) ?", r"\1", spaced)
    return re.sub(r"\?(,\?)+", "?", dense).lower()
