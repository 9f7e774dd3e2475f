"""Percentile curves: times against shares, where each further nine takes the same room."""

from markupsafe import Markup
from msgspec import Struct

from dbdyno.formatting import milliseconds
from dbdyno.report.charts.plot import LINE, NARROW, set_apart
from dbdyno.report.charts.scales import log_scale, log_ticks, tail_scale
from dbdyno.report.charts.svg import Drawing

TICKS = {
    0.0: "0",
    0.5: "50",
    0.9: "90",
    0.99: "99",
    0.999: "99.9",
    0.9999: "99.99",
    0.99999: "99.999",
    0.999999: "99.9999",
}
_BEYOND_MIN = 10
_HEIGHT, _HEIGHT_NARROW = 300, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 70, 14, 40


class PercentileCurve(Struct, frozen=True):
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


def draw_percentiles(curves: list[PercentileCurve], width: int) -> Markup:
    """Draw each curve with its label at its end."""
    height = _HEIGHT_NARROW if width == NARROW else _HEIGHT
    drawing = Drawing(width, height)
    right, bottom = width - _RIGHT, height - _BOTTOM
    across = tail_scale(max(curve.quantiles[-1] for curve in curves), _LEFT, right)
    times = [ms for curve in curves for ms in curve.times_ms if ms > 0]
    up = log_scale(min(times), max(times), bottom, _TOP)
    for tick in log_ticks(up.low, up.high):
        drawing.line(across.begin, up(tick), across.end, up(tick), "rule")
        drawing.text(across.begin - 8, up(tick) + 4, milliseconds(tick), "end")
    for share, name in TICKS.items():
        if share <= across.high:
            drawing.line(across(share), _TOP, across(share), bottom, "rule")
            drawing.text(across(share), bottom + 16, name, "middle")
    middle = (across.begin + across.end) / 2
    drawing.text(middle, bottom + 34, "percent of transactions", "middle", "title")
    ends = set_apart([up(curve.times_ms[-1]) for curve in curves], LINE, bottom)
    for curve, end in zip(curves, ends, strict=True):
        points = list(zip(curve.quantiles, curve.times_ms, strict=True))
        sure = [(across(q), up(ms)) for q, ms in points if q <= curve.sure_max]
        unsure = [(across(q), up(ms)) for q, ms in points if q > curve.sure_max]
        drawing.path(sure, f"curve {curve.style}")
        drawing.path([*sure[-1:], *unsure], f"curve dashed {curve.style}")
        drawing.text(right + 6, end + 4, curve.label, "start", f"name {curve.style}")
    return drawing.markup()
