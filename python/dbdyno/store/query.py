"""SQL over all runs: one view per table, with the run's ID in front, and ``runs``.

DuckDB reads the Parquet files in place; the frames of unfinished runs are tabulated in memory, and
only for the tables that the query mentions. Counts that are cumulative in the files are counts of
the single interval in the views, so that they can be summed; the cumulative count is beside it.
Only reading is allowed: the views last no longer than the query.
"""

import re
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

import duckdb
import msgspec
import numpy as np

from dbdyno.model.run import TABLES
from dbdyno.model.tables import (
    BOOL_OR_NULL,
    COUNT_OR_NULL,
    F64,
    TEXT,
    Table,
    column,
)
from dbdyno.store.errors import StoreError, leave_out
from dbdyno.store.frames_file import FRAMES
from dbdyno.store.listing import run_folders, stamps_of
from dbdyno.store.merged import drop_damaged, listed, rows_of, sources_of
from dbdyno.store.parquet import interruptible, table_path, typed_columns
from dbdyno.store.run import RunFolder
from dbdyno.store.summary import RunSummary, list_runs

T = TypeVar("T")
_BUCKET_TABLES = {
    "response": "script_buckets",
    "service": "service_buckets",
    "statement": "statement_buckets",
}


class Runs(Table):
    """One run, as in `dbdyno runs --json`. Latencies are response times."""

    run_id = column(TEXT, "the run")
    status = column(TEXT, "`running`, `done`, `failed` or `interrupted`")
    started_at = column(TEXT, "beginning in UTC, as text; `started_at::timestamp` is an instant")
    workload = column(TEXT, "name of the workload or the scripts")
    command = column(TEXT, "the arguments of `dbdyno run`, without passwords")
    target = column(TEXT, "the database, without password")
    product = column(TEXT, "`postgres`, `mariadb`, `mysql` …")
    version = column(TEXT, "the server's version")
    promise = column(TEXT, "durability level: `full`, `relaxed` or `none`")
    tool = column(TEXT, "what measured an imported run: `pgbench` …; NULL for dbdyno's own runs")
    clients = column(COUNT_OR_NULL, "clients requested")
    threads = column(COUNT_OR_NULL, "threads of the load generator")
    scale = column(COUNT_OR_NULL, "the value of `:scale` in the scripts; NULL if they have none")
    loop = column(TEXT, "`closed` or `open`")
    rate_tps = column(F64, "rate requested; NULL in a closed loop and with several rates")
    query_mode = column(TEXT, "`simple`, `extended` or `prepared`")
    valid = column(BOOL_OR_NULL, "whether the run is valid; NULL until it is known")
    duration_s = column(F64, "measured time")
    ok = column(COUNT_OR_NULL, "transactions that ran to the end of their script without an error")
    committed = column(COUNT_OR_NULL, "those of `ok` that were committed; in older runs all")
    failed = column(COUNT_OR_NULL, "transactions that failed")
    retried = column(COUNT_OR_NULL, "transactions that took more than one try")
    tps = column(F64, "transactions per second")
    tps_low = column(F64, "lower end of its 95 % interval within the run")
    tps_high = column(F64, "upper end of it")
    nopm = column(F64, "new orders per minute, of `tpcc`")
    mqth = column(F64, "qualified transactions per second, of `tatp`")
    queries_per_hour = column(F64, "queries of analysts per hour, of `ch`")
    copy_in_rows_per_s = column(F64, "rows copied to the server (`copy … from stdin`) per second")
    copy_in_bytes_per_s = column(F64, "their bytes per second")
    copy_out_rows_per_s = column(F64, "rows copied from the server (`copy … to stdout`) per second")
    copy_out_bytes_per_s = column(F64, "their bytes per second")
    mean_ms = column(F64, "latency: mean")
    p50_ms = column(F64, "latency: median")
    p95_ms = column(F64, "latency: 95th percentile")
    p99_ms = column(F64, "latency: 99th percentile")
    p999_ms = column(F64, "latency: percentile 99.9")
    max_ms = column(F64, "latency: maximum")
    server_cpu_us = column(F64, "CPU time of the server per transaction")
    engine_cpu_us = column(F64, "CPU time of the load generator per transaction")
    wal_bytes = column(F64, "WAL, or redo log, per transaction")
    made_for = column(
        TEXT,
        "`study`, `search` or `verifies` for runs that a command made for a result of its own, "
        "with the tag of this name; else NULL",
    )
    tags = column(TEXT, "the tags, a JSON object")


_TABLES = ("runs", *TABLES, "buckets")
_LIST_OF_TABLES = "tables"  # as in SHOW TABLES and information_schema.tables
_RAW = "unfinished"
_OF_QUERIES = (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException)
"""Errors of a query that no file has caused."""
_READING = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.MULTI})


def sql(query: str, home: Path | None = None) -> duckdb.DuckDBPyRelation:
    """Return the query's result; ``.fetchall()``, ``.fetchnumpy()`` and ``.df()`` read it.

    The query has been executed: what is wrong with the values it reads, DuckDB tells only then.
    """
    folders = run_folders(home)
    with ThreadPoolExecutor(1) as thread:
        while True:
            connection = duckdb.connect()
            try:
                answering = thread.submit(_answer, connection, query, home, folders)
                with interruptible():
                    return _interrupting(connection, answering)
            except (duckdb.Error, UnicodeDecodeError, RuntimeError) as error:  # as in read_table
                readable = None
                if not isinstance(error, _OF_QUERIES):
                    readable = _without_damaged(query, home, folders)
                if readable is None:
                    hint = f"The tables are {', '.join(_TABLES)}."
                    raise StoreError("query", str(error), hint) from error
                folders = readable


def write_parquet(answer: duckdb.DuckDBPyRelation, path: Path) -> None:
    """Write a result into a new file, which is whole or not there."""
    try:
        with interruptible():
            answer.write_parquet(str(path))
    except BaseException as error:
        path.unlink(missing_ok=True)
        if not isinstance(error, duckdb.Error):
            raise
        raise StoreError(
            "file", f"cannot write {path}: {error}", "Name a file elsewhere."
        ) from error


def _answer(
    connection: duckdb.DuckDBPyConnection, query: str, home: Path | None, folders: list[Path]
) -> duckdb.DuckDBPyRelation:
    _refuse_writing(connection, query)
    _create_views(connection, query, home, folders)
    return _without_time_zones(connection.sql(query)).materialize()


def _without_damaged(query: str, home: Path | None, folders: list[Path]) -> list[Path] | None:
    """Return the runs for another try of a failed query; None if no file was at fault."""
    connection = duckdb.connect()
    damaged: set[Path] = set()
    mended = False
    for table in _stored_tables_of(query):
        found = sources_of(connection, table, folders, home)
        mended |= drop_damaged(connection, found.merged)
        for folder in found.folders:
            try:
                RunFolder(folder).columns(table)
            except StoreError as error:
                if folder not in damaged:
                    leave_out(folder, error)
                damaged.add(folder)
    if not damaged and not mended:
        return None
    return [folder for folder in folders if folder not in damaged]


def _interrupting(connection: duckdb.DuckDBPyConnection, answering: Future[T]) -> T:
    """Wait for another thread: DuckDB looks for a signal only while it has nothing else to do."""
    try:
        return answering.result()
    except KeyboardInterrupt:
        while not answering.done():  # the query may not have begun yet
            connection.interrupt()
            wait([answering], 0.1)
        raise


def _without_time_zones(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Convert instants to UTC: in Python, DuckDB needs another package for time zones."""
    quoted_names = ('"' + name.replace('"', '""') + '"' for name in relation.columns)
    in_utc = [
        f"{name} AT TIME ZONE 'UTC' AS {name}"
        for name, kind in zip(quoted_names, relation.types, strict=True)
        if kind == duckdb.sqltypes.TIMESTAMP_TZ
    ]
    return relation.project(f"* REPLACE ({', '.join(in_utc)})") if in_utc else relation


def _refuse_writing(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Refuse all but one statement that returns rows; a pivot consists of several internally."""
    kinds = [statement.type for statement in connection.extract_statements(query)]
    if len(kinds) == 1 and kinds[0] in _READING:
        return
    raise StoreError(
        "query",
        "dbdyno sql runs one read-only statement: select, from, with, describe, summarize",
        "To remove runs: dbdyno runs rm RUN. To write results to a file: --json > FILE.",
    )


def _create_views(
    connection: duckdb.DuckDBPyConnection, query: str, home: Path | None, folders: list[Path]
) -> None:
    names = _tables_of(query)
    if "runs" in names:
        runs = list_runs(home)
        columns = {name: _runs_column(runs, name) for name in Runs.schema}
        connection.register("runs_columns", columns)
        selected = typed_columns(Runs.schema)
        connection.execute(f"CREATE TABLE runs AS SELECT {selected} FROM runs_columns")
        connection.unregister("runs_columns")
    connection.execute(f"CREATE SCHEMA {_RAW}")  # apart, so that SHOW TABLES does not list them
    for name in _stored_tables_of(query):
        _create_view(connection, name, folders, home)
    if "buckets" in names:
        # Those of all kinds; ``number`` is that of the script or statement.
        parts = [
            f"SELECT * RENAME ({[*TABLES[table].schema][1]} AS number), '{kind}' AS kind "
            f"FROM {table}"
            for kind, table in _BUCKET_TABLES.items()
        ]
        connection.execute(f"CREATE VIEW buckets AS {' UNION ALL BY NAME '.join(parts)}")


def _tables_of(query: str) -> set[str]:
    """Return the words of the query that may be tables; all tables if it lists them."""
    words = set(re.findall(r"\w+", query.lower()))
    return {*_TABLES} if _LIST_OF_TABLES in words else words


def _stored_tables_of(query: str) -> set[str]:
    """Return the tables of run folders that the query may read."""
    names = _tables_of(query)
    if "buckets" in names:
        names |= set(_BUCKET_TABLES.values())
    return TABLES.keys() & names


def _create_view(
    connection: duckdb.DuckDBPyConnection, name: str, folders: list[Path], home: Path | None
) -> None:
    unfinished = stamps_of(folders, FRAMES)
    raw = [folder for folder in folders if folder.name in unfinished]
    whole = set(folders) - set(raw)
    merged, apart = sources_of(connection, name, whole, home)
    _create_raw_table(connection, name, raw)
    parts = [f"FROM {_RAW}.{name}"]
    if merged:
        parts.append(f"FROM read_parquet({listed(merged)}, union_by_name = true)")
    if apart:
        parts.append(rows_of(table_path(folder, name) for folder in apart))
    united = " UNION ALL BY NAME ".join(parts)
    known = ", ".join(
        f"coalesce({own}, {its.in_older}) AS {own}"
        for own, its in TABLES[name].declared.items()
        if isinstance(its.in_older, str)
    )
    if known:
        united = f"SELECT * REPLACE ({known}) FROM ({united})"
    connection.execute(f"CREATE VIEW {name} AS {_of_each_interval(name)} FROM ({united})")


def _of_each_interval(table: str) -> str:
    """Return a SELECT of all columns: cumulative ones per interval, and as they are."""
    kind = TABLES[table]
    names = [name for name, its in kind.declared.items() if its.is_rising]
    if not names:
        return "SELECT *"
    key = ", ".join(("run_id", *kind.rising_of))
    before = f"OVER (PARTITION BY {key} ORDER BY interval)"
    own = (f"{name}::BIGINT - lag({name}::BIGINT, 1, 0) {before} AS {name}" for name in names)
    so_far = (f"{name} AS {name}_so_far" for name in names)
    return f"SELECT * REPLACE ({', '.join(own)}), {', '.join(so_far)}"


def _create_raw_table(
    connection: duckdb.DuckDBPyConnection, name: str, folders: list[Path]
) -> None:
    """Create a table with the rows of unfinished runs; even without rows, it has its types."""
    schema = TABLES[name].schema
    types = ", ".join(f'"{column}" {kind.sql}' for column, kind in schema.items())
    connection.execute(f"CREATE TABLE {_RAW}.{name} (run_id VARCHAR, {types})")
    for folder in folders:
        try:
            columns = RunFolder(folder).columns(name)
        except StoreError as error:
            leave_out(folder, error)
            continue
        connection.register("columns_of_run", columns)
        connection.execute(
            f"INSERT INTO {_RAW}.{name} SELECT ?, {typed_columns(schema)} FROM columns_of_run",
            [folder.name],
        )
        connection.unregister("columns_of_run")


def _runs_column(runs: list[RunSummary], name: str) -> np.ndarray:
    values = [getattr(run, name) for run in runs]
    if Runs.schema[name] is F64:
        return np.array([np.nan if value is None else value for value in values], dtype="f8")
    texts = [
        value if isinstance(value, str | None) else msgspec.json.encode(value).decode()
        for value in values
    ]
    return np.array(texts, dtype=object)
