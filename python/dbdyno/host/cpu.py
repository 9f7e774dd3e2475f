"""CPUs: model, counts, governor, NUMA nodes, and time stolen by the hypervisor."""

from pathlib import Path

from dbdyno.host import files
from dbdyno.model.host import Cpu


def describe(root: Path, cores_available: int) -> Cpu:
    """Describe the CPUs below ``root``."""
    info = files.text(root / "proc/cpuinfo") or ""
    fields = files.keyed(info)
    system = root / "sys/devices/system"
    online = files.text(system / "cpu/online")
    sockets = {line for line in info.splitlines() if line.startswith("physical id")}
    frequency = files.number(system / "cpu/cpu0/cpufreq/cpuinfo_max_freq")
    return Cpu(
        model=fields.get("model name") or fields.get("Processor") or fields.get("CPU part"),
        cores_online=files.ranges(online) if online else info.count("processor\t"),
        cores_available=cores_available,
        sockets=len(sockets) or None,
        numa_nodes=numa_nodes(root),
        governor=governor(root),
        max_mhz=frequency / 1000 if frequency else None,
        hypervisor="hypervisor" in fields.get("flags", "").split(),
    )


def numa_nodes(root: Path) -> int:
    """Return the number of memory nodes; a kernel without NUMA has one."""
    return len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or 1


def governor(root: Path) -> str | None:
    """Return the frequency governors in use, joined; None without frequency scaling."""
    paths = (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return ", ".join(sorted({found for path in paths if (found := files.text(path))})) or None


def times(stat: str) -> list[int]:
    """Return the clock ticks since boot of all CPUs together, by state; empty if not reported.

    ``stat`` is the content of ``/proc/stat``. The states are user, nice, system, idle, iowait, irq,
    softirq, steal; the time of guests is included in user.
    """
    together, _, _ = stat.partition("\n")
    return [int(field) for field in together.split()[1:9]] if together.startswith("cpu ") else []


def steal_share(root: Path) -> float | None:
    """Return the share of CPU time since boot that the hypervisor gave to other guests."""
    ticks = times(files.text(root / "proc/stat") or "")
    total = sum(ticks)
    return ticks[7] / total if len(ticks) == 8 and total else None
