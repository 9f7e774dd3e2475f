"""Finds run folders by name, lists them, and removes them."""

import re
import shutil
from pathlib import Path

from dbdyno.store.errors import StoreError, explained, leave_out
from dbdyno.store.files import is_locked
from dbdyno.store.places import runs_folder

LAST = re.compile(r"last(?:~(?P<back>\d{1,9}))?", re.ASCII)
_RECORD = "run.json"


def run_folders(home: Path | None = None) -> list[Path]:
    """All run folders, oldest first."""
    runs = runs_folder(home)
    if not runs.is_dir():
        return []
    return sorted(filter(_is_run, runs.iterdir()))


def _is_run(folder: Path) -> bool:
    """What may not be looked into, as another account's, is told and left out."""
    if folder.name.startswith("."):
        return False
    try:
        return (folder / _RECORD).is_file()
    except OSError as error:
        leave_out(folder, StoreError("unreadable", f"it cannot be read: {error.strerror}"))
        return False


def find_run(id_or_path: str | Path, home: Path | None = None) -> Path:
    """The folder that a person means: a path, an id, a unique beginning or end of one, ``last``.

    ``last~1`` is the one before the last.
    """
    as_path = Path(id_or_path)
    if (as_path / _RECORD).is_file():
        return as_path.resolve()
    folders = run_folders(home)
    if not folders:
        raise StoreError(
            "no_run", f"There are no runs in {runs_folder(home)}.", "Make one: dbdyno run tpcb"
        )
    named = str(id_or_path)
    if recent := LAST.fullmatch(named):
        return _from_the_end(folders, int(recent["back"] or 0))
    return _only(named, _matching(named, folders))


def _from_the_end(folders: list[Path], back: int) -> Path:
    if back >= len(folders):
        raise StoreError(
            "no_run",
            f"last~{back} goes too far back: runs kept: {len(folders)}.",
            "See dbdyno runs.",
        )
    return folders[-1 - back]


def _matching(named: str, folders: list[Path]) -> list[Path]:
    exact = [folder for folder in folders if folder.name == named]
    if exact or not named:
        return exact
    return [
        folder for folder in folders if folder.name.startswith(named) or folder.name.endswith(named)
    ]


def _only(named: str, matches: list[Path]) -> Path:
    if not matches:
        raise StoreError("no_run", f"No run is called {named!r}.", "dbdyno runs lists them.")
    if len(matches) > 1:
        names = ", ".join(folder.name for folder in matches[:5])
        more = ", …" if len(matches) > 5 else ""
        raise StoreError(
            "ambiguous_run", f"{named!r} may mean {len(matches)} runs: {names}{more}.", "Say more."
        )
    return matches[0]


def remove_run(id_or_path: str | Path, home: Path | None = None) -> Path:
    """Delete a run folder; one that is being written is refused."""
    folder = find_run(id_or_path, home)
    if is_locked(folder):
        raise StoreError("running", f"{folder.name} is still running.", "Stop it first.")
    with explained("removing", folder):
        shutil.rmtree(folder)
    return folder
