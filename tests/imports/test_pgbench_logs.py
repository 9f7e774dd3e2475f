"""pgbench's logs: each number is what the lines add up to, whatever their columns are."""

import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from dbdyno.imports.reading import read_text
from dbdyno.imports.series import tables_of

LOGS = Path(__file__).parent / "pgbench_logs"
TRANSACTIONS = sorted(LOGS.glob("transactions-*"))
INTERVALS = sorted(LOGS.glob("intervals-*"))


def read(*texts: str):
    log = None
    for text in texts:
        found = read_text(io.BytesIO(text.encode()), of_other_threads=log)
        log = found.log
    return found


def run_of(*texts: str):
    (run,) = read(*texts).all_runs()
    return run


def test_the_threads_of_a_run_are_one():
    texts = [path.read_text() for path in TRANSACTIONS]
    rows = [line.split() for text in texts for line in text.splitlines()]
    latencies_us = np.array([int(row[2]) for row in rows])
    run = run_of(*texts)
    assert (run.ok, run.failed, run.skipped, run.clients) == (len(rows), 0, 0, 4)
    assert run.latencies_ms["mean"] == pytest.approx(latencies_us.mean() / 1e3)
    assert run.latencies_ms["max"] == latencies_us.max() / 1e3
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        at = np.quantile(latencies_us, share, method="inverted_cdf")
        assert run.latencies_ms[name] == pytest.approx(at / 1e3, rel=1e-3)
    assert run.doubts == []


def test_outcomes_scripts_lags_and_tries_are_counted():
    lines = [
        "0 1 1000 0 1795895601 100000 10 0",
        "0 2 skipped 0 1795895601 200000 0 0",
        "0 3 3000 1 1795895602 100000 10 2",
        "1 1 serialization 1 1795895602 300000 0 4",
        "1 2 5000 1 1795895603 400000 30 0",
        "1 3 failed 0 1795895603 500000 0 0",
    ]
    run = run_of("\n".join(lines) + "\n")
    assert (run.ok, run.failed, run.skipped, run.retried) == (3, 2, 1, 2)
    assert [(one.name, one.ok, one.mean_ms) for one in run.scripts] == [
        ("script 0", 1, 1.0),
        ("script 1", 2, 4.0),
    ]
    assert run.is_open_loop
    assert run.began_unix_s == 1795895601.099
    assert run.duration_s == pytest.approx(2.401)


def test_aggregated_lines_before_version_15_count_skipped_ones_as_done():
    older = "1795895601 10 7000 0 100 2000 5 0 0 5 3\n1795895602 1 1 0 1 1 0 0 0 0 0\n"
    run = run_of(older)
    assert (run.ok, run.skipped) == (8, 3)
    assert run.latencies_ms["mean"] == pytest.approx(7001 / 8 / 1e3)
    assert run.parts[0].printed["tps"] == 7
    newer = "".join(f"{line} 0 0 0 0\n" for line in older.splitlines())
    assert run_of(newer).ok == 11


@pytest.mark.parametrize("more", ["", " 17", " 0 3"])
@pytest.mark.parametrize("words", [0, 5])
def test_lines_that_are_read_at_once_are_as_if_read_one_by_one(more, words):
    outcomes = ["skipped", "serialization", "deadlock", "other", "failed"][:words]
    lines = [
        f"{n % 3} {n // 3} {outcomes[n % 50] if n % 50 < words else n * n % 70_001} {n % 2} "
        f"{1795895601 + n // 700} {n % 700}{more}\n"
        for n in range(9000)
    ]
    at_once = run_of("".join(lines))
    assert at_once.ok == 9000 * (50 - words) // 50
    # A line that is none of a log: all are looked at.
    (one_by_one,) = read("".join([*lines, "1 2 3\n"])).all_runs()
    assert at_once == one_by_one


def test_whole_seconds_are_intervals():
    lines = [f"0 {n} 500 0 {1795895601 + n // 7} {n % 7 * 100000}" for n in range(35)]
    tables = tables_of(run_of("\n".join(lines) + "\n"))
    assert tables["intervals"]["completed_ok"].tolist() == [7, 7, 7, 7]
    assert tables["intervals"]["seconds"].tolist() == [1, 1, 1, 1]
    assert tables["intervals"]["time_s"].tolist() == [0, 1, 2, 3]
    assert len(tables["progress"]["line"]) == 0


def test_a_sample_has_latencies_and_no_counts():
    lines = [f"0 {n} {500 + n} 0 1795895601 {n}" for n in range(0, 1000, 10)]
    run = run_of("\n".join(lines) + "\n")
    assert (run.ok, run.failed, run.parts) == (None, None, [])
    assert run.latencies_ms["max"] == 1.49
    assert run.doubts[0].startswith("sampled")


def test_a_seventh_number_of_which_nothing_is_known_is_a_doubt():
    small = "0 1 500 0 1795895601 10 3\n0 2 500 0 1795895601 11 0\n"
    assert run_of(small).doubts[0].startswith("ambiguous")
    assert run_of(small).retried is None
    lag = small.replace(" 3\n", " 200000\n")
    assert run_of(lag).doubts == []
    assert run_of(lag).is_open_loop


@pytest.mark.parametrize("columns", [6, 10, 11, 15, 16])
def test_intervals_of_all_threads_add_up(columns):
    texts = [
        "".join(" ".join([*line.split(), "0"][:columns]) + "\n" for line in text.splitlines())
        for text in (path.read_text() for path in INTERVALS)
    ]
    rows = np.array([line.split() for text in texts for line in text.splitlines()]).astype(int)
    run = run_of(*texts)
    assert run.ok == rows[:, 1].sum()
    assert run.latencies_ms["mean"] == pytest.approx(rows[:, 2].sum() / rows[:, 1].sum() / 1e3)
    assert run.latencies_ms["max"] == rows[:, 5].max() / 1e3
    assert [part.printed["tps"] for part in run.parts] == [66, 102]
    assert run.is_open_loop == (columns >= 10)
    assert (run.failed, run.retried) == (None, None)


def test_lines_that_are_cut_off_or_of_others_are_left_out_and_counted():
    text = "0 1 500 0 1795895601 10\npgbench: error: whatever\n0 2 500 0 1795895601 20\n0 3 50"
    found = read(text)
    assert found.all_runs()[0].ok == 2
    assert found.notes == ["2 lines are none of a log, or cut off: they are left out"]


class Repeating(io.RawIOBase):
    """A file that has the same whole lines so often."""

    def __init__(self, lines: bytes, times: int) -> None:
        self.lines, self.left = lines, times

    def read(self, size: int = -1) -> bytes:
        assert size >= len(self.lines)
        self.left -= 1
        return self.lines if self.left >= 0 else b""


@pytest.mark.parametrize("last", ["", "0 0 skipped 0 1795895601 999999\n"])
def test_a_log_of_any_size_is_read_in_the_same_memory_and_tells_how_far(last):
    lines = [f"{n % 8} {n // 8} {500 + n % 900} 0 1795895601 {n}\n" for n in range(30_000)]
    text = "".join([*lines, last]).encode()
    peaks = []
    for times in (4, 32):
        told: list[int] = []
        tracemalloc.start()
        found = read_text(Repeating(text, times), lambda number, _, told=told: told.append(number))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found.all_runs()[0].ok == 30_000 * times
        assert told == sorted({*told})
        assert told[-1] >= 30_000 * times - 2 * 100_000
    assert peaks[1] < 1.2 * peaks[0]
