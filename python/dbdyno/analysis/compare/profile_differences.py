"""Which subsystem or function of the server takes more CPU time per transaction than before.

The run is the unit: what one run's seconds say about its own mean says nothing about how runs
differ. Differences are in microseconds, not ratios: a part that is absent on one side has none.

A record leaves out its smallest functions. One that it lacks took no more than the smallest that
it has, and no more than what the others leave of its subsystem: interval and test allow for all
that this may have been, so that no function differs only because one side left it out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from dbdyno.analysis.processor.subsystems import CLASSES, TITLES
from dbdyno.analysis.statistics.effect import Effect, holm, paired_effect, unpaired_effect
from dbdyno.formatting import NOTHING, milliseconds
from dbdyno.model.comparison import ProfileDifference
from dbdyno.model.record import ProcessorPart, RunRecord, ServerProfile

FUNCTIONS_MAX = 30
_MOSTLY_MIN = 0.5
_NAMED_MAX = 4

Sides: TypeAlias = tuple[Sequence[RunRecord], Sequence[RunRecord]]
"""The runs of a first variant, and those of a second."""


class ProfileDifferences(NamedTuple):
    """What differs by more than chance first, each by size; empty if a run has no profile."""

    subsystems: list[ProfileDifference]
    functions: list[ProfileDifference]
    """Those with the largest differences."""


def compare_profiles(variants: Sequence[Sides], *, paired: bool) -> list[ProfileDifferences]:
    """Compare both sides of each; the subsystems of all of them are judged together (Holm).

    So are all functions that some run has, also those that are not returned.
    """
    subsystems, functions = (
        _judged([_differences(sides, parts, paired=paired) for sides in variants])
        for parts in (_Parts.of_subsystems, _Parts.of_functions)
    )
    return [
        ProfileDifferences(its_subsystems, its_functions[:FUNCTIONS_MAX])
        for its_subsystems, its_functions in zip(subsystems, functions, strict=True)
    ]


_Name: TypeAlias = tuple[str, str, str, str]


class _Parts(NamedTuple):
    """Parts of one run's profile in µs per transaction, and what each that it lacks took at most.

    That is known by its processes and subsystem.
    """

    us: Mapping[_Name, float]
    unseen_us: Mapping[tuple[str, str], float]

    @classmethod
    def of_subsystems(cls, profile: ServerProfile) -> "_Parts":
        return cls(_by_name(profile.subsystems), {})

    @classmethod
    def of_functions(cls, profile: ServerProfile) -> "_Parts":
        us = _by_name(profile.functions)
        left = {(whole.processes, whole.subsystem): whole.us for whole in profile.subsystems}
        for name, its in us.items():
            left[name[:2]] -= its
        smallest = min(us.values(), default=0.0)
        return cls(us, {of: min(max(its, 0.0), smallest) for of, its in left.items()})

    def least(self, name: _Name) -> float:
        return self.us.get(name, 0.0)

    def most(self, name: _Name) -> float:
        return self.us.get(name, self.unseen_us.get(name[:2], 0.0))


def _by_name(parts: Sequence[ProcessorPart]) -> dict[_Name, float]:
    return {(one.processes, one.subsystem, one.function, one.file): one.us for one in parts}


def _differences(
    sides: Sides, parts_of: Callable[[ServerProfile], _Parts], *, paired: bool
) -> list[ProfileDifference]:
    profiles = [[record.server_profile for record in side] for side in sides]
    before, after = ([parts_of(one) for one in side if one] for side in profiles)
    if (len(before), len(after)) != tuple(map(len, sides)):
        return []
    return [
        _difference(name, before, after, paired=paired)
        for name in dict.fromkeys(name for run in (*before, *after) for name in run.us)
    ]


def _difference(
    name: _Name, before: Sequence[_Parts], after: Sequence[_Parts], *, paired: bool
) -> ProfileDifference:
    before_us, after_us = (np.array([run.least(name) for run in side]) for side in (before, after))
    processes, subsystem, function, file = name
    found = ProfileDifference(
        processes=processes,
        subsystem=subsystem,
        function=function,
        file=file,
        before_us=float(before_us.mean()),
        after_us=float(after_us.mean()),
        difference_us=float(after_us.mean() - before_us.mean()),
    )
    if max(len(before), len(after)) == 1:
        return found  # one run of each does not show how runs vary

    def effect(*sides: Sequence[float]) -> Effect:
        first, second = map(np.array, sides)
        return paired_effect(second - first) if paired else unpaired_effect(first, second)

    least = effect([run.most(name) for run in before], [run.least(name) for run in after])
    most = effect([run.least(name) for run in before], [run.most(name) for run in after])
    is_sure = least.value * most.value > 0
    p = max(its.p or 0.0 for its in (least, most)) if is_sure else 1.0
    return replace(found, low_us=least.low, high_us=most.high, p=p)


def _judged(found: Sequence[Sequence[ProfileDifference]]) -> list[list[ProfileDifference]]:
    """The same with p-values that are adjusted for all of them, in the order to be read."""
    adjusted = iter(holm([one.p for of in found for one in of if one.p is not None]))
    judged = [
        [one if one.p is None else replace(one, p_adjusted=next(adjusted)) for one in of]
        for of in found
    ]
    return [
        sorted(of, key=lambda one: (not one.has_changed, -abs(one.difference_us))) for of in judged
    ]


def subsystem_text(part: ProfileDifference) -> str:
    """What it is for."""
    return TITLES.get(part.subsystem, part.subsystem)


def processes_text(part: ProfileDifference) -> str:
    """Whose time it is."""
    return CLASSES.get(part.processes, part.processes)


def time_text(us: float) -> str:
    """A time per transaction."""
    return milliseconds(us / 1e3)


def signed_text(us: float) -> str:
    """A difference of times, with its sign."""
    return f"{'+' if us > 0 else '−' if us < 0 else ''}{time_text(abs(us))}"


def interval_text(part: ProfileDifference) -> str:
    """The interval of the difference; nothing for single runs."""
    if part.low_us is None or part.high_us is None:
        return NOTHING
    return f"{signed_text(part.low_us)} to {signed_text(part.high_us)}"


def mostly(
    subsystem: ProfileDifference, functions: Sequence[ProfileDifference]
) -> ProfileDifference | None:
    """The function that makes up half of a subsystem's difference or more, if there is one."""
    its = (
        one
        for one in functions
        if (one.processes, one.subsystem) == (subsystem.processes, subsystem.subsystem)
        and one.difference_us / (subsystem.difference_us or 1.0) >= _MOSTLY_MIN
    )
    return max(its, key=lambda one: abs(one.difference_us), default=None)


def changed_texts(
    subsystems: Sequence[ProfileDifference], functions: Sequence[ProfileDifference]
) -> list[str]:
    """What differs by more than chance, each by name with its difference.

    A function that is most of a subsystem's difference is named with that.
    """
    wholes = [(one, mostly(one, functions)) for one in subsystems if one.has_changed]
    named = [part for _, part in wholes]
    texts = [
        f"{_changed_text(one)}{f', mostly {_changed_text(part)}' if part else ''}"
        for one, part in wholes
    ]
    alone = [_changed_text(one) for one in functions if one.has_changed and one not in named]
    more = len(texts) + len(alone) - _NAMED_MAX
    return [*texts, *alone][:_NAMED_MAX] + ([f"{more} more"] if more > 0 else [])


def _changed_text(one: ProfileDifference) -> str:
    name = one.function or subsystem_text(one)
    return f"{name} {signed_text(one.difference_us)} ({interval_text(one)})"
