"""Groups the runs of a study: by level, by point, in pairs; and computes their means.

The run is the unit: intervals are over runs, and runs of one block at equal levels of all other
factors are a pair. This module does not know what a number means.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from dbdyno.analysis.compare.compare import MARGIN, compare, compare_levels
from dbdyno.analysis.costs.costs import cost
from dbdyno.analysis.statistics.effect import Ratio, paired_ratio
from dbdyno.analysis.statistics.estimate import IntervalEstimate
from dbdyno.answers.answer import Trial, Trials
from dbdyno.formatting import NOTHING, significant
from dbdyno.model.comparison import MetricComparison
from dbdyno.model.study import Factor

Number: TypeAlias = Callable[[Trial], float | None]
Interval: TypeAlias = Ratio | IntervalEstimate
"""A value with its 95 % interval, which may be unknown."""


INTERVAL_NOTE = (
    "In brackets the 95 % interval between runs; (?) where too few runs give a useful interval."
)
USELESS = 10.0  # an interval whose ends differ by this factor is useless


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


def by_point(among: Iterable[Trial]) -> dict[tuple[tuple[str, str], ...], list[Trial]]:
    """The trials of each point, in the order in which points first occur."""
    found: dict[tuple[tuple[str, str], ...], list[Trial]] = {}
    for trial in among:
        found.setdefault(tuple(trial.point.items()), []).append(trial)
    return found


def titles_of(trials: Trials, factors: Iterable[str]) -> tuple[str, ...]:
    """The column headings that name the point."""
    return tuple(title_of(trials, factor) for factor in factors)


def point_cells(point: tuple[tuple[str, str], ...], factors: Iterable[str]) -> tuple[str, ...]:
    """The cells of the columns that name the point."""
    levels = dict(point)
    return tuple(levels.get(factor, NOTHING) for factor in factors)


def label_of(trials: Trials, point: tuple[tuple[str, str], ...], factors: Sequence[str]) -> str:
    """``operation update, full_page_writes on``."""
    named = zip(titles_of(trials, factors), point_cells(point, factors), strict=True)
    return ", ".join(f"{title} {level}" for title, level in named)


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


def ratio_of(of: Iterable[tuple[Trial, Trial]], number: Number) -> Ratio | None:
    """Factor by which a number changed; None if it is unknown, or 0, in every pair."""
    both = [(number(before), number(after)) for before, after in of]
    known = [(before, after) for before, after in both if before and after]
    return paired_ratio(known) if known else None


def compared(
    of: Sequence[tuple[Trial, Trial]], metrics: Sequence[str], margin: float = MARGIN
) -> dict[str, MetricComparison]:
    """The verdicts on these metrics, judged together, by their ids, over pairs of runs.

    The pairs of one block, at other levels of other factors, are one sample.
    """
    before, after = ([trial.record for trial in side] for side in zip(*of, strict=True))
    cells = [(trial.block, _levels(trial.point)) for trial, _ in of]
    found = compare(before, after, metrics, margin=margin, paired=True, cells=cells)
    return {each.id: each for each in found.metrics}


def compared_with(
    among: Sequence[Trial], factor: str, reference: str, metric: str, margin: float = MARGIN
) -> dict[str, MetricComparison]:
    """The verdict on each other level of a factor against the reference, judged together."""
    levels = dict.fromkeys(trial.point.get(factor, reference) for trial in among)
    sides = {
        level: ([one.record for one, _ in both], [other.record for _, other in both])
        for level in levels
        if level != reference and (both := pairs(among, factor, reference, level))
    }
    return compare_levels(sides, metric, margin)


def over_runs(among: Iterable[Trial], number: Number) -> Ratio | None:
    """The geometric mean of a number over runs with its interval; None if no run has it."""
    known = [(1.0, value) for value in map(number, among) if value]
    return paired_ratio(known) if known else None


def mean_of(among: Iterable[Trial], number: Number) -> float | None:
    """The arithmetic mean, for numbers that may be 0."""
    known = [value for value in map(number, among) if value is not None]
    return sum(known) / len(known) if known else None


def cost_of(wanted: str) -> Number:
    """The cost of a transaction by its id, as in the run's record."""
    return lambda trial: cost(trial.record.costs, wanted)


def throughput(trial: Trial) -> float | None:
    """Transactions per second."""
    return trial.record.throughput_tps.value if trial.record.throughput_tps else None


def p95_ms(trial: Trial) -> float | None:
    """The 95th percentile of response times."""
    return trial.record.response_ms.p95 if trial.record.response_ms else None


def is_useless(of: Interval) -> bool:
    """The runs were too few: the interval, if there is one, says hardly anything."""
    return of.low is None or of.high is None or of.high > USELESS * of.low


def interval_text(of: Interval | None, format_value: Callable[[float], str] = significant) -> str:
    """A value with its interval, for a table cell."""
    if of is None:
        return NOTHING
    if of.low is None or of.high is None:
        return format_value(of.value)
    if is_useless(of):
        return f"{format_value(of.value)} (?)"
    return f"{format_value(of.value)} ({format_value(of.low)} to {format_value(of.high)})"


def interval_sentence(of: Interval, format_value: Callable[[float], str] = significant) -> str:
    """A value with its interval, for a sentence: ``1.82 (95 %: 1.6 to 2.05)``."""
    if of.low is None or of.high is None:
        return f"{format_value(of.value)} (no interval)"
    if is_useless(of):
        return f"{format_value(of.value)} (too few runs for a useful interval)"
    return f"{format_value(of.value)} (95 %: {format_value(of.low)} to {format_value(of.high)})"


def times_of(of: Interval | MetricComparison) -> str:
    """A ratio in a sentence: ``1.82 times (95 %: 1.6 to 2.05)``."""
    value = of.ratio if isinstance(of, MetricComparison) else of.value
    if of.low is None or of.high is None:
        return f"{significant(value)} times (one pair, no interval)"
    if of.high > USELESS * of.low:
        return f"{significant(value)} times (too few pairs for a useful interval)"
    alone = isinstance(of, MetricComparison) and of.method == "single runs"
    interval = f"95 %{' within the runs' if alone else ''}"
    return (
        f"{significant(value)} times ({interval}: {significant(of.low)} to {significant(of.high)})"
    )


def _levels(point: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(point.items())


def _named(trials: Trials, factor: str) -> list[Factor]:
    return [each for each in trials.spec.factors if each.name == factor]
