"""HammerDB and BenchBase: their summaries, with each number as it was printed."""

import io
import json
from pathlib import Path

import pytest

from dbdyno.imports.reading import read_text
from dbdyno.imports.recording import run_of
from dbdyno.run.tools import engine_tools

TEXTS = Path(__file__).parent / "other_texts"


def runs_of(name: str):
    return read_text(io.BytesIO((TEXTS / name).read_bytes())).runs


def test_hammerdb_has_new_orders_users_time_and_procedures():
    (run,) = runs_of("hammerdb-4.txt")
    assert (run.tool, run.version, run.product) == ("HammerDB", "4.5", "postgres")
    assert (run.nopm, run.clients, run.duration_s, run.tps) == (42332, 64, 300, None)
    assert [(one.name, one.ok, one.mean_ms) for one in run.scripts] == [
        ("neword", 98765, 5.678),
        ("payment", 98012, 2.345),
    ]
    figures = {(one.of, one.name): one.value for one in run.figures}
    assert figures["", "TPM"] == 97427
    assert (figures["neword", "p99"], figures["neword", "ratio"]) == (22.222, 55.555)
    assert figures["payment", "total"] == 229838.14


def test_the_wording_of_older_hammerdb_has_the_numbers_the_other_way_round():
    first, second = runs_of("hammerdb-3.txt")
    assert (first.nopm, first.clients, first.product) == (13207, 10, "")
    assert (second.nopm, second.clients, second.product) == (9311, 20, "mysql")
    assert [one.value for one in first.figures] == [10, 13207, 60501]


def test_benchbase_logs_have_a_rate_each():
    old, new = runs_of("benchbase-log.txt")
    assert (old.ok, old.tps, old.nopm) == (842650, 468.13881101867906, 12590)
    assert old.duration_s == pytest.approx(1800.000299412)
    assert (new.ok, new.tps, new.nopm) == (3168, 51.93450420618642, None)
    assert {one.name: one.value for one in new.figures}["goodput"] == 52.24598008368564


def test_a_summary_of_benchbase_has_all_that_it_says():
    (run,) = runs_of("benchbase-summary.json")
    told = json.loads((TEXTS / "benchbase-summary.json").read_text())
    assert (run.tps, run.ok, run.clients, run.scale) == (33.4328738168708, 2006, 4, 1)
    assert (run.product, run.server_version) == ("postgres", "14.2")
    assert run.workload == "tpcc (BenchBase)"
    assert run.began_unix_s == 1646241322.921
    assert run.latencies_ms["mean"] == 29.874
    assert (run.latencies_ms["p50"], run.latencies_ms["max"]) == (28.86, 76.22)
    flat = told | told["Latency Distribution"]
    values = [value for value in flat.values() if not isinstance(value, dict)]
    assert [one.value for one in run.figures] == values


def test_new_orders_are_what_runs_of_hammerdb_are_compared_by():
    (run,) = (run_of(one, "log", engine_tools().histograms) for one in runs_of("hammerdb-4.txt"))
    assert run.record.nopm.value == 42332
    assert run.record.throughput_tps is None


def changed(text: str) -> list[str]:
    return [
        text.replace("\n", "\r\n"),
        "".join(f"> {line}\n" for line in text.splitlines()),
        f"<pre>{text}</pre>",
        f"\x1b[1m{text}\x1b[0m",
    ]


@pytest.mark.parametrize("name", sorted(path.name for path in TEXTS.iterdir()))
def test_a_text_that_a_page_or_a_terminal_has_changed_has_the_same_figures(name):
    expected = [[(one.name, one.value) for one in run.figures] for run in runs_of(name)]
    for text in changed((TEXTS / name).read_text()):
        runs = read_text(io.BytesIO(text.encode())).runs
        assert [[(one.name, one.value) for one in run.figures] for run in runs] == expected


@pytest.mark.parametrize("name", sorted(path.name for path in TEXTS.iterdir()))
def test_a_text_that_is_cut_off_has_no_wrong_figure(name):
    text = (TEXTS / name).read_text()
    whole = [(one.name, one.value, one.line) for run in runs_of(name) for one in run.figures]
    for length in range(0, len(text), 11):
        for run in read_text(io.BytesIO(text[:length].encode())).runs:
            assert {(one.name, one.value, one.line) for one in run.figures} <= {*whole}
