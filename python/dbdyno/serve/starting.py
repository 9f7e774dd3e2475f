"""Starts and stops runs, as the command line does: a run is a process in a session of its own.

It outlives this server. One run is started at a time: two loads on one target, or on one host,
would measure each other. The lock that says so is inherited by the run's process, and released with
it. Servers are named as dbdyno knows them; no address and no password is taken.
"""

import fcntl
import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from dbdyno.errors import DbdynoError, nearest
from dbdyno.home import home_folder
from dbdyno.serve.commands import COMMAND, error_of
from dbdyno.servers.kept import list_kept
from dbdyno.store.files import LOCK
from dbdyno.store.listing import run_folders
from dbdyno.store.summary import list_runs
from dbdyno.workloads.registry import all_workloads

PRIVATE = ("postgres", "mariadb")
_WAIT_S = 5.0
_LOOK_S = 0.05
_FOLDER = "started"
_SPAN = re.compile(r"\d+(\.\d+)?(ms|s|m|min|h)?", re.ASCII)
_TAG = re.compile(r"[\w.-]+=[^\x00-\x1f]{1,100}")


class RunRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run to be started: each field is the option of ``dbdyno run`` with its name."""

    workload: str
    server: str = "postgres"
    """A product, for a private server, or the name of a kept one."""
    scale: int | None = None
    clients: int | None = None
    time: str = "30s"
    rate: float | None = None
    telemetry: str | None = None
    tags: list[str] = []

    def check(self) -> None:
        """Refuse what is no name and no value; the command line checks the rest."""
        known = {"workload": [*all_workloads()], "server": servers()}
        for field, names in known.items():
            given = getattr(self, field)
            if given not in names:
                raise DbdynoError("usage", f"no {field} {given!a}", nearest(given, names))
        if not _SPAN.fullmatch(self.time):
            raise DbdynoError("usage", f"{self.time!a} is no length of time", "Write 30s or 5m.")
        if self.telemetry not in (None, "off", "basic", "full"):
            raise DbdynoError("usage", "telemetry is off, basic or full")
        for tag in self.tags:
            if not _TAG.fullmatch(tag):
                raise DbdynoError("usage", f"{tag!a} is no tag", "Write NAME=VALUE.")

    def words(self) -> list[str]:
        """The words of the command line after ``dbdyno``."""
        named = {
            "--server": self.server,
            "--scale": self.scale,
            "--clients": self.clients,
            "--time": self.time,
            "--rate": self.rate,
            "--telemetry": self.telemetry,
        }
        given = [(flag, str(value)) for flag, value in named.items() if value is not None]
        given += [("--tag", tag) for tag in self.tags]
        return ["run", self.workload, *(f"{flag}={value}" for flag, value in given)]


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was started; it has a name once its data is there."""

    command: str
    run_id: str | None


def servers() -> list[str]:
    """The servers that a run can be started on, by name."""
    return [*PRIVATE, *(kept.name for kept in list_kept())]


def start(request: RunRequest) -> Started:
    """Start a run; an error of the command line's checks is raised as it is."""
    request.check()
    for one in list_runs():
        if one.status == "running":
            raise DbdynoError("running", f"{one.run_id} is going on", "Stop it, or wait.")
    words = request.words()
    folder = home_folder(_FOLDER)
    with (folder / LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DbdynoError("running", "a run is being started", "Stop it, or wait.") from error
        with (folder / "output.json").open("wb") as out, (folder / "log.txt").open("wb") as log:
            process = subprocess.Popen(
                [*COMMAND, *words, "--json"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,
                pass_fds=[lock.fileno()],
            )
    run_id = _name_of(process, folder / "output.json")
    return Started(command=f"dbdyno {' '.join(words)}", run_id=run_id)


def stop(folder: Path) -> None:
    """End a run as Ctrl-C does: what was measured is kept."""
    for process in _writers_of(folder):
        os.kill(process, signal.SIGTERM)
        return
    raise DbdynoError("no_longer_running", f"{folder.name} is not running on this host")


def _name_of(process: subprocess.Popen[bytes], output: Path) -> str | None:
    """The run's name as soon as it has one; None if its data takes longer to load."""
    until = time.monotonic() + _WAIT_S
    while time.monotonic() < until:
        if process.poll() is not None:
            error = error_of(output.read_bytes())
            if error is not None:
                raise error
        for folder in run_folders()[-3:]:
            if process.pid in _writers_of(folder):
                return folder.name
        time.sleep(_LOOK_S)
    return None


def _writers_of(folder: Path) -> list[int]:
    """The process that writes a run, by the lock that it holds; readers open it only to read."""
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
