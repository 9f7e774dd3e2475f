"""The progress lines that a person sees, in a terminal and in a pipe."""

import errno
import io
import os

from dbdyno.cli.progress import ProgressLines
from dbdyno.cli.study_progress import StudyLines
from dbdyno.model.frame import bucket_low_ns
from dbdyno.model.study import Turn, TurnResult
from dbdyno.workloads.loading import LoadProgress
from tests.support.frames import SECOND_NS, interval, started
from tests.support.plans import plan_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def bucket_of(ns: int) -> int:
    return next(index for index in range(500) if bucket_low_ns(index + 1) > ns)


def lines(stream: io.StringIO, every_ns: int, *intervals, **options) -> str:
    progress = ProgressLines(every_ns, stream)
    progress.started(plan_of(**options), started(measure_begin_ns=0))
    for one in intervals:
        progress.interval(one)
    progress.close()
    return stream.getvalue()


def test_piped_each_interval_is_a_line():
    buckets = {bucket_of(1_000_000): 99, bucket_of(9_000_000): 1}
    text = lines(io.StringIO(), SECOND_NS, interval(0, ok=12345, buckets=buckets))
    assert text == ("measure     12 345 TPS   p50 1.02 ms   p99 1.05 ms   0 failed   0:29 left\n")


def test_intervals_come_together():
    text = lines(io.StringIO(), 2 * SECOND_NS, *(interval(n, ok=n * 10) for n in range(4)))
    assert [line.split()[1] for line in text.splitlines()] == ["5", "25"]


def test_nothing_is_shown_when_nothing_is_wanted():
    assert lines(io.StringIO(), 0, interval()) == ""


def test_a_terminals_line_renews_itself_and_is_left_standing():
    text = lines(Terminal(), SECOND_NS, interval(0), interval(1))
    assert text.count("\r") == 2
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_a_terminal_that_was_closed_ends_nothing():
    class Closed(Terminal):
        def write(self, _text: str) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    lines(Closed(), SECOND_NS, interval(0))
    study = StudyLines(Closed())
    study.started(plan_of(), started())
    study.close()


def test_a_turn_that_failed_stands_in_the_place_of_its_line():
    stream = Terminal()
    study = StudyLines(stream)
    turn = Turn(number=1, block=1, point="clients=2", seed=1)
    study.turn_begins(turn, left_s=60)
    study.turn_ends(TurnResult(turn=turn, status="failed", error={"message": "a slip"}), left_s=50)
    study.close()
    line, _, rest = stream.getvalue().partition("\r\x1b[K")
    assert line == "\r1/0  block 1  clients=2  prepare  1:00 left\x1b[K"
    assert rest == "1/0  block 1  clients=2  failed: a slip\n"


def test_a_remark_does_not_overwrite_the_line():
    stream = Terminal()
    progress = ProgressLines(SECOND_NS, stream)
    progress.started(plan_of(), started())
    progress.interval(interval(0))
    progress.say("8 connections lost")
    assert stream.getvalue().endswith("\n8 connections lost\n")


def test_a_count_shows_what_is_done_and_a_drain_that_it_waits():
    text = lines(io.StringIO(), SECOND_NS, interval(0, ok=80), transactions=100)
    assert "80 of 800 done" in text
    text = lines(io.StringIO(), SECOND_NS, interval(31, phase="drain"))
    assert "waiting for transactions in flight" in text


def test_loading_shows_its_phase_rate_and_time_left():
    stream = Terminal()
    progress = ProgressLines(SECOND_NS, stream)
    progress.loading(LoadProgress("fill", 250, 1000, 125.0, 6.0))
    progress.loading(LoadProgress("vacuum", 0, 1000, 0.0, None))
    assert "loading: fill, 250 of 1 000 rows, 125 rows/s, 0:06 left" in stream.getvalue()
    assert "loading: vacuum\x1b" in stream.getvalue()


def test_piped_a_long_load_is_reported_every_ten_seconds_and_at_each_phase():
    stream, clock = io.StringIO(), iter([0, 0, 9, 10, 15, 16, 17])
    progress = ProgressLines(SECOND_NS, stream, lambda: next(clock))
    for rows in (0, 250, 500, 750):
        progress.loading(LoadProgress("fill", rows, 1000, 50.0, (1000 - rows) / 50))
    progress.loading(LoadProgress("vacuum", 0, 1000, 0.0, None))
    progress.loading(LoadProgress("vacuum", 0, 1000, 0.0, None))
    assert stream.getvalue().splitlines() == [
        "loading: fill, 500 of 1 000 rows, 50 rows/s, 0:10 left",
        "loading: vacuum",
    ]


def test_buckets_begin_where_the_engine_puts_them():
    assert [bucket_low_ns(index) for index in (0, 7, 8, 15, 16, 17)] == [0, 7, 8, 15, 16, 18]
