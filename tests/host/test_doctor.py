"""What the doctor reports about hosts with problems."""

import errno
import re
from pathlib import Path

import pytest

from dbdyno.host import doctor
from dbdyno.host.probes import io_uring
from dbdyno.host.probes.cpus import autogroup, clock_source, governor, numa, steal
from dbdyno.host.probes.limits import cgroup, free_memory, judge_file_limit, judge_free_disk
from dbdyno.host.probes.private_servers import judge_user_namespaces, newest
from dbdyno.servers.privileges import UNSHARE, Identity, ordinary_account


def test_every_probe_answers_on_this_machine_and_on_one_without_information(tmp_path):
    for root in (Path("/"), tmp_path):
        diagnoses = list(doctor.examine(root))
        assert len(diagnoses) == len(doctor.all_probes()) >= 10
        for diagnosis in diagnoses:
            assert diagnosis.found
            assert diagnosis.meaning.endswith(".")
            assert diagnosis.remedy or diagnosis.level in ("ok", "note")


def test_a_probe_that_fails_reports_it(monkeypatch):
    @doctor.probe("x", meaning="y.")
    def failing(_root: Path) -> doctor.ProbeResult:
        raise PermissionError("not for you")

    monkeypatch.setattr(doctor, "all_probes", lambda: {"failing": failing})
    (finding,) = doctor.examine()
    assert (finding.name, finding.level) == ("failing", "note")
    assert finding.found == "could not check: not for you"


@pytest.mark.parametrize(
    ("refusal", "disabled", "expected"),
    [
        (0, 0, "works"),
        (errno.ENOSYS, None, "not available in this kernel"),
        (errno.EPERM, 2, "kernel.io_uring_disabled = 2"),
        (errno.EPERM, 0, "seccomp"),
    ],
)
def test_io_uring_refusals_have_their_causes(refusal, disabled, expected):
    assert expected in io_uring.judge(refusal, disabled).found


def test_machines_in_need(tree):
    root = tree(
        {
            "proc/self/cgroup": "0::/\n",
            "proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n",
            "proc/stat": "cpu  50 0 0 40 0 0 0 10 0 0\n",
            "proc/sys/kernel/sched_autogroup_enabled": "1\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu",
            "sys/fs/cgroup/cpu.max": "150000 100000",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
            "sys/devices/system/node/node0/cpulist": "0",
            "sys/devices/system/node/node1/cpulist": "1",
        }
    )
    assert autogroup.check(root).level == "warning"
    assert (cgroup.check(root).level, cgroup.check(root).found) == (
        "warning",
        "limited to 1.5 cores",
    )
    assert clock_source.check(root).level == "warning"
    assert free_memory.check(root).level == "warning"
    assert governor.check(root).level == "warning"
    assert numa.check(root).found == "2 nodes"
    assert steal.check(root).level == "warning"


@pytest.mark.parametrize("files", [{}, {"proc/sys/kernel/sched_autogroup_enabled": "0\n"}])
def test_threads_compete_as_equals_without_autogroups(tree, files):
    assert autogroup.check(tree(files)).level == "ok"


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_a_server_that_is_not_installed_is_worth_knowing(monkeypatch, tmp_path, kind):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("dbdyno.databases.mysql.server.binaries.LOCAL_FOLDERS", ())
    finding = newest(kind)
    assert (finding.level, "not installed here" in finding.found) == ("note", True)
    assert f"--server {kind}:/path/to/bin" in finding.remedy


def test_limits_and_rights():
    few = judge_file_limit(1024)
    assert few.level == "note"
    assert re.fullmatch(r"1024 open files: up to 9\d\d clients", few.found)
    assert "ulimit -Hn" in few.remedy
    assert judge_file_limit(20_000).level == judge_file_limit(None).level == "ok"
    assert judge_free_disk(Path("/x"), 2**30).level == "warning"


def test_the_account_of_servers_is_reported():
    assert judge_user_namespaces(None).level == "ok"
    assert judge_user_namespaces(Identity(prefix=UNSHARE)).level == "ok"
    account = ordinary_account()
    closed = judge_user_namespaces(account)
    assert closed.level == "note"
    assert f"private servers run as {account.account} instead" in closed.found
