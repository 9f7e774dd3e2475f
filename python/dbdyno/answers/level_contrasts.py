"""The contrasts of a study: two levels compared at each combination of the other factors.

Runs of one block are a pair. Levels that are compared with the same reference, at the same levels
of the other factors, are one test each, and are judged together. ``analysis/compare/verdicts.py``
has the text of a verdict.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.compare.compare import compare
from dbdyno.analysis.compare.profile_differences import compare_profiles
from dbdyno.analysis.compare.unequal_conditions import unequal_durability
from dbdyno.answers.answer import Trial, Trials
from dbdyno.answers.grouping import pairs, title_of
from dbdyno.model.comparison import Comparison
from dbdyno.model.record import RunRecord
from dbdyno.model.study import Contrast

DURABILITY, SETTINGS = "durability", "set"
"""Options of a run with which durability can be varied."""

Levels = Mapping[str, str]


class _PairedContrast(NamedTuple):
    """A contrast at certain levels of the other factors, and its pairs of runs there."""

    contrast: Contrast
    others: Levels
    both: Sequence[tuple[Trial, Trial]]

    @property
    def records(self) -> tuple[list[RunRecord], list[RunRecord]]:
        """The runs of both sides, in pairs."""
        return [one.record for one, _ in self.both], [other.record for _, other in self.both]

    def is_against_the_same(self, other: "_PairedContrast") -> bool:
        """Whether the other compares another level with the same runs."""
        first, second = self.contrast, other.contrast
        is_alike = (first.factor, first.before, self.others) == (
            second.factor,
            second.before,
            other.others,
        )
        return is_alike and first.after != second.after


class Contrasted(Struct, frozen=True):
    """A contrast at certain levels of the other factors, and its comparison."""

    contrast: Contrast
    others: Levels
    comparison: Comparison


def contrasted(trials: Trials) -> list[Contrasted]:
    """Every contrast of the study for which both sides have runs of one block."""
    found = [
        _PairedContrast(contrast, others, both)
        for contrast in trials.spec.contrasts
        for others, both in _by_others(trials, contrast)
    ]
    alone = [_compared(trials, of) for of in found]
    profiles = compare_profiles([of.records for of in found], paired=True)
    return [
        Contrasted(
            of.contrast,
            of.others,
            replace(
                _compared(trials, of, _beside(of, found, alone)),
                server_subsystems=profile.subsystems,
                server_functions=profile.functions,
            ),
        )
        for of, profile in zip(found, profiles, strict=True)
    ]


def comparisons(trials: Trials) -> list[Comparison]:
    """The comparisons alone."""
    return [one.comparison for one in contrasted(trials)]


def heading(trials: Trials, of: Contrasted) -> str:
    """``Statement order branches-first against as-written``."""
    title = title_of(trials, of.contrast.factor)
    if "_" not in title:  # the name of a setting is written as the server has it
        title = f"{title[:1].upper()}{title[1:]}"
    return f"{title} {of.contrast.after} against {of.contrast.before}"


def levels_text(levels: Levels) -> str:
    """Levels as the name of a point: ``clients 100, order as-written``."""
    return ", ".join(f"{factor} {level}" for factor, level in levels.items())


def _by_others(
    trials: Trials, contrast: Contrast
) -> list[tuple[Levels, Sequence[tuple[Trial, Trial]]]]:
    """The pairs of a contrast by the levels of the other factors, in the order of the file."""
    found: dict[tuple[tuple[str, str], ...], list[tuple[Trial, Trial]]] = {}
    for both in pairs(trials.trials, contrast.factor, contrast.before, contrast.after):
        found.setdefault(_without(both[0].point, contrast.factor), []).append(both)
    order = [_without(point.levels, contrast.factor) for point in trials.study.points]
    return [(dict(levels), found[levels]) for levels in dict.fromkeys(order) if levels in found]


def _without(levels: Levels, factor: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, level) for name, level in levels.items() if name != factor)


def _beside(
    of: _PairedContrast, found: Sequence[_PairedContrast], alone: Sequence[Comparison]
) -> list[float]:
    """The p-values of the tests of other levels against the same runs."""
    others = (one for its, one in zip(found, alone, strict=True) if of.is_against_the_same(its))
    return [metric.p for one in others for metric in one.metrics if metric.p is not None]


def _compared(trials: Trials, of: _PairedContrast, beside: Sequence[float] = ()) -> Comparison:
    contrast, others, _ = of
    found = compare(
        *of.records,
        contrast.metrics or trials.spec.metrics,
        labels=(_label(contrast.before, others), _label(contrast.after, others)),
        margin=contrast.margin,
        paired=True,
        unequal=_unequal(trials, of),
        beside=beside,
    )
    return replace(found, decide_with=trials.study.with_more(found.more_pairs))


def _unequal(trials: Trials, of: _PairedContrast) -> list[str]:
    """Differences in durability, except those that the contrast is about."""
    contrast, _, both = of
    options = [
        next(point.options for point in trials.study.points if point.levels == trial.point)
        for trial in both[0]
    ]
    if len({one.get(DURABILITY) for one in options}) > 1:
        return []
    first, second = (one.get(SETTINGS, {}) for one in options)
    return unequal_durability(
        *of.records,
        (contrast.before, contrast.after),
        [name for name in first | second if first.get(name) != second.get(name)],
    )


def _label(level: str, others: Levels) -> str:
    return f"{level} ({levels_text(others)})" if others else level
