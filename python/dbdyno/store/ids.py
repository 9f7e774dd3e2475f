"""IDs of runs and studies: how one is made, and which one a user means.

Knows folders only by their names, and opens none.
"""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from dbdyno.store.errors import StoreError

_LAST = re.compile(r"last(?:~(?P<back>\d{1,9}))?", re.ASCII)
_PART_MAX = 24
_NAMES_SHOWN = 5


class RecordKind(Struct, frozen=True):
    """What is looked for, in the words of an error message; ``noun`` is also part of its code.

    ``hint`` is for users who named one that does not exist, ``first`` for those who have none at
    all.
    """

    noun: str
    plural: str
    called: str
    hint: str
    first: str


def new_id(name: str, kind: RecordKind, beside: Path) -> str:
    """Return a readable ID, sortable by time and new in this folder: 20261120-214203-tpcb-3f2a."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    part = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_PART_MAX].strip("-")
    while True:
        new = f"{now}-{part or kind.noun}-{os.urandom(2).hex()}"
        if not (beside / new).exists():
            return new


def folder_meant(named: str, folders: Sequence[Path], kind: RecordKind, inside: Path) -> Path:
    """Return the folder with this name, or the only one whose name contains it, or ``last``.

    ``folders`` are all the folders in ``inside``, oldest first; ``last~1`` is the one before the
    last.
    """
    if not folders:
        raise StoreError(f"no_{kind.noun}", f"There are no {kind.plural} in {inside}.", kind.first)
    recent = _LAST.fullmatch(named)
    if recent:
        back = int(recent["back"] or 0)
        if back < len(folders):
            return folders[-1 - back]
        kept = len(folders)
        there = f"1 {kind.noun} is" if kept == 1 else f"{kept} {kind.plural} are"
        message = f"last~{back} is too far back: only {there} kept."
        raise StoreError(f"no_{kind.noun}", message, kind.hint)
    matches = [folder for folder in folders if named and named in folder.name]
    exact = [folder for folder in matches if folder.name == named]
    matches = exact or matches
    if not matches:
        raise StoreError(f"no_{kind.noun}", f"No {kind.called} is named {named!r}.", kind.hint)
    if len(matches) > 1:
        names = ", ".join(folder.name for folder in matches[:_NAMES_SHOWN])
        more = ", …" if len(matches) > _NAMES_SHOWN else ""
        message = f"{named!r} matches {len(matches)} {kind.plural}: {names}{more}."
        raise StoreError(f"ambiguous_{kind.noun}", message, "Give a longer part of the name.")
    return matches[0]
