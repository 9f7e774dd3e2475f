"""A study's folder: created, reopened for more turns, read back, or removed with its runs.

A reopened study must match its file. One study at a time runs on a host: two would disturb each
other's measurements. Their lock is in the folder for temporary files, which all users share; the
kernel releases it however its holder dies.
"""

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dbdyno.answers.answer import Trial, Trials
from dbdyno.errors import DbdynoError
from dbdyno.model.run import Histograms, Run
from dbdyno.model.study import STUDY, StudyRecord, StudySpec
from dbdyno.run.options.words import files_from, items_from
from dbdyno.store.errors import StoreError, leave_out
from dbdyno.store.listing import remove_run, runs_folder
from dbdyno.store.run import RunFolder
from dbdyno.store.studies import (
    StudyWriter,
    make_study,
    new_study_id,
    read_study_record,
    remove_study_folder,
)
from dbdyno.store.summary import list_runs
from dbdyno.study.clocks import now
from dbdyno.study.file import text_of
from dbdyno.study.matrix import points_of, turns_of
from dbdyno.study.resolved_point import script_texts
from dbdyno.study.spec import Overrides, read_study

NAME = "dbdyno-study.lock"
READABLE = 0o644
# Anybody may have created the file: a link is not followed, and a pipe not waited for.
SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@contextmanager
def begin_study(path: Path | None, spec: StudySpec, overrides: Overrides) -> Iterator[StudyWriter]:
    """Create the folder of a new study; refused while another study is running.

    ``path`` is its file, if it has one.
    """
    points = points_of(spec)
    named = {item.name for point in points for item in items_from(point.options)}
    named.update(name for point in points for name in files_from(point.options))
    files = (Path(name) for name in sorted(named))
    record = StudyRecord(
        study_id=new_study_id(spec.name),
        spec=spec,
        points=points,
        turns=turns_of(points, spec.repeats, spec.seed),
        started_at=now().text,
        source=str(path.absolute()) if path else "",
        scripts={
            str(path): _digest(path) for path in files if path.is_absolute() and path.is_file()
        },
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


def trials_of(study: StudyRecord, histograms: Histograms) -> Trials:
    """Return the runs, in the order in which they were run: those that succeeded, and others."""
    levels = {point.key: point.levels for point in study.points}
    sound: list[Trial] = []
    unsound: list[Trial] = []
    for result in study.results:
        if not result.run_id:
            continue
        folder = runs_folder() / result.run_id
        try:
            found = RunFolder(folder)
        except StoreError as error:
            if folder.is_dir():  # of those that were removed, ``lost_runs`` tells
                leave_out(folder, error)
            continue  # the other runs still count
        point = levels[result.turn.point]
        load = partial(_loaded, found.folder, histograms)
        side = sound if result.status == "done" else unsound
        side.append(Trial(point, result.turn.block, found.record, load))
    return Trials(study=study, trials=sound, unsound=unsound)


def lost_runs(study: StudyRecord) -> list[str]:
    """Return the IDs of runs that no longer exist."""
    runs = [result.run_id for result in study.results if result.status == "done"]
    return [run_id for run_id in runs if not (runs_folder() / run_id).is_dir()]


def _loaded(folder: Path, histograms: Histograms) -> Run:
    """Read a run again for each use: a study may have hundreds."""
    return RunFolder(folder).load(histograms)


def remove_study(folder: Path) -> int:
    """Remove a study; return how many runs were removed with it.

    The study's folder is removed last: after an interruption the study can be removed again.
    """
    record = read_study_record(folder)
    if record.study_id != folder.name:
        raise StoreError(
            "not_a_study",
            f"{folder} is not the folder of its study, and may contain other files.",
            "Remove it yourself.",
        )
    with StudyWriter(folder, record):
        runs = [run for run in list_runs() if run.tags.get(STUDY) == record.study_id]
        for run in runs:
            remove_run(run.run_id)
        remove_study_folder(folder)
    return len(runs)


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
            name = old.get("name", index) if isinstance(old, Mapping) else index
            yield from differences(old, new, f"{where}[{name}]")
    elif before != after:
        yield f"{where}: {_value_text(before)} → {_value_text(after)}"


def _refuse_edited(record: StudyRecord) -> None:
    """Refuse to continue if the study file has changed; if it is gone, continue with the record."""
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


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _value_text(value: Any) -> str:
    if value is None:
        return "nothing"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}…"


@contextmanager
def machine_held(study_id: str) -> Iterator[None]:
    """Prevent other studies on this host within the block; refused while one is running."""
    path = Path(tempfile.gettempdir()) / NAME
    descriptor = _opened(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DbdynoError(
                "study_running",
                f"{_holder(path)} is running on this host, and two studies would disturb each "
                "other",
                "Wait for it, or stop it: its results so far are kept, and it can be resumed.",
            ) from error
        with suppress(OSError):  # another user's file: the lock holds nevertheless
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps({"study": study_id, "process": os.getpid()}).encode())
        yield
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    """Open the lock file; another user's can be locked, but not written."""
    try:
        with suppress(PermissionError):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | SAFELY, READABLE)
            with suppress(OSError):
                os.fchmod(descriptor, READABLE)  # whatever the umask of who created it
            return descriptor
        return os.open(path, os.O_RDONLY | SAFELY)
    except OSError as error:
        raise DbdynoError(
            "unusable_lock",
            f"cannot open {path}, which keeps studies apart: {error.strerror}",
            "remove it, or have its owner do so",
        ) from error


def _holder(path: Path) -> str:
    """Describe the study that holds the lock, as far as it could write its name."""
    try:
        holder = json.loads(path.read_text())
        return f"the study {holder['study']} (process {holder['process']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another study"
