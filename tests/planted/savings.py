"""What a transaction's CPU time falls by without a cause: as its finding predicts it, and measured.

Both are shares of the CPU time that the server uses for a transaction with the cause: of its
sessions for the load, or, for work in the background, of all its processes but dbdyno's own
sessions. Throughput would be nearer to a user's question, but depends on who else is on the host.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dbdyno.analysis.statistics.effect import paired_ratio
from dbdyno.analysis.statistics.estimate import Ratio

IN_BACKGROUND = "background_work"
OF_LOAD, OF_DBDYNO = "client", "telemetry"


class Predicted(NamedTuple):
    """The part of the CPU time that a finding predicts, and its bounds."""

    share: float
    least: float
    most: float


class Pair(NamedTuple):
    """One run with a cause, and one without it: CPU microseconds of a transaction."""

    predicted: Predicted | None
    """None if the finding is missing."""
    with_us: float
    without_us: float


def pair_of(expected: frozenset[str], record: Mapping[str, Any], other: Mapping[str, Any]) -> Pair:
    """Return what the first record predicts, and both costs."""
    found = [one["evidence"] for one in record["findings"] if one["id"] in expected]
    cost_us = _server_us if IN_BACKGROUND in expected else _load_us
    before_us, after_us = cost_us(record), cost_us(other)
    return Pair(_predicted(found[0], before_us) if found else None, before_us, after_us)


def predicted(pairs: Iterable[Pair]) -> Predicted | None:
    """Return the mean of what the findings predict."""
    parts = [one.predicted for one in pairs if one.predicted]
    if not parts:
        return None
    return Predicted(*(sum(each) / len(parts) for each in zip(*parts, strict=True)))


def measured(pairs: Sequence[Pair]) -> Ratio:
    """Return the part that goes away, with its interval over the pairs."""
    left = paired_ratio([(one.with_us, one.without_us) for one in pairs])
    if left.low is None or left.high is None:
        return Ratio(1 - left.value, None, None)
    return Ratio(1 - left.value, 1 - left.high, 1 - left.low)


def _predicted(evidence: Mapping[str, Any], whole_us: float) -> Predicted:
    """By the profile, or for work in the background by the kernel's counts."""
    if "busiest" in evidence:
        part = evidence["cpu_us"] / whole_us
        return Predicted(part, part, part)
    least = evidence.get("saved_share", evidence["own_share"])
    return Predicted(evidence["cpu_share"], least, evidence["most_share"])


def _load_us(record: Mapping[str, Any]) -> float:
    """By the profile, which also gives the shares of it."""
    (us,) = (
        part["us"] for part in record["server_profile"]["processes"] if part["processes"] == OF_LOAD
    )
    return float(us)


def _server_us(record: Mapping[str, Any]) -> float:
    """As the kernel counts it."""
    return sum(part["us"] for part in record["server_processes"] if part["processes"] != OF_DBDYNO)
