"""Runs that are started and stopped from here: they outlive the server."""

import json

import pytest

from dbdyno.store.listing import read_record, run_folders
from tests.support.patience import eventually, wait_until

RUNS = "/api/v1/runs"
SHORT = {"workload": "tpcb", "clients": 1, "scale": 1, "time": "600s", "telemetry": "off"}


def post(served, path, value=None, **headers):
    return served.ask(path, "POST", body=json.dumps(value or {}), **headers)


def test_a_run_is_started_outlives_the_server_and_is_stopped(serve, home):
    first = serve()
    started = post(first, RUNS, SHORT | {"tags": ["index=none"]})
    assert started.status == 202
    assert started.json["command"].startswith("dbdyno run tpcb --server=postgres --scale=1")
    second = post(first, RUNS, SHORT)
    assert (second.status, second.json["code"]) == (409, "running")
    first.process.terminate()
    first.process.communicate()

    served = serve()
    wait_until(run_folders, "a run folder")
    name = run_folders()[-1].name
    assert read_record(run_folders()[-1]).tags["index"] == "none"
    assert served.ask(f"{RUNS}/{name}").json["status"] == "running"
    wait_until(lambda: _measures(served), "the load has begun")
    assert post(served, f"{RUNS}/{name}/stop").status == 202
    ended = eventually(
        lambda: served.ask(f"{RUNS}/{name}").json["status"], lambda status: status != "running"
    )
    assert ended == "interrupted"
    eventually(
        lambda: post(served, f"{RUNS}/{name}/stop").json.get("code"),
        lambda code: code == "no_longer_running",
    )


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


def test_changes_need_the_right_and_a_page_of_this_server(serve, tmp_path):
    file = tmp_path / "tokens"
    file.write_text("a-token-that-may-change\na-token-that-may-read read-only\n")
    file.chmod(0o600)
    served = serve("--token-file", str(file))
    cookie = f"dbdyno-{served.place.rpartition(':')[2]}=a-token-that-may-change"
    for headers, code in (
        ({"token": "a-token-that-may-read"}, "read_only"),
        ({"token": "", "Cookie": cookie}, "foreign_origin"),
        ({"token": "", "Cookie": cookie, "Sec_Fetch_Site": "cross-site"}, "foreign_origin"),
        ({"token": "", "Cookie": cookie, "Sec_Fetch_Site": "same-site"}, "foreign_origin"),
    ):
        answer = post(served, f"{RUNS}/last/stop", **headers)
        assert (answer.status, answer.json["code"]) == (403, code), headers
    own = {"Cookie": cookie, "Sec_Fetch_Site": "same-origin"}
    assert post(served, f"{RUNS}/last/stop", token="", **own).json["code"] == "no_run"
    only = serve("--token-file", str(file), "--read-only")
    answer = post(only, f"{RUNS}/last/stop", token="a-token-that-may-change")
    assert answer.json["code"] == "read_only"


def test_the_form_shows_the_command_and_starts_it(served, visit):
    page = visit(served.url, scripts=False)
    page.get_by_role("link", name="Start").click()
    page.get_by_label("Workload").select_option("tpcb")
    page.get_by_label("Scale").fill("1")
    page.get_by_label("Clients").fill("1")
    page.get_by_label("Time").fill("600s")
    page.get_by_role("button", name="Show the command").click()
    shown = "dbdyno run tpcb --server=postgres --scale=1 --clients=1 --time=600s"
    page.get_by_text(shown).wait_for()
    page.get_by_role("button", name="Start").click()
    wait_until(run_folders, "a run folder")
    wait_until(lambda: _measures(served), "the load has begun")
    page.goto(f"http://{served.place}/runs/last")
    page.get_by_role("button", name="Stop the run").click()
    wait_until(lambda: read_record(run_folders()[-1]).status == "interrupted", "the run has ended")


def _measures(served):
    return served.ask(f"{RUNS}/last/intervals").json["intervals"]
