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

from typing import ClassVar

from dbdyno.analysis.doubts import DOWN_TO_NOTHING, DURATION_MIN_S, HALF_WIDTH_MAX
from dbdyno.analysis.series.steadiness import Shift, unasked_shift
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.summarize import full_record
from dbdyno.explain.needs import needed
from dbdyno.explain.rule import Aside, Claim, NotFound, Rule
from dbdyno.formatting import percent, seconds, tps
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run


class Unsteady(Claim, frozen=True, kw_only=True):
    """What weakens the run; the evidence lists it in words."""

    shift: Aside[Shift | None] = None
    """A change of level."""
    reach: Aside[float | None] = 0.0
    """Half the width of the mean's interval over the mean; None: too few samples for one."""
    duration_s: Aside[float]
    rare: Aside[str]
    """Work that the server does rarely, and then in bulk."""
    certainty: ClassVar[Certainty] = "sure"

    @property
    def weaknesses(self) -> list[tuple[str, str]]:
        """Each with what therefore cannot be concluded."""
        found = []
        if self.shift:
            levels = f"{tps(self.shift.before)} to {tps(self.shift.after)} TPS"
            found.append(
                (
                    f"throughput went from {levels} within the run",
                    "The mean covers two levels and describes neither.",
                )
            )
        if self.reach is None:
            found.append(
                (
                    "too few samples for a confidence interval",
                    "No difference can be claimed.",
                )
            )
        elif self.reach >= DOWN_TO_NOTHING:
            found.append(
                (
                    "throughput is hardly known: its 95 % interval extends to 0",
                    "No difference can be claimed.",
                )
            )
        elif self.reach > HALF_WIDTH_MAX:
            reach = percent(self.reach)
            found.append(
                (
                    f"throughput is known only to ±{reach}",
                    f"A difference below {reach} cannot be claimed from this run.",
                )
            )
        if self.duration_s < DURATION_MIN_S:
            found.append(
                (
                    f"only {seconds(self.duration_s)} were measured",
                    f"What occurs less often than every few seconds ({self.rare}) is not "
                    "represented.",
                )
            )
        return found

    @property
    def evidence(self) -> dict[str, object]:
        return {"causes": [cause for cause, _ in self.weaknesses]}

    @property
    def severity(self) -> Severity:
        return "note" if self.shift is None else "minor"

    @property
    def summary(self) -> str:
        causes = "; ".join(cause for cause, _ in self.weaknesses)
        return f"{causes[0].upper()}{causes[1:]}."

    @property
    def seen(self) -> list[str]:
        return [consequence for _, consequence in self.weaknesses]

    why: ClassVar[str] = "A number quoted without its uncertainty looks exact."

    @property
    def advice(self) -> list[str]:
        """Four times the length halves the interval of independent samples."""
        longer_s = max(4 * self.duration_s, 3 * DURATION_MIN_S)
        return [
            f"Run longer: -T {longer_s:.0f}, after a warm-up long enough for the level to settle."
        ]

    refute: ClassVar[str] = "Run longer: a steady system holds its level, and its interval narrows."


def look(run: Run) -> Unsteady | NotFound:
    """A change of level is the most severe of the three."""
    shift = unasked_shift(run.plan, timeline(run).measured().tps)
    throughput = needed(full_record(run).throughput_tps, "nothing was measured")
    high, value = throughput.high, throughput.value
    length_s = needed(full_record(run).duration_s, "the text does not say for how long it measured")
    claim = Unsteady(
        shift=shift,
        reach=high / value - 1 if high is not None and value else None,
        duration_s=length_s,
        rare=run.database.terms.put_off,
    )
    if not claim.weaknesses:
        return NotFound("throughput held one level and is known closely")
    return claim


RULE = Rule(
    id="unsteady",
    title="Not steady, too short or too noisy",
    look=look,
    reads_texts=True,
    events=frozenset({"level", "dip", "stall"}),
)
