"""Charts outside of the page: SVG that needs no style sheet, and PNG made from it."""

import base64
import re
import struct
from xml.etree import ElementTree as Xml

import pytest
import resvg_py

from dbdyno.answers.answering import answered
from dbdyno.report.charts.plot import WIDE
from dbdyno.report.charts.style_sheet import on_paper
from dbdyno.report.content import Figure, Folded, Page, PageSection, Table
from dbdyno.report.pages.run import run_page
from dbdyno.report.pages.study.page import study_page
from dbdyno.report.render_html import render_html
from dbdyno.report.render_svg import _FONT, png_of, render_svg
from tests.report.conftest import HOSTILE
from tests.report.drawings import COUNT, misplaced_texts
from tests.report.test_study import study

SVG = "{http://www.w3.org/2000/svg}"
OF_A_RUN = {
    "server-cpu-chart",
    "throughput-chart",
    "failures-chart",
    "waits-chart",
    "latency-chart",
    "heat-map-image",
    "percentile-curve",
    "lock-queue",
    "statement-bars",
}


@pytest.fixture(scope="module")
def page(ordinary):
    return run_page(ordinary)


@pytest.fixture(scope="module")
def charts(page):
    return render_svg(page)


def texts(svg):
    return [element.text for element in Xml.fromstring(svg).iter(f"{SVG}text")]


def figures_in(blocks):
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Folded):
            yield from figures_in(block.blocks)


def figures_of(page):
    return {figure.id: figure for section in page.sections for figure in figures_in(section.blocks)}


def test_every_chart_of_a_page_is_a_file(page, charts):
    assert {name.removesuffix(".svg") for name in charts} == figures_of(page).keys() >= OF_A_RUN


@pytest.mark.parametrize("name", sorted(OF_A_RUN))
def test_a_chart_needs_no_page(page, charts, name):
    svg, figure = charts[f"{name}.svg"], figures_of(page)[name]
    root = Xml.fromstring(svg)
    for element in root.iter():
        assert element.tag.startswith(SVG)
        assert not {"class", "style", "data-name"} & set(element.keys())
        for looks in ("fill", "stroke"):
            assert re.fullmatch(r"#\w{3,6}|none", element.get(looks, "none")), element.attrib
    assert not re.search(r"var\(|color-mix|<use|<symbol", svg)
    assert root.find(f"{SVG}title").text == figure.table.caption
    shown = texts(svg)
    assert shown[0] == figure.table.caption
    assert shown[-1] == "tpcb · run 20261120-214203-tpcb-3f2a · dbdyno"
    palette = on_paper().palette
    for colour, meaning in figure.key:
        assert meaning in shown
        assert any(one.get("fill") == palette[colour] for one in root.iter(f"{SVG}rect"))


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("throughput-chart", ("time since the start of the run", "transactions per second")),
        ("waits-chart", ("time since the start of the run", "sessions")),
        ("latency-chart", ("time since the start of the run", "response time")),
        ("heat-map-image", ("time since the start of the run", "response time")),
        ("percentile-curve", ("percent of transactions", "time")),
        ("statement-bars", ("time that the client waits for one execution",)),
    ],
)
def test_its_axes_have_titles(charts, name, titles):
    assert set(titles) <= set(texts(charts[f"{name}.svg"]))


@pytest.mark.parametrize("name", sorted(OF_A_RUN))
def test_no_text_leaves_it_or_lies_on_another(charts, open_html, name):
    page = open_html(f"<!doctype html><body>{charts[f'{name}.svg']}</body>")
    assert misplaced_texts(page) == []
    assert page.complaints == []


# Where some shapes lie together, from the left end of the first line of their drawing.
PLACE = """([drawing, shapes]) => {
    const svg = document.querySelector(drawing);
    const boxes = [...svg.querySelectorAll(shapes)].map((one) => one.getBoundingClientRect());
    const begin = svg.querySelector("line").getBoundingClientRect();
    const left = Math.min(...boxes.map((box) => box.left));
    const top = Math.min(...boxes.map((box) => box.top));
    return [
        left - begin.left,
        top - begin.top,
        Math.max(...boxes.map((box) => box.right)) - left,
        Math.max(...boxes.map((box) => box.bottom)) - top,
    ];
}"""


@pytest.mark.parametrize("name", ["throughput-chart", "waits-chart", "latency-chart"])
def test_what_the_browser_stretches_on_the_page_has_the_same_place(page, charts, open_html, name):
    on_page = open_html(render_html(page)).evaluate(PLACE, [f"#{name} .wide svg", "use, path"])
    alone = open_html(charts[f"{name}.svg"]).evaluate(PLACE, ["svg", "path"])
    assert on_page[2] > 700
    assert alone == pytest.approx(on_page, abs=1)


def test_a_png_is_twice_as_large_the_same_again_and_has_the_colours(charts, open_html):
    svg = charts["throughput-chart.svg"]
    png = png_of(svg)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    root = Xml.fromstring(svg)
    assert (width, height) == (2 * int(root.get("width")), 2 * int(root.get("height")))
    assert width == 2 * (WIDE + 40)
    assert png_of(svg) == png
    page = open_html("<!doctype html><body></body>")
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    blue = [0x00, 0x62, 0xA3]
    white = [0xFF, 0xFF, 0xFF]
    assert page.evaluate(COUNT, [source, blue]) > 2000
    assert page.evaluate(COUNT, [source, white]) > width * height / 2


def test_a_host_without_fonts_draws_every_sign_that_numbers_and_sentences_have():
    def drawn(text):
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">'
            f'<text x="2" y="15" font-family="DejaVu Sans">{text}</text></svg>'
        )
        return bytes(
            resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True, font_files=[str(_FONT)])
        )

    signs = "aZ09µ−–…·×±≤→“”~éßЖω"
    pictures = [drawn(sign) for sign in signs]
    assert len({*pictures, drawn(""), drawn("\U0001f600")}) > len(signs)


def test_the_charts_of_a_study_are_files_too():
    trials = study()
    charts = render_svg(study_page(trials, answered(trials)))
    assert charts
    for svg in charts.values():
        assert png_of(svg)[:4] == b"\x89PNG"
        assert Xml.fromstring(svg).find(f"{SVG}desc").text


def test_no_hostile_string_is_markup_or_breaks_the_file(hostile, open_html):
    figure = Figure(
        id="x",
        caption=HOSTILE,
        summary=f"{HOSTILE}\x1b[2J\u202e",
        table=Table(caption=HOSTILE, columns=("a",), rows=[("1",)]),
        svg=(figures_of(run_page(hostile))["statement-bars"].svg or ()),
        key=[("--blue", HOSTILE)],
    )
    section = PageSection(id="x", title="", blocks=[figure])
    charts = render_svg(Page(name=HOSTILE, title=HOSTILE, head=[], top=[], sections=[section]))
    for svg in (charts["x.svg"], *render_svg(run_page(hostile)).values()):
        Xml.fromstring(svg)
        assert "\u202e" not in svg
        page = open_html(f"<!doctype html><body>{svg}</body>")
        assert page.evaluate("window.broken") is None
        assert page.complaints == []
