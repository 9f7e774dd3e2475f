"""Who used the host's CPU while the run was measured.

    capacity = server + engine + dbdyno + others + stolen + idle

from the kernel's accounting, in core-seconds. What is counted for the host and for none of dbdyno's
processes was used by others, including kernel threads. The kernel counts the host's time in ticks
and that of processes exactly: if the processes add up to more than the host's time in use, they
share that in proportion.
"""

from msgspec import Struct

from dbdyno.analysis.processor_split import COVERED_MIN, cpu_time_covered
from dbdyno.explain.case import Case
from dbdyno.explain.needs import LackingError, because, grown, known_objects, levels, needed
from dbdyno.formatting import percent

_BUSY = ("user_us", "system_us", "irq_us")
_IDLE = ("idle_us", "iowait_us")
SERVER_ELSEWHERE = "the server's processes are not visible on this host"
SATURATED = 0.8
"""Above this CPU utilization, work has to queue for a core now and then."""
FULL = 0.9
"""Of the CPU time that the load generator can get: with more, it is what limits the load."""


class ProcessorTime(Struct, frozen=True, kw_only=True):
    """Shares of the host's CPU time in the measured part; they add up to 1."""

    cores: float
    server: float
    engine: float
    dbdyno: float
    others: float
    stolen: float
    idle: float

    @property
    def in_use(self) -> float:
        """CPU time used by anyone, including other machines on the same cores."""
        return 1.0 - self.idle


def sees_server(case: Case) -> bool:
    """Whether the server's processes are on this host, and readable."""
    return "server" in known_objects(case, "processes")


def processor_time(case: Case) -> ProcessorTime:
    """The host's CPU time, divided; a server on another host has none of it."""
    needed(sees_server(case) or None, SERVER_ELSEWHERE)
    known_part = cpu_time_covered(case.recording)
    if known_part < COVERED_MIN:
        part = f"the server's CPU time is known for only {percent(known_part)} of the measurement"
        raise LackingError(because(case, part, "processes"))
    busy, idle = _machine_us(case, *_BUSY), _machine_us(case, *_IDLE)
    stolen = _machine_us(case, "steal_us")
    capacity = max(busy + idle + stolen, 1.0)
    known_us = {who: _process_us(case, who) for who in ("server", "engine", "dbdyno")}
    counted = max(busy, sum(known_us.values()), 1.0)
    known = {who: used_us / counted * busy / capacity for who, used_us in known_us.items()}
    return ProcessorTime(
        cores=float(levels(case, "machine", "processors").value[-1]),
        **known,
        others=max(busy / capacity - sum(known.values()), 0.0),
        stolen=stolen / capacity,
        idle=idle / capacity,
    )


def foreign_sessions(case: Case, used: ProcessorTime) -> float:
    """The share of the host's CPU time that the server used for sessions outside the load.

    The kernel counts the server's processes together; session samples show whose work it was.
    """
    return used.server * case.budget.foreign_of_work if case.budget else 0.0


def own_utilization(case: Case) -> float:
    """The share of CPU time that server and engine use; 0 if it is not known.

    What others use now may not remain theirs if the run needs more.
    """
    try:
        used = processor_time(case)
    except LackingError:
        return 0.0
    return (used.server + used.engine + used.dbdyno) / max(1.0 - used.stolen, 1e-9)


def busiest_others(case: Case, least_s: float, limit: int = 3) -> list[tuple[str, float]]:
    """Other programs by name that took some core-seconds, with how many; the busiest first."""
    used = {
        name: grown(case, "busiest", "cpu_us", name) / 1e6
        for name in known_objects(case, "busiest")
    }
    taken = [(name, seconds) for name, seconds in used.items() if seconds > least_s]
    return sorted(taken, key=lambda one: one[1], reverse=True)[:limit]


def _machine_us(case: Case, *names: str) -> float:
    return sum(grown(case, "machine", name) for name in names)


def _process_us(case: Case, who: str) -> float:
    return sum(grown(case, "processes", name, who) for name in ("user_us", "system_us"))


def engine_fullness(case: Case) -> float:
    """The share that the engine used of the CPU time it can get."""
    intervals = case.recording.tables["intervals"]
    measured = intervals["phase"] == "measure"
    seconds = float(intervals["seconds"][measured].sum())
    busy_s = float(intervals["cpu_us"][measured].sum()) / 1e6
    return busy_s / needed(seconds * _engine_processors(case) or None, "nothing was measured")


def _engine_processors(case: Case) -> int:
    """Cores that the engine can use at once; its first versions recorded only their threads."""
    reported: int | None = case.recording.engine.get("hello", {}).get("processors")
    return reported or needed(
        case.recording.plan.get("threads"), "the plan has no number of threads"
    )
