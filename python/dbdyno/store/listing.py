"""Where runs are stored: finds their folders by name, lists, removes, and reads their records.

All are in the folder ``runs`` of dbdyno's home.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import TypeAlias

from dbdyno.databases.known import recorded_title
from dbdyno.home import home as dbdyno_home
from dbdyno.model.record import FORMAT_VERSION, RunRecord
from dbdyno.model.study import BLOCK, MADE_FOR, POINT, STUDY
from dbdyno.store.errors import StoreError, explained, leave_out
from dbdyno.store.files import (
    RECORD,
    is_locked,
    own_file,
    read_current,
    read_json,
    replace_json,
)
from dbdyno.store.ids import RecordKind, folder_meant

RUNS = "runs"
MERGED = ".tables"
Stamp: TypeAlias = tuple[int, int, int]
"""Time of the last change in nanoseconds, size in bytes, and number of a file."""

RUN = RecordKind(
    noun="run",
    plural="runs",
    called="run",
    hint="dbdyno runs lists them.",
    first="Start one: dbdyno run tpcb",
)


def runs_folder(home: Path | None = None) -> Path:
    """The folder that contains one folder per run."""
    return (home or dbdyno_home()) / RUNS


def read_record(folder: Path) -> RunRecord:
    """Return a run's record: all that a list of runs needs, without the tables.

    Its ID is the folder's name, whatever somebody else's record may claim.
    """
    run_id = folder.resolve().name
    record = read_current(folder / RECORD, RunRecord, FORMAT_VERSION, run_id=run_id)
    record.server["title"] = recorded_title(record.server)
    return record


def run_folders(home: Path | None = None) -> list[Path]:
    """Return all run folders, oldest first."""
    runs = runs_folder(home)
    return [runs / name for name in record_stamps(home)]


def record_stamps(home: Path | None = None) -> dict[str, Stamp]:
    """Return the names of all run folders, oldest first, each with the stamp of its record.

    A record is replaced and never rewritten, so that an equal stamp means the same record. A folder
    that cannot be read is left out with a warning. Paths are text here: there may be thousands.
    """
    runs = str(runs_folder(home))
    try:
        names = sorted(name for name in os.listdir(runs) if not name.startswith("."))  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return _stamps(((name, f"{runs}/{name}") for name in names), RECORD, os.lstat)


def stamps_of(folders: Iterable[Path], file: str) -> dict[str, Stamp]:
    """Return the names of those of the run folders that have this file, each with its stamp.

    A folder in which it cannot be read, or is a link to elsewhere, is left out with a warning.
    """
    return _stamps(((folder.name, str(folder)) for folder in folders), file, _stat_of_own)


def _stamps(
    folders: Iterable[tuple[str, str]], file: str, stat_of: Callable[[str], os.stat_result]
) -> dict[str, Stamp]:
    stamps = {}
    for name, folder in folders:
        try:
            found = stat_of(f"{folder}/{file}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            why = StoreError("unreadable", f"it cannot be read: {error.strerror}")
            leave_out(Path(folder), why)
        except StoreError as error:
            leave_out(Path(folder), error)
        else:
            stamps[name] = found.st_mtime_ns, found.st_size, found.st_ino
    return stamps


def _stat_of_own(path: str) -> os.stat_result:
    found = os.lstat(path)
    return found if S_ISREG(found.st_mode) else own_file(Path(path)).stat()


def find_run(id_or_path: str | Path, home: Path | None = None) -> Path:
    """Return the folder that the user means: a path, an ID, a unique part of an ID, or ``last``."""
    as_path = Path(id_or_path)
    if (as_path / RECORD).is_file():
        return as_path.resolve()
    return folder_meant(str(id_or_path), run_folders(home), RUN, runs_folder(home))


def retag_run(
    id_or_path: str | Path, tags: Mapping[str, str | None], home: Path | None = None
) -> RunRecord:
    """Give a run tags, and take away those without a value, unless it is still being written.

    Refused for the tags by which a study or another command knows the runs that it made.
    """
    folder = find_run(id_or_path, home)
    before = read_record(folder)
    if before.status == "running":
        raise StoreError("running", f"{folder.name} is still running.", "Wait for its end.")
    fixed = {*MADE_FOR, *((POINT, BLOCK) if STUDY in before.tags else ())}
    if names := sorted(fixed & tags.keys()):
        raise StoreError(
            "fixed_tag",
            f"The tag {names[0]} says what made a run, and is not changed.",
            "Choose another name.",
        )
    kept = {**before.tags, **tags}
    written = read_json(folder / RECORD)  # with what only another version of dbdyno knows
    written["tags"] = {name: value for name, value in kept.items() if value is not None}
    with explained("writing", folder / RECORD):
        replace_json(folder / RECORD, written)
    return read_record(folder)


def remove_run(id_or_path: str | Path, home: Path | None = None) -> Path:
    """Delete a run folder, unless it is still being written; return its path."""
    folder = find_run(id_or_path, home)
    if folder.resolve().parent != runs_folder(home).resolve():
        raise StoreError(
            "not_in_home", f"{folder} is not in {runs_folder(home)}.", "Remove it yourself."
        )
    if is_locked(folder):
        raise StoreError("running", f"{folder.name} is still running.", "Stop it first.")
    with explained("removing", folder):
        shutil.rmtree(runs_folder(home) / MERGED, ignore_errors=True)  # it has the run's rows, too
        shutil.rmtree(folder)
    return folder
