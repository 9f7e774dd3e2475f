"""``dbdyno import``: texts of other tools become runs that every other command takes."""

import io
import json
from pathlib import Path

import pytest

from dbdyno.cli import main
from dbdyno.explain.explain import outcome
from dbdyno.explain.registry import all_rules
from dbdyno.explain.rule import CouldNotLook
from dbdyno.formatting import plain
from dbdyno.run.tools import engine_tools
from dbdyno.store.listing import run_folders
from dbdyno.store.run import open_run

pytestmark = pytest.mark.usefixtures("home", "own_signals")
TEXTS = Path(__file__).parents[1] / "imports/pgbench_texts"
SEVERAL = TEXTS / "several-of-one-page.txt"
NUMA = TEXTS / "9.2-numa-three-policies.txt"


def answer(capsys, *arguments: str | Path) -> tuple[int, str, str]:
    code = main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def imported(capsys, *arguments: str | Path) -> list[dict]:
    code, out, _ = answer(capsys, "import", *arguments, "--json")
    assert code == 0
    return json.loads(out)["runs"]


def test_the_runs_of_a_text_come_in_its_order_with_the_fields_of_a_run(capsys):
    runs = imported(capsys, SEVERAL)
    tps = [run["throughput_tps"]["value"] for run in runs]
    assert tps == [1181.757528, 18814.351018, 169.893222, 1464.586273]
    assert [run["transactions"]["ok"] for run in runs] == [11819, 188166, 5000, 263626]
    assert [run["transactions"]["failed"] for run in runs] == [None, None, 0, None]
    assert [run["duration_s"] for run in runs] == [10, 10, None, 180]
    assert [run["response_ms"] and run["response_ms"]["mean"] for run in runs] == [
        8.339,
        0.513,
        294.303,
        None,
    ]
    assert runs[0]["response_ms"]["p99"] is None
    assert runs[2]["server"]["version"] == "15.7"
    assert [one["mean_ms"] for one in runs[3]["statements"]][-2:] == [0.075227, 0.173568]
    assert [run["seed"] for run in runs] == [None] * 4
    assert [run["workload"] for run in runs] == ["bench.sql", "benchPost.sql", "tpcb", "tpcb"]
    assert [folder.name for folder in run_folders()] == [run["run_id"] for run in runs]


def test_they_are_listed_queried_and_reported_and_say_what_is_not_known(capsys, tmp_path):
    imported(capsys, SEVERAL, "--tag", "from=page")
    listed = json.loads(answer(capsys, "runs", "tag:from=page", "--json")[1])["runs"]
    assert [run["tool"] for run in listed] == ["pgbench"] * 4
    assert [run["clients"] for run in listed] == [1, 50, 10, 10]
    assert [run["query_mode"] for run in listed] == ["simple"] * 4
    printed = json.loads(answer(capsys, "sql", "select tps from progress order by 1", "--json")[1])
    assert printed["rows"] == [[1153.6], [1208.4], [18157.7], [19473.5]]
    rates = "select round(completed_committed / seconds, 6) from intervals order by 1"
    rows = json.loads(answer(capsys, "sql", rates, "--json")[1])["rows"]
    assert rows == printed["rows"]
    for form in ("text", "markdown", "json"):
        assert answer(capsys, "report", "last~3", "--format", form)[0] == 0
    page = tmp_path / "page.html"
    assert answer(capsys, "report", "last~3", "-o", page)[0] == 0
    assert "As it was printed" in page.read_text()
    text = answer(capsys, "report", "last~3", "--text")[1]
    assert "Imported: pgbench measured this" in text
    assert "10 clients, 1 thread, closed loop, query mode simple, scale 1" in text
    explained = answer(capsys, "explain", "last~3")[1]
    assert "pgbench measured the run, and its text has none of it" in explained


def test_only_rules_that_need_no_more_than_a_text_have_looked(capsys):
    for name in ("15-rate-retries.txt", "9.4-progress-and-lag.txt", "10-hot-rows.txt"):
        (run,) = imported(capsys, TEXTS / name)
        recording = open_run("last").load(engine_tools().histograms)
        outcomes = {one: outcome(rule, recording) for one, rule in all_rules().items()}
        looked = {one for one in outcomes if not isinstance(outcomes[one], CouldNotLook)}
        assert looked <= {"unsteady", "statement_queue", "regular_dips"}
        assert {one["id"] for one in run["findings"]} <= looked


def test_one_run_each_decides_nothing(capsys):
    default, interleaved, local = (run["run_id"] for run in imported(capsys, NUMA))
    for other in (interleaved, local):
        code, out, _ = answer(capsys, "compare", default, other)
        assert code == 0
        assert "cannot tell" in out
        assert "Not known of" in out


def test_equal_runs_are_a_history(capsys):
    for _ in range(4):
        imported(capsys, TEXTS / "8.4-by-count.txt")
    code, out, _ = answer(capsys, "history", "tpcb", "--json")
    assert code == 0
    assert len(json.loads(out)["series"][0]["runs"]) == 4


def test_no_file_of_a_run_has_the_password_of_its_command(capsys):
    imported(capsys, SEVERAL)
    files = [path for folder in run_folders() for path in folder.iterdir() if path.is_file()]
    assert files
    assert [path for path in files if b"geheim" in path.read_bytes()] == []
    assert open_run("last~1").record.imported.command.endswith("me:***@h/db'")


def test_standard_input_is_a_text_too(capsys, monkeypatch):
    text = NUMA.read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert len(imported(capsys, "-")) == 3


@pytest.mark.parametrize("content", [b"", b"\n\n", b"no run\n", bytes(range(256)) * 40])
def test_a_text_without_a_run_is_refused(capsys, tmp_path, content):
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    code, out, err = answer(capsys, "import", file)
    assert (code, out) == (1, "")
    assert "no run of a tool that dbdyno knows" in err
    assert run_folders() == []


def test_nothing_is_imported_if_one_of_the_files_cannot_be_read(capsys, tmp_path):
    code, _, err = answer(capsys, "import", NUMA, tmp_path / "absent.txt")
    assert code == 1
    assert "absent.txt: No such file" in err
    assert run_folders() == []


def test_what_is_left_out_is_said(capsys, tmp_path):
    file = tmp_path / "results.txt"
    header = "transaction type: TPC-B (sort of)\nscaling factor: 1\n"
    file.write_text(header + NUMA.read_text())
    code, out, err = answer(capsys, "import", file)
    assert code == 0
    assert out.count("pgbench 9.1 to 9.5") == 3
    assert "lines 1 to 2: left out" in err


def test_a_server_that_the_text_does_not_name_is_not_known(capsys):
    texts = TEXTS.parent / "sysbench_texts"
    named, unnamed = imported(capsys, texts / "1.0-write-only.txt", texts / "1.0-rate.txt")
    assert (named["server"]["product"], named["server"]["title"]) == ("mysql", "MySQL")
    assert (unnamed["server"]["product"], unnamed["server"]["title"]) == ("unknown", "")
    assert open_run("last").conditions.database.name == "unknown"
    assert (unnamed["imported"]["loop"], unnamed["imported"]["rate_tps"]) == ("open", 50)
    assert unnamed["response_ms"]["p95"] == 13.46
    text = answer(capsys, "report", "last", "--text")[1]
    assert "on a server" in text
    assert answer(capsys, "report", "last", "--format", "text")[0] == 0


def test_the_logs_of_all_threads_are_one_run(capsys):
    logs = TEXTS.parent / "pgbench_logs"
    names = sorted(logs.glob("transactions-*")) + sorted(logs.glob("intervals-*"))
    transactions, intervals = imported(capsys, *names)
    assert transactions["transactions"]["ok"] == 80
    assert transactions["response_ms"]["p99"] is not None
    assert transactions["imported"]["is_dated"]
    assert transactions["started_at"].startswith("2026-")
    assert intervals["transactions"]["ok"] == 235
    assert answer(capsys, "report", "last", "--format", "text")[0] == 0


@pytest.mark.parametrize(
    ("name", "headings", "cell"),
    [
        ("hammerdb-4.txt", "clients TPS NOPM mean lines", "42 332"),
        ("benchbase-log.txt", "TPS NOPM", "12 590"),
    ],
)
def test_new_orders_are_listed_where_a_text_has_them(capsys, name, headings, cell):
    _, out, _ = answer(capsys, "import", TEXTS.parent / "other_texts" / name)
    first, row, *_ = out.splitlines()
    assert headings in " ".join(first.split())
    assert cell in plain(row)


def test_without_new_orders_their_column_is_not_there(capsys):
    assert "NOPM" not in answer(capsys, "import", NUMA)[1]
