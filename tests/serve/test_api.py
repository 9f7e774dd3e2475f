"""What programs get: the objects of ``--json``, as the description of the interface has them."""

import json

import pytest

from dbdyno.cli import main
from tests.cli import made_up_runs as made_up
from tests.support.patience import PATIENCE_S

RUNS = "/api/v1/runs"
ODD = [
    "..",
    "%2e%2e",
    "..%2f..%2fetc%2fpasswd",
    "%2fetc",
    ".index",
    "a%00b",
    "%1b[31m",
    "%3Cscript%3E",
]


@pytest.fixture
def printed(capsys, own_signals):
    """What a command prints with --json."""

    def run(*words: str):
        main([*words, "--json"])
        return json.loads(capsys.readouterr().out)

    return run


def test_the_objects_are_those_of_the_command_line(served, printed):
    made_up.run(tags={"index": "none"})
    name = made_up.run(workload="app", tags={"index": "extra"})
    assert served.ask(RUNS).json == printed("runs")
    assert served.ask(f"{RUNS}/{name}").json == printed("report", name)
    assert served.ask(f"{RUNS}/{name}/explanation").json == printed("explain", name)
    chosen = served.ask(f"{RUNS}?which=tag:index=extra&which=app&status=valid&limit=5").json
    assert chosen == printed("runs", "tag:index=extra", "app")
    assert served.ask(f"{RUNS}?workload=tpcb&since=1h").json == {"runs": []}


def test_intervals_continue_where_the_last_answer_ended(served):
    name = made_up.run(status="running")
    assert served.ask(f"{RUNS}/{name}/intervals").json == {"run_id": name, "intervals": []}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("path", [RUNS, "/runs"])
def test_a_name_is_never_a_path(served, path, name, home):
    made_up.run()
    for rest in ("", "/intervals"):
        answer = served.ask(f"{path}/{name}{rest}", Accept="text/html")
        assert answer.status == 404
        assert "<script>" not in answer.text or path == RUNS
        assert "\x1b" not in answer.text


@pytest.mark.parametrize(
    "query", ["x=1", "status=odd", "since=soon", "limit=-x", "limit=-1", "limit=0"]
)
def test_parameters_that_are_not_known_are_refused(served, query):
    answer = served.ask(f"{RUNS}?{query}")
    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")


def test_the_description_names_every_type_that_it_uses(served):
    described = served.ask("/openapi.json").json
    assert described["openapi"] == "3.1.0"
    assert {"/api/v1/runs", "/api/v1/runs/{run_id}"} <= described["paths"].keys()
    schemas = described["components"]["schemas"]
    used = set(_references(described))
    assert used <= {f"#/components/schemas/{name}" for name in schemas}
    assert "#/components/schemas/RunRecord" in used
    for path, methods in described["paths"].items():
        for operation in methods.values():
            named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert all(f"{{{name}}}" in path for name in named)
            assert operation["summary"]


def _references(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "$ref":
                yield inner
            else:
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def test_a_damaged_run_does_not_hide_the_others(served, home):
    good, bad, newer = made_up.run(), made_up.run(), made_up.run()
    (home / "runs" / bad / "run.json").write_text('{"run_id": ')
    (home / "runs" / newer / "run.json").write_text('{"format_version": 999}')
    (home / "runs" / "half-written").mkdir()
    assert [run["run_id"] for run in served.ask(RUNS).json["runs"]] == [good]
    assert served.ask(f"{RUNS}/{bad}").json["code"] == "damaged"
    assert served.ask(f"{RUNS}/{newer}").json["code"] == "newer_format"
    assert served.ask(f"{RUNS}/half-written").status == 404
    assert served.ask("/", Accept="text/html").status == 200
    assert served.process.poll() is None
    served.process.terminate()
    _, err = served.process.communicate(timeout=PATIENCE_S)
    assert err.count(f"{bad} is left out") == 1
