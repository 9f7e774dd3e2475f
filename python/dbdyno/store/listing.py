"""Finds run folders by name, lists them, and removes them."""

import shutil
from pathlib import Path

from dbdyno.store.errors import StoreError, explained, leave_out
from dbdyno.store.files import is_locked
from dbdyno.store.ids import RecordKind, folder_meant
from dbdyno.store.places import RECORD, runs_folder

RUN = RecordKind(
    noun="run",
    plural="runs",
    called="run",
    hint="dbdyno runs lists them.",
    first="Start one: dbdyno run tpcb",
)


def run_folders(home: Path | None = None) -> list[Path]:
    """Return all run folders, oldest first."""
    runs = runs_folder(home)
    if not runs.is_dir():
        return []
    return sorted(filter(_is_run, runs.iterdir()))


def _is_run(folder: Path) -> bool:
    """Whether a folder is a run; one that cannot be read is left out with a warning."""
    if folder.name.startswith("."):
        return False
    try:
        return (folder / RECORD).is_file()
    except OSError as error:
        leave_out(folder, StoreError("unreadable", f"it cannot be read: {error.strerror}"))
        return False


def find_run(id_or_path: str | Path, home: Path | None = None) -> Path:
    """Return the folder that the user means: a path, an ID, a unique part of an ID, or ``last``."""
    as_path = Path(id_or_path)
    if (as_path / RECORD).is_file():
        return as_path.resolve()
    return folder_meant(str(id_or_path), run_folders(home), RUN, runs_folder(home))


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
        shutil.rmtree(folder)
    return folder
