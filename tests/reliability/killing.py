"""Kills one part of dbdyno with SIGKILL, again and again at random moments; prints what is left.

Runs as a program in namespaces of its own (``IN_NAMESPACES``): their processes, shared memory and
temporary files are all ours, so that whatever remains was left by a kill, and nothing can be hidden
among other programs'. It prints one JSON object.
"""

import contextlib
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pymysql import MySQLError

from dbdyno.databases.connecting import open_connection
from dbdyno.errors import DbdynoError
from dbdyno.servers.kept import find_kept
from tests.run.test_interrupts import arguments_of
from tests.support.patience import PAUSE_S

# Own /tmp and /dev/shm, with the repository in its place even if that is below /tmp.
IN_NAMESPACES = """
mount --bind "$1" /mnt && mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /dev/shm &&
mkdir -p "$1" && { mountpoint -q "$1" || mount --bind /mnt "$1"; } && cd "$1" && shift && exec "$@"
"""
HOME = Path("/tmp/home")
PATIENCE_S = 40.0  # a server that is stopped at once is gone within one second, on a quiet host
END_S = 300.0  # a run of one second has ended by then on the busiest of hosts
SERVERS = {
    "postgresql": "postgres,shared_buffers=16MB",
    "mariadb": "mariadb,innodb_buffer_pool_size=16M,innodb_log_file_size=16M",
}
# Of a dbdyno that was killed between making the folder and starting the guard that would remove it.
UNBEGUN = "folders that no guard has seen"
# The server's sessions with the port of their client, and how one is ended most brutally: a process
# of PostgreSQL by SIGKILL, a thread of MariaDB only by the server itself.
SESSIONS = {
    "postgresql": "select pid, client_port from pg_stat_activity where client_port > 0",
    "mariadb": "select id, substring_index(host, ':', -1) from information_schema.processlist"
    " where host like '127.0.0.1:%'",
}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dbdyno", *arguments]


def run_command(server: str, script: Path) -> list[str]:
    return command(
        *("run", str(script), "--server", server, "-c", "2", "-R", "100", "-T", "1"),
        *("--warmup", "0", "--stall-limit", "3s", "--json"),
    )


def begun(server: str, script: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        run_command(server, script),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def child_of(process: "subprocess.Popen[str]", program: str) -> int | None:
    """The child of a dbdyno that runs this program, once there is one."""
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    except OSError:
        return None
    return next((int(child) for child in children if program in arguments_of(child)), None)


def ports_of(process: "subprocess.Popen[str]") -> set[int]:
    """The local TCP ports of a process."""
    sockets = set()
    for handle in Path(f"/proc/{process.pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            sockets.add(str(handle.readlink()))
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return {int(row[1].rpartition(":")[2], 16) for row in rows if f"socket:[{row[9]}]" in sockets}


def own_sessions(process: "subprocess.Popen[str]", control: Any, database: str) -> list[int]:
    """The sessions of dbdyno itself, without those of its engine: telemetry and control."""
    ports = ports_of(process)
    rows = control.execute(SESSIONS[database]).fetchall()
    return [int(session) for session, port in rows if int(port) in ports]


@contextlib.contextmanager
def victims(
    victim: str, database: str
) -> Iterator[tuple[Callable[..., list[int]], Callable[[int], None]]]:
    """How to find what is to be killed of a run, and how it is killed."""
    programs = {"guard": "servers/guard.py", "engine": "dbdyno/agent.py"}

    def of_process(process: "subprocess.Popen[str]") -> list[int]:
        found = child_of(process, programs[victim]) if victim in programs else process.pid
        return [] if found is None else [found]

    def kill(process: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    if victim == "telemetry":

        def connect() -> Any:
            return contextlib.closing(open_connection(find_kept("bench").conninfo))

        def of_sessions(process: "subprocess.Popen[str]") -> list[int]:
            if ports_of(process):  # connecting for a look is dear
                with contextlib.suppress(DbdynoError), connect() as control:
                    return own_sessions(process, control, database)
            return []  # there are none yet, or the server restarts

        def kill_one(session: int) -> None:
            if database == "postgresql":
                kill(session)
            else:
                with contextlib.suppress(DbdynoError, MySQLError), connect() as control:
                    control.execute(f"kill {session}")

        yield of_sessions, kill_one
    else:
        yield of_process, kill


def processes() -> list[str]:
    """All but ended ones: nobody collects the exit codes of orphans here."""
    return [
        f"{path.name} {arguments}"
        for path in Path("/proc").glob("[0-9]*")
        if (arguments := arguments_of(path.name))
    ]


def shared_memory() -> list[str]:
    segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    semaphores = Path("/proc/sysvipc/sem").read_text().splitlines()[1:]
    return [*segments, *semaphores, *(path.name for path in Path("/dev/shm").iterdir())]


def temporary_files() -> list[str]:
    return [str(path) for path in Path("/tmp").glob("[!h]*") if path.name != TOP]


def is_free(lock: Path) -> bool:
    with lock.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def left(before: dict[str, Any]) -> dict[str, list[str]]:
    """What there is now and was not before, by kind; empty if nothing."""
    now = everything()
    found = {kind: sorted(map(str, set(now[kind]) - set(before[kind]))) for kind in now}
    return {kind: names for kind, names in found.items() if names}


def eventually_left(before: dict[str, Any]) -> dict[str, list[str]]:
    """The same, once those whose parent was killed have had the time to end by themselves."""
    deadline = time.monotonic() + PATIENCE_S
    while set(found := left(before)) - {UNBEGUN} and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
    return found


def everything() -> dict[str, Any]:
    folders = [path for path in HOME.glob("private/*") if path.name != "lock"]
    return {
        "processes": processes(),
        "shared memory": shared_memory(),
        "temporary files": temporary_files(),
        "folders": [str(path) for path in folders if (path / "data").exists()],
        UNBEGUN: [str(path) for path in folders if not (path / "data").exists()],
        "held locks": [str(path) for path in HOME.rglob("lock") if not is_free(path)],
    }


@contextlib.contextmanager
def kept(database: str) -> Iterator[str]:
    """A server that is there before the first run."""
    start = command("server", "start", "bench", "--server", SERVERS[database], "--tcp")
    subprocess.run(start, check=True, capture_output=True)
    try:
        yield "bench"
    finally:
        subprocess.run(command("server", "stop", "bench"), check=True, capture_output=True)


def undisturbed(find: Callable[..., list[int]], server: str, script: Path) -> float:
    """How long a run lasts after its victim has appeared."""
    process = begun(server, script)
    while not find(process):
        time.sleep(PAUSE_S)
    began = time.monotonic()
    process.communicate(timeout=END_S)
    return time.monotonic() - began


def main(victim: str, database: str, times: int, seed: int) -> None:
    os.environ["DBDYNO_HOME"] = str(HOME)
    HOME.mkdir()
    script = HOME / "one.sql"
    script.write_text("select 1;")
    outside = everything()
    is_private = victim in ("parent", "guard")
    place = contextlib.nullcontext(SERVERS[database]) if is_private else kept(database)
    with place as server, victims(victim, database) as (find, kill):
        lasts_s = undisturbed(find, server, script)
        before = everything()
        chance = random.Random(seed)
        kills = []
        for _ in range(times):
            process = begun(server, script)
            while not (found := find(process)) and process.poll() is None:
                time.sleep(PAUSE_S)
            time.sleep(chance.uniform(0, lasts_s))
            for one in found:
                kill(one)
            out, log = process.communicate(timeout=END_S)
            # A kept server's own processes come and go: there, the end of all is compared.
            remains = eventually_left(before) if is_private else {}
            kills.append({"exit": process.returncode, "out": out, "log": log, "left": remains})
        if is_private:  # the next start removes what no guard has seen
            begun(server, script).communicate(timeout=END_S)
    listed = subprocess.run(command("runs", "--json"), capture_output=True, text=True, check=True)
    result = {"kills": kills, "left": left(outside), "runs": json.loads(listed.stdout)}
    json.dump(result, sys.stdout)


TOP = Path.cwd().relative_to("/tmp").parts[0] if Path.cwd().is_relative_to("/tmp") else ""

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
