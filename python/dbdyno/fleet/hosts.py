"""The hosts of agents: which of them is this one, and the CPUs of each, which its agents share.

An engine judges itself by the CPUs that it may use, as if no other agent used them. Here it is
known which agents have the same ones. Where that cannot be told, they count as different ones: a
healthy load is not called invalid.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.formatting import counted
from dbdyno.model.frame.parts import Greeting

BUSY_SHARE_MAX = 0.9
"""Agents that together used this share of their CPUs' time were the bottleneck."""
BUSY_TIME_MIN_NS = 1_000_000_000
"""A shorter time does not show it. Both are the bounds of an engine alone (``selfcheck.rs``)."""


def is_here(greeting: Greeting) -> bool:
    """Whether an agent runs on this host, perhaps in a container."""
    own_boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return greeting.boot == own_boot


def pid_here(greeting: Greeting) -> int | None:
    """Return the number of an agent's process here; None if it is elsewhere or in a container."""
    has_our_numbers = greeting.pid_namespace == str(Path("/proc/self/ns/pid").readlink())
    return greeting.pid if has_our_numbers and is_here(greeting) else None


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one agent has of its host."""

    name: str
    greeting: Greeting
    processors: int
    """How many CPUs its threads can use at once, if no other agent uses them."""
    cpu_us: int = 0
    """CPU time that it used while it measured."""
    measured_ns: int = 0


def cpus_each(greetings: Sequence[Greeting]) -> list[int]:
    """Return the CPUs of each agent, at least one: those with the same ones share them."""
    return [
        max(1, one.cpus // sum(_have_same(one, other) for other in greetings)) for one in greetings
    ]


def processors(shares: Sequence[Share]) -> int:
    """Return how many CPUs all agents together can use at once."""
    return sum(_at_once(those) for those in _by_host(shares))


def full_hosts(shares: Sequence[Share]) -> Iterator[str]:
    """Yield on which hosts agents had together no CPU time left; each alone may have had some."""
    for of_host in _by_host(shares):
        fullest = max((of_host, *(_with_same(share, of_host) for share in of_host)), key=_busy)
        if _busy(fullest) <= BUSY_SHARE_MAX:
            continue
        names = ", ".join(share.name for share in fullest)
        yield (
            f"the generator was the bottleneck: agents on {of_host[0].greeting.host} together used "
            f"{100 * _busy(fullest):.0f} % of {counted(_at_once(fullest), 'processor')}, all that "
            f"they can use there (workers {names})"
        )


Neighbours = tuple[Share, ...]
"""Agents on one host."""


def _by_host(shares: Iterable[Share]) -> list[Neighbours]:
    of_boot: dict[str, list[Share]] = {}
    for share in shares:
        of_boot.setdefault(share.greeting.boot, []).append(share)
    return [tuple(those) for those in of_boot.values()]


def _have_same(one: Greeting, other: Greeting) -> bool:
    """Whether there is CPU time that both may use."""
    are_apart = one.cgroup != other.cgroup and (_is_limited(one) or _is_limited(other))
    return (
        one.boot == other.boot
        and not are_apart
        and not set(one.cpus_allowed).isdisjoint(other.cpus_allowed)
    )


def _with_same(share: Share, of_host: Neighbours) -> Neighbours:
    """Those that may use no other CPUs than this one; where time is limited, no other time."""
    own = share.greeting
    return tuple(
        other
        for other in of_host
        if set(other.greeting.cpus_allowed) <= set(own.cpus_allowed)
        and (not _is_limited(own) or other.greeting.cgroup == own.cgroup)
    )


def _is_limited(greeting: Greeting) -> bool:
    """Whether its control group may not use the time of all CPUs on which it may run."""
    return greeting.cpus < len(greeting.cpus_allowed)


def _at_once(those: Neighbours) -> int:
    """How many CPUs agents of one host can use at once: at most those that there are."""
    of_same: dict[tuple[frozenset[int], str], list[Share]] = {}
    for share in those:
        own = share.greeting
        cgroup = own.cgroup if _is_limited(own) else ""
        of_same.setdefault((frozenset(own.cpus_allowed), cgroup), []).append(share)
    used = sum(
        min(sum(share.processors for share in same), max(share.greeting.cpus for share in same))
        for same in of_same.values()
    )
    return min(used, len({cpu for cpus, _ in of_same for cpu in cpus}))


def _busy(those: Neighbours) -> float:
    """The share that they used of the CPU time of all that they can use together.

    It is none if each has CPUs of its own: it judges itself.
    """
    measured_ns = max(share.measured_ns for share in those)
    at_once = _at_once(those)
    if measured_ns < BUSY_TIME_MIN_NS or at_once == sum(share.processors for share in those):
        return 0.0
    return sum(share.cpu_us for share in those) / (measured_ns / 1e3 * at_once)
