"""What the command line answers: words, exit codes, JSON. Nothing here needs a server."""

import json

import pytest

import dbdyno
from dbdyno.cli import app as cli_app, main, run as cli_run
from dbdyno.cli.app import COMMANDS
from dbdyno.errors import DbdynoError
from tests.support.engine import tools


@pytest.fixture(autouse=True)
def _own_home(home, monkeypatch):
    monkeypatch.setattr(cli_run, "engine_tools", tools)
    # main() takes SIGTERM for the process; a test process keeps its own.
    monkeypatch.setattr(cli_app.signal, "signal", lambda *_: None)


def answer(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("run", "nothing to run"),
        ("run tpcbb", "there is no workload 'tpcbb'"),
        ("run tpcb pk", "one workload a run: tpcb and pk"),
        ("run no/such.sql", "cannot read the script no/such.sql"),
        ("run tpcb@x", "no weight after @"),
        ("run tpcb -D scal=3", "no parameter scal"),
        ("run tpcb -D fillfactor=5", "fillfactor"),
        ("run tpcb -c 0", "-c 0: must be between 1 and"),
        ("run tpcb -c many", "unable to convert"),
        ("run tpcb -c 4000000000", "need 4000000256 open files"),
        ("run tpcb --rate 0", "--rate 0: must be above 0"),
        ("run tpcb -t 5 -T 3", "-t and -T exclude each other"),
        ("run tpcb -T soon", "is not a span of time"),
        ("run tpcb --stages 30s", "is not a stage"),
        ("run tpcb --tag x", "is not an assignment"),
        ("run tpcb --cleints 3", "Did you mean --clients?"),
        ("run tpcb --io iocp", "--io"),
        ("run tpcb --server mariadb:11", "mariadb"),
        ("run tpcb --server nobody", "no server is named 'nobody'"),
        ("load tpcb", "load needs a database that stays"),
        ("check tpcb", "check needs a database that stays"),
        ("report nosuchrun", "There are no runs"),
        ("sql selekt", "parser error"),
        ("server logs nobody", "no server is named 'nobody'"),
        ("rnu tpcb", 'Did you mean "run"'),
    ],
)
def test_bad_input_is_explained_with_exit_code_1(capsys, arguments, words):
    code, out, err = answer(capsys, *arguments.split())
    assert code == 1
    assert words.lower() in err.lower()
    assert err.startswith("error: ")
    assert out == ""


def test_with_json_an_error_is_one_object(capsys):
    code, out, err = answer(capsys, "run", "tpcbb", "--json")
    error = json.loads(out)["error"]
    assert code == 1
    assert error.keys() == {"code", "message", "hint"}
    assert error["code"] == "unknown_workload"
    assert "tpcb" in error["hint"]
    assert err == ""


def test_a_usage_error_names_the_help_that_answers_it(capsys):
    assert "See dbdyno server start --help." in answer(capsys, "server", "start", "--nosuch")[2]


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_every_command_has_help_with_examples(capsys, command):
    code, out, _ = answer(capsys, *command, "--help")
    assert code == 0
    assert "Examples:" in out
    assert f"  dbdyno {' '.join(command)}".rstrip() in out


def test_no_runs_yet(capsys):
    code, out, err = answer(capsys, "runs")
    assert (code, out) == (0, "")
    assert err.startswith("No runs in ")
    assert json.loads(answer(capsys, "runs", "--json")[1]) == {"runs": []}


def test_sql_without_runs(capsys):
    _, out, _ = answer(capsys, "sql", "select count(*) as runs from runs", "--json")
    assert json.loads(out) == {"columns": ["runs"], "rows": [[0]]}
    _, out, _ = answer(capsys, "sql", "select 1 as one, null as nothing")
    assert out.split() == ["one", "nothing", "1"]


def test_the_doctor_answers_in_both_ways(capsys):
    code, out, _ = answer(capsys, "doctor")
    assert code == 0
    assert "io_uring" in out
    diagnoses = json.loads(answer(capsys, "doctor", "--json")[1])["diagnoses"]
    assert {"name", "title", "level", "found", "meaning", "mend"} == diagnoses[0].keys()


def test_the_python_api_opens_what_the_commands_list():
    with pytest.raises(DbdynoError, match="no runs"):
        dbdyno.open_run()
