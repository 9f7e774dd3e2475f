"""What is made of many runs: comparisons, histories, studies, and what of this host matters."""

import json

import pytest

from dbdyno.cli import main
from tests.cli import made_up_runs as made_up

API = "/api/v1"


@pytest.fixture
def printed(capsys, own_signals):
    def run(*words: str):
        main([*words, "--json"])
        return json.loads(capsys.readouterr().out)

    return run


def test_a_comparison_is_that_of_the_command(served, printed):
    made_up.pairs(4, tps=1.2)
    sides = "tag:variant=a", "tag:variant=b"
    found = served.ask(f"{API}/compare?a={sides[0]}&b={sides[1]}")
    assert (found.status, found.json) == (200, printed("compare", *sides))


def test_a_history_and_the_studies_are_those_of_the_commands(served, printed):
    made_up.pairs(4)
    assert served.ask(f"{API}/history").json == printed("history")
    assert served.ask(f"{API}/studies").json == printed("study", "list")
    assert [one["name"] for one in served.ask(f"{API}/doctor").json["diagnoses"]]


@pytest.mark.parametrize("name", ["--report=x.html", "..", "../x", "%2Fetc", "-h", "a%00b", ""])
def test_a_name_is_no_option_and_no_path(served, name, home):
    made_up.run()
    for path in (f"{API}/compare?a={name}&b=last", f"{API}/history?workload={name or '-'}"):
        answer = served.ask(path)
        assert (answer.status, answer.json["code"]) == (400, "usage")


def test_an_error_of_a_command_is_a_problem(served):
    made_up.run()
    answer = served.ask(f"{API}/compare?a=last&b=last")
    assert answer.json["code"] == "same_run"
    assert served.ask(f"{API}/studies/none").json["code"] == "no_study"


def test_two_runs_are_ticked_and_compared(served, visit, axe):
    one, other = made_up.run(tps=1000), made_up.run(tps=1200)
    page = visit(served.url, scripts=False)
    for name in (one, other):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare?**")
    assert page.get_by_role("heading", level=1).count() == 1
    page.get_by_role("link", name="Runs", exact=True).click()
    page.get_by_role("button", name="Compare").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Two runs can be compared"
    assert "Tick two" in page.get_by_role("main").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (768, "dark"), (390, "light")])
def test_the_other_pages_are_accessible(served, visit, axe, width, scheme):
    made_up.pairs(2)
    one, other = made_up.run(), made_up.run(tags={"index": "none"})
    page = visit(served.url, width, scheme)
    for path in (
        "/studies",
        "/doctor",
        "/history",
        "/history?workload=pk",
        "/start?kind=run&workload=tpcb",
        f"/runs/{one}/about",
        f"/remove?run={one}&run={other}",
        f"/compare?run={one}&run={other}",
    ):
        page.goto(f"http://{served.place}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") == width, path
        found = page.evaluate(axe + "\n;axe.run().then((found) => found.violations)")
        assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == [], path
    assert page.complaints == []


def test_there_is_a_page_before_there_is_a_history(served, visit):
    page = visit(served.url, scripts=False)
    page.get_by_role("link", name="History").click()
    assert page.get_by_role("heading", level=1).inner_text() == "No history yet"
    assert page.get_by_role("link", name="start a run").is_visible()
    made_up.run()
    page.goto(f"http://{served.place}/history?workload=pk")
    assert page.get_by_role("link", name="tpcb").is_visible()
