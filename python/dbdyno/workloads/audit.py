"""What the definition of a workload demands of a run: its metric, its mix, its response times.

A workload declares demands; what a run did comes from the engine's counts, from what scripts count
by name (``counter`` in Lua), and from response times. A demand that is not met makes no number
wrong: it says that the run was not quite this workload, or that the server was too slow for it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from dbdyno.model.record import AuditRecord, ScriptRecord

ENOUGH = 10_000
"""From so many on, the definitions' ranges are about a workload and not about chance."""
_CHANCE = 3.0
"""A count that is further from what is allowed than this many standard errors is not chance."""


class Metric(Struct, frozen=True, kw_only=True):
    """A number that a workload is known for: transactions of some scripts in some time."""

    field: Literal["nopm", "mqth", "queries_per_hour"]
    """The record's field for it."""
    scripts: tuple[str, ...]
    """Runs without one of them do not have the number."""
    seconds: float
    committed: tuple[str, ...] = ()
    """Those of the scripts of which only committed transactions count."""


class Ratio(Struct, frozen=True, kw_only=True):
    """How many ``of`` these there must be for each ``among`` those; both are names of counts."""

    name: str
    of: str
    among: str
    low: float | None
    high: float | None
    unit: Literal["share", "each"] = "share"

    def audit(self, counts: Mapping[str, int], _scripts: Sequence[ScriptRecord]) -> AuditRecord:
        """Return what a run did.

        A count varies by chance, at most by about its square root. Where chance alone may have
        moved a value out of its range, there were too few.
        """
        of, among = counts.get(self.of, 0), counts.get(self.among, 0)
        value = of / among if among else None
        ok = None
        if value is not None and among >= ENOUGH:
            low = -math.inf if self.low is None else self.low
            high = math.inf if self.high is None else self.high
            beyond = max(low - value, value - high, 0.0)
            is_chance = beyond <= _CHANCE * math.sqrt(max(of, 1)) / among
            ok = True if not beyond else None if is_chance else False
        return AuditRecord(
            name=self.name,
            unit=self.unit,
            value=value,
            low=self.low,
            high=self.high,
            count=among,
            ok=ok,
        )


class ResponseLimit(Struct, frozen=True, kw_only=True):
    """The time within which 90 % of a script's transactions must be answered."""

    script: str
    limit_ms: float

    def audit(self, _counts: Mapping[str, int], scripts: Sequence[ScriptRecord]) -> AuditRecord:
        """Return what a run did."""
        one = next(script for script in scripts if script.name == self.script)
        p90_ms = one.response_ms.p90 if one.response_ms else None
        return AuditRecord(
            name=f"90th percentile of {self.script}",
            unit="ms",
            value=p90_ms,
            low=None,
            high=self.limit_ms,
            count=one.ok,
            ok=None if p90_ms is None else p90_ms <= self.limit_ms,
        )


Demand: TypeAlias = Ratio | ResponseLimit


def mix(weights: Mapping[str, int]) -> tuple[Ratio, ...]:
    """Return that each script has its share of all transactions, but for a twentieth of it."""
    total = sum(weights.values())
    return tuple(
        Ratio(
            name=name,
            of=name,
            among="transactions",
            low=0.95 * weight / total,
            high=1.05 * weight / total,
        )
        for name, weight in weights.items()
        if 0 < weight < total
    )


def audited(
    demands: Sequence[Demand],
    counted: Mapping[str, int],
    scripts: Sequence[ScriptRecord],
    mixed: int | None = None,
) -> list[AuditRecord]:
    """Return how a run met each demand.

    Counts are known by these names: ``transactions``, which are those of the first ``mixed``
    scripts if other clients run the others; the name of each script, ``committed`` or
    ``not committed`` after it, and what scripts ``counted``.
    """
    counts = {"transactions": sum(script.ok for script in scripts[:mixed]), **counted}
    for script in scripts:
        counts[script.name] = script.ok
        if script.committed is not None:
            counts[f"{script.name} committed"] = script.committed
            counts[f"{script.name} not committed"] = script.ok - script.committed
    return [demand.audit(counts, scripts) for demand in demands]
