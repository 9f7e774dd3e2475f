"""Where the server's CPU time went: a sampled profile, added up over the measured part.

    n samples of a timer at f Hz are n / f seconds of CPU time

The sum is compared with what the kernel counted for the same processes in the same seconds: they
agree within the sampling error, or the profile is incomplete. Samples of the processor's cycles are
no time, since its clock changes: a sample is then its part of the time that the kernel counted.
Only whole seconds of the measured part are added up.
"""

import math
from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from dbdyno.analysis.series.readings import Span, objects, total
from dbdyno.analysis.series.totals import duration_s
from dbdyno.model.counters import Processes, ServerTasks
from dbdyno.model.run import Run, once
from dbdyno.model.tables import rows
from dbdyno.model.telemetry import SampleSource

WITHOUT_KERNEL = "server without kernel"
"""The scope of a profile that cannot see what the kernel does for the server."""


class ProfiledFunction(Struct, frozen=True):
    """A function of the server or of the kernel, as ``profile_functions`` has it."""

    kind: str
    name: str
    object: str
    entry: str


class CpuProfile(Struct, frozen=True, kw_only=True):
    """CPU seconds of the server's processes in the first ``seconds`` of the measured part.

    ``counted_by_class_s`` is what the kernel counted for each class; None if it was not read.
    ``counted_s`` is the same of all together, and without what the kernel did for them if the
    profile cannot see that.
    """

    seconds: int
    hz: int
    source: SampleSource
    scope: str
    names_kernel: bool
    lost_samples: int
    samples: int
    sample_s: float
    """CPU seconds that a sample stands for."""
    used_s: Mapping[tuple[str, ProfiledFunction], float]
    """By class of the process and function, the largest first."""
    counted_s: float | None
    counted_by_class_s: Mapping[str, float] | None

    @property
    def sampled_s(self) -> float:
        """The sum of the profile, by its frequency."""
        return self.samples / self.hz

    @property
    def sampling_error_s(self) -> float:
        """The standard error of the sum, if samples came by chance."""
        return math.sqrt(self.sampled_s / self.hz)

    def of_class(self, task_class: str) -> dict[ProfiledFunction, float]:
        """Return the CPU seconds of one class by function, the largest first."""
        return {its: used_s for (of, its), used_s in self.used_s.items() if of == task_class}


@once
def cpu_profile(run: Run) -> CpuProfile | None:
    """Return the profile of the measured part; None if none was taken."""
    facts = run.engine.profile
    seconds = math.floor(duration_s(run) + 0.001)
    if facts is None or facts.hz <= 0 or seconds < 1:
        return None
    span = Span(end_s=seconds)
    sees_kernel = facts.scope != WITHOUT_KERNEL
    counted_us = total(run, Processes.cpu_us if sees_kernel else Processes.user_us, "server", span)
    by_class_us = {
        of: total(run, ServerTasks.cpu_us, of, span) for of in objects(run, ServerTasks.source)
    }
    by_class_s = {of: us / 1e6 for of, us in by_class_us.items() if us is not None}
    counted_s = None if counted_us is None else counted_us / 1e6
    taken = _samples(run, seconds)
    samples = sum(taken.values())
    sample_s = seconds_of_sample(facts.source, facts.hz, samples, counted_s)
    return CpuProfile(
        seconds=seconds,
        hz=facts.hz,
        source=facts.source,
        scope=facts.scope,
        names_kernel=facts.names_kernel,
        lost_samples=facts.lost,
        samples=samples,
        sample_s=sample_s,
        used_s={of: count * sample_s for of, count in taken.items()},
        counted_s=counted_s,
        counted_by_class_s=by_class_s or None,
    )


def seconds_of_sample(
    source: SampleSource, hz: int, samples: int, counted_s: float | None
) -> float:
    """CPU seconds that each of so many samples stands for, of which the kernel counted the sum."""
    return counted_s / samples if source == "cycles" and samples and counted_s else 1 / hz


def _samples(run: Run, seconds: int) -> dict[tuple[str, ProfiledFunction], int]:
    """By class of the process and function, the most first."""
    known = run.profile_functions
    functions = {
        number: ProfiledFunction(*about)
        for number, *about in rows(
            known.function, known.kind, known.name, known.object, known.entry
        )
    }
    counts = run.profile_counts
    counts = counts.where((counts.time_s >= 0) & (counts.time_s < seconds))
    taken: Counter[tuple[str, ProfiledFunction]] = Counter()
    for task_class, number, samples in rows(counts.task_class, counts.function, counts.samples):
        taken[task_class, functions[number]] += samples
    return dict(taken.most_common())
