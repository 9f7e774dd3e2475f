"""Which subsystem or function of the server takes more CPU time per transaction than before.

The run is the unit: what one run's seconds say about its own mean says nothing about how runs
differ. Differences are in microseconds, not ratios: a part that is absent on one side has none.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from dbdyno.analysis.statistics.effect import Effect, holm, paired_effect, unpaired_effect
from dbdyno.model.comparison import ProfileDifference
from dbdyno.model.record import ProcessorPart, RunRecord, ServerProfile

FUNCTIONS_MAX = 30

_Name: TypeAlias = tuple[str, str, str, str]


def profile_differences(
    before: Sequence[RunRecord],
    after: Sequence[RunRecord],
    parts: Callable[[ServerProfile], Sequence[ProcessorPart]],
    *,
    paired: bool,
) -> list[ProfileDifference]:
    """What differs by more than chance first, each by size; empty if a run has no profile.

    All parts that some run has are tested together, also those that are not returned.
    """
    sides = [[_by_name(record, parts) for record in side] for side in (before, after)]
    if any(run is None for side in sides for run in side):
        return []
    first, second = ([run or {} for run in side] for side in sides)
    names = list(dict.fromkeys(name for run in (*first, *second) for name in run))
    values = {
        name: tuple(np.array([run.get(name, 0.0) for run in side]) for side in (first, second))
        for name in names
    }
    # One run of each does not show how runs vary.
    effects: dict[_Name, Effect | None] = dict.fromkeys(names)
    if max(len(before), len(after)) > 1:
        for name, (its, others) in values.items():
            effects[name] = paired_effect(others - its) if paired else unpaired_effect(its, others)
    chances = {name: its.p for name, its in effects.items() if its and its.p is not None}
    adjusted = dict(zip(chances, holm(list(chances.values())), strict=True))
    found = []
    for name, (its, others) in values.items():
        effect, (processes, subsystem, function, file) = effects[name], name
        found.append(
            ProfileDifference(
                processes=processes,
                subsystem=subsystem,
                function=function,
                file=file,
                before_us=float(its.mean()),
                after_us=float(others.mean()),
                difference_us=float(others.mean() - its.mean()),
                low_us=effect.low if effect else None,
                high_us=effect.high if effect else None,
                p_adjusted=adjusted.get(name),
            )
        )
    return sorted(found, key=lambda one: (not one.has_changed, -abs(one.difference_us)))


def _by_name(
    record: RunRecord, parts: Callable[[ServerProfile], Sequence[ProcessorPart]]
) -> Mapping[_Name, float] | None:
    if record.server_profile is None:
        return None
    found = parts(record.server_profile)
    return {(one.processes, one.subsystem, one.function, one.file): one.us for one in found}
