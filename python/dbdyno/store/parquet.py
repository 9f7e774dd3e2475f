"""Writes tables to Parquet files and reads them back, through an in-memory DuckDB.

A DuckDB database file would admit only one process, while a run is read by the web page, the
command line and the runner at the same time. A table without rows has no file: most runs have no
outages and no failures.

DuckDB is imported when it is used: help, and the start of a run, need not wait for it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dbdyno.model.run import TABLES
from dbdyno.model.tables import BLOB, STEPS, Column, ColumnDeclaration, Columns, ColumnType, Schema
from dbdyno.store.columns import object_array
from dbdyno.store.errors import FROM_A_COPY, StoreError
from dbdyno.store.files import sync

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OPTIONS = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 6, PARQUET_VERSION v2"
_INTERRUPTED = "Query interrupted"


def table_path(folder: Path, name: str) -> Path:
    """Path of the file of a run's table."""
    return folder / f"{name}.parquet"


def write_tables(folder: Path, tables: Mapping[str, Columns]) -> None:
    """Write all tables to temporary files, then rename them: a table is whole or absent.

    They are on the disk then: what they were made from may be removed.
    """
    import duckdb  # noqa: PLC0415

    filled = {name: columns for name, columns in tables.items() if any(map(len, columns.values()))}
    unfinished = {name: folder / f"{name}.parquet.new" for name in filled}
    try:
        with _connection() as connection:
            for name, columns in filled.items():
                view = connection.register("columns_of_run", columns)
                rows = f"SELECT {typed_columns(TABLES[name].schema)} FROM columns_of_run"
                view.execute(f"COPY ({rows}) TO {quoted(unfinished[name])} ({OPTIONS})")
                connection.unregister("columns_of_run")
                sync(unfinished[name])
            for name, path in unfinished.items():
                path.replace(table_path(folder, name))
            sync(folder)
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            "not_converted",
            f"The tables of {folder} could not be written: {error}",
            "The run is still readable from frames.bin.",
        ) from error
    finally:
        for path in unfinished.values():
            path.unlink(missing_ok=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise an interrupt as such: DuckDB reports one that ended its query as an error.

    As an error it would be taken for a defect, and what was interrupted would go on.
    """
    try:
        yield
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


@contextmanager
def _connection() -> Iterator["DuckDBPyConnection"]:
    """Return a new connection to this process's database."""
    with interruptible(), _database().cursor() as connection:
        yield connection


@cache
def _database() -> "DuckDBPyConnection":
    """The database, created once: that takes longer than reading ten tables."""
    import duckdb  # noqa: PLC0415

    return duckdb.connect()


def typed_columns(schema: Schema) -> str:
    """Return the SQL for numpy columns with their own types, even if empty, and NULL for NaN."""
    selected = []
    for name, kind in schema.items():
        value = f'"{name}"'
        if kind.numpy.startswith("f"):
            value = f'CASE WHEN isnan("{name}") THEN NULL ELSE "{name}" END'
        selected.append(f'CAST({value} AS {kind.sql}) AS "{name}"')
    return ", ".join(selected)


def read_table(folder: Path, name: str) -> Columns:
    """Read one table as columns; NULL becomes NaN, and of a count masked.

    A column that folders of an older dbdyno do not have is what stands for it in its declaration.
    Raises :class:`StoreError` for a file that is damaged, or has columns of other types.
    """
    import duckdb  # noqa: PLC0415

    path, table = table_path(folder, name), TABLES[name]
    try:
        with _connection() as connection:
            fetched = connection.sql(f"FROM read_parquet({quoted(path)})").fetchnumpy()
        return {
            name: _restored(_found(fetched, name, its), its.kind)
            for name, its in zip(table.schema, table.declared.values(), strict=True)
        }
    except KeyError as error:
        raise StoreError("damaged", f"{path} is damaged: it has no column {error}") from error
    except (duckdb.Error, ValueError, TypeError, RuntimeError) as error:
        # The last one is for names that are not UTF-8, which DuckDB cannot tell Python.
        reason = str(error).splitlines()[0]
        raise StoreError("damaged", f"{path} is damaged: {reason}", FROM_A_COPY) from error


def _found(fetched: Mapping[str, Column], name: str, its: ColumnDeclaration) -> Column:
    if name in fetched or its.in_older is None:
        return fetched[name]
    if isinstance(its.in_older, str):
        return fetched[its.in_older]
    return np.full(len(next(iter(fetched.values()))), its.in_older)


def _restored(values: Column, kind: ColumnType) -> Column:
    """Restore a column to its form before it was written."""
    if kind is BLOB:
        return object_array([bytes(value) for value in values])
    if kind is STEPS:
        return object_array([list(value) for value in values])
    if np.ma.isMaskedArray(values) and not np.issubdtype(kind.numpy, np.integer):
        values = np.ma.filled(values, np.nan)
    return values if values.dtype == kind.numpy else values.astype(kind.numpy)


def quoted(text: Path | str) -> str:
    """Return SQL for a path or another text."""
    return "'" + str(text).replace("'", "''") + "'"
