"""The page in a real browser."""

import dataclasses
import re

import msgspec
import numpy as np
import pytest

from dbdyno.model.telemetry import WaitCount
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_html import render_html
from tests.report.drawings import colour_of, coloured, misplaced_texts, scale_of_print
from tests.support.recordings import MadeRun

WIDTHS = (1440, 768, 390)
SCHEMES = ("light", "dark")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(open_page, axe, ordinary, width, scheme):
    page = open_page(ordinary, width, scheme)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate(axe)
    violations = page.evaluate("axe.run().then((found) => found.violations)")
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []


@pytest.mark.parametrize("width", [*WIDTHS, 800])
def test_nothing_sticks_out_and_nothing_is_fetched(open_page, ordinary, width):
    page = open_page(ordinary, width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert misplaced_texts(page) == []
    assert page.complaints == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_name_of_a_studys_point_fits_the_page(open_page, ordinary, width):
    """One word without a space, longer than a narrow page is wide."""
    point = "operation=update,full_page_writes=on,protocol=prepared,engine=postgres"
    record = msgspec.structs.replace(ordinary.record, tags={"point": point})
    page = open_page(dataclasses.replace(ordinary, record=record), width)
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [1280, 850, 700, 390])
def test_texts_of_drawings_can_be_read_at_each_width(open_page, ordinary, width):
    """A wide drawing on a page half as wide would have letters half as high."""
    page = open_page(ordinary, width)
    heights = page.evaluate(
        """[...document.querySelectorAll("svg")].filter((svg) => svg.clientWidth).map(
            (svg) => 12 * svg.clientWidth / svg.viewBox.baseVal.width)"""
    )
    assert min(heights) > 10


def test_ids_are_unique(open_page, ordinary):
    ids = open_page(ordinary).evaluate(
        "[...document.querySelectorAll('[id]')].map((one) => one.id)"
    )
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("width", [1280, 800, 390])
def test_every_chart_over_time_is_drawn_without_scripts(open_html, ordinary, media, width):
    page = open_html(render_html(run_page(ordinary)), width, scripts=False)
    page.emulate_media(media=media)
    for figure, colour in (
        ("throughput-chart", "--blue"),
        ("failures-chart", "--red"),
        ("waits-chart", "--wait-lock"),
        ("latency-chart", "--amber"),
    ):
        plot = page.locator(f"#{figure} .plot:visible").bounding_box()
        curves = page.locator(f"#{figure} use[href$=curves]:visible").bounding_box()
        assert curves["width"] == pytest.approx(plot["width"], rel=0.06)
        assert coloured(page, f"#{figure} .plot:visible", colour) > 100


def test_a_chart_of_a_long_run_takes_as_much_of_the_page_as_it_has_room_for():
    page = render_html(run_page(MadeRun(seconds=8 * 3600).loaded()))
    curves = re.findall(r' d="M[\d .lLzMhHvV-]*"', page)
    assert 500 < max(map(len, curves)) < 10_000


def test_the_heat_map_is_an_image_the_browser_can_read(open_page, ordinary):
    page = open_page(ordinary)
    size = page.evaluate(
        """async () => {
            const image = new Image();
            image.src = document.querySelector("#heat-map image").getAttribute("href");
            await image.decode();
            return [image.naturalWidth, image.naturalHeight];
        }"""
    )
    assert size == [60, 224]


@pytest.mark.parametrize("name", ["unwatched", "ordinary"])
def test_the_heat_map_has_the_time_axis_of_the_chart_above_it(open_page, request, name):
    """On a wide page one looks straight down from an instant of the chart, with events or not."""
    page = open_page(request.getfixturevalue(name))
    wanted, found = page.evaluate(
        """() => {
            const edges = (selector) => {
                const boxes = [...document.querySelectorAll(selector)]
                    .map((element) => element.getBoundingClientRect());
                const { left, right } = boxes.find(({ width }) => width > 0);
                return [left, right];
            };
            const [left, right] = edges("#latency-chart .plot");
            const json = document.querySelector("#latency-chart script").textContent;
            const { begin_s, end_s } = JSON.parse(json);
            const at = (time_s) => left + (time_s - begin_s) / (end_s - begin_s) * (right - left);
            return [[at(0), at(60)], edges("#heat-map image")];
        }"""
    )
    assert found == pytest.approx(wanted, abs=1.5)


def test_the_values_under_the_pointer_are_shown(open_page, ordinary):
    page = open_page(ordinary)
    page.locator("#latency-chart .readout").scroll_into_view_if_needed()
    plot = page.locator("#latency-chart .plot:visible").bounding_box()
    page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + 5)
    readout = page.locator("#latency-chart .readout")
    assert re.fullmatch(
        r"time.*\bs.*p50.*ms.*p95.*ms.*p99.*ms.*max.*ms", readout.inner_text(), re.DOTALL
    )
    page.mouse.move(0, 0)
    assert readout.inner_text() == ""


def test_a_point_without_neighbours_is_drawn(open_page):
    """A run of one interval has no line."""
    page = open_page(MadeRun(seconds=1, warmup=0).loaded())
    assert coloured(page, "#throughput-chart .plot:visible", "--blue") > 9


def test_the_contents_lead_to_every_section_and_finding(open_page, ordinary):
    page = open_page(ordinary)
    targets = page.evaluate(
        "[...document.querySelectorAll('.contents a')].map((one) => one.getAttribute('href'))"
    )
    sections = page.evaluate(
        "[...document.querySelectorAll('main > section[id]')].map((one) => `#${one.id}`)"
    )
    findings = [one for one in targets if one.startswith("#finding-")]
    assert [one for one in targets if one not in findings] == sections
    assert len(findings) == 2
    page.locator(".contents a").filter(has_text="Row-lock").click()
    assert page.locator(f"{findings[0]}:target").count() == 1


def test_names_of_lines_that_end_at_the_top_are_not_cut(open_page):
    """At a rate beyond the server's capacity, all percentiles end close to the maximum."""
    page = open_page(MadeRun(seconds=20, response_ms=4990).loaded())
    heights = sorted(
        page.locator(f"#latency-chart text.name:visible:text-is('{name}')").bounding_box()["y"]
        for name in ("p50", "p95", "p99", "max")
    )
    assert heights[0] >= page.locator("#latency-chart svg:visible").bounding_box()["y"]
    assert np.diff(heights).min() >= 12


@pytest.mark.parametrize("figure", ["throughput-chart", "waits-chart"])
def test_the_warm_up_is_named_above_the_plot(open_page, ordinary, figure):
    """In the plot, areas would hide the name, and lines would cross it."""
    page = open_page(ordinary)
    name = page.locator(f"#{figure} text:visible:text-is('warm-up')").bounding_box()
    plot = page.locator(f"#{figure} .plot:visible").bounding_box()
    assert name["y"] + name["height"] <= plot["y"] + 1


@pytest.mark.parametrize("width", WIDTHS)
def test_the_names_of_all_that_a_saturated_host_shows_fit_beside_the_chart(open_page, width):
    waits = [
        WaitCount("client", 0, "asking", "active", "", "", 4),
        WaitCount("client", 0, "asking", "idle", "Client", "ClientRead", 4),
    ]
    run = MadeRun(seconds=10, warmup=0, clients=8)
    for number in range(1, 21):
        run.look(number * 0.5, waits)
    run.counters("processes", {"user_us": 1.5e6, "run_queue_us": 2.5e6}, of="server")
    page = open_page(run.loaded(), width)
    for name in ("CPU", "queue", "client"):
        assert page.locator(f"#waits-chart text:visible:text-is('{name}')").count() == 1
    assert misplaced_texts(page) == []


def test_names_of_bands_can_be_read(open_page, ordinary):
    """The colours of the areas are too faint for text on the page."""
    page = open_page(ordinary)
    name = page.locator("#waits-chart text:visible:text-is('lock')")
    assert name.evaluate("(one) => getComputedStyle(one).fill") == colour_of(page, "--muted")


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_strings_are_text(open_page, hostile, width):
    page = open_page(hostile, width)
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0
    assert page.complaints == []
    assert page.locator("h1").inner_text().startswith("</script><img")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_it_prints_without_what_only_a_screen_can_use(open_page, ordinary):
    page = open_page(ordinary, scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("figure details").first.is_visible()
    assert page.get_by_text("What would refute it").first.is_visible()
    assert len(page.pdf()) > 20_000


def test_it_prints_in_its_own_size(open_page, ordinary):
    """The browser shrinks all pages if a chart of the wide screen, or a table, is too wide."""
    assert scale_of_print(open_page(ordinary).pdf(format="A4")) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_first_screen_has_the_result_its_doubts_and_what_limits_it(open_page, ordinary, width):
    page = open_page(ordinary, width)
    for selector in (".lead .value", ".judgement .verdict", ".judgement li >> nth=0"):
        assert page.locator(selector).bounding_box()["y"] < 700
    finding = page.locator("#finding-row_lock_convoy .summary").bounding_box()
    assert finding["y"] + finding["height"] <= 900
