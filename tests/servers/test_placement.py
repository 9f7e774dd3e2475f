"""Placement: parsed, refused where it is impossible, applied and verified on real servers."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.host.placement import memory_by_node, verified
from dbdyno.run.options.grammar import byte_count
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.placement import on_cpus, placement_doubts
from dbdyno.run.plan import make_plan
from dbdyno.run.target import choose_server
from dbdyno.servers import groups
from dbdyno.servers.huge_pages import HugePages, refuse_missing_huge_pages
from dbdyno.servers.placement import (
    Cpus,
    NumaPolicy,
    Placement,
    cpus,
    list_text,
    nodes_online,
    numa_policy,
)
from dbdyno.servers.private import PrivateServer, start_private
from dbdyno.servers.settings import Setting
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL, SMALL_INNODB
from tests.support.patience import wait_until
from tests.support.rights import control_groups

POSTGRES = ServerSpec(settings=SMALL)
MARIADB = ServerSpec("mariadb", settings=SMALL_INNODB)
ALL = Placement(
    numa=NumaPolicy(policy="interleave"),
    server_cpus=Cpus((0,)),
    server_cores=0.5,
    server_memory_bytes=1 << 30,
)

OWNER = """
import sys
from dbdyno.servers.placement import Placement
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
server = start_private(
    ServerSpec(settings={"shared_buffers": "64MB"}), 1, placement=Placement(server_cores=1.5)
)
print(server.guard.groups[0].folder, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("text", ["interleave=all", "localalloc", "bind=0-1", "preferred=3"])
def test_policies_are_numactls_words(text: str) -> None:
    assert str(numa_policy(text)) == text
    assert numa_policy(f"--{text}") == numa_policy(text)


@pytest.mark.parametrize("text", ["", "first", "interleave", "localalloc=0", "bind=", "bind=x"])
def test_an_invalid_policy_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a|write"):
        numa_policy(text)


def test_processors_are_read_and_written_as_the_kernel_does() -> None:
    assert cpus("0,2-4,3").numbers == (0, 2, 3, 4)
    assert str(Cpus((0, 2, 3, 4))) == "0,2-4"
    for wrong in ("", "a", "3-1", "-1", "1,,2"):
        with pytest.raises(ValueError, match="is not a list of numbers"):
            cpus(wrong)


def test_sizes_are_read_as_servers_do() -> None:
    assert [byte_count(text) for text in ("7", "1kB", "1.5GB")] == [7, 1024, 3 << 29]
    for wrong in ("0", "2 gallons", "-1GB"):
        with pytest.raises(ValueError, match="is not a size"):
            byte_count(wrong)


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        (Placement(server_cpus=Cpus((0, 4000))), "--server-cpus 0,4000 .* not available: 4000"),
        (Placement(numa=NumaPolicy(policy="bind", nodes=(63,))), "do not exist: 63"),
        (Placement(server_cores=0), "is too small"),
        (Placement(server_cores=0.009), "0.009 is too small"),
        (Placement(server_cores=1e30), "exceeds the cores"),
        (Placement(server_memory_bytes=10**30), "exceeds the memory available"),
        (Placement(data_folder=Path("/nowhere")), "--data-folder /nowhere is not a folder"),
        (Placement(wal_folder=Path("/proc/1")), "--wal-folder"),
    ],
)
def test_the_impossible_is_refused_before_anything_starts(
    home: Path, placement: Placement, message: str
) -> None:
    with pytest.raises(DbdynoError, match=message) as caught:
        start_private(POSTGRES, connections=1, placement=placement)
    assert caught.value.code == "impossible_placement"
    assert not list(home.glob("private/*/data"))


def test_a_server_that_runs_already_is_not_placed() -> None:
    options = RunOptions(target="postgresql://h/d", server_cpus=Cpus((0,)))
    with pytest.raises(DbdynoError, match=r"is already running and cannot be placed \(server-cpus"):
        choose_server(options)


@pytest.fixture(scope="module", params=[POSTGRES, MARIADB], ids=["postgres", "mariadb"])
def placed(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    with start_private(request.param, connections=8, placement=ALL) as server:
        yield server


@control_groups
def test_all_of_the_server_is_where_it_was_put(placed: PrivateServer) -> None:
    with placed.connect():  # a backend for the check
        found = verified(ALL, placed.guard.groups, placed.process_id)
    assert found[0] == "all processes of the server may run only on CPUs 0"
    assert any(f"interleave:{list_text(nodes_online())}" in line for line in found)
    assert any("1073741824" in line for line in found)
    assert any("50000" in line for line in found)


@control_groups
def test_settings_are_computed_from_the_memory_it_is_given(home: Path) -> None:
    spec = ServerSpec(settings={"max_wal_size": "256MB"})
    placement = Placement(server_memory_bytes=600 << 20)
    with start_private(spec, connections=8, placement=placement) as server:
        assert server.settings[0].value == "150MB"


@control_groups
def test_a_server_without_enough_memory_says_so(home: Path) -> None:
    with pytest.raises(DbdynoError) as caught:
        start_private(POSTGRES, connections=1, placement=Placement(server_memory_bytes=1 << 20))
    assert caught.value.code == "server_failed"
    assert "--server-memory" in caught.value.hint


@control_groups
def test_a_server_that_strays_is_an_error(placed: PrivateServer) -> None:
    assert placed.process_id is not None
    requested = Placement(server_cpus=Cpus((1,)))
    with pytest.raises(DbdynoError, match="not on CPUs 1, but on 0"):
        verified(requested, (), placed.process_id)
    requested = Placement(numa=NumaPolicy(policy="bind", nodes=(0,)))
    with pytest.raises(DbdynoError, match="not under --numa bind=0, but"):
        verified(requested, (), placed.process_id)


@pytest.mark.parametrize(
    ("requested", "actual", "is_kept"),
    [
        ("interleave=0-1", "interleave:0-1", True),
        ("interleave=0-1", "interleave:0", False),  # a cpuset removed the other node
        ("bind=1", "bind:0", False),
        ("preferred=1", "prefer (many):1", True),
        ("preferred=1", "prefer (many):0", False),
        ("localalloc", "local", True),
        ("localalloc", "bind:0", False),
    ],
)
def test_a_policy_on_other_nodes_is_not_the_requested_one(
    tmp_path: Path, requested: str, actual: str, is_kept: bool
) -> None:
    process = tmp_path / "proc/10"
    process.mkdir(parents=True)
    process.joinpath("numa_maps").write_text(f"7f00 {actual} anon=1 N0=1\n")
    wanted = Placement(numa=numa_policy(requested))
    if is_kept:
        assert verified(wanted, (), 10, tmp_path)[0].endswith(f" shows {actual}")
    else:
        with pytest.raises(DbdynoError, match=f"not under --numa {requested}, but "):
            verified(wanted, (), 10, tmp_path)


@pytest.mark.parametrize(
    ("spec", "requested"),
    [(POSTGRES, {"huge_pages": "on"}), (MARIADB, {"large_pages": "ON"})],
    ids=["postgres", "mariadb"],
)
def test_huge_pages_must_be_there(home: Path, spec: ServerSpec, requested: dict[str, str]) -> None:
    (cache,) = {"shared_buffers", "innodb_buffer_pool_size"} & spec.settings.keys()
    huge = spec.with_settings({**requested, cache: "4096GB" if spec is POSTGRES else "4096G"})
    with pytest.raises(DbdynoError, match=r"needs at least \d+ huge pages of \d+ kB") as caught:
        start_private(huge, connections=1)
    assert caught.value.code == "no_huge_pages"
    assert "sysctl vm.nr_hugepages=" in caught.value.hint


def test_huge_pages_that_are_free_are_enough(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("HugePages_Free:  40\nHugePages_Rsvd:  8\nHugepagesize:  2048 kB\n")
    wanted = HugePages("huge_pages", "shared_buffers", bare_unit_bytes=8192)

    def choose(buffers: str, use: str = "on") -> None:
        requested = [Setting("huge_pages", use, ""), Setting("shared_buffers", buffers, "")]
        refuse_missing_huge_pages(wanted, requested, meminfo)

    choose("64MB")
    choose("8192")  # pages of 8 kB
    choose("1GB", use="try")
    for buffers in ("65MB", "8193"):
        with pytest.raises(DbdynoError, match=r"33 huge pages of 2048 kB .* 32 are free"):
            choose(buffers)


@control_groups
def test_memory_is_reported_by_node(placed: PrivateServer) -> None:
    assert placed.process_id is not None
    by_node = memory_by_node(placed.process_id)
    assert set(map(int, by_node)) <= set(nodes_online())
    assert 10 << 20 < sum(by_node.values()) < 1 << 30


@control_groups
def test_a_restart_stays_in_its_place(home: Path) -> None:
    with start_private(POSTGRES, connections=8, placement=ALL) as server:
        again = server.restarted()
        assert verified(ALL, again.guard.groups, again.process_id)
        folders = [Path(group.folder) for group in again.guard.groups]
        assert all(folder.exists() for folder in folders)
    assert not any(folder.exists() for folder in folders)


@control_groups
def test_groups_go_with_a_dbdyno_that_is_killed(home: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    assert folder.name.startswith(f"dbdyno-{owner.pid}-")
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    wait_until(lambda: not folder.exists(), "the group's removal")


@control_groups
def test_abandoned_groups_are_removed() -> None:
    made = groups.make_groups(0.5, None)
    folder = Path(made[0].folder)
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = folder.with_name(f"dbdyno-{dead.pid}-0")
    left.mkdir()
    further = groups.make_groups(0.5, None)
    assert not left.exists()
    assert folder.exists()  # its creator is alive
    groups.remove_groups(made + further)
    assert not folder.exists()


def test_missing_controllers_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MOUNTS", tmp_path)
    with pytest.raises(DbdynoError, match="the cpu controller is not mounted"):
        groups.make_groups(1.5, None)
    (tmp_path / "cgroup.controllers").touch()
    with pytest.raises(
        DbdynoError, match="no parent group of this process delegates cpu"
    ) as caught:
        groups.make_groups(1.5, None)
    assert "systemd-run" in caught.value.hint


@control_groups
def test_a_limit_that_the_kernel_refuses_is_reported_with_its_file() -> None:
    with pytest.raises(DbdynoError, match=r"/cpu\.(max|cfs_quota_us): Invalid argument"):
        groups.make_groups(0.0001, None)


def test_version_2_is_written_in_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "MOUNTS", tmp_path)
    (tmp_path / "cgroup.controllers").touch()
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory")
    (tmp_path / "cgroup.procs").touch()
    (made,) = groups.make_groups(1.5, 1 << 30)
    assert made.files == {"cpu.max": "150000 100000", "memory.max": "1073741824"}
    assert made.home == str(tmp_path)
    assert Path(made.folder, "cpu.max").read_text() == "150000 100000"


def test_the_engine_runs_on_the_requested_cpus() -> None:
    command = [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"]
    before = os.sched_getaffinity(0)
    with on_cpus(Cpus((1,))):
        seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert seen == "{1}\n"
    assert os.sched_getaffinity(0) == before


@control_groups
def test_cores_are_shared_unless_they_are_kept_apart(placed: PrivateServer) -> None:
    apart = RunOptions(engine_cpus=Cpus((1,)))
    assert placement_doubts(placed, apart) == []
    (doubt,) = placement_doubts(placed, RunOptions())
    assert doubt.startswith("the load generator and the server share 1 of the ")


@control_groups
def test_one_processor_gets_one_thread(placed: PrivateServer) -> None:
    plan = make_plan(
        RunOptions(engine_cpus=Cpus((1,))),
        endpoint=placed.endpoint(),
        scripts=[],
        variables={},
        lua=None,
        seed=1,
    )
    assert plan.threads == 1
