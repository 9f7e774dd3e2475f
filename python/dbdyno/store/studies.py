"""Study folders: the study as specified, its order, and the result of each turn so far.

One JSON file, replaced atomically after each turn, so that a study that was killed can be resumed;
beside it the study file and the texts of its scripts. As in a run's folder, a lock says that the
study is running. The runs themselves are stored with all others.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from dbdyno.home import home as dbdyno_home, home_folder
from dbdyno.model.study import STUDY_FORMAT_VERSION, StudyRecord
from dbdyno.store.errors import StoreError, explained, leave_out
from dbdyno.store.files import hold_lock, read_current, read_json, replace_json
from dbdyno.store.ids import RecordKind, folder_meant, new_id

RECORD = "study.json"
SPEC_TEXT = "study.toml"
SCRIPTS = "scripts"
RATES = "rates.json"
_FOLDER = "studies"
STUDY = RecordKind(
    noun="study",
    plural="studies",
    called="study that was run",
    hint="dbdyno study list shows them; dbdyno study run NAME starts one.",
    first="Start one: dbdyno study run NAME; dbdyno study list shows the available studies.",
)


class StudyWriter:
    """A study's folder while the study runs; a context manager that releases the lock."""

    def __init__(self, folder: Path, record: StudyRecord) -> None:
        self.folder = folder
        self.record = record
        try:
            self._lock = hold_lock(folder)
        except BlockingIOError as error:
            raise StoreError(
                "running", f"{record.study_id} is still running.", "Wait for it, or stop it first."
            ) from error

    def save(self, record: StudyRecord) -> None:
        """Replace the record."""
        path = self.folder / RECORD
        with explained("writing", path):
            replace_json(path, record)
        self.record = record

    def __enter__(self) -> Self:
        """Do nothing: the lock is held since the writer was created."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the lock."""
        self._lock.close()


def new_study_id(name: str) -> str:
    """Return an ID that no study has yet."""
    return new_id(name, STUDY, beside=studies_folder())


def studies_folder(home: Path | None = None) -> Path:
    """The folder that contains one folder per study."""
    return (home or dbdyno_home()) / _FOLDER


def make_study(record: StudyRecord, text: str, scripts: Mapping[str, str]) -> Path:
    """Create the folder of a new study, with everything needed to run it again."""
    folder = home_folder(_FOLDER) / record.study_id
    with explained("creating", folder):
        (folder / SCRIPTS).mkdir(parents=True, mode=0o700)
        (folder / SPEC_TEXT).write_text(text, encoding="utf-8")
        for name, script in scripts.items():
            (folder / SCRIPTS / name).write_text(script, encoding="utf-8")
        replace_json(folder / RECORD, record)
    return folder


def remove_study_folder(folder: Path) -> None:
    """Remove the folder of the study itself; its runs are stored elsewhere."""
    with explained("removing", folder):
        shutil.rmtree(folder)


def list_studies(home: Path | None = None) -> list[StudyRecord]:
    """Return all studies that can be read, oldest first; a warning names each that cannot."""
    records: list[StudyRecord] = []
    for folder in _folders(home):
        try:
            records.append(read_study_record(folder))
        except StoreError as error:
            leave_out(folder, error)
    return records


def find_study_folder(id_or_path: str, home: Path | None = None) -> Path:
    """Return the folder that the user means: a path, an ID, a unique part of an ID, or ``last``."""
    if (Path(id_or_path) / RECORD).is_file():
        return Path(id_or_path).resolve()
    return folder_meant(id_or_path, _folders(home), STUDY, studies_folder(home))


def read_study_record(folder: Path) -> StudyRecord:
    """Return the record, with its current status."""
    return read_current(folder / RECORD, StudyRecord, STUDY_FORMAT_VERSION)


def read_rates(home: Path | None = None) -> dict[str, float]:
    """Return what earlier studies measured on this host, for the plans of later ones."""
    path = studies_folder(home) / RATES
    try:
        return msgspec.convert(read_json(path), dict[str, float])
    except (StoreError, msgspec.ValidationError):
        return {}  # only estimates depend on it


def keep_rates(rates: Mapping[str, float]) -> None:
    """Add newly measured rates to those already known."""
    path = home_folder(_FOLDER) / RATES
    with explained("writing", path):
        replace_json(path, {**read_rates(), **rates})


def _folders(home: Path | None) -> list[Path]:
    folder = studies_folder(home)
    return sorted(path.parent for path in folder.glob(f"*/{RECORD}")) if folder.is_dir() else []
