"""``dbdyno sql``: a question to all runs at once, answered by DuckDB."""

from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, Json, print_json, print_table
from dbdyno.store.query import sql as ask

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
    """Ask all runs a question in SQL.

    Runs are read where they lie, those that still go on included; nothing is changed. What is
    in a table is told by "describe NAME"; the manual has a page of all of them.

    Parameters
    ----------
    query
        One statement in DuckDB's SQL, which only reads. The tables are runs, and one for each
        kind of thing recorded: intervals, scripts, statements, failures and more, each with the
        column run_id. Counts are those of an interval alone and can be summed; NAME_so_far
        counts from the begin of the measured part.
    """
    answer = ask(query)
    columns, rows = answer.columns, answer.fetchall()
    if json:
        print_json({"columns": columns, "rows": rows})
        return Exit.OK
    print_table(columns, (["" if value is None else str(value) for value in row] for row in rows))
    return Exit.OK
