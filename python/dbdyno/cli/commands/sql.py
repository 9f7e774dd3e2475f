"""``dbdyno sql``: queries all runs at once, with DuckDB."""

import csv as csv_module
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import Json, command
from dbdyno.cli.output import (
    Exit,
    print_json,
    print_result,
    print_table,
    refuse_several_forms,
    screen,
)
from dbdyno.cli.pages import refuse_unwritable
from dbdyno.errors import DbdynoError
from dbdyno.layout import visible
from dbdyno.store.parquet import interruptible
from dbdyno.store.query import sql as run_query, write_parquet

app = command(
    "sql",
    'dbdyno sql "select run_id, tps, p99_ms from runs order by tps desc"',
    'dbdyno sql "select class, code, sum(count) from failures group by all"',
    "dbdyno sql \"from runs where tags not like '%search%'\" --csv   no searches",
    'dbdyno sql "from intervals" --parquet intervals.parquet',
    'dbdyno sql "describe intervals"   the columns of a table',
)


@app.default
def sql(
    query: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    csv: Annotated[bool, Parameter(negative=(), help="Print CSV with a header.")] = False,
    parquet: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    json: Json = False,
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
    parquet
        Write the result into this new Parquet file, which keeps the types.
    """
    refuse_several_forms('sql "QUERY"', {"--csv": csv, "--json": json, "--parquet": bool(parquet)})
    refuse_unwritable(parquet)
    if parquet is not None and parquet.exists():
        raise DbdynoError("usage", f"{parquet} exists", "Name a new file, or remove it first.")
    answer = run_query(query)
    if parquet is not None:
        write_parquet(answer, parquet)
        return Exit.OK
    with interruptible():
        columns, rows = answer.columns, answer.fetchall()
    if csv:
        print_result(_as_csv([columns, *rows], is_for_eyes=screen(sys.stdout) is not None))
        return Exit.OK
    if json:
        print_json({"columns": columns, "rows": rows})
        return Exit.OK
    print_table(columns, ([_word(value) for value in row] for row in rows))
    return Exit.OK


def _as_csv(rows: Sequence[Sequence[object]], *, is_for_eyes: bool) -> str:
    """Return rows as RFC 4180 has them, their values as they are: CSV is for programs.

    On a terminal, texts of others must not steer it.
    """
    lines = []
    for row in rows:
        line, words = io.StringIO(), map(_word, row)
        # With this end of a line, what has either of its characters is quoted.
        writer = csv_module.writer(line, lineterminator="\r\n")
        writer.writerow(map(visible, words) if is_for_eyes else words)
        lines.append(line.getvalue().removesuffix("\r\n"))
    return "\n".join(lines)


def _word(value: object) -> str:
    """Return a value as SQL writes it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
