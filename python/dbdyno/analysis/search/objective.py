"""A service level objective, as text and as a number.

An objective on a percentile is one on a share: *p99 below 10 ms* means that at most one transaction
in a hundred takes longer. :mod:`.objective_windows` computes how far a run met it.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from dbdyno.formatting import milliseconds, percent
from dbdyno.model.record import RunRecord

Measure: TypeAlias = Literal["mean", "p50", "p90", "p95", "p99", "p999", "failures"]
QUANTILES: dict[Measure, float] = {
    "p50": 0.5,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p999": 0.999,
}


class Objective(Struct, frozen=True, kw_only=True):
    """A number that has to stay below a limit: milliseconds, or a share for failures."""

    measure: Measure
    limit: float

    @property
    def name(self) -> str:
        """The measure's name, as text."""
        return name_of(self.measure)

    @property
    def text(self) -> str:
        """The objective as text: ``p99 < 10 ms``."""
        return f"{self.name} < {self.value_text(self.limit)}"

    def value_text(self, value: float) -> str:
        """A value of the measure, as text."""
        return percent(value) if self.measure == "failures" else milliseconds(value)

    @property
    def share_allowed(self) -> float:
        """Share of transactions that may take longer, or fail."""
        return self.limit if self.measure == "failures" else 1 - QUANTILES[self.measure]

    def value(self, record: RunRecord) -> float | None:
        """The value that a run reached."""
        counts, response = record.transactions, record.response_ms
        if self.measure == "failures":
            ended = counts.ended or 0 if counts else 0
            return (ended - counts.ok) / ended if counts and ended else None
        return getattr(response, self.measure) if response else None


def name_of(measure: Measure) -> str:
    """A measure's name, as text."""
    return "p99.9" if measure == "p999" else measure
