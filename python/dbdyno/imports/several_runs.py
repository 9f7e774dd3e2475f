"""What several runs of one text say together: throughput by clients, and by the scale of the data.

Only runs that differ in nothing else that the text tells are put together.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from dbdyno.analysis.growth.volume import VolumeCurve, volume_curve
from dbdyno.formatting import percent, tps
from dbdyno.imports.imported_run import ImportedRun

LEVELS_MIN = 3
"""With fewer there is neither a peak nor a slope."""


class ByClients(NamedTuple):
    """The mean throughput at each number of clients, of as many runs in all."""

    workload: str
    tps: dict[int, float]
    runs: int

    @property
    def sentence(self) -> str:
        """Where the peak is, and what is left of it at the most clients."""
        peak, most = max(self.tps, key=lambda one: self.tps[one]), max(self.tps)
        text = (
            f"{self.workload}, {min(self.tps)} to {most} clients: throughput is highest at {peak} "
            f"({tps(self.tps[peak])} TPS)"
        )
        if peak != most:
            lost = 1 - self.tps[most] / self.tps[peak]
            text += f", and {percent(lost)} lower at {most}"
        if self.runs == len(self.tps):
            text += "; one run of each, so how much of this is chance is not known"
        return text


class ByScale(NamedTuple):
    """A line through throughput on logarithmic axes, over the scale of the data."""

    workload: str
    curve: VolumeCurve

    @property
    def sentence(self) -> str:
        """What ten times the data costs, and how certain that is."""
        found, curve = self.curve.exponent, self.curve
        text = (
            f"{self.workload}, scale {curve.rows_min:g} to {curve.rows_max:g}: ten times the data "
            f"changes throughput by {_change(found.value)}"
        )
        if found.low is not None and found.high is not None:
            text += f" (95 % interval {_change(found.low)} to {_change(found.high)}"
            text += ", which includes no change)" if found.low <= 0 <= found.high else ")"
        return "; ".join([text, *curve.doubts])


def together(runs: Sequence[ImportedRun]) -> Iterator[ByClients | ByScale]:
    """Yield what the runs of a text say together."""
    by_clients: dict[tuple[object, ...], dict[int, list[float]]] = {}
    by_scale: dict[tuple[object, ...], list[tuple[float, float]]] = defaultdict(list)
    for run in runs:
        if run.tps is None or run.is_open_loop:
            continue
        same = (run.tool, run.workload, run.query_mode)
        if run.clients is not None:
            levels = by_clients.setdefault((*same, run.scale), defaultdict(list))
            levels[run.clients].append(run.tps)
        if run.scale:
            by_scale[*same, run.clients].append((run.scale, run.tps))
    for (_, workload, *_), levels in by_clients.items():
        if len(levels) >= LEVELS_MIN:
            means = {clients: fmean(found) for clients, found in sorted(levels.items())}
            yield ByClients(str(workload), means, sum(map(len, levels.values())))
    for (_, workload, *_), measured in by_scale.items():
        curve = volume_curve(measured)
        if curve is not None and len({scale for scale, _ in measured}) >= LEVELS_MIN:
            yield ByScale(str(workload), curve)


def _change(exponent: float) -> str:
    share = 10**exponent - 1
    return f"{'−' if share < 0 else '+'}{percent(abs(share))}"
