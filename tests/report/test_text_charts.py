"""Charts in text: what they show, in each width, and what they are made of."""

import pytest
from inline_snapshot import external_file, snapshot
from msgspec.structs import replace

from dbdyno.answers.answer import BarOf, CurveOf, CurveSeries, PartsOf, ScatterOf, SpanOf
from dbdyno.formatting import plain
from dbdyno.report.charts.curves import curve_figure
from dbdyno.report.charts.icicle import Icicle, IciclePart
from dbdyno.report.charts.parts import parts_figure
from dbdyno.report.charts.scatter import scatter_figure
from dbdyno.report.content import (
    Figure,
    Lane,
    LineChart,
    Mark,
    Page,
    PageSection,
    Series,
    Span,
    Table,
)
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_text import render_text
from dbdyno.report.text_charts.canvas import ASCII, UNICODE, length_of
from dbdyno.report.text_charts.figures import plotted
from dbdyno.report.text_charts.time_plot import time_plot
from tests.report.conftest import HOSTILE

WIDTHS = (60, 100, 200)
CHARTS = (
    "throughput-chart",
    "failures-chart",
    "waits-chart",
    "latency-chart",
    "heat-map-image",
    "percentile-curve",
)
LONG_NAME = "ordered \x1b[31mred\u202e 日本語テーブル " + "x" * 200
CURVE = CurveOf(
    title="Throughput by clients",
    summary="Made up.",
    x_title="clients",
    y_title="TPS",
    x_axis="log",
    marks=[(16, "a peak of 日本 at 16 clients")],
    series=[
        CurveSeries(
            label="shuffled",
            x=[1, 2, 4, 8, 16, 32, 64],
            y=[900, 1700, 3100, 5000, 5600, 5200, 4800],
            low=[880, 1650, 3000, 4800, 5500, 5000, None],
            high=[920, 1750, 3200, 5300, 5700, 5400, None],
        ),
        CurveSeries(label="a law", x=[1, 4, 16, 64], y=[900, 3000, 5500, 4700], fitted=True),
        CurveSeries(label=LONG_NAME, x=[1, 4, 16, 64], y=[950, 3700, 8100, 8200]),
    ],
)
PARTS = PartsOf(
    title="Where the time goes",
    summary="Made up.",
    kinds=["parse", "plan", "execute", "commit", "network"],
    bars=[
        BarOf(label="INSERT INTO t", parts=[1, 2, 3, 4, 0], text="10 ms"),
        BarOf(label="empty", parts=[0] * 5, text="0"),
    ],
)
SCATTER = ScatterOf(
    title="Throughput over time",
    summary="Made up.",
    y_title="TPS",
    series=[
        CurveSeries(
            label="run",
            x=[5.5 + place for place in range(240)],
            y=[1000 - 7 * (place % 11) - 600 * (100 < place < 130) for place in range(240)],
        )
    ],
    spans=[
        SpanOf(kind="checkpoint", begin_s=100, end_s=135),
        SpanOf(kind="autovacuum", begin_s=200, end_s=200.1),
    ],
)


def part(name, us, *parts):
    return IciclePart(name, us, f"{us} µs", parts)


ICICLE = Icicle(
    [
        part(
            "sessions of the load",
            70,
            part("indexes", 30, part("_bt_compare", 20), part("_bt_search", 8)),
            part("rows", 25, part("heap_hot_search_buffer", 20)),
            part("locks", 0.1, part("LockAcquire", 0.1)),
        ),
        part("WAL writer", 20, part("WAL", 20, part("XLogWrite", 12))),
        part(LONG_NAME, 10),
    ],
    levels=3,
)


def figure_of(icicle):
    table = Table(columns=(), rows=())
    return Figure(id="icicle", caption="", summary="", table=table, shows=icicle)


STUDY_FIGURES = [
    curve_figure(CURVE, "curve"),
    parts_figure(PARTS, "parts"),
    scatter_figure(SCATTER, "scatter"),
    figure_of(ICICLE),
]


def over_time(values, **changes):
    chart = LineChart(
        x=[place + 0.5 for place in range(len(values))],
        begin_s=0,
        end_s=len(values),
        series=[Series("ok", "--blue", values)],
        scale="linear",
        unit="tps",
        height=104,
    )
    return replace(chart, **changes)


def drawn(chart, width=40, glyphs=UNICODE):
    return "\n".join(plotted_lines(time_plot(chart, width, glyphs)))


def plotted_lines(canvas):
    lines = canvas.lines()
    assert max(map(length_of, lines)) <= canvas.width
    return lines


def charts_of(page, width, only=()):
    for section in page.sections:
        for block in section.blocks:
            if only and getattr(block, "id", "") not in only:
                continue
            if isinstance(block, Figure) and (canvas := plotted(block, width, UNICODE)):
                yield from [f"== {block.id}", *plotted_lines(canvas)]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_charts_of_a_run(ordinary, width):
    shown = "\n".join(charts_of(run_page(ordinary), width, only=CHARTS)) + "\n"
    assert shown == external_file(f"golden/run-charts-{width}.txt")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_charts_of_a_study(width):
    section = PageSection(id="", title="", blocks=STUDY_FIGURES)
    page = Page(title="", head=[], top=[], sections=[section])
    shown = "\n".join(charts_of(page, width)) + "\n"
    assert shown == external_file(f"golden/study-charts-{width}.txt")


def test_columns_show_gaps_zeros_and_eighths():
    assert drawn(over_time([400, 0, None, 100, 50, 12.5, 0.1, 400])) == snapshot("""\
TPS
    │▆▆▆▆                           ▆▆▆▆
    │████                           ████
    │████                           ████
  0 │████         █████▄▄▄▄▁▁▁▁▁▁▁▁▁████
    └┬────────────────────┬─────────────
    0 s                  5 s\
""")


def test_a_terminal_without_unicode_gets_ascii():
    chart = over_time(
        [400, 0, None, 100, 50, 12.5, 0.1, 400],
        marks=[Mark(0, 3, "warm-up")],
        lanes=[Lane("checkpoint", [Span(2, 6), Span(4, 5, strong=True)])],
    )
    shown = drawn(chart, glyphs=ASCII)
    assert shown.isascii()
    assert shown == snapshot("""\
       TPS  warm-up---
checkpoint         -------===----
           |::::                     :::
           |####                     ###
           |####                     ###
         0 |####       ###...........###
           +----------------------------
           0 s              5 s\
""")


def test_a_peak_of_a_long_run_remains_and_means_are_means():
    times = [1.0] * 500
    times[250] = 80.0
    lines = [Series("p50", "--blue", [0.5] * 500), Series("max", "--grey", times)]
    chart = over_time([], x=[*range(500)], end_s=500, series=lines, unit="ms", scale="log")
    assert drawn(chart) == snapshot("""\

 50 ms │             ×
 10 ms │
  2 ms │                           × max
500 µs │•••••••••••••••••••••••••• • p50
       └┬──────────────┬──────────
       0 s           5 min\
""")
    assert drawn(over_time([100.0, 300.0] * 250)) == snapshot("""\
TPS
    │
200 │▄▃▄▄▄▅▄▄▃▄▄▄▅▄▄▃▄▄▄▅▄▄▃▄▄▄▅▄▄▃▄▄▄▅▄
    │███████████████████████████████████
  0 │███████████████████████████████████
    └┬────────────────────┬─────────────
    0 s                 5 min\
""")


def test_areas_add_up_and_each_has_its_letter():
    names = ("client", "other", "lock", "LWLock", "I/O", "CPU")
    bands = [Series(name, "--blue", [1.0, 2.0]) for name in names]
    chart = over_time([0.0, 0.0], series=bands, stacked=True, unit="sessions", height=312)
    assert drawn(chart) == snapshot("""\
clients
        │
        │                TTTTTTTTTTTTTTT
     10 │                TTTTTTTTTTTTTTT
        │                OOOOOOOOOOOOOOO
        │                KKKKKKKKKKKKKKK
        │                KKKKKKKKKKKKKKK
        │TTTTTTTTTTTTTTTTLLLLLLLLLLLLLLL
      5 │OOOOOOOOOOOOOOOOLLLLLLLLLLLLLLL
        │KKKKKKKKKKKKKKKKIIIIIIIIIIIIIII
        │LLLLLLLLLLLLLLLLIIIIIIIIIIIIIII
        │IIIIIIIIIIIIIIIICCCCCCCCCCCCCCC
      0 │CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC
        └┬──────────────┬──────────────┬
        0 s            1 s           2 s
         C CPU  I I/O  L LWLock  K lock
         O other  T client\
""")


def test_several_runs_in_one_scatter_have_marks_of_their_own():
    slower = CurveSeries(label="the other run", x=[5.5, 6.5, 240.5], y=[10, 500, 20])
    scatter = replace(SCATTER, series=[*SCATTER.series, slower], spans=[])
    lines = plotted_lines(plotted(scatter_figure(scatter, ""), 60, UNICODE))
    assert sum(line.count("×") for line in lines) == len(slower.x) + 1
    assert lines[-1].split() == ["•", "run", "×", "the", "other", "run"]


def test_an_icicle_without_size_is_empty():
    nothing = Icicle([part("idle", 0)], levels=1)
    assert plotted_lines(plotted(figure_of(nothing), 60, UNICODE)) == [""]


def test_lines_without_any_value_and_without_any_point_are_drawn():
    assert "ok" not in drawn(over_time([None, None]))
    assert "TPS" in drawn(over_time([], end_s=1))


def test_names_cannot_control_the_terminal_and_take_their_columns():
    figures = [
        curve_figure(CURVE, "curve"),
        parts_figure(
            replace(PARTS, bars=[BarOf(label=HOSTILE, parts=[1] * 5, text=LONG_NAME)]), ""
        ),
        scatter_figure(
            replace(
                SCATTER, y_title=HOSTILE[:9], spans=[SpanOf(kind=HOSTILE, begin_s=9, end_s=99)]
            ),
            "",
        ),
        figure_of(Icicle([part(HOSTILE, 2, part(LONG_NAME, 2)), part(LONG_NAME, 1)], levels=2)),
    ]
    for width in WIDTHS:
        for figure in figures:
            lines = plotted_lines(plotted(figure, width, UNICODE))
            assert all(line.isprintable() for line in lines)


def test_a_text_report_has_its_charts_in_the_width_of_the_screen(ordinary):
    page = run_page(ordinary)
    for screen, widest in ((60, 60), (None, 100), (150, 150), (400, 200)):
        lines = plain(render_text(page, screen)).splitlines()
        axes = [line for line in lines if line.lstrip().startswith("└")]
        assert len(axes) >= len(CHARTS)
        assert max(map(len, axes)) == widest
    assert "└" not in render_text(page, 100, is_brief=True)
    ascii_only = render_text(page, 100, glyphs=ASCII)
    assert not set("└█░•") & set(ascii_only)
