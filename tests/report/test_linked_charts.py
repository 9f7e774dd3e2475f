"""Charts over time in a real browser: a part of the time that one shows is shown by all."""

import re

import numpy as np
import pytest

from dbdyno.formatting import THIN_SPACE
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import WaitCount
from dbdyno.report.places import places
from tests.report import explained
from tests.report.drawings import coloured
from tests.support.recordings import MadeRun

CHARTS = ("throughput-chart", "failures-chart", "waits-chart", "latency-chart", "heat-map-image")


def shown_s(page, figure):
    """The part of the run's 63 seconds, of which 3 are warm-up, that a chart's box shows."""
    box = page.locator(f"#{figure} .stretched").first.get_attribute("viewBox")
    begin, _, width, _ = map(float, box.split(" "))
    return begin / 4000 * 63 - 3, (begin + width) / 4000 * 63 - 3


def drag(page, figure, begin_s, end_s):
    plot = page.locator(f"#{figure} .plot:visible")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    begin, end = (box["x"] + (time_s + 3) / 63 * box["width"] for time_s in (begin_s, end_s))
    height = box["y"] + box["height"] / 2
    page.mouse.move(begin, height)
    page.mouse.down()
    page.mouse.move((begin + end) / 2, height)
    assert page.locator(f"#{figure} .selected").is_visible()
    page.mouse.move(end, height)
    page.mouse.up()


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_a_part_chosen_in_one_chart_is_shown_by_all(open_page, axe, ordinary, width):
    page = open_page(ordinary, width)
    drag(page, "waits-chart", 20, 40)
    for figure in CHARTS:
        assert shown_s(page, figure) == pytest.approx((20, 40), abs=0.5)
    ticks = page.locator("#latency-chart .tick:visible").all_text_contents()
    assert f"30{THIN_SPACE}s" in ticks
    assert f"0{THIN_SPACE}s" not in ticks
    assert page.locator("#latency-chart .mark:visible").count() == 0  # the warm-up is elsewhere
    page.evaluate(axe)
    assert page.evaluate("axe.run().then((found) => found.violations.map((one) => one.id))") == []
    page.get_by_role("button", name="Whole run").click()
    for figure in CHARTS:
        assert shown_s(page, figure) == pytest.approx((-3, 60))
    assert page.locator("#latency-chart .mark:visible").all_text_contents() == ["warm-up"]
    assert not page.get_by_role("button", name="Whole run").is_visible()
    assert page.complaints == []


def test_what_is_outside_of_the_shown_part_is_not_drawn_beside_the_plot(open_page, ordinary):
    page = open_page(ordinary)

    def beside():
        parts = ("#throughput-chart", "#throughput-chart .plot:visible")
        figure, plot = (coloured(page, part, "--blue") for part in parts)
        return figure - plot

    name_of_the_line = beside()
    drag(page, "latency-chart", 20, 40)
    assert beside() == pytest.approx(name_of_the_line, abs=10)


def test_all_charts_show_the_instant_under_the_pointer(open_page, ordinary):
    page = open_page(ordinary)
    plot = page.locator("#latency-chart .plot:visible")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    for figure in CHARTS:
        cursor = page.locator(f"#{figure} .cursor").evaluate("(one) => one.offsetLeft")
        middle = page.locator(f"#{figure} .plot:visible").evaluate(
            "(one) => one.getBBox().x + one.getBBox().width / 2"
        )
        assert cursor == pytest.approx(middle, abs=8)
    readouts = [page.locator(f"#{figure} .readout").inner_text() for figure in CHARTS[:4]]
    assert len({re.search(r"time\s*([\d.]+)", text).group(1) for text in readouts}) == 1
    page.mouse.move(0, 0)
    assert page.locator(".cursor:visible").count() == 0


def test_keys_alone_reach_everything(open_page, ordinary):
    page = open_page(ordinary)
    chart = page.locator("#latency-chart [data-chart]")
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert chart.locator(".cursor").is_visible()
    assert "p99" in chart.locator(".readout").inner_text()
    page.keyboard.press("+")
    page.keyboard.press("+")
    begin_s, end_s = shown_s(page, "throughput-chart")
    assert end_s - begin_s == pytest.approx(63 / 4, abs=0.1)
    for _ in range(3):
        page.keyboard.press("PageDown")
    assert shown_s(page, "throughput-chart")[1] > end_s  # the part follows the cursor
    page.keyboard.press("-")
    page.keyboard.press("Escape")
    assert shown_s(page, "throughput-chart") == pytest.approx((-3, 60))


def test_a_finding_leads_to_its_place_in_time_and_the_charts_mark_it(open_page, ordinary):
    page = open_page(ordinary)
    finding = page.locator("#finding-full_page_writes")
    assert finding.locator(".places").inner_text() == (
        f"Seen at 9{THIN_SPACE}s to 18{THIN_SPACE}s, 34{THIN_SPACE}s to 43{THIN_SPACE}s"
    )
    finding.get_by_role("link", name="34").press("Enter")
    for figure in CHARTS:
        begin_s, end_s = shown_s(page, figure)
        assert 25 < begin_s < 34
        assert 43 < end_s < 52
        assert page.locator(f"#{figure} .marked").count() >= 1
    assert page.locator("#throughput").evaluate(
        "(one) => Math.abs(one.getBoundingClientRect().top) < 5"
    )
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Whole run").press("Enter")
    assert page.locator(".marked").count() == 0


def waited(locked):
    """A run in which so many of 8 clients wait for a lock in each second."""
    made = MadeRun(seconds=60, warmup=0, clients=8)
    for second, count in enumerate(locked):
        for half in (0.5, 1.0):
            states = [("Lock", "transactionid", count), ("", "", 8 - count)]
            made.look(
                second + half,
                [WaitCount("client", 0, "asking", "active", *one) for one in states if one[2]],
            )
    return made.loaded()


def test_waiting_that_is_concentrated_has_a_place():
    (span,) = places(waited([6 if 30 <= at < 36 else 1 for at in range(60)]), CONVOY).spans
    assert 30 <= span.begin_s < span.end_s <= 36


@pytest.mark.parametrize("locked", [[4] * 60, [0] * 30 + [1] + [0] * 29])
def test_waiting_all_the_time_and_a_single_sight_of_it_have_none(locked):
    assert places(waited(locked), CONVOY) is None


CONVOY = explained.FINDINGS[0]


def test_a_finding_of_a_rule_that_is_gone_has_no_place(ordinary):
    gone = Finding(id="gone", title="", severity="minor", summary="", evidence={})
    assert places(ordinary, gone) is None


def test_of_many_events_the_deepest_are_listed_in_order_of_time():
    ok = np.full(63, 1000.0)
    made = MadeRun(ok)
    for number in range(9):
        made.log(5 + 6 * number, "deadlock", "deadlock detected")
    deadlocks = Finding(id="deadlocks", title="", severity="minor", summary="", evidence={})
    found = places(made.loaded(), deadlocks)
    assert len(found.spans) == 6
    assert found.more == 3
    assert found.text.endswith(", and 3 more.")
    assert [span.begin_s for span in found.spans] == sorted(span.begin_s for span in found.spans)
