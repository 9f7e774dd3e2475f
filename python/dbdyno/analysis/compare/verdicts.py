"""The verdict on one metric, and the sentence that states it.

*Better* or *worse* if chance is ruled out and the change may matter; *same* if a change beyond the
margin is ruled out; otherwise *cannot tell*, with what it would take. A sentence never claims more
than its interval does.
"""

import math
from collections.abc import Sequence

from dbdyno.analysis.compare.metrics import single_run_decides
from dbdyno.analysis.statistics.effect import Effect
from dbdyno.formatting import THIN_SPACE, percent, significant
from dbdyno.model.comparison import Direction, MetricComparison, Verdict

ALPHA = 0.05
_TIMES_FROM = 3.0


def alpha_of_next(adjusted: Sequence[float]) -> float:
    """Level below which one more of these tests, adjusted by Holm, would be significant."""
    significant_tests = sum(p < ALPHA for p in adjusted)
    return ALPHA / max(len(adjusted) - significant_tests, 1)


def verdict_of(effect: Effect, p_adjusted: float, margin: float, better: Direction) -> Verdict:
    """Verdict on an effect between runs.

    A change that is significant but wholly inside the margin counts as none, because the user set
    the margin. Without one, two one-sided tests (Schuirmann, *J. Pharmacokinetics and
    Biopharmaceutics* 15, 1987): the 90 % interval lies inside the margin. They are not adjusted for
    the number of metrics: that all are the same is claimed only if each test passes.
    """
    bound = math.log1p(margin)
    if p_adjusted < ALPHA:
        return "same" if effect.lies_within(bound, effect.reach_95) else _direction(effect, better)
    return "same" if effect.lies_within(bound, effect.reach_90) else "cannot tell"


def verdict_within(effect: Effect, margin: float, better: Direction) -> Verdict:
    """Verdict on two single runs, by their within-run intervals.

    These say nothing about the variation between runs, so only an interval wholly beyond the margin
    is called a change.
    """
    bound = math.log1p(margin)
    if abs(effect.value) - effect.reach_95 > bound:
        return _direction(effect, better)
    return "same" if effect.lies_within(bound, effect.reach_95) else "cannot tell"


def _direction(effect: Effect, better: Direction) -> Verdict:
    return "better" if (effect.value > 0) == (better == "higher") else "worse"


def verdict_sentence(found: MetricComparison, runs: str) -> str:
    """The verdict as a sentence; ``runs`` says how many there were."""
    levels = f"{significant(found.before)} and {significant(found.after)} {found.unit}"
    seen = levels if _has_no_ratio(found) else change(found.ratio)
    change_and_evidence = f"{seen}; {_evidence(found, runs)}"
    if found.verdict == "same":
        level = f"stayed the same within ±{percent(found.margin)}"
        return f"{found.title} {level} ({change_and_evidence})."
    if is_left_open(found):
        why = ": it has no interval within a run that excludes 0; longer runs may have one"
        unknown = why if lacks_interval(found) else ""
        single = f"cannot be told apart by single runs ({change_and_evidence}){unknown}"
        return f"{found.title} {single}."
    if found.verdict == "cannot tell":
        few = f"cannot be told apart at this sample size ({change_and_evidence}){_needed(found)}"
        return f"{found.title} {few}."
    moved = "rose" if found.after > found.before else "fell"
    return f"{found.title} {moved}{_by(found)} ({_evidence(found, runs)}): {found.verdict}."


def is_left_open(found: MetricComparison) -> bool:
    """Whether single runs were compared, and could not decide."""
    return found.verdict == "cannot tell" and found.method in ("single runs", "none")


def lacks_interval(found: MetricComparison) -> bool:
    """Whether single runs could decide the metric, but one of them has no interval for it."""
    return found.method == "none" and single_run_decides(found.id)


def _needed(found: MetricComparison) -> str:
    repeats = found.repeats
    if repeats is None:
        return ""
    noun = "pair" if found.method.startswith("paired") else "run of each"
    more = noun if repeats.more == 1 else noun.replace("pair", "pairs").replace("run", "runs")
    most = "or more" if repeats.high is None else f"to {repeats.high}"
    return (
        f"; about {repeats.more} more {more} ({repeats.low} {most}) would be needed to detect "
        f"{_rounded(repeats.finds)} with 80{THIN_SPACE}% power"
    )


def _by(found: MetricComparison) -> str:
    """`` by 4 %``, `` to 2.4 times``, or from and to if there is no ratio."""
    if _has_no_ratio(found):
        return f" from {significant(found.before)} to {significant(found.after)} {found.unit}"
    if found.ratio >= _TIMES_FROM:
        return f" to {significant(found.ratio)} times"
    return f" by {_rounded(found.ratio - 1)}"


def _has_no_ratio(found: MetricComparison) -> bool:
    return not math.isfinite(found.ratio) or found.ratio == 0


def ratio_text(ratio: float) -> str:
    """A ratio for a table: three decimals below 10, otherwise three digits."""
    return f"{ratio:.3f}" if 0.001 <= ratio < 10 else significant(ratio)


def change(ratio: float) -> str:
    """A ratio as text: +4 %, −2 %, 3.1 times."""
    if math.isinf(ratio):
        return "from nothing"
    if ratio >= _TIMES_FROM:
        return f"{significant(ratio)} times"
    if ratio == 1:
        return "no change"
    sign = "−" if ratio < 1 else "+"
    return f"{sign}{_rounded(ratio - 1)}"


def changes(low: float, high: float) -> str:
    """The ends of an interval of ratios in one form: −2 % to +4 %, 0.9 to 3.1 times."""
    if math.isfinite(high) and high >= _TIMES_FROM:
        return f"{' to '.join(dict.fromkeys(map(significant, (low, high))))} times"
    return " to ".join(dict.fromkeys(map(change, (low, high))))


def _rounded(share: float) -> str:
    """Two digits, or whole percent: the numbers compared here are no more precise.

    Close to 100 %, of which nothing is left, the digits of what is left.
    """
    value = abs(share) * 100
    if 99 < value < 100:
        return f"{100 - float(f'{100 - value:.1g}'):g}{THIN_SPACE}%"
    return f"{value:.0f}{THIN_SPACE}%" if value >= 9.95 else f"{value:.2g}{THIN_SPACE}%"


def _evidence(found: MetricComparison, runs: str) -> str:
    parts = [runs]
    if found.low is not None and found.high is not None:
        is_within = found.method in ("single runs", "size")
        within = " within the runs" if is_within else ""
        parts.insert(0, f"{changes(found.low, found.high)} at 95{THIN_SPACE}%{within}")
    if found.p is not None and found.p_adjusted is not None and found.p < ALPHA:
        among = "" if found.p_adjusted < ALPHA else " after Holm correction"
        chance = "< 0.0001" if found.p_adjusted < 1e-4 else f"= {found.p_adjusted:.2g}"
        parts.append(f"p {chance}{among}")
    return ", ".join(parts)
