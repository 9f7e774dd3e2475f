"""``dbdyno sql``: queries all runs at once, with DuckDB."""

from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, Json, print_json, print_table
from dbdyno.store.parquet import interruptible
from dbdyno.store.query import sql as run_query

app = command(
    "sql",
    'dbdyno sql "select run_id, tps, p99_ms from runs order by tps desc"',
    'dbdyno sql "select class, code, sum(count) from failures group by all"',
    'dbdyno sql "describe intervals"   the columns of a table',
)


@app.default
def sql(
    query: Annotated[str, Parameter(allow_leading_hyphen=True)], /, *, json: Json = False
) -> int:
    """Query all runs with SQL.

    The query reads the run folders, including those of runs in progress, and changes nothing.
    "describe NAME" lists the columns of a table; the manual documents all tables.

    Parameters
    ----------
    query
        One read-only statement in DuckDB's SQL. The tables are runs, and one for each kind of
        recorded data: intervals, scripts, statements, failures and more, each with the column
        run_id. Counts are per interval and can be summed; NAME_so_far counts from the start of
        the measured part.
    """
    answer = run_query(query)
    with interruptible():
        columns, rows = answer.columns, answer.fetchall()
    if json:
        print_json({"columns": columns, "rows": rows})
        return Exit.OK
    print_table(columns, ([_word(value) for value in row] for row in rows))
    return Exit.OK


def _word(value: object) -> str:
    """Return a value as SQL writes it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
