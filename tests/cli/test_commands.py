"""What the command line returns: text, exit codes, JSON. Nothing here needs a server."""

import contextlib
import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import dbdyno
from dbdyno.cli import commands, help as helping, main
from dbdyno.cli.app import make_app
from dbdyno.cli.commands import COMMANDS
from dbdyno.cli.program import with_script_options
from dbdyno.errors import DbdynoError

pytestmark = pytest.mark.usefixtures("home", "own_signals")


def answer(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("run", "nothing to run"),
        ("run tpcbb", "unknown workload 'tpcbb'"),
        ("run tpcb pk", "a run takes one workload: tpcb and pk"),
        ("run no/such.sql", "cannot read the script no/such.sql"),
        ("run no/such.lua", "a sysbench script as FILE.lua"),
        ("run tpcb@x", "no weight after @"),
        ("run tpcb mysql://u:hush@h/d", "error: a database's URL is not a workload or a script: "),
        ("run tpcb -D scal=3", "no parameter scal"),
        ("run tpcb -D fillfactor=5", "fillfactor"),
        ("run tpcb -c 0", "-c 0: must be at least 1"),
        ("run tpcb -c many", '"many" is not a whole number'),
        ("run tpcb -s 1.5", '"1.5" is not a whole number'),
        ("load tpcb -j 2.5 --server bench", '"2.5" is not a whole number'),
        ("run tpcb -c 4000000000", "4000000000 clients need"),
        ("run tpcb --rate 0", "--rate 0: must be above 0"),
        ("run tpcb --rate inf", '"inf" is not a number: write 500 or 1.5'),
        ("run tpcb --server-cores nan", '"nan" is not a number'),
        ("search tpcb --slo p99<9ms --rate-max nan", '"nan" is not a number'),
        ("run tpcb -t 5 -T 3", "-t and -T cannot be used together"),
        ("run tpcb -T soon", "is not a duration"),
        ("run tpcb --stages 30s", "is not a stage"),
        ("run tpcb --tag x", "is not an assignment"),
        ("run tpcb --cleints 3", "Did you mean --clients?"),
        ("run tpcb --io iocp", "--io"),
        ("run tpcb --server mariadb:11", "mariadb"),
        ("run tpcb --server oracle", "give its kind: for example postgres"),
        ("run tpcb --target oracle://db", "unknown scheme oracle://"),
        ("run tpcb -c -5", "-c -5: must be at least 1\n"),
        ("run tpcb --report /nowhere/x.html", "folder /nowhere does not exist"),
        ("run tpcb --report /", "cannot write /: is a folder"),
        ("search tpcb --slo p99<9ms --report /nowhere/x.html", "folder /nowhere does not exist"),
        ("load tpcb", "load needs a database that keeps running"),
        ("load tpcb -- --tables=4", "options after -- are for sysbench scripts"),
        ("run oltp_read_write --threads=4", "sysbench's --threads is -c 4 here"),
        ("run bulk_insert -- --threads=4", "before it: -c for --threads"),
        ("load tpcb -j 0", "-j 0: must be between 1 and"),
        ("load tpcb --server bench --seed -1", "--seed -1: must be between 0 and"),
        (
            "load tpcb --target postgresql://h/d --server bench",
            "--target and --server cannot be used together",
        ),
        ("load tpcb --target postgresql://h/d --durability full", "is only for private servers"),
        (
            "check tpcb --target postgresql://h/d --server bench",
            "--target and --server cannot be used together",
        ),
        (
            "script oltp_read_write.lua cleanup --target mysql://h/d --set a=b",
            "--target and --set cannot be used together",
        ),
        ("check tpcb", "check needs a database that keeps running"),
        ("report nosuchrun", "There are no runs"),
        ("report last --text -o last.txt", "dbdyno report last --text > FILE"),
        ("sql selekt", "parser error"),
        ("server start bench --connections -5", "--connections -5: must be at least 1"),
        ("server logs nobody", "no server is named 'nobody'"),
        ("rnu tpcb", 'Did you mean "run"'),
    ],
)
def test_bad_input_is_explained_with_exit_code_1(capsys, arguments, expected):
    code, out, err = answer(capsys, *arguments.split())
    assert code == 1
    assert expected.lower() in err.lower()
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


@pytest.mark.parametrize(
    "arguments",
    [
        "report --text --json",
        "study report last -o study.html --json",
        "study show hot-rows --toml --json",
        "compare last~1 last --markdown --json",
    ],
)
def test_a_result_has_one_form(capsys, arguments):
    code, out, _ = answer(capsys, *arguments.split())
    assert code == 1
    assert "--json cannot be used together" in json.loads(out)["error"]["message"]


@pytest.mark.parametrize("words", ["", "--help", "-h", "--json --help"])
def test_without_a_command_help_lists_them_all(capsys, words):
    code, out, _ = answer(capsys, *words.split())
    assert code == 0
    assert out.startswith("Usage: dbdyno COMMAND\n")


def test_help_before_a_command_is_that_of_the_command(capsys):
    assert answer(capsys, "--help", "runs")[1].startswith("Usage: dbdyno runs ")


def test_a_usage_error_names_the_help_that_answers_it(capsys):
    assert "See dbdyno server start --help." in answer(capsys, "server", "start", "--nosuch")[2]


BELOW = [
    (name, below)
    for name in COMMANDS
    for below in make_app([name])[name]
    if not below.startswith("-")
]


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS), *BELOW])
def test_every_command_has_help_with_examples(capsys, command):
    code, out, _ = answer(capsys, *command, "--help")
    assert code == 0
    assert out.startswith("Usage: dbdyno")
    assert "Examples:" in out
    assert f"  dbdyno {' '.join(command)}".rstrip() in out
    examples = out[out.index("Examples:") :].splitlines()
    assert all(line.startswith("  ") for line in examples[1:] if line), "one wraps at 80 columns"


@pytest.mark.parametrize(
    "usage",
    [
        "dbdyno COMMAND",
        "dbdyno data COMMAND",
        "dbdyno run [OPTIONS] [WHAT...] [-- SCRIPT OPTIONS]",
        "dbdyno runs [OPTIONS] [WHICH...]",
        "dbdyno server logs [NAME]",
        "dbdyno study rm STUDY [STUDIES...]",
    ],
)
def test_help_names_what_a_command_takes(capsys, usage):
    command = [word for word in usage.split()[1:] if word.islower()]
    _, out, _ = answer(capsys, *command, "--help")
    assert out.startswith(f"Usage: {usage}\n")


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [
        ("run -S -c 2", "dbdyno run select-only"),
        ("run -b select-only", "Give the workload as an argument"),
        ("run -i -s 10", "dbdyno load tpcb"),
        ("run tpcb -h db -p 5432", "--target postgresql://"),
        ("run tpcb -p5432", "--target postgresql://"),
        ("run tpcb --mysql-host=db", "--target mysql://"),
        ("run tpcb --random-seed=3", "--seed"),
        ("run oltp_read_write --table-size=10", "-D table_size"),
    ],
)
def test_options_of_pgbench_and_sysbench_get_a_hint_with_their_equivalent(
    capsys, arguments, instead
):
    code, out, err = answer(capsys, *arguments.split())
    assert (code, out) == (1, "")
    assert instead in err.partition("hint: ")[2]


@pytest.mark.parametrize("arguments", ["doctor --json", "study list", "run tpcb -c 0 --json"])
def test_a_result_that_does_not_fit_on_the_disk_is_reported(capsys, monkeypatch, arguments):
    full = Path("/dev/full").open("w")  # noqa: SIM115 - closing it fails, too
    monkeypatch.setattr("sys.stdout", full)
    code, _, err = answer(capsys, *arguments.split())
    with contextlib.suppress(OSError):
        full.close()
    assert code == 1
    assert err.startswith(("error: cannot write the result: No space left on", "error: -c 0: "))


@pytest.mark.parametrize(
    ("arguments", "code"), [("run --help", 0), ("runs --json", 0), ("run no/such.sql --json", 1)]
)
def test_a_reader_that_has_closed_the_pipe_is_no_error(arguments, code):
    """Python's buffer is off: what is printed then fails at once, not when the program ends."""
    piped = f"set -o pipefail; {sys.executable} -u -m dbdyno {arguments} | head -c 0"
    ended = subprocess.run(["bash", "-c", piped], check=False, capture_output=True, text=True)
    assert (ended.returncode, "Traceback" in ended.stderr) == (code, False)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_are_no_error(closed):
    """So does cron start its jobs on some systems."""
    alone = f"{sys.executable} -m dbdyno workloads --json {closed}"
    ended = subprocess.run(["sh", "-c", alone], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert bool(ended.stdout) is (">&-" not in closed.replace("2>&-", ""))


def test_every_file_of_a_command_is_listed():
    files = Path(commands.__file__).parent.glob("[!_]*.py")
    assert {file.stem for file in files} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_by_the_first_sentence_of_its_help(capsys, name):
    sentence = commands.first_sentence(name)
    assert sentence.endswith(".")
    listed = re.sub(r"[\s│]+", " ", answer(capsys, "--help")[1])
    assert f" {name} {sentence} " in listed
    assert sentence in " ".join(answer(capsys, name, "--help")[1].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_more_than_its_first_line(capsys, name):
    """The list of commands has its own short descriptions, which must not replace the long ones."""
    about = answer(capsys, name, "--help")[1].partition("╭")[0]
    assert len([part for part in about.split("\n\n") if part.strip()]) >= 3, about


def test_the_paragraphs_of_a_description_end_where_the_reader_s_lines_do(capsys):
    out = answer(capsys, "search", "--help")[1]
    about = out[out.index("A closed-loop run") : out.index("Exits with 4")].splitlines()
    assert all(len(line) > 60 for line in about[:-1])


def test_a_check_has_no_options_for_loading(capsys):
    assert "Unknown option: --replace" in answer(capsys, "check", "tpcb", "--replace")[2]


def test_help_that_stands_alone_is_help(capsys):
    assert answer(capsys, "run", "tpcb", "-h")[0] == 0


def test_every_habit_is_of_an_option_that_a_run_does_not_have():
    """Otherwise the hint for it would never be shown."""
    shown = make_app(["run"])["run"].assemble_argument_collection(parse_docstring=False)
    names = {name for argument in shown for name in argument.names}
    assert not names & helping.OPTIONS


def test_a_description_is_one_paragraph_whatever_its_source_looks_like(capsys):
    out = answer(capsys, "run", "--help")[1]
    about = " ".join(line.strip(" │") for line in out.splitlines())
    assert "mysql://…, or odbc:Driver={…};Server=… for any database with an ODBC driver." in about
    assert "default: none" not in about


def test_no_runs_yet(capsys):
    code, out, err = answer(capsys, "runs")
    assert (code, out) == (0, "")
    assert err.startswith("No runs in ")
    assert err.endswith("Start one: dbdyno run tpcb\n")
    assert json.loads(answer(capsys, "runs", "--json")[1]) == {"runs": []}


def test_sql_without_runs(capsys):
    _, out, _ = answer(capsys, "sql", "select count(*) as runs from runs", "--json")
    assert json.loads(out) == {"columns": ["runs"], "rows": [[0]]}
    _, out, _ = answer(capsys, "sql", "select 1 as one, null as nothing")
    assert out.split() == ["one", "nothing", "1"]


def test_sql_writes_what_other_programs_read(capsys, tmp_path):
    query = "select 'a, b' as text, 1 as one, null as nothing, true as yes"
    assert answer(capsys, "sql", query, "--csv")[1] == 'text,one,nothing,yes\n"a, b",1,,true\n'
    file = tmp_path / "it.parquet"
    assert answer(capsys, "sql", query, "--parquet", str(file))[:2] == (0, "")
    assert duckdb.read_parquet(str(file)).fetchall() == [("a, b", 1, None, True)]
    code, _, err = answer(capsys, "sql", query, "--parquet", str(file))
    assert (code, "exists" in err) == (1, True)
    code, _, err = answer(capsys, "sql", query, "--parquet", str(tmp_path / "no" / "it.parquet"))
    assert (code, "does not exist" in err) == (1, True)
    code, _, err = answer(capsys, "sql", query, "--parquet", "/proc/it.parquet")
    assert (code, "cannot write /proc/it.parquet" in err) == (1, True)


def test_the_doctor_answers_in_both_ways(capsys):
    code, out, _ = answer(capsys, "doctor")
    assert code == 0
    assert "io_uring" in out
    diagnoses = json.loads(answer(capsys, "doctor", "--json")[1])["diagnoses"]
    assert {"name", "title", "level", "found", "meaning", "mend"} == diagnoses[0].keys()


def test_the_python_api_opens_what_the_commands_list():
    with pytest.raises(DbdynoError, match="no runs"):
        dbdyno.open_run()


@pytest.mark.parametrize(
    "command", ["run my.lua", "search my.lua --slo p99<9ms", "load my.lua", "script prepare my.lua"]
)
def test_each_command_documented_to_takes_a_script_s_own_options(command):
    _, bound, _ = make_app(command.split()).parse_args(
        with_script_options([*command.split(), "--", "--tables=4"]), exit_on_error=False
    )
    given = [getattr(value, "script_options", value) for value in bound.arguments.values()]
    assert ("--tables=4",) in given
