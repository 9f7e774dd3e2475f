"""Each source on made-up file trees with known answers; what it declares, it returns."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbdyno.host import files, group
from dbdyno.host.group import ProcessGroup
from dbdyno.host.observed_host import (
    ObservedHost,
    ServerEndedError,
    all_sources,
    host_sources,
    observe,
)
from dbdyno.host.processes import TICK_US
from dbdyno.host.sources import (
    busiest,
    control_group,
    disk,
    machine,
    memory,
    memory_nodes,
    network,
    pressure,
    process_io,
    processes,
    server_tasks,
)
from dbdyno.host.task_times import TaskTimes
from tests.host.proc import io, stat


def host(root: Path, **firsts: int) -> ObservedHost:
    groups = {name: ProcessGroup(first) for name, first in firsts.items()}
    return ObservedHost(groups=groups, root=root)


def test_every_source_reads_on_this_machine_what_it_declares():
    here = observe(os.getpid(), [], [Path.cwd()])
    here.server_tasks = TaskTimes(["rest"], lambda *_: "rest", "rest")
    found, missing = host_sources(here)
    assert len(found) + len(missing) == len(all_sources()) == 11
    assert {"machine", "processes", "server_tasks", "memory", "network"} <= {
        source.name for source in found
    }
    for source in found:
        declared = all_sources()[source.name]
        for numbers in source.read(here).values():
            assert numbers.keys() <= declared.counters | declared.levels, source.name
            assert all(value >= 0 for value in numbers.values()), source.name


def test_a_machine_without_information_yields_reasons_and_never_fails(tmp_path):
    bare = host(tmp_path, server=10, engine=11)
    found, missing = host_sources(bare)
    assert {m.source for m in missing} == {
        "pressure",
        "disk",
        "control_group",
        "memory_nodes",
        "process_io",
        "server_tasks",
    }
    assert all(len(m.reason) > 20 for m in missing)
    for source in found:
        assert not any(source.read(bare).get("", {}).get(name) for name in source.levels)


def test_names_of_files_are_names_of_sources():
    for name, source in all_sources().items():
        assert source.name == name
        assert not source.counters & source.levels


STAT = """cpu  {user} 20 30 40 50 6 7 80 {user} 0
cpu0 1 1 1 1 1 1 1 1 1 1
cpu1 1 1 1 1 1 1 1 1 1 1
intr 99 1 2
ctxt 12345
processes 77
procs_running 5
procs_blocked 2
"""


def test_machine(tree):
    numbers = machine.read(host(tree({"proc/stat": STAT.format(user=10)})))[""]
    assert numbers == {
        "user_us": 30 * TICK_US,
        "system_us": 30 * TICK_US,
        "idle_us": 40 * TICK_US,
        "iowait_us": 50 * TICK_US,
        "irq_us": 13 * TICK_US,
        "steal_us": 80 * TICK_US,
        "context_switches": 12345,
        "forks": 77,
        "runnable": 5,
        "blocked": 2,
        "processors": 2,
    }


def test_idle_time_that_the_kernel_takes_back_is_held(tree):
    watched = host(tree({"proc/stat": "cpu 1 1 1 40 50\n"}))
    machine.read(watched)
    tree({"proc/stat": "cpu 1 1 1 39 51\n"})
    numbers = machine.read(watched)[""]
    assert (numbers["idle_us"], numbers["iowait_us"]) == (40 * TICK_US, 51 * TICK_US)
    assert "steal_us" not in numbers  # older kernels do not report it


CLASS_OF = {10: "rest", 11: "client", 12: "writer"}


def test_tasks_of_the_server_by_class(tree):
    """What a session used after it was read is in its parent's account, and remains the load's."""
    watched = host(tree({"proc/10/stat": stat(1)}), server=10)
    watched.server_tasks = TaskTimes(["client", "rest", "writer"], lambda p, _: CLASS_OF[p], "rest")
    tree({"proc/11/stat": stat(10, user=5), "proc/12/stat": stat(10, user=1)})
    before = server_tasks.read(watched)
    tree({"proc/11/stat": stat(10, user=8), "proc/12/stat": stat(10, user=2)})
    during = server_tasks.read(watched)
    tree({"proc/10/stat": stat(1, buried=9)})
    shutil.rmtree(watched.root / "proc/11")
    watched.processes.listed(fresh=True)
    after = server_tasks.read(watched)
    grown = [
        {of: (now[of]["cpu_us"] - past[of]["cpu_us"]) / TICK_US for of in now}
        for past, now in ((before, during), (during, after))
    ]
    assert grown == [{"client": 3, "rest": 0, "writer": 1}, {"client": 1, "rest": 0, "writer": 0}]


def test_groups_that_have_ended_are_left_out(tree):
    watched = host(tree({"proc/10/stat": stat(1)}), server=10, engine=99)
    assert processes.read(watched).keys() == {"server"}


@pytest.mark.parametrize("source", [processes, process_io])
def test_what_a_server_used_before_it_ended_is_unknown_not_zero(tree, source):
    root = tree({"proc/10/stat": stat(1), "proc/10/io": io(21), "proc/20/stat": stat(1)})
    watched = host(root, server=10, engine=20)
    assert "server" in source.read(watched)
    shutil.rmtree(root / "proc/10")
    with pytest.raises(ServerEndedError, match="the server's process has ended"):
        source.read(watched)


def refuse_io(monkeypatch, *pids: int) -> None:
    """Make the kernel refuse to show what these processes read."""

    def refuse(path: str) -> bytes:
        if any(path.endswith(f"/{pid}/io") for pid in pids):
            raise PermissionError(path)
        return files.short(path)

    monkeypatch.setattr(group, "files", SimpleNamespace(short=refuse))


def test_bytes_readable_only_by_others_are_missing_not_zero(tree, monkeypatch):
    refuse_io(monkeypatch, 10)
    watched = host(tree({"proc/10/stat": stat(1)}), server=10)
    assert "only root" in process_io.lack(watched)


def test_bytes_of_who_is_about_to_end_are_left_out(tree, monkeypatch):
    refuse_io(monkeypatch, 11)
    ending = stat(10, state="Z", flags=0x40014C)
    root = tree({"proc/10/stat": stat(1), "proc/10/io": io(21), "proc/11/stat": ending})
    assert process_io.read(host(root, server=10)) == {"server": {"read_bytes": 21}}


def test_the_busiest_processes_exclude_those_of_the_run(tree):
    root = tree({"proc/10/stat": stat(1), "proc/11/stat": stat(10), "proc/12/stat": stat(1)})
    assert busiest.read(host(root, server=10)) == {"x/12": {"cpu_us": 0}}


DISKSTATS = "254 0 vda 1 2 3 {read_ms} 5 6 7 8 9 10 11 12 13 14 15 16 17\n"


def on_disk(root: Path) -> ObservedHost:
    watched = host(root)
    watched.disks = {"vda"}
    return watched


def test_disk_in_bytes_and_microseconds(tree):
    watched = on_disk(tree({"proc/diskstats": DISKSTATS.format(read_ms=4) + "8 0 sda 1 1 1 1\n"}))
    assert disk.read(watched) == {
        "vda": {
            "reads": 1,
            "read_bytes": 3 * 512,
            "read_us": 4000,
            "writes": 5,
            "write_bytes": 7 * 512,
            "write_us": 8000,
            "in_flight": 9,
            "busy_us": 10_000,
            "flushes": 16,
            "flush_us": 17_000,
        }
    }


def test_disk_times_go_on_after_32_bits_of_milliseconds(tree):
    watched = on_disk(tree({"proc/diskstats": DISKSTATS.format(read_ms=2**32 - 1)}))
    before = disk.read(watched)["vda"]["read_us"]
    tree({"proc/diskstats": DISKSTATS.format(read_ms=2)})
    assert disk.read(watched)["vda"]["read_us"] - before == 3000


def test_disk_of_an_old_kernel_has_no_flushes(tree):
    line = " ".join(DISKSTATS.format(read_ms=4).split()[:14])
    assert (
        not {"flushes", "flush_us"}
        & disk.read(on_disk(tree({"proc/diskstats": line})))["vda"].keys()
    )


PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0 total=3\n"


def test_pressure_of_the_machine_and_of_the_servers_group(tree):
    watched = host(
        tree(
            {
                "proc/pressure/cpu": "some avg10=0.00 total=7\n",
                "proc/pressure/io": PRESSURE,
                "proc/10/cgroup": "0::/db\n",
                "sys/fs/cgroup/cgroup.controllers": "cpu",
                "sys/fs/cgroup/db/io.pressure": PRESSURE,
            }
        ),
        server=10,
    )
    assert pressure.lack(watched) is None
    assert pressure.read(watched) == {
        "cpu": {"some_us": 7},
        "io": {"some_us": 12, "full_us": 3},
        "server/io": {"some_us": 12, "full_us": 3},
    }


def test_control_groups_of_version_2_with_the_quota_on_the_one_above(tree):
    watched = host(
        tree(
            {
                "proc/10/cgroup": "0::/pod/db\n",
                "proc/11/cgroup": "0::/\n",
                "sys/fs/cgroup/cgroup.controllers": "cpu",
                "sys/fs/cgroup/cpu.stat": "usage_usec 900\n",
                "sys/fs/cgroup/pod/cpu.max": "150000 100000",
                "sys/fs/cgroup/pod/cpu.stat": "usage_usec 500\nnr_periods 10\n"
                "nr_throttled 4\nthrottled_usec 70\n",
                "sys/fs/cgroup/pod/db/cpu.max": "max 100000",
                "sys/fs/cgroup/pod/db/cpu.stat": "usage_usec 300\nnr_periods 0\n"
                "nr_throttled 0\nthrottled_usec 0\n",
            }
        ),
        server=10,
        engine=11,
    )
    nothing = {"periods": 0, "throttled_periods": 0, "throttled_us": 0}
    assert control_group.read(watched) == {
        "server": {
            "periods": 10,
            "throttled_periods": 4,
            "throttled_us": 70,
            "usage_us": 300,
            "limit_cores": 1.5,
        },
        "engine": nothing | {"usage_us": 900},
    }


def test_control_groups_of_version_1(tree):
    watched = host(
        tree(
            {
                "proc/10/cgroup": "3:cpu,cpuacct:/db\n2:memory:/\n0::/\n",
                "sys/fs/cgroup/cpu/db/cpu.cfs_quota_us": "50000",
                "sys/fs/cgroup/cpu/db/cpu.cfs_period_us": "100000",
                "sys/fs/cgroup/cpu/db/cpu.stat": "nr_periods 8\nnr_throttled 3\n"
                "throttled_time 5000\n",
                "sys/fs/cgroup/cpuacct/db/cpuacct.usage": "7000",
            }
        ),
        server=10,
    )
    assert control_group.lack(watched) is None
    assert control_group.read(watched) == {
        "server": {
            "periods": 8,
            "throttled_periods": 3,
            "throttled_us": 5,
            "usage_us": 7,
            "limit_cores": 0.5,
        }
    }


def test_memory(tree):
    content = "MemTotal: 9 kB\nMemAvailable: 4 kB\nCached: 3 kB\nDirty: 2 kB\nWriteback: 1 kB\n"
    assert memory.read(host(tree({"proc/meminfo": content})))[""] == {
        "available_bytes": 4096,
        "cached_bytes": 3072,
        "dirty_bytes": 2048,
        "writeback_bytes": 1024,
    }


def test_network(tree):
    root = tree(
        {
            "proc/net/dev": "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n"
            "  lo:       0 1 0 0 0 0 0 0 2 3 0 0 0 0 0 0\n"
            "eth0:10 11 0 0 0 0 0 0 12 13 0 0 0 0 0 0\n",
            "proc/net/snmp": "Tcp: InSegs RetransSegs\nTcp: 5 9\nUdp: X\nUdp: 1\n",
        }
    )
    numbers = network.read(host(root))
    assert numbers["eth0"] == {
        "received_bytes": 10,
        "received_packets": 11,
        "sent_bytes": 12,
        "sent_packets": 13,
    }
    assert numbers[""] == {"retransmits": 9}
    assert numbers.keys() == {"lo", "eth0", ""}


def node(number: int, free_kb: int) -> dict[str, str]:
    lines = f"Node {number} MemFree: {free_kb} kB\nNode {number} MemUsed: 2 kB\n"
    return {f"sys/devices/system/node/node{number}/meminfo": lines}


def test_memory_nodes_count_what_is_shared_once(tree):
    shared = (
        "7f00 default file=/dev/zero\\040(deleted) dirty={n} N0={n} N1=1 kernelpagesize_kB=2048\n"
    )
    private = "5600 default heap anon=3 dirty=3 N1=3 kernelpagesize_kB=4\n"
    watched = host(
        tree(
            node(0, 10)
            | node(1, 20)
            | {
                "proc/10/stat": stat(1),
                "proc/11/stat": stat(10),
                "proc/10/numa_maps": shared.format(n=1) + private,
                "proc/11/numa_maps": shared.format(n=5) + private,
            }
        ),
        server=10,
    )
    assert memory_nodes.lack(watched) is None
    assert memory_nodes.read(watched) == {
        "node0": {"free_bytes": 10240, "used_bytes": 2048, "server_bytes": 5 * 2**21},
        "node1": {"free_bytes": 20480, "used_bytes": 2048, "server_bytes": 2**21 + 6 * 4096},
    }


@pytest.mark.parametrize("nodes", [0, 1])
def test_one_memory_node_is_not_watched(tree, nodes):
    root = tree({"proc/stat": ""} | (node(0, 1) if nodes else {}))
    assert memory_nodes.lack(host(root))
