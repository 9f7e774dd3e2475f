"""What a finding may promise: how much throughput rises, or response times fall, without its cause.

A promise is an upper limit: what else limits the run is not foreseen, except by the CPU.
"""

from msgspec import Struct

from dbdyno.analysis.search.bounds import gain_factor
from dbdyno.analysis.summarize import has_its_rate
from dbdyno.explain.resources.failing import did_nothing
from dbdyno.explain.resources.processors import own_utilization
from dbdyno.explain.rule import NOTICED, Aside, Claim
from dbdyno.model.run import Run

_FACTOR_SHOWN_MAX = 100
_FACTOR_MIN = 1 + NOTICED


class Gains(Struct, frozen=True, kw_only=True):
    """What a run lets a finding promise."""

    did_nothing: bool = False
    """Then nothing is promised: there is no throughput to begin with."""
    has_its_rate: bool = False
    """Then response times fall instead."""

    def text(self, share: float) -> str:
        """What removing a cause with this share of client time, or of the run, can gain."""
        return self.rise(gain_factor(share)) if share >= NOTICED else ""

    def rise(self, factor: float, limit: str = "") -> str:
        """Throughput can rise by at most this factor, and what limits it further.

        If the share is next to all of the time, its inverse is a measurement error.
        """
        is_shown = factor <= _FACTOR_SHOWN_MAX
        by = f"at most {factor:.3g}" if is_shown else f"{_FACTOR_SHOWN_MAX} or more"
        return self.in_throughput(f"Throughput rises by a factor of {by}{limit}.")

    def in_throughput(self, gain: str) -> str:
        """The gain in throughput; in response times if the arrival rate is fixed."""
        if self.did_nothing:
            return ""
        return "Response times fall; the rate stays as requested." if self.has_its_rate else gain


class GainsOfWaits(Gains, frozen=True, kw_only=True):
    """The same for causes that take no CPU time: the CPU is then the next limit."""

    utilization: float | None = None
    """The share of CPU time that server and engine use; None if it is not known."""

    def text(self, share: float) -> str:
        """What removing a cause with this share of client time can gain."""
        factor = gain_factor(share, self.utilization)
        if share >= NOTICED and factor < _FACTOR_MIN:
            return self.in_throughput("Throughput hardly rises: the CPU is already saturated.")
        limit = "; the CPU is then saturated" if factor < gain_factor(share) else ""
        if self.utilization is None:
            limit = ", unless the CPU, whose utilization is not known, is saturated before"
        return self.rise(factor, limit) if share >= NOTICED else ""


def gains_in(run: Run) -> Gains:
    """What the run lets findings promise."""
    return Gains(did_nothing=did_nothing(run), has_its_rate=has_its_rate(run))


def gains_of_waits_in(run: Run) -> GainsOfWaits:
    """The same for causes that take no CPU time."""
    return GainsOfWaits(
        did_nothing=did_nothing(run),
        has_its_rate=has_its_rate(run),
        utilization=own_utilization(run),
    )


class LimitClaim(Claim, frozen=True, kw_only=True):
    """A cause that limits throughput by its share of client time."""

    gains: Aside[Gains] = Gains()

    @property
    def gain(self) -> str:
        """What removing all of it can gain."""
        return self.gains.text(self.share or 0.0)


class WaitClaim(LimitClaim, frozen=True, kw_only=True):
    """Waits that limit throughput, and take no CPU time."""

    gains: Aside[GainsOfWaits] = GainsOfWaits()
