"""A profile of real servers, as it is recorded and added up; and why there is none."""

import errno
import os
import re
from pathlib import Path

import pytest

from dbdyno.analysis.processor.cpu_profile import CpuProfile, cpu_profile
from dbdyno.analysis.series.readings import lack_of
from dbdyno.databases.mysql.telemetry import TELEMETRY as MYSQL
from dbdyno.databases.postgresql.telemetry import TELEMETRY as POSTGRESQL
from dbdyno.databases.telemetry import Telemetry
from dbdyno.engine import Profile
from dbdyno.model.counters import PROFILE
from dbdyno.model.run import Run
from dbdyno.run.options.run_options import SECOND_NS
from dbdyno.servers.base import Server
from dbdyno.telemetry.profile.profile_task import cpus, reason_of
from dbdyno.telemetry.profile.task_classifier import TaskClassifier
from tests.telemetry.watched import lacks, measure

pytestmark = pytest.mark.usefixtures("home")
NO_PURPOSE = ("other", "storage_engine")
"""Subsystems of functions whose purpose is not known, or not which of three."""


def profile_of(recording: Run) -> CpuProfile:
    found = cpu_profile(recording)
    assert found is not None, lacks(recording)
    return found


@pytest.mark.usefixtures("watchful")
def test_the_sum_of_a_profile_is_what_the_kernel_counted(any_server: Server):
    recording = measure(
        any_server, "select-only", clients=8, telemetry="full", duration_ns=4 * SECOND_NS
    )
    profile = profile_of(recording)
    assert profile.counted_s is not None
    assert profile.counted_by_class_s is not None
    assert profile.sampled_s == pytest.approx(
        profile.counted_s, abs=5 * profile.sampling_error_s + 0.1 * profile.counted_s
    )
    sampled_share = sum(profile.of_class("client").values()) / profile.sampled_s
    counted_share = profile.counted_by_class_s["client"] / profile.counted_s
    assert sampled_share == pytest.approx(counted_share, abs=0.1)
    assert counted_share > 0.5
    together_s = sum(profile.counted_by_class_s.values())
    assert together_s == pytest.approx(profile.counted_s, rel=0.1)
    kinds = {its.kind for _, its in profile.used_s}
    assert "named" in kinds
    assert recording.record.telemetry["profile"]["hz"] == profile.hz
    parts = recording.record.server_profile
    assert parts is not None
    assert {"kernel_network", "protocol"} <= {part.subsystem for part in parts.subsystems}
    whole_us = sum(part.us for part in parts.processes)
    assert sum(part.us for part in parts.subsystems) == pytest.approx(whole_us)
    unknown = [part.us for part in parts.subsystems if part.subsystem in NO_PURPOSE]
    assert sum(unknown) < 0.15 * whole_us
    assert recording.record.server_processes[0].processes == "client"
    begins = set(recording.profile_counts.time_s.tolist())
    assert begins == {round(begin) for begin in begins}


@pytest.mark.usefixtures("watchful")
def test_sessions_that_end_at_once_are_the_loads_if_clients_reconnect(any_server: Server):
    recording = measure(
        any_server,
        "select-only",
        clients=4,
        reconnect=True,
        telemetry="full",
        duration_ns=4 * SECOND_NS,
    )
    profile = profile_of(recording)
    assert profile.counted_by_class_s is not None
    assert profile.counted_s is not None
    assert profile.counted_by_class_s["client"] > 0.5 * profile.counted_s
    assert sum(profile.of_class("client").values()) > 0.5 * profile.sampled_s


def test_classes_are_counted_without_a_profile(database: Server):
    recording = measure(database, "select-only", clients=2, profile_hz=0, telemetry="full")
    assert cpu_profile(recording) is None
    assert len(recording.profile_counts) == 0
    assert lack_of(recording, PROFILE) is None
    counted = recording.counters
    of_classes = counted.source == "server_tasks"
    assert {"client", "rest"} <= set(counted.object[of_classes].tolist())


@pytest.mark.parametrize(
    ("code", "paranoid", "fix"),
    [
        (errno.EACCES, 3, "sysctl kernel.perf_event_paranoid=1"),
        (errno.EACCES, 1, "a seccomp profile that permits perf_event_open"),
        (errno.EPERM, 3, "a seccomp profile that permits perf_event_open"),
        (errno.ENOSYS, 3, "outside of the sandbox"),
        (errno.EMFILE, 3, "ulimit -n"),
        (errno.ENOENT, 3, "the kernel cannot"),
    ],
)
def test_a_refusal_says_what_would_permit_it(code: int, paranoid: int, fix: str, tmp_path: Path):
    level = tmp_path / "proc/sys/kernel/perf_event_paranoid"
    level.parent.mkdir(parents=True)
    level.write_text(f"{paranoid}\n")
    assert fix in reason_of(OSError(code, os.strerror(code)), tmp_path, os.getpid())


def test_a_run_goes_on_where_the_kernel_permits_no_profile(
    database: Server, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> Profile:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("dbdyno.telemetry.profile.profile_task.Profile", refuse)
    recording = measure(database, "select-only", telemetry="full")
    assert recording.record.status == "done"
    assert cpu_profile(recording) is None
    assert re.search("does not permit it", lacks(recording)["profile"])


def test_the_cpus_of_a_list(tmp_path: Path):
    online = tmp_path / "sys/devices/system/cpu/online"
    online.parent.mkdir(parents=True)
    online.write_text("0-2,8\n")
    assert cpus(tmp_path) == [0, 1, 2, 8]


TITLES = {
    "postgres: checkpointer ": "writer",
    "postgres: main: background writer ": "writer",
    "postgres: walwriter ": "wal",
    "postgres: walsender replica 10.0.0.7(4711) streaming 0/3000148": "wal",
    "postgres: autovacuum worker shop": "cleanup",
    "postgres: autovacuum launcher ": "cleanup",
    "postgres: logger ": "logger",
    "postgres: logger shop [local] idle": "foreign",
    "postgres: io worker 1": "worker",
    "postgres: parallel worker for PID 4711 ": "worker",
    "postgres: walwriter shop 10.0.0.7(4711) SELECT": "foreign",
    "postgres: main: ann shop ::1(4711) idle in transaction": "foreign",
    "postgres: logical replication launcher ": "rest",
    "/usr/lib/postgresql/15/bin/postgres -D /data": "rest",
    "": "rest",
}
THREADS = {
    "ib_srv_purge": "cleanup",
    "ib_pg_flush_co": "writer",
    "ib_log_writer": "wal",
    "ib_log_checkpt": "writer",
    "ib_io_wr-1": "worker",
    "connection": "foreign",
    "mariadbd": "rest",
}


@pytest.mark.parametrize(
    ("telemetry", "names"), [(POSTGRESQL, TITLES), (MYSQL, THREADS)], ids=["titles", "threads"]
)
def test_tasks_are_known_by_what_they_call_themselves(
    telemetry: Telemetry, names: dict[str, str], tmp_path: Path
):
    classifier = TaskClassifier(tmp_path, telemetry, lambda: [], set(), reconnects=False)
    found = {name: classifier.classify(at, at, name) for at, name in enumerate(names, 100)}
    assert found == names


def test_sessions_are_known_by_their_numbers(tmp_path: Path):
    title = "postgres: ann shop [local] idle"
    classifier = TaskClassifier(tmp_path, POSTGRESQL, lambda: [7], {9}, reconnects=True)
    assert classifier.classify(8, 8, title) == "foreign"
    classifier.begin()
    classifier.refresh()
    found = [classifier.classify(pid, pid, title) for pid in (7, 8, 9, 10)]
    assert found == ["client", "foreign", "telemetry", "client"]


def test_threads_are_known_by_the_sessions_that_they_serve(tmp_path: Path):
    classifier = TaskClassifier(tmp_path, MYSQL, lambda: [31], {33}, reconnects=False)
    classifier.served_by({31: 1031, 32: 1032, 33: 1033})
    classifier.refresh()
    found = [classifier.classify(1000, tid, "mysqld") for tid in (1031, 1032, 1033, 1034)]
    assert found == ["client", "foreign", "telemetry", "rest"]
