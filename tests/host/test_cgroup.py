"""Limits of both versions; the lowest one on a path applies."""

from dbdyno.host import cgroup


def test_version_2_takes_the_tightest_limit_above(tree):
    root = tree(
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu memory",
            "sys/fs/cgroup/a/cpu.max": "150000 100000",
            "sys/fs/cgroup/a/memory.max": "max",
            "sys/fs/cgroup/a/b/cpu.max": "max 100000",
            "sys/fs/cgroup/a/b/memory.max": "1073741824",
            "sys/fs/cgroup/a/b/cpuset.cpus.effective": "0-1",
        }
    )
    found = cgroup.describe(root)
    assert (found.version, found.cpu_cores, found.memory_bytes) == (2, 1.5, 2**30)
    assert found.cpuset == "0-1"


def test_version_2_in_a_container_that_sees_only_its_own_mount(tree):
    root = tree(
        {
            "proc/self/cgroup": "0::/host/path/not/here\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu",
            "sys/fs/cgroup/cpu.max": "50000 100000",
        }
    )
    assert cgroup.describe(root).cpu_cores == 0.5


def test_version_1_with_a_quota_and_no_memory_limit(tree):
    root = tree(
        {
            "proc/self/cgroup": "3:cpu,cpuacct:/job\n2:memory:/job\n1:cpuset:/\n",
            "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "200000",
            "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712",
        }
    )
    found = cgroup.describe(root)
    assert (found.version, found.cpu_cores, found.memory_bytes) == (1, 2.0, None)


def test_version_1_takes_the_tightest_limit_above(tree):
    root = tree(
        {
            "proc/self/cgroup": "2:memory:/job/step\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
            "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1073741824",
            "sys/fs/cgroup/memory/job/step/memory.limit_in_bytes": "2147483648",
        }
    )
    assert cgroup.describe(root).memory_bytes == 2**30


def test_no_groups_at_all(tree):
    assert cgroup.describe(tree({})).version is None
