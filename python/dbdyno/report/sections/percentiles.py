"""The percentile curve: how long the slowest one in ten, in a hundred, in ten thousand waits."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from dbdyno.analysis.series.distributions import sample_count, total_histogram
from dbdyno.answers.answer import CurveOf, CurveSeries
from dbdyno.formatting import milliseconds
from dbdyno.model.run import Run
from dbdyno.report.charts.percentiles import PercentileCurve, draw_percentiles
from dbdyno.report.charts.plot import at_each_width
from dbdyno.report.content import Block, Figure, Section, Table

_NAMES = {
    0.5: "p50",
    0.9: "p90",
    0.95: "p95",
    0.99: "p99",
    0.999: "p99.9",
    0.9999: "p99.99",
    0.99999: "p99.999",
}
_QUANTILE_MAX = 0.99999


_KINDS = (("script_response", "response", "blue"), ("script_service", "service", "amber"))


def build(run: Run) -> Sequence[Block]:
    """Response time, and service time where it differs."""
    curves = [curve for kind in _KINDS if (curve := _curve(run, *kind))]
    if not curves:
        return []
    titles = [f"{curve.label.capitalize()} time" for curve in curves]
    named = [dict(zip(curve.quantiles, curve.times_ms, strict=True)) for curve in curves]
    shown = [quantile for quantile in _NAMES if quantile in named[0]]
    first = ", ".join(f"{_NAMES[q]} {milliseconds(named[0][q])}" for q in shown)
    return [
        Figure(
            id="percentile-curve",
            axes=("", "time"),
            caption="Time within which a share of the transactions was completed. Each further "
            "nine takes equal width. Dashed: fewer than ten transactions lie beyond.",
            summary=f"{titles[0]}: {first}.",
            table=Table(
                caption="Percentiles",
                columns=("Percentile", *titles),
                rows=[(_NAMES[q], *(milliseconds(one.get(q)) for one in named)) for q in shown],
                numeric=frozenset(range(1, len(curves) + 1)),
            ),
            svg=at_each_width(partial(draw_percentiles, curves)),
            shows=CurveOf(
                title="Percentiles",
                summary="",
                x_title="percent of transactions",
                y_title="ms",
                series=[
                    CurveSeries(label=one.label, x=one.quantiles, y=one.times_ms) for one in curves
                ],
                x_axis="tail",
                y_axis="log",
            ),
        )
    ]


def _curve(run: Run, kind: str, label: str, style: str) -> PercentileCurve | None:
    histogram = total_histogram(run, kind)
    if histogram is None:
        return None
    samples = sample_count(histogram, run.histograms)
    if not samples:
        return None
    last = min(_QUANTILE_MAX, 1 - 1 / (samples + 1))
    nines = np.linspace(0, -np.log10(1 - last), 160)
    wanted = sorted({*(1 - 10**-nines).tolist(), *(q for q in _NAMES if q <= last)})
    times = run.histograms.quantiles(histogram, wanted)
    return PercentileCurve(label, style, wanted, [ns / 1e6 for ns in times], samples)


SECTION = Section(id="percentiles", title="Percentiles", build=build)
