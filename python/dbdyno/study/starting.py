"""Creates or reopens a study's folder; a reopened study must match its file."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dbdyno.errors import DbdynoError
from dbdyno.model.study import Point, StudyRecord, StudySpec
from dbdyno.run.option_tables import items_from
from dbdyno.store.studies import (
    StudyWriter,
    make_study,
    new_study_id,
    read_study_record,
)
from dbdyno.study.clocks import now
from dbdyno.study.file import text_of
from dbdyno.study.lock import machine_held
from dbdyno.study.matrix import points_of
from dbdyno.study.order import turns_of
from dbdyno.study.resolved_point import script_texts
from dbdyno.study.spec import Overrides, read_study


@contextmanager
def begin_study(path: Path | None, spec: StudySpec, overrides: Overrides) -> Iterator[StudyWriter]:
    """Create the folder of a new study; refused while another study is running.

    ``path`` is its file, if it has one.
    """
    points = points_of(spec)
    record = StudyRecord(
        study_id=new_study_id(spec.name),
        spec=spec,
        points=points,
        turns=turns_of(points, spec.repeats, spec.seed),
        started_at=now().text,
        source=str(path.absolute()) if path else "",
        scripts=_script_files(points),
        overrides=msgspec.to_builtins(overrides),
    )
    scripts = script_texts([point.options for point in points])
    with machine_held(record.study_id):
        folder = make_study(record, text_of(path) if path else "", scripts)
        with StudyWriter(folder, record) as writer:
            yield writer


@contextmanager
def reopen_study(folder: Path, repeats: int | None = None) -> Iterator[StudyWriter]:
    """Reopen a study to continue it, with more repeats if requested.

    Refused if its file has changed since.
    """
    record = read_study_record(folder)
    if repeats is not None:
        record = _extended(record, repeats)
    if len(record.results) == len(record.turns):
        raise DbdynoError(
            "study_done",
            f"{record.study_id} is complete: all {len(record.turns)} turns have been run",
            f"{record.further(2 * record.spec.repeats)} adds as many; "
            f"dbdyno study report {record.study_id} shows the results.",
        )
    _refuse_edited(record)
    with machine_held(record.study_id), StudyWriter(folder, record) as writer:
        yield writer


def _extended(record: StudyRecord, repeats: int) -> StudyRecord:
    """Add blocks to a study; the existing turns stay as they are, whether run or not."""
    spec = record.spec
    if repeats < spec.repeats:
        raise DbdynoError(
            "usage",
            f"--repeats {repeats}: {record.study_id} already has {spec.repeats}",
            "Give the total number of repeats, including those already run.",
        )
    is_done = len(record.results) == len(record.turns)
    return replace(
        record,
        spec=replace(spec, repeats=repeats),
        looks=[*record.looks, spec.repeats] if is_done and repeats > spec.repeats else record.looks,
        turns=turns_of(record.points, repeats, spec.seed),
        overrides={**record.overrides, "repeats": repeats},
    )


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Yield the differences between two specifications, each with its key."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            place = f"{where}.{key}" if where else str(key)
            yield from differences(before.get(key), after.get(key), place)
    elif isinstance(before, list | tuple) and len(before) == len(after or ()):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, f"{where}[{_label(old, index)}]")
    elif before != after:
        yield f"{where}: {_value_text(before)} → {_value_text(after)}"


def _refuse_edited(record: StudyRecord) -> None:
    """Refuse to continue if the study file has changed; if it is gone, continue with the record."""
    _refuse_edited_scripts(record)
    path = Path(record.source)
    if not path.is_file():
        return
    overrides = msgspec.convert(record.overrides, Overrides)
    requested = msgspec.to_builtins(read_study(path, record.spec.size, overrides))
    changed = list(differences(msgspec.to_builtins(record.spec), requested))
    if changed:
        raise DbdynoError(
            "study_edited",
            f"{path.name} has changed since {record.study_id} began: {'; '.join(changed)}",
            "Further runs would not be comparable. Restore the file, or start a new study: "
            f"dbdyno study run {path}",
        )


def _script_files(points: Sequence[Point]) -> dict[str, str]:
    named = {item.name for point in points for item in items_from(point.options)}
    files = (Path(name) for name in sorted(named))
    return {str(path): _digest(path) for path in files if path.is_absolute() and path.is_file()}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _refuse_edited_scripts(record: StudyRecord) -> None:
    changed = [
        name
        for name, digest in record.scripts.items()
        if (path := Path(name)).is_file() and _digest(path) != digest
    ]
    if changed:
        raise DbdynoError(
            "study_edited",
            f"{', '.join(changed)} changed since {record.study_id} began",
            "Further runs would not be comparable. Restore the text, or start a new study.",
        )


def _label(element: Any, index: int) -> str:
    """Return the name of a list's element, or else its index."""
    return str(element.get("name", index)) if isinstance(element, Mapping) else str(index)


def _value_text(value: Any) -> str:
    if value is None:
        return "nothing"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}…"
