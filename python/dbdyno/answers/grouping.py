"""Groups the runs of a study: by level, by point, and in pairs, which it compares.

Runs of one block at equal levels of all other factors are a pair. This module does not know what a
number means.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from dbdyno.analysis.compare.compare import compare, compare_levels
from dbdyno.analysis.compare.metrics import Cell
from dbdyno.answers.answer import Trial, Trials
from dbdyno.model.comparison import MetricComparison
from dbdyno.model.study import MARGIN, Factor

Point: TypeAlias = tuple[tuple[str, str], ...]
"""The factors of a point with their levels, in the order of the study's file."""


def chosen(trials: Trials, at: Mapping[str, str] | None = None) -> list[Trial]:
    """The trials at these levels, all trials if there are none, in the order of the study's points.

    They were made in a random order, in which tables and sentences would be hard to read.
    """
    among = trials.at(**{name: str(level) for name, level in (at or {}).items()})
    places = {_levels(point.levels): place for place, point in enumerate(trials.study.points)}
    return sorted(among, key=lambda trial: places[_levels(trial.point)])


def levels_seen(trials: Trials, among: Sequence[Trial], factor: str) -> list[str]:
    """The levels of a factor that these trials have, in the order of the study's file."""
    seen = {trial.point.get(factor) for trial in among}
    named = [level.name for each in _named(trials, factor) for level in each.levels]
    return [name for name in named if name in seen]


def title_of(trials: Trials, factor: str) -> str:
    """The study's title for a factor."""
    return next((each.title for each in _named(trials, factor)), factor)


def varied(trials: Trials, among: Sequence[Trial]) -> list[str]:
    """The factors in which these trials differ."""
    names = [factor.name for factor in trials.spec.factors]
    return [name for name in names if len(levels_seen(trials, among, name)) > 1]


def by_level(trials: Trials, among: Sequence[Trial], factor: str) -> dict[str, list[Trial]]:
    """The trials of each level of a factor."""
    return {
        name: [trial for trial in among if trial.point.get(factor) == name]
        for name in levels_seen(trials, among, factor)
    }


def by_point(among: Iterable[Trial]) -> dict[Point, list[Trial]]:
    """The trials of each point, in the order in which points first occur."""
    found: dict[Point, list[Trial]] = {}
    for trial in among:
        found.setdefault(tuple(trial.point.items()), []).append(trial)
    return found


def pairs(
    among: Iterable[Trial], factor: str, before: str, after: str
) -> list[tuple[Trial, Trial]]:
    """Trials of two levels, in the same block and at equal levels of all other factors."""
    sides: dict[str, dict[object, Trial]] = {before: {}, after: {}}
    for trial in among:
        level = trial.point.get(factor)
        if level in sides:
            others = tuple((name, at) for name, at in trial.point.items() if name != factor)
            sides[level][(trial.block, others)] = trial
    return [
        (trial, sides[after][key]) for key, trial in sides[before].items() if key in sides[after]
    ]


def compared(
    of: Sequence[tuple[Trial, Trial]], metrics: Sequence[str], margin: float = MARGIN
) -> dict[str, MetricComparison]:
    """The verdicts on these metrics, judged together, by their ids, over pairs of runs.

    The pairs of one block, at other levels of other factors, are one sample.
    """
    before, after = ([trial.record for trial in side] for side in zip(*of, strict=True))
    found = compare(before, after, metrics, margin=margin, paired=True, cells=_cells(of))
    return {each.id: each for each in found.metrics}


def compared_with(
    among: Sequence[Trial], factor: str, reference: str, metric: str, margin: float = MARGIN
) -> dict[str, MetricComparison]:
    """The verdict on each other level of a factor against the reference, judged together.

    The pairs of one block, at other levels of other factors, are one sample.
    """
    levels = dict.fromkeys(trial.point.get(factor, reference) for trial in among)
    found = {
        level: both
        for level in levels
        if level != reference and (both := pairs(among, factor, reference, level))
    }
    sides = {
        level: ([one.record for one, _ in both], [other.record for _, other in both])
        for level, both in found.items()
    }
    cells = {level: _cells(both) for level, both in found.items()}
    return compare_levels(sides, metric, margin, cells=cells)


def _cells(of: Sequence[tuple[Trial, Trial]]) -> list[Cell]:
    """The block of each pair, and its levels."""
    return [(trial.block, _levels(trial.point)) for trial, _ in of]


def _levels(point: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(point.items())


def _named(trials: Trials, factor: str) -> list[Factor]:
    return [each for each in trials.spec.factors if each.name == factor]
