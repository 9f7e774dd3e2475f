"""One table of many runs in few files, because opening ten thousand takes seconds.

Each file holds the rows of hundreds of runs, and the stamps of the files that they came from. It is
only derived: a file with a run that has changed or is gone is thrown away, and its runs are read
from their folders until they are merged again. Of several processes, one merges. The folder may be
deleted at any time.
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import duckdb
import msgspec

from dbdyno.errors import DbdynoError
from dbdyno.home import locked, make_closed
from dbdyno.store.listing import MERGED, Stamp, runs_folder, stamps_of
from dbdyno.store.parquet import OPTIONS, quoted, table_path

FEWEST = 200
"""So many runs are worth a file: reading them from their folders takes a tenth of a second."""


class Sources(NamedTuple):
    """Where the rows of a table are: in files of many runs, or in the runs' own folders."""

    merged: list[Path]
    folders: list[Path]


def sources_of(
    connection: duckdb.DuckDBPyConnection, table: str, folders: Iterable[Path], home: Path | None
) -> Sources:
    """Return where the rows of these runs are; merge them first if many are apart.

    Folders without a file of the table are in neither list. Where files are damaged, no more are
    merged: who reads them learns it.
    """
    place = runs_folder(home) / MERGED / table
    of_name = {folder.name: folder for folder in folders}
    stamps = stamps_of(of_name.values(), f"{table}.parquet")
    found = _found(connection, place, stamps)
    if found.outdated or len(found.apart) >= FEWEST:
        # A home that may only be read, another process that merges, a damaged file.
        with suppress(OSError, DbdynoError, duckdb.Error):
            make_closed(runs_folder(home), MERGED, table)
            with locked(place / "lock", waits=False):
                found = _found(connection, place, stamps)  # another process may just have merged
                for path in found.outdated:
                    path.unlink(missing_ok=True)
                if len(found.apart) >= FEWEST:
                    paths = [table_path(of_name[name], table) for name in found.apart]
                    found.merged.append(_merge(connection, place, paths, found.apart))
                    found.apart.clear()
    return Sources(found.merged, [of_name[name] for name in found.apart])


class _Found(NamedTuple):
    """The files that there are, and the runs that are in none of them."""

    merged: list[Path]
    outdated: list[Path]
    apart: dict[str, Stamp]


def _found(
    connection: duckdb.DuckDBPyConnection, place: Path, stamps: Mapping[str, Stamp]
) -> _Found:
    found = _Found([], [], dict(stamps))
    for path in sorted(place.glob("*.parquet")):
        its = _stamps_in(connection, path)
        if its and its.items() <= found.apart.items():
            found.merged.append(path)
            for name in its:
                del found.apart[name]
        else:
            found.outdated.append(path)
    return found


def drop_damaged(connection: duckdb.DuckDBPyConnection, merged: Iterable[Path]) -> bool:
    """Remove those of the merged files that cannot be read; return whether there were any."""
    before = list(merged)
    for path in before:
        try:
            connection.execute(f"SELECT max(hash(all_of_it)) FROM {quoted(path)} all_of_it")
        except duckdb.Error:
            path.unlink(missing_ok=True)
    return not all(path.exists() for path in before)


def rows_of(paths: Iterable[Path]) -> str:
    """Return SQL for the rows of a table in the folders of runs, with the run's ID in front."""
    return (
        "SELECT parse_path(filename)[-2] AS run_id, * EXCLUDE (filename) FROM "
        f"read_parquet({listed(paths)}, union_by_name = true, filename = true)"
    )


def listed(paths: Iterable[Path]) -> str:
    """Return SQL for a list of files."""
    return f"[{', '.join(quoted(path) for path in paths)}]"


def _merge(
    connection: duckdb.DuckDBPyConnection,
    place: Path,
    paths: Iterable[Path],
    stamps: Mapping[str, Stamp],
) -> Path:
    """Write a new file, which is whole or not there."""
    path = place / f"{time.time_ns()}.parquet"
    unfinished = path.with_suffix(".new")
    source = quoted(msgspec.json.encode(stamps).decode())
    try:
        connection.execute(
            f"COPY ({rows_of(paths)}) TO {quoted(unfinished)} "
            f"({OPTIONS}, KV_METADATA {{stamps: {source}}})"
        )
        return unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _stamps_in(connection: duckdb.DuckDBPyConnection, path: Path) -> dict[str, Stamp]:
    """Return the runs in a file; none if it is damaged, or was deleted just now."""
    query = f"SELECT value FROM parquet_kv_metadata({quoted(path)}) WHERE key = 'stamps'"
    try:
        ((text,),) = connection.execute(query).fetchall()
        return msgspec.json.decode(text, type=dict[str, Stamp])
    except (duckdb.Error, ValueError, msgspec.MsgspecError):
        return {}
