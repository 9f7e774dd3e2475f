"""The server's CPU time per transaction, by kind of process, subsystem and function.

Samples of some processes are CPU-seconds (:mod:`~dbdyno.analysis.processor.cpu_profile`). They are
counted by whole seconds, so what a part costs per transaction is a ratio of two sums over the same
intervals, like any other cost, and has such an interval.
"""

import math
from collections.abc import Callable
from itertools import islice

import numpy as np
from msgspec import Struct

from dbdyno.analysis.processor.cpu_profile import cpu_profile
from dbdyno.analysis.processor.subsystems import subsystem_of
from dbdyno.analysis.series.alignment import Intervals, measured_intervals, over_intervals
from dbdyno.analysis.series.readings import Growth, Span, growth, objects, total
from dbdyno.analysis.statistics.estimate import Series, ratio
from dbdyno.model.counters import ServerTasks
from dbdyno.model.record import ProcessorPart, ServerProfile
from dbdyno.model.run import Run, once
from dbdyno.model.tables import rows

FUNCTIONS_MAX = 100
SHARE_MIN = 0.0005
"""Of the CPU time of all processes: a function of less is left out."""


class Part(Struct, frozen=True):
    """What samples have in common; what is empty is not asked."""

    processes: str
    subsystem: str = ""
    function: str = ""
    file: str = ""


class Samples(Struct, frozen=True):
    """CPU microseconds of each part in each second of the profile, by the samples."""

    end_s: Series
    """When each second ended."""
    of_part: dict[Part, Series]

    def within(self, intervals: Intervals, us: Series) -> Series:
        """What of these seconds lies in each interval; NaN where nothing was sampled."""
        return over_intervals(Growth(self.end_s, np.ones(len(self.end_s)), us), intervals)

    def together(self, whole: Callable[[Part], Part]) -> dict[Part, Series]:
        """The parts of the same whole added up, the largest first."""
        found: dict[Part, Series] = {}
        for part, us in self.of_part.items():
            of = whole(part)
            found[of] = found[of] + us if of in found else us
        return dict(sorted(found.items(), key=lambda one: float(one[1].sum()), reverse=True))


@once
def samples_by_part(run: Run) -> Samples | None:
    """Every part with its function; None if the run was not profiled."""
    counts, taken = run.profile_counts, cpu_profile(run)
    if taken is None or not len(counts):
        return None
    begins_s = float(counts.time_s.min())
    place = np.rint(counts.time_s - begins_s).astype(int)
    seconds = int(place.max()) + 1
    names = _names(run)
    of_part: dict[Part, Series] = {}
    for second, processes, function, count in rows(
        place, counts.task_class, counts.function, counts.samples
    ):
        subsystem, name, file = names[function]
        part = Part(processes, subsystem, name, file)
        if part not in of_part:
            of_part[part] = np.zeros(seconds)
        of_part[part][second] += count * taken.sample_s * 1e6
    ends_s: Series = begins_s + 1.0 + np.arange(seconds, dtype=np.float64)
    return Samples(ends_s, of_part)


def _names(run: Run) -> dict[int, tuple[str, str, str]]:
    """By a function's number: its subsystem, its name for people, and its file."""
    table = run.profile_functions
    prefixes = {"near": "near ", "unnamed": "somewhere", "jit": "compiled code"}
    return {
        number: (
            subsystem_of(run.database, kind, name, entry if kind == "kernel" else file),
            f"{prefixes.get(kind, '')}{name}",
            entry if kind == "kernel" else file,
        )
        for number, kind, name, file, entry in rows(
            table.function, table.kind, table.name, table.object, table.entry
        )
    }


@once
def server_profile(run: Run) -> ServerProfile | None:
    """Where the CPU time of the server's processes went; None if that was not sampled."""
    samples, whole = samples_by_part(run), cpu_profile(run)
    if samples is None or whole is None or not measured_intervals(run).committed.any():
        return None
    return ServerProfile(
        source=whole.source,
        sampled_s=whole.sampled_s,
        counted_s=whole.counted_s,
        processes=_parts(run, samples, lambda part: Part(part.processes)),
        subsystems=_parts(run, samples, lambda part: Part(part.processes, part.subsystem)),
        functions=[
            part
            for part in _parts(run, samples, lambda part: part, FUNCTIONS_MAX)
            if part.share >= SHARE_MIN
        ],
    )


def cost_us(run: Run, is_meant: Callable[[Part], bool]) -> float:
    """CPU time per transaction of all parts that are meant, in µs; NaN without a profile."""
    samples, intervals = samples_by_part(run), measured_intervals(run)
    if samples is None:
        return math.nan
    meant = [us for part, us in samples.of_part.items() if is_meant(part)]
    us = samples.within(intervals, sum(meant, np.zeros(len(samples.end_s))))
    known = ~np.isnan(us)
    return float(us[known].sum() / max(intervals.committed[known].sum(), 1.0))


def _parts(
    run: Run, samples: Samples, whole: Callable[[Part], Part], most: int | None = None
) -> list[ProcessorPart]:
    """Wholes with their cost per transaction, the largest first, and not more than that."""
    intervals = measured_intervals(run)
    every = samples.within(intervals, sum(samples.of_part.values(), np.zeros(len(samples.end_s))))
    of_all = max(float(np.nansum(every)), 1e-9)
    found = [
        _recorded(part, samples.within(intervals, us), intervals.committed, of_all)
        for part, us in islice(samples.together(whole).items(), most)
    ]
    return sorted(filter(None, found), key=lambda part: part.us, reverse=True)


def _recorded(part: Part, us: Series, committed: Series, of_all: float) -> ProcessorPart | None:
    known = ~np.isnan(us)
    of = ratio(us[known], committed[known])
    if of is None:
        return None
    return ProcessorPart(
        processes=part.processes,
        subsystem=part.subsystem,
        function=part.function,
        file=part.file,
        us=of.value,
        low=of.low,
        high=of.high,
        share=float(us[known].sum()) / of_all,
    )


@once
def server_processes(run: Run) -> list[ProcessorPart]:
    """CPU time by kind of process as the kernel counts it, the largest first; also unprofiled.

    Thousands of processes are read so rarely that no interval is covered: what they used is then
    that of the measured part as a whole, and has no interval.
    """
    intervals = measured_intervals(run)
    committed = intervals.committed
    used = {
        of: over_intervals(grown, intervals)
        for of in objects(run, ServerTasks.source)
        if (grown := growth(run, ServerTasks.cpu_us, of))
    }
    if all(np.isnan(us).all() for us in used.values()):
        committed = committed.sum(keepdims=True)
        # The last reading also has what sessions use at their end.
        measured = Span(end_s=float(intervals.end_s.max(initial=0.0)))
        totals_us = {of: total(run, ServerTasks.cpu_us, of, measured) for of in used}
        used = {of: np.array([us]) for of, us in totals_us.items() if us is not None}
    of_all = max(sum(float(np.nansum(us)) for us in used.values()), 1e-9)
    found = [_recorded(Part(of), us, committed, of_all) for of, us in used.items()]
    return sorted(filter(None, found), key=lambda part: part.us, reverse=True)
