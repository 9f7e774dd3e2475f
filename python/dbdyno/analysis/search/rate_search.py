"""A search for the highest rate that meets an objective: what is known, and which rate is next.

Rates are first tried upwards in quarters of the capacity while the objective is met, which draws
the curve; then between the highest met and the lowest missed rate, at their geometric mean. If not
even the first is met, rates are halved. Each rate is tried once, so at most ``RATES_MAX`` are
judged, and the stated error is shared among them.
"""

import math
from collections.abc import Sequence

from msgspec import Struct

from dbdyno.analysis.search.objective import Objective
from dbdyno.analysis.search.sequential import Judgement, SequentialResult
from dbdyno.model.record import RunRecord

RESOLUTION = 0.05
RATES_MAX = 12
_STEPS = (0.25, 0.5, 0.75)
# If nothing is met down to a hundredth of the capacity, no rate will do.
_LEAST = 0.01


def counts(run: RunRecord) -> bool:
    """Whether a run shows what the server can do.

    One that is not valid shows what the load generator could not do; but that no transaction
    completed is the server's result.
    """
    return run.valid is not False or not (run.transactions and run.transactions.ok)


class Trial(Struct, frozen=True, kw_only=True):
    """All runs at one rate, and the judgement of each objective by those that count, in order.

    ``open``: could not be decided in the time allowed for one rate, or no run counts: then there
    are no results.
    """

    rate_tps: float
    runs: Sequence[RunRecord]
    results: Sequence[SequentialResult]

    @property
    def outcome(self) -> Judgement:
        """Met if all objectives are met, missed if one is missed."""
        judgements = {one.judgement for one in self.results}
        if "missed" in judgements:
            return "missed"
        return "open" if "open" in judgements or not judgements else "met"


class Search(Struct, frozen=True, kw_only=True):
    """A search and its state. ``error`` is for all rates together, in each direction."""

    search_id: str
    objectives: Sequence[Objective]
    error: float
    rate_max_tps: float | None
    probe: RunRecord
    """The closed-loop run that measured the capacity."""
    trials: Sequence[Trial] = ()
    is_over: bool = False
    """False for a search that is running, and for one that was interrupted."""

    @property
    def capacity_tps(self) -> float:
        """Throughput of a closed loop with the same number of clients."""
        return self.probe.throughput_tps.value if self.probe.throughput_tps else 0.0

    @property
    def met_tps(self) -> float | None:
        """The highest rate that meets the objectives."""
        met = (trial.rate_tps for trial in self.trials if trial.outcome == "met")
        return max(met, default=None)

    @property
    def not_met(self) -> Trial | None:
        """The lowest rate that was missed or could not be decided."""
        others = [trial for trial in self.trials if trial.outcome != "met"]
        return min(others, key=lambda trial: trial.rate_tps, default=None)

    @property
    def upper_tps(self) -> float:
        """Upper bound of the rates still to be tried."""
        if self.not_met is not None:
            return self.not_met.rate_tps
        return self.capacity_tps


def error_each(search: Search) -> float:
    """The error of one objective at one rate (Bonferroni)."""
    return search.error / RATES_MAX / len(search.objectives)


def next_rate(search: Search) -> float | None:
    """None if the answer is known precisely enough, or there is none."""
    met, above = search.met_tps, search.upper_tps
    if search.not_met is None:
        upwards = [rate for rate in _steps(search) if rate > (met or 0.0)]
        if upwards:
            return upwards[0]
    if met is None:
        lower = rounded(above / 2)
        return lower if lower >= search.capacity_tps * _LEAST else None
    if met == search.rate_max_tps or above / met <= 1 + RESOLUTION:
        return None
    between = rounded(math.sqrt(met * above))
    return between if met < between < above else None


def _steps(search: Search) -> list[float]:
    """The steps upwards; the highest requested rate is tried itself.

    The capacity of a closed loop is not: at that rate a queue never ends.
    """
    requested, capacity = search.rate_max_tps, search.capacity_tps
    if requested is not None and requested < capacity:
        return [*(rounded(requested * step) for step in _STEPS), requested]
    return [rounded(capacity * step) for step in _STEPS]


def rounded(rate_tps: float) -> float:
    """Round to three digits, as a person would choose a rate."""
    return round(rate_tps, 2 - math.floor(math.log10(rate_tps)))
