"""The host's CPU time, as rules need it: divided, or the reason why it is not known."""

from dbdyno.analysis.series.totals import duration_s
from dbdyno.analysis.waits.budget import known_budget
from dbdyno.analysis.waits.processor_split import COVERED_MIN, cpu_time_covered
from dbdyno.analysis.waits.processor_time import (
    ProcessorTime,
    busiest_others as of_others,
    is_of_kernel,
    processor_time as of_recording,
)
from dbdyno.explain.needs import LackingError, because, known_objects, levels, needed
from dbdyno.formatting import percent
from dbdyno.model.counters import Busiest, Machine, Processes
from dbdyno.model.run import Run

SERVER_ELSEWHERE = "the server's processes are not visible on this host"
FULL = 0.9
"""Of the CPU time that the load generator can get: with more, it is what limits the load."""


def sees_server(run: Run) -> bool:
    """Whether the server's processes are on this host, and readable."""
    return "server" in known_objects(run, Processes.source)


def processor_time(run: Run) -> ProcessorTime:
    """The host's CPU time, divided, if the server is on it."""
    needed(sees_server(run) or None, SERVER_ELSEWHERE)
    known_part = cpu_time_covered(run)
    if known_part < COVERED_MIN:
        part = f"the server's CPU time is known for only {percent(known_part)} of the measurement"
        raise LackingError(because(run, part, Processes.source))
    levels(run, Machine.processors)
    used = of_recording(run)
    unknown = because(run, "the host's CPU time by state was not read", Machine.source)
    return needed(used, unknown)


def foreign_sessions(run: Run, used: ProcessorTime) -> float:
    """The share of the host's CPU time that the server used for sessions outside the load.

    The kernel counts the server's processes together; session samples show whose work it was.
    """
    spent = known_budget(run)
    return used.server * spent.foreign_of_work if spent else 0.0


def own_utilization(run: Run) -> float | None:
    """The share of CPU time that the run's processes use; None if it is not known.

    What others use now may not remain theirs if the run needs more.
    """
    try:
        used = processor_time(run)
    except LackingError:
        return None
    own = used.server + used.further_servers + used.engine + used.dbdyno
    return own / max(1.0 - used.stolen, 1e-9)


def busiest_others(run: Run, least_s: float, limit: int = 3) -> list[tuple[str, float]]:
    """Other programs by name that took some core-seconds, with how many; the busiest first.

    The kernel's own threads are none of them (:func:`kernel_threads`).
    """
    known_objects(run, Busiest.source)  # or the reason why it was not read
    used_s = of_others(run)
    programs = (one for one in used_s.items() if not is_of_kernel(one[0]))
    return [one for one in programs if one[1] > least_s][:limit]


def kernel_threads(run: Run, used: ProcessorTime) -> float:
    """The share of the host's CPU time that threads of the kernel used, as far as they were seen.

    It is a part of what the processes of the run did not use.
    """
    kernel_s = sum(its_s for name, its_s in of_others(run).items() if is_of_kernel(name))
    return min(kernel_s / max(used.cores * duration_s(run), 1e-9), used.others)


def engine_fullness(run: Run) -> float:
    """The share that the engine used of the CPU time it can get."""
    intervals = run.intervals
    measured = intervals.phase == "measure"
    seconds = float(intervals.seconds[measured].sum())
    # Its first versions recorded only their threads.
    processors = run.engine.hello.processors or run.plan.threads
    busy_s = float(intervals.cpu_us[measured].sum()) / 1e6
    return busy_s / needed(seconds * processors or None, "nothing was measured")
