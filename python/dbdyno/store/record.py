"""Reads a run's record: all that a list of runs needs, without the tables."""

from pathlib import Path
from typing import Any

import msgspec

from dbdyno.databases.known import recorded_title
from dbdyno.model.record import FORMAT_VERSION, RunRecord
from dbdyno.store.errors import FROM_A_COPY, StoreError
from dbdyno.store.files import is_locked, read_json
from dbdyno.store.places import RECORD


def read_record(folder: Path) -> RunRecord:
    """Return the record, with its current status.

    Its ID is the folder's name, whatever somebody else's record may claim.
    """
    path = folder / RECORD
    try:
        found = read_json(path)
        _check_format(path, found)
        record = msgspec.convert(found | {"run_id": folder.resolve().name}, RunRecord)
        record.server["title"] = recorded_title(record.server)
        if record.status == "running" and not is_locked(folder):
            record = msgspec.structs.replace(record, status="interrupted")
    except msgspec.MsgspecError as error:
        message = f"{path} is not a run's record: {error}"
        raise StoreError("damaged", message, FROM_A_COPY) from error
    except OSError as error:
        raise StoreError("unreadable", f"{path} cannot be read: {error.strerror}") from error
    return record


def _check_format(path: Path, found: dict[str, Any]) -> None:
    version = found.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise StoreError(
            "newer_format",
            f"{path} has format {version}; this dbdyno reads up to {FORMAT_VERSION}.",
            "Open it with the version that wrote it, or a later one.",
        )
