"""The whole description of this host, and memory and kernel of others."""

from pathlib import Path

from dbdyno.host.describe import describe_host, kernel, memory


def test_this_machine_is_described():
    host = describe_host(Path("/tmp"))
    assert host.cpu.cores_online >= host.cpu.cores_available >= 1
    assert host.memory.total_bytes > host.memory.available_bytes > 0
    assert host.kernel.release
    assert host.disk is not None


def test_memory(tree):
    found = memory(
        tree(
            {
                "proc/meminfo": "MemTotal: 2048 kB\nMemAvailable: 1024 kB\nHugePages_Total: 7\n",
                "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]",
            }
        )
    )
    assert (found.total_bytes, found.available_bytes) == (2**21, 2**20)
    assert (found.huge_pages_total, found.transparent_huge_pages) == (7, "never")


def test_kernel(tree):
    clock = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    found = kernel(
        tree(
            {
                "etc/os-release": 'NAME=x\nPRETTY_NAME="Some Linux 9"\n',
                "proc/sys/kernel/osrelease": "6.1.0-test\n",
                "proc/sys/kernel/io_uring_disabled": "2\n",
                "proc/sys/kernel/sched_autogroup_enabled": "1\n",
                "proc/loadavg": "1.50 0.1 0.1 1/1 1",
                clock: "hpet",
            }
        )
    )
    assert found.distribution == "Some Linux 9"
    assert (found.release, found.clock_source) == ("6.1.0-test", "hpet")
    assert (found.io_uring_disabled, found.load_average_1m) == (2, 1.5)
    assert found.sched_autogroup_enabled == 1
