"""CPU quotas, and how often they throttled the server or the engine."""

from collections.abc import Mapping

from dbdyno.host import files
from dbdyno.host.cgroup import Groups, groups_of
from dbdyno.host.observed_host import HostSource, ObservedHost
from dbdyno.model.source import Numbers

_WATCHED = ("server", "engine")


def read(host: ObservedHost) -> dict[str, Numbers]:
    """Read the current groups of both: a process may be moved, a quota set."""
    groups = _groups(host)
    by_role: dict[str, dict[str, float]] = {}
    for name, its in groups.items():
        # Both are often in the same groups, which are read once.
        same = next((other for other in by_role if groups[other] == its), None)
        by_role[name] = by_role[same] if same else _numbers(its)
    return {name: numbers for name, numbers in by_role.items() if numbers}


def _groups(host: ObservedHost) -> Mapping[str, Groups]:
    found = {
        name: groups_of(host.root, host.groups[name].first)
        for name in _WATCHED
        if name in host.groups
    }
    return {name: groups for name, groups in found.items() if groups.version is not None}


def _numbers(groups: Groups) -> dict[str, float]:
    """Return the counters; those of all groups above are added up, as each may throttle it.

    Not the periods, which are as long in each: of these a group has all or none.
    """
    above = [_pairs(f"{folder}/cpu.stat") for folder in groups.above("cpu")]
    if not above:
        return {}
    numbers: dict[str, float] = {
        "periods": max(stat.get("nr_periods", 0) for stat in above),
        "throttled_periods": sum(stat.get("nr_throttled", 0) for stat in above),
        # Version 1 counts nanoseconds, under another name.
        "throttled_us": sum(
            stat.get("throttled_usec", stat.get("throttled_time", 0) // 1000) for stat in above
        ),
    }
    if (used_us := _used_us(groups, above[0])) is not None:
        numbers["usage_us"] = used_us
    if (limit := groups.cpu_cores()) is not None:
        numbers["limit_cores"] = limit
    return numbers


def _used_us(groups: Groups, stat: Mapping[str, int]) -> int | None:
    if groups.version == 2:
        return stat.get("usage_usec")
    accounting = next(iter(groups.above("cpuacct")), None)
    used_ns = files.number(f"{accounting}/cpuacct.usage") if accounting else None
    return None if used_ns is None else used_ns // 1000


def _pairs(path: str) -> dict[str, int]:
    lines = (line.split() for line in (files.text(path) or "").splitlines())
    return {fields[0]: int(fields[1]) for fields in lines}


def lack(host: ObservedHost) -> str | None:
    """Return why no group can be read; None if one can."""
    if any(map(_numbers, _groups(host).values())):
        return None
    return "neither the server nor the engine is in a control group that is visible here"


SOURCE = HostSource(
    name="control_group",
    read=read,
    watches="the control groups of server and engine, including their parents: quota periods, "
    "the number of throttled periods and the throttled time, CPU time used, the lowest quota",
    objects="`server`, `engine`",
    counters=frozenset({"periods", "throttled_periods", "throttled_us", "usage_us"}),
    levels=frozenset({"limit_cores"}),
    files="/proc/PID/cgroup, cpu.stat and the quota's files below /sys/fs/cgroup",
    lack=lack,
)
