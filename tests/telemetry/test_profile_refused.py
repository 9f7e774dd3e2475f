"""What leaves no profile, or only a part of one: what is said, and that all else works."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.run.options.run_options import SECOND_NS
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.servers.spec import Kind
from tests.engine.postgres import Postgres
from tests.support.ended import record_of
from tests.support.patience import PATIENCE_S
from tests.support.program import Program
from tests.support.rights import another_account, namespaces
from tests.support.without_system_call import PERF_EVENT_OPEN
from tests.telemetry.watched import Observer, measure

pytestmark = pytest.mark.usefixtures("home", "patient")

PARANOID = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
DBDYNO = (sys.executable, "-m", "dbdyno")
DROPPED = ("setpriv", "--regid=65534", "--clear-groups")
RUN = ("run", "select-only", "-s", "1", "--replace", "-c", "2", "-T", "2", "--warmup", "0")
WITH_PROFILE = (*RUN, "--telemetry", "full", "--max-disturbance", "100%", "--json")


SERVER = """
import sys
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
with start_private(ServerSpec(sys.argv[1]), connections=16) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
REFUSED = """
import sys
from pathlib import Path
from dbdyno.engine import Profile
from dbdyno.telemetry.profile.profile_task import cpus, reason_of
root, server = Path("/"), int(sys.argv[1])
try:
    Profile(server, 199, cpus(root))
except OSError as error:
    print(reason_of(error, root, server))
"""
CROWD = """
import os, threading, time
from pathlib import Path
from dbdyno.engine import Profile
from dbdyno.telemetry.profile.profile_task import FOR_EVER_NS, cpus, reason_of
root, over = Path("/"), threading.Event()
def work():
    while not over.is_set():
        pass
for target in [over.wait] * 300 + [work]:
    threading.Thread(target=target, daemon=True).start()
try:
    profile = Profile(os.getpid(), 199, cpus(root))
    profile.begin(time.monotonic_ns())
    seen = set()
    while len(seen) < 2:
        seen |= {count.tid for count in profile.take_before(FOR_EVER_NS).counts}
    print("threads seen:", len(seen) > 1)
except OSError as error:
    print(reason_of(error, root, os.getpid()))
over.set()
"""


def refusing(error: str, *command: str) -> list[str]:
    """The command, for which the kernel answers like this when it asks for a profile."""
    wrapper = ("-m", "tests.support.without_system_call", str(PERF_EVENT_OPEN), error)
    return [sys.executable, *wrapper, *command]


def ended(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def lack(record: dict[str, Any]) -> str:
    """Why there is no profile; not, by any means, an empty one."""
    (reason,) = [
        lack["reason"] for lack in record["telemetry"]["lacks"] if lack["source"] == "profile"
    ]
    assert record["transactions"]["ok"] > 0
    assert record["server_profile"] is None
    return str(reason)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("EPERM", "--cap-add PERFMON"),
        ("EACCES", "sysctl kernel.perf_event_paranoid=1" if PARANOID > 1 else "--cap-add PERFMON"),
        ("ENOSYS", "run dbdyno outside of the sandbox"),
    ],
)
def test_a_sandbox_that_forbids_a_profile(database: Server, error: str, says: str):
    program = (*DBDYNO, *WITH_PROFILE, "--target", database.url)
    record = record_of(ended(*refusing(error, *program)))
    assert says in lack(record)
    not_looked = {one["id"]: one["reason"] for one in record["not_looked"]}
    assert says in not_looked["parse_and_plan"]
    assert "cpu_server" not in not_looked
    assert "client" in {part["processes"] for part in record["server_processes"]}


@contextmanager
def in_a_container(kind: Kind) -> Iterator[str]:
    """The URL of a server whose processes have numbers of their own."""
    apart = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    with Program(
        [*apart, sys.executable, "-c", SERVER, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdin is not None
        yield program.stdout.readline().strip()
        program.stdin.close()


@namespaces
@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_a_server_in_a_container_is_not_taken_for_processes_of_this_host(kind: Kind):
    with in_a_container(kind) as url:
        record = record_of(ended(*DBDYNO, *WITH_PROFILE, "--target", url))
    assert "on another host or in a container" in lack(record)
    assert record["server_processes"] == []


@another_account
def test_a_server_of_another_account():
    """Whoever may not look at it is told who may."""
    account = pwd.getpwnam("nobody")
    program = (*DROPPED, f"--reuid={account.pw_uid}", sys.executable, "-c", REFUSED)
    with Program(["sleep", "60"]) as server:
        refused = ended(*program, str(server.pid))
        server.kill()
    assert refused.stdout.strip() == (
        "the server runs under another account: run dbdyno as root, or as root (sudo -u root)"
    ), refused.stderr


def test_more_threads_than_files_may_be_open():
    """Who sees its own processes only opens a file for each thread on each CPU."""
    account = pwd.getpwnam("nobody")
    dropped = (*DROPPED, f"--reuid={account.pw_uid}") if os.geteuid() == 0 else ()
    for files, seen in ("64:4096", "threads seen: True"), ("64:64", "ulimit -n"):
        found = ended("prlimit", f"--nofile={files}", *dropped, sys.executable, "-c", CROWD)
        assert seen in found.stdout, found


def test_a_server_that_restarts_is_profiled_until_then():
    server = Postgres(local_binaries()[0].folder)
    url = f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"
    restart = Observer(server.restart, at=12)
    try:
        recording = measure(
            use_existing(url),
            "select-only",
            restart,
            scale=1,
            replace=True,
            telemetry="full",
            duration_ns=8 * SECOND_NS,
        )
    finally:
        server.remove()
    record = recording.record
    assert record.status == "done"
    assert record.server_profile is not None
    (doubt,) = [one for one in record.doubts if one.startswith("incomplete profile")]
    assert "ended during the load" in doubt
