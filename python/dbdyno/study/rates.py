"""How fast this host prepares data and servers, for the plans of studies.

Starts with modest guesses, which each study that runs replaces by what it measured. Only estimates
depend on it.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.model.study import Spent, Turn, TurnResult
from dbdyno.store.studies import keep_rates
from dbdyno.study.resolved_point import ResolvedPoint

DRAIN_S = 0.2
RATES_MIN = 1e-3
SMALL_BYTES = 100_000_000
"""Below this, a turn's preparation consists of starting and settling."""


class Rates(Struct, frozen=True, kw_only=True):
    """Seconds, and bytes per second, of what surrounds a run."""

    load_bytes_per_s: float = 40e6
    restore_bytes_per_s: float = 300e6
    """Copying, reading back into the cache, vacuum and checkpoint together."""
    start_s: float = 2.5
    """Start and end of a server, and the overhead of small data."""
    other_s: float = 0.5
    """What follows a run: its explanation and its files."""

    def prepare_s(self, point: ResolvedPoint) -> float:
        """Estimate the time to prepare a point, each time; none on a running server."""
        if point.server is None:
            return 0.0
        return self.start_s + point.data_bytes / self.restore_bytes_per_s

    def load_s(self, point: ResolvedPoint) -> float:
        """Estimate the time to load its data, once."""
        return self.start_s + point.data_bytes / self.load_bytes_per_s

    def measured(self, point: ResolvedPoint, spent: Spent) -> dict[str, float]:
        """Return the rates that a turn measured; small data is copied too fast to tell."""
        prepared_s = spent.prepare_s - spent.load_s
        if point.data_bytes < SMALL_BYTES:
            return {"start_s": prepared_s, "other_s": spent.other_s}
        found = {"other_s": spent.other_s}
        if prepared_s > self.start_s:
            found["restore_bytes_per_s"] = point.data_bytes / (prepared_s - self.start_s)
        if spent.load_s:
            found["load_bytes_per_s"] = point.data_bytes / spent.load_s
        return found


def rates_from(kept: Mapping[str, float]) -> Rates:
    """Return the rates; measured ones take precedence over the guesses."""
    known = {name: kept[name] for name in Rates.__struct_fields__ if kept.get(name, 0) > RATES_MIN}
    return Rates(**known)


class Pace:
    """How long turns will take: what the rates say, which every turn that succeeds corrects."""

    def __init__(self, points: Mapping[str, ResolvedPoint], rates: Rates) -> None:
        self._points = points
        self._rates = rates

    def left_s(self, turns: Iterable[Turn]) -> float:
        """Estimate the time of these turns, but for loading data that is kept already."""
        points = [self._points[turn.point] for turn in turns]
        runs_s = sum((point.run_s or 0) + DRAIN_S for point in points)
        return runs_s + sum(self._rates.prepare_s(one) + self._rates.other_s for one in points)

    def learn(self, result: TurnResult) -> None:
        """Correct the rates, also those of later studies."""
        point = self._points[result.turn.point]
        if result.status == "done" and point.server:
            measured = self._rates.measured(point, result.spent)
            self._rates = replace(self._rates, **measured)
            keep_rates(measured)
