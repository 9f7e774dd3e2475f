"""The server's CPU time on the page and in text: of one run, and of two variants."""

import dataclasses

import pytest
from msgspec.structs import replace

from dbdyno.analysis.compare.compare import compare
from dbdyno.report.pages.comparison import comparison_page
from dbdyno.report.pages.run import render_summary, run_page
from dbdyno.report.render_html import render_html
from dbdyno.report.render_text import render_text
from tests.analysis.processor.test_profile_differences import runs
from tests.report.explained import FUNCTIONS
from tests.support.profiles import profile


@pytest.fixture
def profiled(ordinary):
    functions = FUNCTIONS | {("other", "<script>alert(1)</script>"): 1.0}
    record = replace(ordinary.record, server_profile=profile(functions))
    return dataclasses.replace(ordinary, record=record)


def unbroken(text):
    return " ".join(text.split())


def test_text_has_the_subsystems_and_how_much_was_seen(profiled):
    text = unbroken(render_text(run_page(profiled)))
    assert "97.5 % of the 20.0 s that the kernel counted" in text
    assert "indexes" in text
    assert "heap_hot_search_buffer" in text


def test_the_summary_has_the_largest_subsystems(profiled):
    text = unbroken(render_summary(profiled.record, profiled.plan))
    assert "Server CPU per transaction: indexes 9 µs, rows 9 µs, memory allocation 4 µs" in text


def test_the_icicle_is_found_by_keys_and_by_name(open_page, profiled):
    page = open_page(profiled, 1280)
    drawing = page.locator("#server-cpu-chart > .wide")
    keys = drawing.locator("[role=application]")
    keys.focus()
    keys.press("ArrowDown")
    assert drawing.locator(".current").get_attribute("data-name") == "sessions of the load"
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    assert drawing.locator("output").inner_text().startswith("_bt_compare: 9\u202fµs")
    keys.press("ArrowRight")
    assert drawing.locator(".current").get_attribute("data-name") == "heap_hot_search_buffer"
    keys.press("ArrowUp")
    assert drawing.locator(".current").get_attribute("data-name") == "rows"
    drawing.locator("input").fill("PALLOC")
    assert drawing.locator("output").inner_text().startswith("palloc: 2\u202fµs")
    assert drawing.locator(".cell:not(.dimmed)").count() == 1
    drawing.locator("input").fill("nobody")
    assert drawing.locator("output").inner_text() == "nothing found"
    assert page.complaints == []


def test_names_are_texts(profiled):
    html = render_html(run_page(profiled))
    assert "<script>alert" not in html


@pytest.mark.parametrize("width", [1280, 390])
def test_two_profiles_side_by_side(open_html, width):
    before, after = runs(5, 1), runs(5, 2, palloc=2.0)
    page = comparison_page(compare(before, after, paired=True), [], (5, 5))
    assert "palloc" in render_text(page)
    opened = open_html(render_html(page), width)
    reds = opened.locator("#server-cpu-difference .cell.red").all()
    assert {one.get_attribute("data-name") for one in reds} == {
        "memory allocation (sessions of the load)",
        "palloc",
    }
    assert opened.complaints == []
