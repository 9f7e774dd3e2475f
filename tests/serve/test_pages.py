"""The pages in a real browser."""

import pytest

from tests.cli import made_up_runs as made_up

HOSTILE = "</td><script>window.broken = 1</script>\u202e\x1b[31m"


@pytest.mark.parametrize("width", [1440, 768, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible_and_complain_of_nothing(served, visit, axe, width, scheme):
    made_up.run(tags={"index": "none"})
    name = made_up.run(tags={HOSTILE: HOSTILE})
    page = visit(served.url, width, scheme)
    for path in ("/", f"/runs/{name}", "/?which=tag:index=none", "/?which=nothing"):
        page.goto(f"http://{served.place}{path}")
        assert page.evaluate("window.broken") is None
        assert page.evaluate("document.documentElement.scrollWidth") == width
        # The policy forbids eval in the page, not in what the test adds.
        found = page.evaluate(axe + "\n;axe.run().then((found) => found.violations)")
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert page.complaints == []


def test_from_the_list_to_a_report_and_back_without_scripts(served, visit):
    name = made_up.run()
    page = visit(served.url, scripts=False)
    page.get_by_role("link", name=name).click()
    assert page.get_by_role("heading", level=1).inner_text() == "tpcb"
    page.get_by_role("link", name="Runs").click()
    assert page.get_by_role("link", name=name).is_visible()


def test_a_run_is_found_with_the_keyboard_and_printed(served, visit):
    name = made_up.run()
    page = visit(served.url)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == name:
            break
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{name}")
    assert page.get_by_role("navigation", name="Pages").is_visible()
    page.emulate_media(media="print")
    assert not page.get_by_role("navigation", name="Pages").is_visible()
    assert page.pdf().startswith(b"%PDF")
    assert page.complaints == []


def test_the_list_is_narrowed_by_a_form(served, visit):
    one, other = made_up.run(tags={"index": "none"}), made_up.run(tags={"index": "extra"})
    page = visit(served.url, scripts=False)
    page.get_by_label("Name or tag").fill("tag:index=none")
    page.keyboard.press("Enter")
    page.wait_for_url("**which=*")
    assert page.get_by_role("link", name=one).is_visible()
    assert not page.get_by_role("link", name=other).count()


def test_a_stranger_reads_what_to_do(served, visit):
    page = visit(f"http://{served.place}/")
    assert "Open the address that dbdyno serve printed" in page.get_by_role("main").inner_text()
