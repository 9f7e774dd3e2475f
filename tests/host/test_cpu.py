"""CPUs of other kinds of hosts."""

from dbdyno.host import cpu

TWO_SOCKETS = """processor\t: 0
model name\t: Xeon 5
physical id\t: 0
flags\t\t: fpu sse

processor\t: 1
model name\t: Xeon 5
physical id\t: 1
flags\t\t: fpu sse
"""


def test_a_two_socket_server(tree):
    found = cpu.describe(
        tree(
            {
                "proc/cpuinfo": TWO_SOCKETS,
                "sys/devices/system/cpu/online": "0-5,8\n",
                "sys/devices/system/node/node0/cpulist": "0-3",
                "sys/devices/system/node/node1/cpulist": "4-8",
                "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3600000",
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
                "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance",
            }
        ),
        cores_available=4,
    )
    assert found.model == "Xeon 5"
    assert (found.cores_online, found.cores_available, found.sockets) == (7, 4, 2)
    assert found.numa_nodes == 2
    assert found.governor == "performance, powersave"
    assert found.max_mhz == 3600
    assert not found.hypervisor


def test_a_guest_without_information(tree):
    found = cpu.describe(tree({"proc/cpuinfo": "processor\t: 0\nflags\t: hypervisor\n"}), 1)
    assert (found.model, found.cores_online, found.numa_nodes) == (None, 1, 1)
    assert found.governor is None
    assert found.hypervisor


def test_steal_counts_against_all_time_but_guests(tree):
    assert cpu.steal_share(tree({"proc/stat": "cpu  10 0 10 60 0 0 0 20 5 0\n"})) == 0.2


def test_no_steal_time_if_the_kernel_is_too_old_to_count_it(tree):
    assert cpu.steal_share(tree({"proc/stat": "cpu  10 0 10 60\n"})) is None
