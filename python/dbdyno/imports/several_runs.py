"""What several runs of one text say together: throughput by clients, scale and order of statements.

Only runs that differ in nothing else that the text tells are put together.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple, TypeAlias

from dbdyno.analysis.growth.volume import VolumeCurve, volume_curve
from dbdyno.formatting import percent, tps
from dbdyno.imports.imported_run import ImportedRun

LEVELS_MIN = 3
"""With fewer there is neither a peak nor a slope."""
Statements: TypeAlias = tuple[str, ...]
"""In the order of the script."""
_ONE_RUN_EACH = "; one run of each, so how much of this is chance is not known"


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
            text += _ONE_RUN_EACH
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


class Alike(NamedTuple):
    """The throughput of runs between which the text tells no difference."""

    workload: str
    tps: list[float]

    @property
    def sentence(self) -> str:
        """How far they are apart, and why the text does not say what of."""
        least, most = min(self.tps), max(self.tps)
        return (
            f"{self.workload}: {len(self.tps)} runs differ in nothing that the text tells, with "
            f"{tps(least)} to {tps(most)} TPS ({percent(most / least - 1)} apart): whether that is "
            "a setting, the size of the data or chance cannot be told; what more data costs, "
            "runs tell whose text has their scale"
        )


class ByOrder(NamedTuple):
    """The mean throughput of the same statements in several orders, of as many runs in all."""

    clients: int | None
    tps: dict[Statements, float]
    runs: int

    @property
    def sentence(self) -> str:
        """What the worst order costs against the best, and where they part."""
        best, worst = (choose(self.tps, key=lambda one: self.tps[one]) for choose in (max, min))
        early, late = next(pair for pair in zip(best, worst, strict=True) if len({*pair}) == 2)
        lost = 1 - self.tps[worst] / self.tps[best]
        clients = "" if self.clients is None else f"{self.clients} clients, "
        text = (
            f"{clients}the same statements in {len(self.tps)} orders: {tps(self.tps[best])} TPS "
            f"with “{early}” before “{late}”, and {percent(lost)} lower ({tps(self.tps[worst])} "
            "TPS) the other way round"
        )
        return text + (_ONE_RUN_EACH if self.runs == len(self.tps) else "")


def together(runs: Sequence[ImportedRun]) -> Iterator[ByClients | ByScale | ByOrder | Alike]:
    """Yield what the runs of a text say together."""
    by_work: dict[tuple[object, ...], list[ImportedRun]] = defaultdict(list)
    by_statements: dict[tuple[object, ...], list[ImportedRun]] = defaultdict(list)
    for run in runs:
        if run.tps and not run.is_open_loop:
            done = _statements(run)
            by_work[run.tool, run.workload, run.query_mode, done].append(run)
            if len({*done}) > 1:
                same = (run.tool, run.query_mode, run.clients, run.scale, tuple(sorted(done)))
                by_statements[same].append(run)
    for found in by_work.values():
        workload = found[0].workload
        yield from _by_clients(workload, found)
        yield from _by_scale(workload, found)
        if len(found) > 1 and len({(run.clients, run.scale) for run in found}) == 1:
            yield Alike(workload, [run.tps for run in found if run.tps])
    for found in by_statements.values():
        yield from _by_order(found)


def _statements(run: ImportedRun) -> Statements:
    """The statements of the server, if their latencies were printed."""
    return tuple(one.sql for one in run.statements if not one.sql.startswith("\\"))


def _by_order(runs: Sequence[ImportedRun]) -> Iterator[ByOrder]:
    by_order: dict[Statements, list[float]] = defaultdict(list)
    for run in runs:
        by_order[_statements(run)].append(run.tps or 0.0)
    if len(by_order) > 1:
        means = {order: fmean(found) for order, found in by_order.items()}
        yield ByOrder(runs[0].clients, means, len(runs))


def _by_clients(workload: str, runs: Sequence[ImportedRun]) -> Iterator[ByClients]:
    by_scale: dict[int | None, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.clients is not None and run.tps:
            by_scale[run.scale][run.clients].append(run.tps)
    for levels in by_scale.values():
        if len(levels) >= LEVELS_MIN:
            means = {clients: fmean(found) for clients, found in sorted(levels.items())}
            yield ByClients(workload, means, sum(map(len, levels.values())))


def _by_scale(workload: str, runs: Sequence[ImportedRun]) -> Iterator[ByScale]:
    by_clients: dict[int | None, list[tuple[float, float]]] = defaultdict(list)
    for run in runs:
        if run.scale and run.tps:
            by_clients[run.clients].append((run.scale, run.tps))
    for measured in by_clients.values():
        curve = volume_curve(measured)
        if curve is not None and len({scale for scale, _ in measured}) >= LEVELS_MIN:
            yield ByScale(workload, curve)


def _change(exponent: float) -> str:
    share = 10**exponent - 1
    return f"{'−' if share < 0 else '+'}{percent(abs(share))}"
