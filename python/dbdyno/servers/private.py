"""A private server for one command: made, used, and gone when dbdyno ends, however it ends.

A guard process starts the server and holds a pipe to us, so even ``kill -9`` of dbdyno ends
both. What a crash of the whole machine leaves behind is cleared up by the next start.
"""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from dbdyno.home import locked
from dbdyno.servers import guard
from dbdyno.servers.base import Server
from dbdyno.servers.cluster import draw_blueprint, lay_out, not_started, remove
from dbdyno.servers.processes import ProcessMark, end, mark_of
from dbdyno.servers.product import Cluster
from dbdyno.servers.record import read_record, server_of, write_record
from dbdyno.servers.spec import ServerSpec
from dbdyno.servers.starting import wait_until_ready

STOP_PATIENCE_S = 30


def start_private(spec: ServerSpec, connections: int, *, tcp: bool = False) -> Server:
    """A fresh server for so many connections; ``tcp`` puts the load on loopback TCP."""
    blueprint = draw_blueprint("private", spec, connections, tcp=tcp)
    folder, lock = _new_folder(blueprint.place)
    try:
        cluster = lay_out(folder, blueprint)
        process = _start_guard(cluster, lock)
    except BaseException:
        remove([folder])
        raise
    finally:
        os.close(lock)  # the guard holds it now
    try:
        return _started(cluster, process)
    except BaseException:
        _dismiss(process)
        raise


def _started(cluster: Cluster, process: "subprocess.Popen[str]") -> Server:
    mark = _announced(cluster, process)
    wait_until_ready(cluster, mark)
    server = server_of("private", write_record(cluster, mark))
    return replace(server, stopper=partial(_dismiss, process))


def _start_guard(cluster: Cluster, lock: int) -> "subprocess.Popen[str]":
    """In a session of its own: a Ctrl-C in the terminal is not for the server."""
    order = {
        "commands": cluster.commands(),
        "account": cluster.blueprint.identity.account,
        "folders": [str(folder) for folder in cluster.folders],
        "log": str(cluster.log),
        "stop_signal": cluster.blueprint.product.stop_signal,
    }
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        pass_fds=[lock],
    )


def _announced(cluster: Cluster, process: "subprocess.Popen[str]") -> ProcessMark:
    """The server's process, once the guard has prepared its folder and started it."""
    assert process.stdout is not None
    word = process.stdout.readline().strip()
    if not word.isdecimal():
        raise not_started(cluster)
    try:
        return mark_of(int(word))
    except OSError as error:  # it ended at once
        raise not_started(cluster) from error


def _dismiss(process: "subprocess.Popen[str]") -> None:
    """Closes our end of the pipe, and waits until the guard has cleared up."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    process.wait(STOP_PATIENCE_S)


def _new_folder(place: Path) -> tuple[Path, int]:
    """An empty folder and its lock, which lives as long as the guard."""
    with locked(place / "lock"):
        _clear_up(place)
        folder = Path(tempfile.mkdtemp(dir=place))
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def _clear_up(place: Path) -> None:
    """Removes folders that no guard holds any more."""
    for folder in place.iterdir():
        if not folder.is_dir() or _is_held(folder / "lock"):
            continue
        record = read_record(folder)
        if record is not None:
            end(record.process, record.stop_signal, STOP_PATIENCE_S)
        remove(record.folders if record else [folder])


def _is_held(lock: Path) -> bool:
    try:
        with lock.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
