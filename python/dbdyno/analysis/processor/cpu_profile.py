"""Where the server's CPU time went: a sampled profile, added up over the measured part.

    n samples at f Hz are n / f seconds of CPU time

The sum is compared with what the kernel counted for the same processes in the same seconds: they
agree within the sampling error, or the profile is incomplete. Only whole seconds of the measured
part are added up.
"""

import math
from collections.abc import Mapping

from msgspec import Struct

from dbdyno.analysis.series.readings import Span, objects, total
from dbdyno.analysis.series.totals import duration_s
from dbdyno.model.counters import Processes, ServerTasks
from dbdyno.model.run import Run, once
from dbdyno.model.tables import rows

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
    scope: str
    names_kernel: bool
    lost_samples: int
    used_s: Mapping[tuple[str, ProfiledFunction], float]
    """By class of the process and function, the largest first."""
    counted_s: float | None
    counted_by_class_s: Mapping[str, float] | None

    @property
    def sampled_s(self) -> float:
        """The sum of the profile."""
        return math.fsum(self.used_s.values())

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
    return CpuProfile(
        seconds=seconds,
        hz=facts.hz,
        scope=facts.scope,
        names_kernel=facts.names_kernel,
        lost_samples=facts.lost,
        used_s=_used_s(run, seconds, facts.hz),
        counted_s=None if counted_us is None else counted_us / 1e6,
        counted_by_class_s=by_class_s or None,
    )


def _used_s(run: Run, seconds: int, hz: int) -> dict[tuple[str, ProfiledFunction], float]:
    known = run.profile_functions
    functions = {
        number: ProfiledFunction(*about)
        for number, *about in rows(
            known.function, known.kind, known.name, known.object, known.entry
        )
    }
    counts = run.profile_counts
    counts = counts.where((counts.time_s >= 0) & (counts.time_s < seconds))
    used_s: dict[tuple[str, ProfiledFunction], float] = {}
    for task_class, number, samples in rows(counts.task_class, counts.function, counts.samples):
        key = (task_class, functions[number])
        used_s[key] = used_s.get(key, 0.0) + samples / hz
    return dict(sorted(used_s.items(), key=lambda one: one[1], reverse=True))
