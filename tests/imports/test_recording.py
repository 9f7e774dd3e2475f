"""A kept run has what the text tells: what it does not tell is NULL in its tables, and never 0."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from dbdyno.cli import main
from dbdyno.imports.reading import read_text
from dbdyno.imports.recording import keep, run_of
from dbdyno.run.tools import engine_tools
from dbdyno.store.query import sql
from dbdyno.store.run import RunFolder

RETRIED = "progress: {}.0 s, 100.0 tps, lat 0.430 ms stddev 0.216, 3 failed, 2 retried, 4 retries\n"
BEFORE_15 = "progress: {}.0 s, 100.0 tps, lat 0.430 ms stddev 0.216\n"
COUNTED = "completed_failed, failed, retried, retries"
NOT_TOLD = "started, due, in_flight, waiting, late, rolled_back, cpu_us, bytes_sent, round_trips"


def kept(text: str, home: Path) -> RunFolder:
    (run,) = read_text(io.BytesIO(text.encode())).runs
    return keep(run_of(run, "page.txt", engine_tools().histograms), {}, 1, home)


def lines(line: str) -> str:
    return "".join(line.format(number) for number in (1, 2))


@pytest.mark.parametrize(
    ("line", "counted"),
    [(RETRIED, [(3, 3, 2, 4), (3, 3, 2, 4)]), (BEFORE_15, [(None,) * 4, (None,) * 4])],
)
def test_counts_that_no_line_tells_are_null(line, counted, home):
    kept(lines(line), home)
    assert sql(f"select {COUNTED} from intervals", home).fetchall() == counted
    told = sql("select completed_ok, completed_committed from intervals", home).fetchall()
    assert told == [(100, 100), (100, 100)]
    (not_told, *_) = sql(f"select {NOT_TOLD} from intervals", home).fetchall()
    assert {*not_told} == {None}
    scripts = sql("select failed, skipped from scripts", home).fetchall()
    assert scripts == [(counted[0][0], None)] * 2


def test_a_total_of_what_some_lines_do_not_tell_is_null(home):
    kept(RETRIED.format(1) + BEFORE_15.format(2), home)
    found = sql("select completed_failed, failed from intervals", home).fetchall()
    assert found == [(3, None), (None, None)]


def test_what_is_read_again_is_what_was_written(home):
    folder = kept(lines(BEFORE_15), home)
    cpu_us = folder.intervals.cpu_us
    assert np.ma.isMaskedArray(cpu_us)
    assert cpu_us.tolist() == [None, None]
    assert not np.ma.isMaskedArray(folder.intervals.completed_ok)


@pytest.mark.usefixtures("own_signals")
def test_a_table_of_the_report_has_no_zero_for_what_is_not_known(home, tmp_path):
    folder = kept(lines(BEFORE_15), home)
    assert main(["report", folder.run_id, "--tables", str(tmp_path)]) == 0
    rows = [
        row for path in tmp_path.glob("*.csv") for row in csv.reader(path.read_text().splitlines())
    ]
    assert (tmp_path / "throughput-chart.csv").exists()
    assert [row for row in rows if {"0", "0.0"} & {*row[1:]}] == []
