"""Not steady, too short or too noisy: what cannot be concluded from this run.

Looks for: throughput that changed its level, a wide confidence interval of its mean, and runs
shorter than 10 s.

Arithmetic: the largest change of level is tested against Andrews' critical value for a change at an
unknown time; the interval of the mean uses the effective sample size of the seconds. Differences
smaller than that interval cannot be claimed from this run.

Source: Andrews, Econometrica 61, 1993; Geyer, Statistical Science 7, 1992.

Wrong when: the load was meant to change, in stages or by an arrival schedule: such runs are not
judged by their level.
"""

from msgspec import Struct

from dbdyno.analysis.doubts import DOWN_TO_NOTHING, DURATION_MIN_S, HALF_WIDTH_MAX
from dbdyno.analysis.steadiness import Shift, unasked_shift
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.formatting import percent, seconds, tps


class _Weakness(Struct, frozen=True):
    """What weakens the run, and what therefore cannot be concluded."""

    cause: str
    consequence: str


def look(case: Case) -> Outcome:
    """A change of level is the most severe of the three."""
    shift = unasked_shift(case.recording.plan, case.timeline.measured().tps)
    known = [*_of_shift(shift), *_of_noise(case), *_of_length(case)]
    if not known:
        return NotFound("throughput held one level and is known closely")
    return found(
        _sentence([weakness.cause for weakness in known]),
        severity="note" if shift is None else "minor",
        certainty="sure",
        evidence={"causes": [weakness.cause for weakness in known]},
        seen=[weakness.consequence for weakness in known],
        why="A number quoted without its uncertainty looks exact.",
        advice=[_advice(case)],
        refute="Run longer: a steady system holds its level, and its interval narrows.",
    )


def _sentence(causes: list[str]) -> str:
    first, *others = causes
    return f"{'; '.join([first[0].upper() + first[1:], *others])}."


def _of_shift(shift: Shift | None) -> list[_Weakness]:
    if shift is None:
        return []
    return [
        _Weakness(
            f"throughput went from {tps(shift.before)} to {tps(shift.after)} TPS within the run",
            "The mean covers two levels and describes neither.",
        )
    ]


def _of_noise(case: Case) -> list[_Weakness]:
    throughput = needed(case.record.throughput_tps, "nothing was measured")
    if throughput.high is None or not throughput.value:
        few = "too few samples for a confidence interval"
        return [_Weakness(few, "No difference can be claimed.")]
    reach = throughput.high / throughput.value - 1
    if reach <= HALF_WIDTH_MAX:
        return []
    if reach >= DOWN_TO_NOTHING:
        hardly = "throughput is hardly known: its 95 % interval extends to 0"
        return [_Weakness(hardly, "No difference can be claimed.")]
    return [
        _Weakness(
            f"throughput is known only to ±{percent(reach)}",
            f"A difference below {percent(reach)} cannot be claimed from this run.",
        )
    ]


def _of_length(case: Case) -> list[_Weakness]:
    duration_s = case.record.duration_s or 0.0
    if duration_s >= DURATION_MIN_S:
        return []
    return [
        _Weakness(
            f"only {seconds(duration_s)} were measured",
            f"What occurs less often than every few seconds ({database_of(case).put_off}) is not "
            "represented.",
        )
    ]


def _advice(case: Case) -> str:
    """Four times the length halves the interval of independent samples."""
    longer_s = max(4 * (case.record.duration_s or 0.0), 3 * DURATION_MIN_S)
    return f"Run longer: -T {longer_s:.0f}, after a warm-up long enough for the level to settle."


RULE = Rule(id="unsteady", title="Not steady, too short or too noisy", look=look)
