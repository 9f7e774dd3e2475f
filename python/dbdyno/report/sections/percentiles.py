"""The percentile curve: how long the slowest one in ten, in a hundred, in ten thousand waits."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from markupsafe import Markup
from msgspec import Struct

from dbdyno.analysis.distributions import sample_count, total_histogram
from dbdyno.formatting import milliseconds
from dbdyno.report.content import Block, Figure, Section, Subject, Table
from dbdyno.report.plot import NARROW, at_each_width
from dbdyno.report.scales import Scale, log_scale, log_ticks, tail_scale
from dbdyno.report.svg import Drawing

_NAMES = {
    0.5: "p50",
    0.9: "p90",
    0.95: "p95",
    0.99: "p99",
    0.999: "p99.9",
    0.9999: "p99.99",
    0.99999: "p99.999",
}
_TICKS = {
    0.0: "0",
    0.5: "50",
    0.9: "90",
    0.99: "99",
    0.999: "99.9",
    0.9999: "99.99",
    0.99999: "99.999",
    0.999999: "99.9999",
}
_QUANTILE_MAX = 0.99999
_BEYOND_MIN = 10
_LINE_HEIGHT = 15
_HEIGHT, _HEIGHT_NARROW = 300, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 70, 14, 40


class Curve(Struct, frozen=True):
    """One distribution: quantiles with their times, and its number of samples."""

    label: str
    style: str
    quantiles: list[float]
    times_ms: list[float]
    samples: int

    @property
    def sure_max(self) -> float:
        """Fewer than ten samples lie beyond this quantile."""
        return 1 - _BEYOND_MIN / max(self.samples, _BEYOND_MIN + 1)


def build(subject: Subject) -> Sequence[Block]:
    """Response time, and service time where it differs."""
    curves = [curve for curve in _curves(subject) if curve]
    if not curves:
        return []
    return [
        Figure(
            id="percentile-curve",
            caption="Time within which a share of the transactions was completed. Each further "
            "nine takes equal width. Dashed: fewer than ten transactions lie beyond.",
            summary=_summary(curves[0]),
            table=_table(curves),
            svg=at_each_width(partial(_draw, curves)),
        )
    ]


def _curves(subject: Subject) -> list[Curve | None]:
    return [
        _curve(subject, "script_response", "response", "blue"),
        _curve(subject, "script_service", "service", "amber"),
    ]


def _curve(subject: Subject, kind: str, label: str, style: str) -> Curve | None:
    histogram = total_histogram(subject.recording, subject.histograms, kind)
    if histogram is None:
        return None
    samples = sample_count(histogram, subject.histograms)
    if not samples:
        return None
    last = min(_QUANTILE_MAX, 1 - 1 / (samples + 1))
    nines = np.linspace(0, -np.log10(1 - last), 160)
    wanted = sorted({*(1 - 10**-nines).tolist(), *(q for q in _NAMES if q <= last)})
    times = subject.histograms.quantiles(histogram, wanted)
    return Curve(label, style, wanted, [ns / 1e6 for ns in times], samples)


def _named(curve: Curve) -> dict[float, float]:
    known = dict(zip(curve.quantiles, curve.times_ms, strict=True))
    return {quantile: known[quantile] for quantile in _NAMES if quantile in known}


def _summary(curve: Curve) -> str:
    values = [f"{_NAMES[q]} {milliseconds(ms)}" for q, ms in _named(curve).items()]
    return f"{curve.label.capitalize()} time: {', '.join(values)}."


def _table(curves: list[Curve]) -> Table:
    columns = [_named(curve) for curve in curves]
    wanted = [quantile for quantile in _NAMES if quantile in columns[0]]
    return Table(
        caption="Percentiles",
        columns=("Percentile", *(f"{curve.label.capitalize()} time" for curve in curves)),
        rows=[(_NAMES[q], *(milliseconds(column.get(q)) for column in columns)) for q in wanted],
        numeric=frozenset(range(1, len(curves) + 1)),
    )


def _draw(curves: list[Curve], width: int) -> Markup:
    height = _HEIGHT_NARROW if width == NARROW else _HEIGHT
    drawing = Drawing(width, height)
    right, bottom = width - _RIGHT, height - _BOTTOM
    across = tail_scale(max(curve.quantiles[-1] for curve in curves), _LEFT, right)
    times = [ms for curve in curves for ms in curve.times_ms if ms > 0]
    up = log_scale(min(times), max(times), bottom, _TOP)
    _draw_axes(drawing, across, up)
    ends = _apart([up(curve.times_ms[-1]) for curve in curves])
    for curve, end in zip(curves, ends, strict=True):
        _draw_curve(drawing, curve, across, up)
        drawing.text(right + 6, end + 4, curve.label, "start", f"name {curve.style}")
    return drawing.markup()


def _draw_axes(drawing: Drawing, across: Scale, up: Scale) -> None:
    bottom, top = up.begin, up.end
    for tick in log_ticks(up.low, up.high):
        drawing.line(across.begin, up(tick), across.end, up(tick), "rule")
        drawing.text(across.begin - 8, up(tick) + 4, milliseconds(tick), "end")
    for share, name in _TICKS.items():
        if share <= across.high:
            drawing.line(across(share), top, across(share), bottom, "rule")
            drawing.text(across(share), bottom + 16, name, "middle")
    middle = (across.begin + across.end) / 2
    drawing.text(middle, bottom + 34, "percent of transactions", "middle", "title")


def _draw_curve(drawing: Drawing, curve: Curve, across: Scale, up: Scale) -> None:
    """Draw it solid up to the last ten transactions, then dashed."""
    points = list(zip(curve.quantiles, curve.times_ms, strict=True))
    sure = [(across(q), up(ms)) for q, ms in points if q <= curve.sure_max]
    unsure = [(across(q), up(ms)) for q, ms in points if q > curve.sure_max]
    drawing.path(sure, f"curve {curve.style}")
    drawing.path([*sure[-1:], *unsure], f"curve dashed {curve.style}")


def _apart(places: list[float]) -> list[float]:
    """Move labels apart if their curves end at the same height."""
    moved = places[:1]
    for place in places[1:]:
        moved.append(max(place, moved[-1] + _LINE_HEIGHT))
    return moved


SECTION = Section(id="percentiles", title="Percentiles", order=40, build=build)
