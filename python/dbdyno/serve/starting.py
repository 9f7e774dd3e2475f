"""Starts and stops what measures, as the command line does: a process in a session of its own.

It outlives this server. Each start has a folder with its command, and what it prints; the lock
in the folder is inherited by the process, and released with it. Two loads on one kept server would
measure each other: the second is refused. Private servers are one for each run, and of studies the
command line admits one on a host.
"""

import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from dbdyno.errors import DbdynoError
from dbdyno.home import home, home_folder
from dbdyno.serve.commands import COMMAND, error_of
from dbdyno.serve.requests import PRIVATE, Kind, Request
from dbdyno.servers.kept import find_kept
from dbdyno.servers.processes import ProcessMark, mark_of, send
from dbdyno.store.errors import StoreError
from dbdyno.store.files import LOCK, LOG, is_locked, read_json, replace_json
from dbdyno.store.ids import RecordKind, new_id
from dbdyno.store.listing import runs_folder
from dbdyno.store.studies import studies_folder
from dbdyno.store.summary import list_runs

REPORT = "report.html"
_ABOUT, _OUTPUT = "start.json", "output.json"
_WAIT_S = 5.0
_LOOK_S = 0.05
_FOLDER = "started"
_KEPT_MAX = 50
_LOG_MAX = 20_000
START = RecordKind(
    noun="start",
    plural="starts",
    called="start",
    hint="The page Start lists them.",
    first="Start a run.",
)


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What was started, and how far it has come."""

    start_id: str
    kind: Kind
    command: str
    status: Literal["running", "done", "failed"]
    run_id: str | None = None
    """The run that it makes, or has made; None before its data is there."""
    study_id: str | None = None
    search_id: str | None = None
    error: str | None = None
    hint: str = ""


class _About(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    words: list[str]
    process: ProcessMark | None = None
    """None until it was started."""


class _OfStudy(msgspec.Struct):
    study_id: str | None = None


class _Printed(msgspec.Struct):
    """What a command has printed with --json, as far as it has names."""

    run_id: str | None = None
    study: _OfStudy = msgspec.field(default_factory=_OfStudy)
    search: str | None = None


def start(request: Request) -> Started:
    """Start what is requested; an error of the command line's checks is raised as it is."""
    request.check()
    with ExitStack() as opened:
        target = _only_load_of(request.server, opened)
        folder = _new_folder(request)
        lock = opened.enter_context(_held(folder / LOCK))
        out = opened.enter_context((folder / _OUTPUT).open("wb"))
        log = opened.enter_context((folder / LOG).open("wb"))
        report = [f"--report={folder / REPORT}"] if request.kind == "search" else []
        process = subprocess.Popen(
            [*COMMAND, *request.words(), *report, "--json"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            start_new_session=True,
            pass_fds=[one.fileno() for one in (lock, target) if one],
        )
        _tell(folder, request, mark_of(process.pid))
    until = time.monotonic() + _WAIT_S
    while process.poll() is None and time.monotonic() < until:
        if (state := started(folder.name)).run_id or state.study_id:
            return state
        time.sleep(_LOOK_S)
    state = started(folder.name)
    if state.status == "failed" and (error := error_of((folder / _OUTPUT).read_bytes())):
        shutil.rmtree(folder, ignore_errors=True)
        raise error
    return state


def started(start_id: str) -> Started:
    """How far something has come that was started here."""
    folder = _folder_of(start_id)
    about = msgspec.convert(read_json(folder / _ABOUT), _About)
    known: dict[str, Any] = {
        "start_id": start_id,
        "kind": about.kind,
        "command": shlex.join(["dbdyno", *about.words]),
    }
    if is_locked(folder):
        written = _written_by(about.process) if about.process else {}
        return msgspec.structs.replace(Started(**known, status="running"), **written)
    printed = (folder / _OUTPUT).read_bytes()
    if (error := error_of(printed)) is not None:
        return Started(**known, status="failed", error=error.message, hint=error.hint)
    names = msgspec.json.decode(printed, type=_Printed)
    return Started(
        **known,
        status="done",
        run_id=names.run_id,
        study_id=names.study.study_id,
        search_id=names.search,
    )


def all_started() -> list[Started]:
    """What was started here, the newest first; older starts are forgotten."""
    found = []
    for folder in _folders()[::-1]:
        with suppress(DbdynoError, OSError, msgspec.MsgspecError):
            found.append(started(folder.name))
    return found


def log_of(start_id: str) -> str:
    """The last that a start has said."""
    return last_lines(_folder_of(start_id) / LOG)


def last_lines(path: Path) -> str:
    """The end of a log, from the beginning of a line; nothing if there is none."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(length - _LOG_MAX, 0))
        text = file.read().decode("utf-8", "replace")
        return text if length <= _LOG_MAX else text.partition("\n")[2]
    return ""


def report_of(start_id: str) -> Path:
    """The report that a search has written."""
    path = _folder_of(start_id) / REPORT
    if not path.is_file():
        raise DbdynoError("no_report", "There is no report yet", "It is there after the last rate.")
    return path


def stop_start(start_id: str) -> None:
    """End something that was started here, as Ctrl-C does."""
    stop(_folder_of(start_id))


def stop(folder: Path) -> None:
    """End what writes into this folder, as Ctrl-C does: what was measured is kept."""
    for process in _writers_of(folder):
        with suppress(OSError):  # it has just ended
            if send(mark_of(process), signal.SIGTERM):
                return
    raise DbdynoError(
        "no_longer_running",
        f"{folder.name} is not running on this host",
        "It has ended, or runs on another host: stop it there.",
    )


def _only_load_of(server: str | None, opened: ExitStack) -> BinaryIO | None:
    """The lock that says that a kept server has a load; refused if it has one, from wherever."""
    if server is None or server in PRIVATE:
        return None
    url = find_kept(server).url
    hint = "Stop it, wait for it, or take a private server."
    for one in list_runs():
        if one.status == "running" and one.target == url:
            raise DbdynoError("running", f"{one.run_id} is a load on {server}", hint)
    try:
        return opened.enter_context(_held(home_folder(_FOLDER) / f".{server}.{LOCK}"))
    except BlockingIOError as error:
        message = f"a load on {server} was started, and has not ended"
        raise DbdynoError("running", message, hint) from error


def _held(path: Path) -> BinaryIO:
    """A lock file, held by all who inherit it."""
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        file.close()
        raise
    return file


def _new_folder(request: Request) -> Path:
    """A folder for one more start; of those that have ended, the oldest are removed."""
    words = request.words()
    for old in _folders()[: -_KEPT_MAX + 1]:
        if not is_locked(old):
            shutil.rmtree(old, ignore_errors=True)
    name = new_id(f"{words[0]} {words[1]}", START, beside=home() / _FOLDER)
    folder = home_folder(_FOLDER, name)
    _tell(folder, request)
    return folder


def _tell(folder: Path, request: Request, process: ProcessMark | None = None) -> None:
    about = _About(kind=request.kind, words=request.words(), process=process)
    replace_json(folder / _ABOUT, about)


def _folders() -> list[Path]:
    """The folders of all starts, oldest first."""
    return sorted(path.parent for path in (home() / _FOLDER).glob(f"*/{_ABOUT}"))


def _folder_of(start_id: str) -> Path:
    folder = home() / _FOLDER / start_id
    if folder not in _folders():
        raise StoreError("no_start", f"Nothing was started as {start_id!a}.", START.hint)
    return folder


def _written_by(process: ProcessMark) -> dict[str, str]:
    """The run and the study that a start's process is writing, by the locks that it holds."""
    places = {os.path.realpath(runs_folder()): "run_id"}
    places[os.path.realpath(studies_folder())] = "study_id"
    found = {}
    with suppress(OSError):  # it has just ended
        for link in os.scandir(f"/proc/{process.pid}/fd"):
            held = Path(os.readlink(link.path))  # noqa: PTH115 - a link of the kernel
            field = places.get(str(held.parent.parent)) if held.name == LOCK else None
            if field is not None and not held.parent.name.startswith("."):
                found[field] = held.parent.name
    return found


def _writers_of(folder: Path) -> list[int]:
    """The process that writes into it, by the lock that it holds; readers open it only to read."""
    lock = os.path.realpath(folder / LOCK)
    found = []
    for process in os.scandir("/proc"):
        # Others' processes cannot be looked into, and some end meanwhile.
        with suppress(OSError):
            links = [Path(link) for link in os.scandir(f"{process.path}/fd")]
            if any(str(link.readlink()) == lock and _writes(link) for link in links):
                found.append(int(process.name))
    return found


def _writes(link: Path) -> bool:
    info = (link.parent.parent / "fdinfo" / link.name).read_text()
    flags = next(line.split()[1] for line in info.splitlines() if line.startswith("flags:"))
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
