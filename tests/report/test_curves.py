"""Static charts: what is drawn, where, and what the table beside them says."""

import re

import pytest

from dbdyno.answers.answer import (
    BarOf,
    CurveOf,
    CurveSeries,
    PartsOf,
    ScatterOf,
    SpanOf,
)
from dbdyno.report.charts.curves import colour_of, curve_figure
from dbdyno.report.charts.parts import parts_figure
from dbdyno.report.charts.plot import CHARACTER, level_ticks, scale_of, set_apart
from dbdyno.report.charts.scatter import scatter_figure

LINE = CurveSeries(
    label="measured", x=[1, 10, 100], y=[10, 100, 50], low=[9, 90, 40], high=[11, 110, 60]
)
LAW = CurveSeries(label="law", x=[1, 100], y=[10, 60], fitted=True)


def curve(*series, **changes):
    known = {"title": "T", "summary": "S.", "x_title": "clients", "y_title": "TPS"}
    return CurveOf(series=series, **(known | changes))


def svg(figure, place=0):
    return str(figure.svg[place])


def test_each_measured_point_has_a_dot_and_its_interval():
    drawn = svg(curve_figure(curve(LINE, LAW), "f"))
    assert drawn.count("<circle") == 3
    assert drawn.count('class="interval blue"') == 9  # a stem and two caps each
    assert drawn.count('class="curve dashed blue"') == 1


def test_a_fitted_line_has_the_colour_of_the_points_before_it():
    other = CurveSeries(label="other", x=[1], y=[1])
    one = curve(LINE, LAW, other)
    assert [colour_of(one, series) for series in one.series] == ["blue", "blue", "amber"]


def test_the_table_has_what_was_measured_alone():
    table = curve_figure(curve(LINE, LAW), "f").table
    assert table.columns == ("clients", "measured", "measured, 95 % interval")
    assert table.rows[0] == ("1", "10", "9 to 11")


def test_a_log_axis_places_equal_ratios_equally_far():
    drawn = svg(curve_figure(curve(LINE, x_axis="log"), "f"))
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)


def test_a_mark_has_its_label():
    assert "knee 14" in svg(curve_figure(curve(LINE, marks=[(14, "knee 14")]), "f"))


def test_a_mark_beyond_the_lines_stands_at_its_own_number():
    marks = [(1000, "takes 1 h"), (100_000, "takes longer")]
    far = CurveSeries(label="law", x=[1, 1000], y=[10, 600], fitted=True)
    drawn = svg(curve_figure(curve(LINE, far, marks=marks, x_axis="log"), "f"))
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    places = [float(x) for x in re.findall(r'd="M([\d.]+)[^"]*" class="curve dashed grey"', drawn)]
    decade = dots[1] - dots[0]
    assert places == pytest.approx([dots[0] + 3 * decade, dots[0] + 5 * decade], abs=0.5)


def test_an_axis_has_ticks_where_lines_are_extrapolated():
    far = CurveSeries(label="law", x=[1, 10_000], y=[10, 600], fitted=True)
    drawn = svg(curve_figure(curve(LINE, far, x_axis="log"), "f"))
    assert "10\u202f000</text>" in drawn


def test_marks_are_named_above_the_plot_and_beside_each_other():
    marks = [(50, "a level that changed"), (52, "another"), (90, "third")]
    drawn = svg(curve_figure(curve(LINE, marks=marks), "f"))
    heights = {
        words: float(y) for y, words in re.findall(r'y="([\d.]+)"[^>]*class="halo">(.*?)<', drawn)
    }
    plot = min(float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', drawn))
    assert max(heights.values()) < plot
    assert heights["another"] - heights["a level that changed"] >= 15
    assert heights["third"] == heights["a level that changed"]


def test_names_begin_after_the_last_points_where_these_are_set_apart():
    lines = [
        CurveSeries(label=f"line {n}", x=[1, 9], y=[n, n], low=[n, n], high=[n, n])
        for n in (1, 2, 3, 4)
    ]
    drawn = svg(curve_figure(curve(*lines), "f"))
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    names = [float(x) for x in re.findall(r'<text x="([\d.]+)"[^>]*class="name', drawn)]
    assert min(names) - max(dots) >= 10


def test_the_mean_that_points_show_is_named():
    assert "Points: geometric means over runs" in curve_figure(curve(LINE), "f").caption


def test_the_table_has_no_column_for_missing_intervals():
    runs = CurveSeries(label="runs", x=[1, 2], y=[10, 11])
    assert curve_figure(curve(runs), "f").table.columns == ("clients", "runs")


def test_a_point_without_an_interval_is_explained():
    some = CurveSeries(label="runs", x=[1, 2], y=[10, 11], low=[9, None], high=[12, None])
    assert "where there are enough runs" in curve_figure(curve(some), "f").caption
    assert "where there are enough runs" not in curve_figure(curve(LINE), "f").caption


def test_an_interval_that_is_not_drawn_does_not_set_the_axis():
    law = CurveSeries(label="law", x=[1, 100], y=[10, 60], low=[1, 1], high=[99, 900], fitted=True)
    same = (svg(curve_figure(curve(LINE, one), "f")) for one in (LAW, law))
    assert len(set(same)) == 1


def test_intervals_of_two_lines_stand_beside_each_other():
    other = CurveSeries(label="other", x=LINE.x, y=LINE.y, low=LINE.low, high=LINE.high)
    drawn = svg(curve_figure(curve(LINE, other), "f"))
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    assert [there - here for here, there in zip(places[:3], places[3:], strict=True)] == (
        pytest.approx([5, 5, 5])
    )


def test_long_numbers_have_their_room():
    """A tick left of the axis, and one below its end."""
    large = CurveSeries(label="rows", x=[1000, 1_000_000], y=[1e6, 8e6])
    for place in (0, 1, 2):
        drawn = svg(curve_figure(curve(large), "f"), place)
        width = float(re.search(r'width="(\d+)"', drawn)[1])
        found = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="(\w+)"[^>]*>([^<]+)', drawn)
        for x, anchor, text in found:
            room = len(text) * CHARACTER * {"start": 0, "middle": 0.5, "end": 1}[anchor]
            assert room <= float(x) + 1
            if anchor == "middle":
                assert float(x) + room <= width + 1


def test_a_narrow_page_names_its_lines_below():
    wide, narrow = (svg(curve_figure(curve(LINE, LAW), "f"), place) for place in (0, -1))
    heights = [float(re.search(r'height="(\d+)"', one)[1]) for one in (wide, narrow)]
    assert "measured" in narrow
    assert heights == [320, 310]  # two lines of names


def test_few_levels_are_the_ticks_and_those_too_close_are_left_out():
    scale = scale_of([1, 500], 0, 300, is_log=True)
    assert level_ticks([1, 4, 5, 20, 100, 500], scale, is_log=True) == [1, 4, 20, 100, 500]
    rates = scale_of([0, 4000], 0, 770, is_log=False)
    assert level_ticks([3390, 3570, 3660, 3750], rates, is_log=False) == [3390, 3660]


def test_names_are_set_apart_and_stay_above_the_axis():
    places = set_apart([100, 98, 99, 20], 15, 110)
    assert places == [110, 80, 95, 20]


def test_parts_are_as_long_as_their_shares():
    parts = PartsOf(
        title="T",
        summary="S",
        kinds=("a", "b"),
        bars=[BarOf(label="1", parts=[3, 1], text="4 ms")],
    )
    figure = parts_figure(parts, "f")
    widths = [float(one) for one in re.findall(r'width="([\d.]+)" height="20.0"', svg(figure))]
    assert (widths[0] + 1) / (widths[1] + 1) == pytest.approx(3, rel=0.01)
    assert figure.table.rows[0][1:3] == ("75\u202f%", "25\u202f%")


def test_a_scatter_has_a_dot_an_interval_and_a_band_an_event():
    scatter = ScatterOf(
        title="T",
        summary="S",
        y_title="TPS",
        series=[CurveSeries(label="run", x=[0, 1, 2, 3], y=[10, 11, 2, 10])],
        spans=[SpanOf(kind="checkpoint", begin_s=1.5, end_s=2.5)],
    )
    figure = scatter_figure(scatter, "f")
    assert svg(figure).count("<circle") == 4
    assert svg(figure).count('class="band"') == 1
    assert figure.table.rows == [("checkpoint", "1.5\u202fs", "2.5\u202fs")]
    assert figure.key == [("--muted", "checkpoint")]
