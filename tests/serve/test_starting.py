"""Runs that are started and stopped from here: they outlive the server."""

import json

import pytest

from dbdyno.serve.starting import all_started, started, stop_start
from dbdyno.servers.kept import start_kept, stop_kept
from dbdyno.servers.spec import ServerSpec
from dbdyno.store.listing import read_record, run_folders
from tests.cli import made_up_runs as made_up
from tests.conftest import SMALL
from tests.run.test_end_to_end import begin
from tests.support.patience import eventually, wait_until

RUNS = "/api/v1/runs"
HOSTILE = "<script>window.broken = 1</script>\u202e"
SHORT = {"workload": "tpcb", "clients": 1, "scale": 1, "time": "600s", "telemetry": "off"}


def post(served, path, value=None, **headers):
    return served.ask(path, "POST", body=json.dumps(value or {}), **headers)


@pytest.fixture(autouse=True)
def _ended(home):
    """What a test has started does not outlive it, whatever became of the test."""
    yield
    for one in all_started():
        if one.status == "running":
            stop_start(one.start_id)
            eventually(lambda one=one: started(one.start_id).status, "running".__ne__)


@pytest.fixture
def kept(home):
    """A kept server in the home of the test."""
    server = start_kept("lab", ServerSpec(settings=SMALL), connections=8)
    yield server
    stop_kept("lab")


def test_a_run_is_started_outlives_the_server_and_is_stopped(serve, kept):
    first = serve()
    on_kept = SHORT | {"server": "lab", "tags": ["index=none"]}
    started = post(first, RUNS, on_kept)
    assert started.status == 202
    assert started.json["command"].startswith("dbdyno run tpcb --server=lab --scale=1")
    second = post(first, RUNS, on_kept)
    assert (second.status, second.json["code"]) == (409, "running")
    assert "lab" in second.json["detail"]
    first.process.terminate()
    first.process.communicate()

    served = serve()
    wait_until(run_folders, "a run folder")
    name = run_folders()[-1].name
    assert read_record(run_folders()[-1]).tags["index"] == "none"
    assert served.ask(f"{RUNS}/{name}").json["status"] == "running"
    state = served.ask(f"/api/v1/started/{started.json['start_id']}").json
    assert (state["status"], state["run_id"]) == ("running", name)
    wait_until(lambda: _measures(served), "the load has begun")
    assert post(served, f"{RUNS}/{name}/tags", {"tags": {"x": "y"}}).json["code"] == "running"
    assert served.ask(f"{RUNS}/{name}", "DELETE").json["code"] == "running"
    assert post(served, f"{RUNS}/{name}/stop").status == 202
    ended = eventually(
        lambda: served.ask(f"{RUNS}/{name}").json["status"], lambda status: status != "running"
    )
    assert ended == "interrupted"
    eventually(
        lambda: post(served, f"{RUNS}/{name}/stop").json.get("code"),
        lambda code: code == "no_longer_running",
    )


def test_a_load_of_a_terminal_on_the_same_server_is_seen(served, kept):
    with begin("run", "tpcb", "-s", "1", "-c", "1", "-T", "600", "--server", "lab") as process:
        wait_until(run_folders, "a run folder")
        second = post(served, RUNS, SHORT | {"server": "lab"})
        assert (second.status, second.json["code"]) == (409, "running")
        assert run_folders()[-1].name in second.json["detail"]
        process.terminate()
        process.communicate()


def test_a_search_is_started_from_the_form_and_stopped(served, visit):
    page = visit(served.url, scripts=False)
    page.goto(f"http://{served.place}/start")
    form = page.get_by_role("form", name="A search")
    form.get_by_label("Objectives").fill("p99<soon")
    form.get_by_role("button", name="Start").click()
    assert "soon" in page.get_by_role("alert").inner_text()
    form.get_by_label("Workload").select_option("tpcb")
    form.get_by_label("Objectives").fill("p99<900ms failures<1%")
    form.get_by_label("Scale").fill("1")
    form.get_by_role("button", name="Show the command").click()
    page.get_by_text("dbdyno search tpcb --slo=p99<900ms --slo=failures<1%").wait_for()
    page.get_by_role("form", name="A search").get_by_role("button", name="Start").click()
    page.get_by_role("heading", name="Under way").wait_for()
    wait_until(lambda: run_folders() or "Not done" in page.title(), "a run of the search")
    page.get_by_role("button", name="Stop it").click()
    at = page.url
    eventually(lambda: (page.goto(at), page.title())[1], lambda title: "Under way" not in title)
    page.goto(f"http://{served.place}/start")
    assert page.get_by_role("region", name="Started here").get_by_role("row").count() == 2


def test_a_search_that_has_ended_leads_to_what_it_has_found(served, visit):
    small = {"clients": 2, "scale": 1, "time": "1s", "rate_max": 50}
    search = {"workload": "select-only", "slo": ["p99<1s"]} | small
    start_id = post(served, "/api/v1/searches", search).json["start_id"]
    eventually(lambda: served.ask(f"/api/v1/started/{start_id}").json["status"], "running".__ne__)
    page = visit(served.url, scripts=False)
    page.goto(f"http://{served.place}/started/{start_id}")
    page.get_by_role("link", name="What the search has found").click()
    assert "p99 < 1\u202fs is met" in page.get_by_role("main").inner_text()


def test_the_form_of_a_study_shows_its_command(served, visit):
    page = visit(served.url, scripts=False)
    page.goto(f"http://{served.place}/start?kind=study&study=hot-rows&size=tiny")
    assert "dbdyno study run hot-rows --size=tiny" in page.get_by_role("main").inner_text()
    assert page.locator("select[name=study]").input_value() == "hot-rows"


def test_a_run_is_made_again_and_compared(served, visit):
    name = made_up.run()
    odd = made_up.run(command=["tpcb", "--clients", "8", "--engine-cpus", "1"])
    page = visit(served.url, scripts=False)
    page.goto(f"http://{served.place}/runs/{name}/about")
    page.get_by_role("link", name="Run it again").click()
    shown = f"dbdyno run tpcb --server=postgres --clients=8 --time=30s --tag=again={name}"
    page.get_by_text(shown).wait_for()
    assert page.get_by_role("form", name="A run").get_by_label("Clients").input_value() == "8"
    page.goto(f"http://{served.place}/start?again={odd}")
    assert "--engine-cpus" in page.get_by_role("alert").inner_text()
    again = made_up.run(tags={"again": name})
    page.goto(f"http://{served.place}/runs/{again}")
    page.get_by_role("link", name="Compared with").click()
    assert page.url.endswith(f"/compare?run={name}&run={again}")
    for elsewhere in ("../../etc", "no-such-run", "%00"):
        page.goto(f"http://{served.place}/runs/{made_up.run(tags={'again': elsewhere})}")
        assert not page.get_by_role("link", name="Compared with").count()


def test_tags_are_added_and_taken_away(served, visit, home):
    name, other = made_up.run(), made_up.run(tags={"study": "s", "point": "p"})
    page = visit(served.url, scripts=False)
    page.goto(f"http://{served.place}/runs/{name}")
    page.get_by_role("link", name="Log, tags").click()
    for tag in (f"index={HOSTILE}", "reviewed=yes"):
        page.get_by_label("NAME=VALUE").fill(tag)
        page.get_by_role("button", name="Add the tag").click()
    folder = home / "runs" / name
    assert read_record(folder).tags == {"index": HOSTILE, "reviewed": "yes"}
    page.get_by_role("button", name="Remove the tag index").click()
    assert read_record(folder).tags == {"reviewed": "yes"}
    page.get_by_label("NAME=VALUE").fill("no tag")
    page.get_by_role("button", name="Add the tag").click()
    assert '"no tag"' in page.get_by_role("heading", level=1).inner_text()
    for taken in ("study", "point"):
        answer = post(served, f"{RUNS}/{other}/tags", {"tags": {taken: None}})
        assert answer.json["code"] == "fixed_tag"
    answer = post(served, f"{RUNS}/{name}/tags", {"tags": {"reviewed": None, "point": "x"}})
    assert answer.json["tags"] == {"point": "x"}


def test_runs_are_removed_after_a_question(served, visit):
    one, other, third = made_up.run(), made_up.run(), made_up.run()
    page = visit(served.url, scripts=False)
    page.get_by_label(f"Compare {one}").check()
    page.get_by_label(f"Compare {other}").check()
    page.get_by_role("button", name="Remove those").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Remove these runs?"
    assert len(run_folders()) == 3
    page.get_by_role("button", name="Remove 2 runs").click()
    assert [folder.name for folder in run_folders()] == [third]
    assert served.ask(f"{RUNS}/{third}", "DELETE").json["status"] == "removed"
    assert run_folders() == []


@pytest.mark.parametrize(
    "odd",
    [
        {"workload": "--report=x"},
        {"workload": "/etc/passwd"},
        {"server": "postgres,fsync=off"},
        {"server": "postgresql://user:secret@host/db"},
        {"time": "--help"},
        {"tags": ["--report"]},
        {"telemetry": "x"},
        {"report": "x.html"},
    ],
)
def test_what_is_no_name_and_no_value_is_refused(served, odd):
    answer = post(served, RUNS, SHORT | odd)
    assert (answer.status, answer.json["code"]) == (400, "usage")


def test_a_check_of_the_command_line_is_the_answer(served):
    answer = post(served, RUNS, SHORT | {"clients": 0})
    assert answer.status == 400
    assert answer.json["hint"]


def test_changes_need_the_right_and_a_page_of_this_server(serve, tokens):
    served = serve("--token-file", tokens)
    cookie = f"dbdyno-{served.place.rpartition(':')[2]}=a-token-that-may-change"
    for headers, code in (
        ({"token": "a-token-that-may-read"}, "read_only"),
        ({"token": "", "Cookie": cookie}, "foreign_origin"),
        ({"token": "", "Cookie": cookie, "Sec_Fetch_Site": "cross-site"}, "foreign_origin"),
        ({"token": "", "Cookie": cookie, "Sec_Fetch_Site": "same-site"}, "foreign_origin"),
    ):
        answer = post(served, f"{RUNS}/last/stop", **headers)
        assert (answer.status, answer.json["code"]) == (403, code), headers
    name = made_up.run()
    for method, path in (
        ("DELETE", f"{RUNS}/{name}"),
        ("POST", f"/runs/{name}/tags"),
        ("POST", "/remove"),
        ("POST", "/start"),
    ):
        answer = served.ask(path, method, token="a-token-that-may-read", body=f"run={name}")
        assert (answer.status, answer.json["code"]) == (403, "read_only")
        answer = served.ask(path, method, token="", body=f"run={name}", Cookie=cookie)
        assert (answer.status, answer.json["code"]) == (403, "foreign_origin")
    assert [folder.name for folder in run_folders()] == [name]
    own = {"Cookie": cookie, "Sec_Fetch_Site": "same-origin"}
    answer = post(served, f"{RUNS}/last/stop", token="", **own)
    assert (answer.status, answer.json["code"]) == (409, "no_longer_running")
    only = serve("--token-file", tokens, "--read-only")
    answer = post(only, f"{RUNS}/last/stop", token="a-token-that-may-change")
    assert answer.json["code"] == "read_only"


def test_the_form_shows_the_command_and_starts_it(served, visit):
    page = visit(served.url, scripts=False)
    page.get_by_role("link", name="Start").click()
    form = page.get_by_role("form", name="A run")
    form.get_by_label("Workload").select_option("tpcb")
    form.get_by_label("Scale").fill("1")
    form.get_by_label("Clients").fill("1")
    form.get_by_label("Time").fill("600s")
    form.get_by_role("button", name="Show the command").click()
    shown = "dbdyno run tpcb --server=postgres --scale=1 --clients=1 --time=600s"
    page.get_by_text(shown).wait_for()
    page.get_by_role("form", name="A run").get_by_role("button", name="Start").click()
    wait_until(run_folders, "a run folder")
    wait_until(lambda: _measures(served), "the load has begun")
    page.goto(f"http://{served.place}/runs/last")
    page.get_by_role("button", name="Stop the run").click()
    wait_until(lambda: read_record(run_folders()[-1]).status == "interrupted", "the run has ended")


def _measures(served):
    return served.ask(f"{RUNS}/last/intervals").json["intervals"]
