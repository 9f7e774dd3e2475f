"""Folders that commands fill: charts, tables, pages. What somebody else put there stays.

``contents.json`` in the folder lists the files that dbdyno wrote, by their kind. Only these are
replaced, and those of the same kind that a later command does not write are removed; a file of
any other origin in the way of one is refused before anything is written.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from dbdyno.errors import DbdynoError
from dbdyno.store.files import replace_bytes

CONTENTS = "contents.json"
Kind: TypeAlias = Literal["charts", "tables", "pages"]


class _Contents(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The names of the files of each kind, relative to the folder."""

    charts: list[str] = []
    tables: list[str] = []
    pages: list[str] = []

    @property
    def all(self) -> set[str]:
        """The files that dbdyno wrote."""
        return {*self.charts, *self.tables, *self.pages}


def fill_folder(folder: Path, kind: Kind, files: Mapping[str, bytes]) -> list[Path]:
    """Write the files of a kind into the folder, which is created if necessary."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        contents = _contents_of(folder)
        for name in files:
            if name not in contents.all and (folder / name).exists():
                raise DbdynoError(
                    "file_exists",
                    f"{folder / name} exists, and dbdyno did not write it",
                    "Name another folder, or move the file away.",
                )
        for name in {*getattr(contents, kind)} - {*files}:
            path = folder / name
            # A list that was tampered with names no file elsewhere.
            if not path.resolve().is_relative_to(folder.resolve()):
                raise DbdynoError(
                    "file_exists",
                    f"{folder / CONTENTS} names {name}, which is elsewhere",
                    "Name another folder, or remove that line.",
                )
            path.unlink(missing_ok=True)
        setattr(contents, kind, list(files))
        _write(folder / CONTENTS, msgspec.json.format(msgspec.json.encode(contents)) + b"\n")
        for name, content in files.items():
            _write(folder / name, content)
    except OSError as error:
        raise DbdynoError(
            "folder_unwritable",
            f"cannot write {error.filename or folder}: {error.strerror or error}",
            "Name another folder.",
        ) from error
    return [folder / name for name in files]


def _contents_of(folder: Path) -> _Contents:
    path = folder / CONTENTS
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Contents)
    except FileNotFoundError:
        return _Contents()
    except msgspec.MsgspecError as error:
        raise DbdynoError(
            "file_exists",
            f"{path} exists, and dbdyno did not write it: {error}",
            "Name another folder, or move the file away.",
        ) from error


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_bytes(path, content)
