"""The server's log, read as it grows, with whatever clock it was written."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from dbdyno.model.frame import Started
from dbdyno.model.telemetry import Lack, LogEntry, TelemetryFrame
from dbdyno.telemetry import log_follower
from dbdyno.telemetry.log_follower import BYTES_MAX, ConfiguredLog, LogFollower
from dbdyno.telemetry.publisher import FramePublisher

SECOND_NS = 10**9


class Lines:
    """A parser of lines ``unix_ns message``."""

    def __init__(self) -> None:
        self.rest = ""

    def feed(self, text: str) -> list[LogEntry]:
        *lines, self.rest = (self.rest + text).split("\n")
        fields = [line.split(" ", 1) for line in lines if line]
        return [LogEntry(int(at), "error", "ERROR", message, {}) for at, message in fields]


class Over:
    """A clock whose load ended before it began."""

    def sleep_until(self, at_ns: int) -> bool:
        return False


class Follow:
    def __init__(self, path: Path | None) -> None:
        self.kept: list[TelemetryFrame] = []
        self.began_ns = time.monotonic_ns()
        self.unix_ns = time.time_ns()
        publisher = FramePublisher(
            lambda frames: self.kept.extend(
                msgspec.msgpack.decode(frame, type=LogEntry | Lack) for frame in frames
            ),
            lambda _line: None,
        )
        publisher.begin()
        self.publisher, self.path = publisher, path
        self.follower = LogFollower(lambda: self.path, Lines(), publisher)
        self.follower.prepare()
        self.follower.watch(Started(self.began_ns, self.unix_ns, self.began_ns, None), Over())

    def published(self) -> list[str]:
        self.follower.read()
        return [frame.message for frame in self.kept if isinstance(frame, LogEntry)]

    def lacks(self) -> list[str]:
        return [frame.reason for frame in self.kept if isinstance(frame, Lack)]


@pytest.fixture
def log(tmp_path) -> Path:
    path = tmp_path / "log"
    path.write_text("1 from before\n")
    return path


@pytest.fixture
def followed() -> Iterator[Callable[[Path | None], Follow]]:
    """Follows a log until the test ends."""
    begun: list[Follow] = []

    def follow(path: Path | None) -> Follow:
        begun.append(Follow(path))
        return begun[-1]

    yield follow
    for one in begun:
        one.follower.conclude()


def add(log: Path, *lines: str) -> None:
    with log.open("a") as file:
        file.write("".join(lines))


def test_earlier_lines_are_skipped_and_fragments_are_joined(followed, log):
    follow = followed(log)
    add(log, f"{follow.unix_ns} one\n{follow.unix_ns} tw")
    assert follow.published() == ["one"]
    add(log, "ö\n")
    assert follow.published() == ["one", "twö"]


def test_times_are_put_on_the_clock_of_the_run(followed, log):
    follow = followed(log)
    add(log, f"{follow.unix_ns + 3 * SECOND_NS} soon\n")
    follow.published()
    assert follow.kept[0].at_ns == follow.began_ns + 3 * SECOND_NS
    assert follow.lacks() == []


@pytest.mark.parametrize("wrong_s", [-3600, 3600])
def test_if_the_clocks_differ_only_the_time_of_reading_is_known(followed, log, wrong_s):
    follow = followed(log)
    add(log, *(f"{follow.unix_ns + wrong_s * SECOND_NS} {word}\n" for word in ("one", "two")))
    assert follow.published() == ["one", "two"]
    assert follow.lacks() == ["the clocks differ: entries have the time at which they were read"]
    now_ns = time.monotonic_ns()
    assert all(follow.began_ns <= entry.at_ns <= now_ns for entry in follow.kept)


def test_an_entry_without_a_time_has_that_of_reading(followed, log):
    follow = followed(log)
    add(log, "0 timeless\n")
    follow.published()
    assert follow.began_ns <= follow.kept[0].at_ns <= time.monotonic_ns()
    assert follow.lacks() == []


def test_another_file_in_its_place(followed, log):
    follow = followed(log)
    add(log, f"{follow.unix_ns} first\n")
    assert follow.published() == ["first"]
    old = log.with_name("old")
    add(log, f"{follow.unix_ns} not yet read\n")
    log.rename(old)
    add(old, f"{follow.unix_ns} under its new name\n")
    log.write_text(f"{follow.unix_ns} in the new file\n")
    assert follow.published() == ["first", "not yet read", "under its new name", "in the new file"]
    assert follow.lacks() == []


def test_one_that_is_gone_before_it_was_read(followed, log):
    follow = followed(log)
    follow.published()
    add(log, f"{follow.unix_ns} not yet read\n")
    log.unlink()
    log.write_text(f"{follow.unix_ns} in the new file\n")
    assert follow.published() == ["not yet read", "in the new file"]


def test_one_that_was_emptied(followed, log):
    follow = followed(log)
    add(log, f"{follow.unix_ns} first\n")
    assert follow.published() == ["first"]
    log.write_text("")
    add(log, f"{follow.unix_ns} x\n")
    assert follow.published() == ["first", "x"]
    assert follow.lacks() == ["it was truncated meanwhile: lines may be missing"]


def test_a_log_that_grows_too_fast_is_passed_over_in_part(followed, log):
    follow = followed(log)
    line = f"{follow.unix_ns} {'x' * 100}\n"
    add(log, line * (2 * BYTES_MAX // len(line)), f"{follow.unix_ns} last\n")
    follow.follower._reader.feed = lambda text: [LogEntry(0, "error", "ERROR", str(len(text)), {})]
    assert follow.published() == [str(BYTES_MAX)]
    assert follow.lacks() == ["it grows too fast: parts of it were skipped"]


def test_a_log_that_cannot_be_read(followed, tmp_path):
    follow = followed(tmp_path / "nowhere")
    assert follow.published() == []
    assert "No such file" in follow.lacks()[0]
    assert followed(None).lacks() == [
        "its location on this host is not known: give it with --server-log"
    ]


def test_a_log_that_vanishes_is_reported_once(followed, log):
    follow = followed(log)
    log.unlink()
    follow.published()
    follow.published()
    assert len(follow.lacks()) == 1


def test_one_that_goes_on_under_another_name(followed, log):
    follow = followed(log)
    add(log, f"{follow.unix_ns} first\n")
    assert follow.published() == ["first"]
    add(log, f"{follow.unix_ns} not yet read\n")
    follow.path = log.with_name("newer")
    follow.path.write_text(f"{follow.unix_ns} in the newer file\n")
    follow.follower.find_again()
    assert follow.published() == ["first", "not yet read", "in the newer file"]
    assert follow.lacks() == []


def test_one_that_went_on_elsewhere_just_before_the_end(followed, log):
    follow = followed(log)
    add(log, f"{follow.unix_ns} not yet read\n")
    follow.path = log.with_name("newer")
    follow.path.write_text(f"{follow.unix_ns} in the newer file\n")
    follow.follower.conclude()
    assert [entry.message for entry in follow.kept] == ["not yet read", "in the newer file"]


def test_if_the_current_log_is_unknown_the_previous_one_is_read(followed, log):
    follow = followed(log)
    follow.path = None
    follow.follower.find_again()
    add(log, f"{follow.unix_ns} still there\n")
    assert follow.published() == ["still there"]


def test_the_log_is_located_again_while_the_load_runs(followed, log, monkeypatch):
    monkeypatch.setattr(log_follower, "FIND_EVERY_NS", 0)
    follow = followed(log)
    follow.path = log.with_name("newer")
    follow.path.write_text("")

    class Twice(Over):
        seconds = 2

        def sleep_until(self, at_ns: int) -> bool:
            self.seconds -= 1
            add(follow.path, f"{follow.unix_ns} {self.seconds} s left\n")
            return self.seconds >= 0

    follow.follower.watch(Started(follow.began_ns, follow.unix_ns, follow.began_ns, None), Twice())
    assert [entry.message for entry in follow.kept] == ["1 s left", "0 s left"]


def test_a_new_file_with_the_name_of_the_given_one_is_reported_missing(followed, tmp_path):
    given = tmp_path / "server-2026-11-21_0000.log"
    given.write_text("")
    (tmp_path / "server-2026-11-20_0000.log").write_text("")
    follow = followed(given)
    finder = ConfiguredLog(given, follow.publisher)
    (tmp_path / "server-2026-11-21_0000.csv").write_text("")
    assert finder.find() == given
    assert follow.lacks() == []
    (tmp_path / "server-2026-11-22_0000.log").write_text("")
    assert finder.find() == given
    assert follow.lacks() == [
        "the server may now write to server-2026-11-22_0000.log, which is not read: "
        "lines may be missing"
    ]
