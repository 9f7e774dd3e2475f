"""What the bench makes of a load beside which telemetry is switched on and off."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

import pytest

from bench.alternating import (
    BLOCK,
    COUNTED,
    LEAD,
    SETTLING,
    alternating,
    ratio_of_turns,
    seconds_of,
    turns_of,
)
from bench.ratio import Ratio
from dbdyno.model.frame import Frame, Hello, Interval, Started
from tests.support.frames import SECOND_NS, interval, started

HELLO = Hello(pid=1, io="epoll", io_reason="", threads=1, statements=[], warnings=[])


@pytest.mark.parametrize("seed", range(5))
def test_of_each_two_blocks_one_is_watched_and_each_four_are_mirrored(seed: int):
    turns = turns_of(20, seed)
    fours = [turns[at : at + 4] for at in range(0, 40, 4)]
    assert all(four == four[::-1] and four[0] != four[1] for four in fours)
    assert len({four[0] for four in fours}) == 2, "chance says which comes first"
    assert turns == turns_of(20, seed) != turns_of(20, seed + 1)


@pytest.mark.parametrize("left", [1.0, 0.97])
def test_what_is_left_is_found_though_the_load_becomes_slower_all_the_time(left: float):
    turns = turns_of(20, seed=1)
    tps = [1000 * 0.99**at * (left if is_on else 1) for at, is_on in enumerate(turns)]
    found = ratio_of_turns(turns, tps)
    assert found.value == pytest.approx(left)
    assert found.low < left < found.high


@pytest.mark.parametrize(
    ("low", "high", "kept"),
    [(0.97, 1.01, True), (0.98, 0.99, True), (0.96, 0.97, None), (0.9, 0.96, False)],
)
def test_a_bound_is_kept_or_not_only_where_the_whole_interval_says_so(low, high, kept):
    assert Ratio((low + high) / 2, low, high).is_above(0.97) is kept


class _Follower:
    """Notes what it is told, and when that was in the load."""

    def __init__(self) -> None:
        self.began_ns: int | None = None
        self.intervals: list[int] = []
        self.is_finished = False

    def take(self, frame: Frame) -> None:
        match frame:
            case Started():
                assert self.began_ns is None
                self.began_ns = frame.monotonic_ns
            case Interval():
                self.intervals.append(frame.index)
            case _:
                pass

    def finish(self) -> None:
        self.is_finished = True


def _followers_of(turns: Sequence[bool]) -> tuple[list[_Follower], list[float]]:
    """Who followed a load whose intervals have ten times their number as transactions."""
    followers: list[_Follower] = []

    def watch() -> AbstractContextManager[_Follower]:
        followers.append(_Follower())
        return nullcontext(followers[-1])

    with alternating(turns, watch) as alternation:
        alternation.take(HELLO)
        alternation.take(started())
        for index in range(LEAD + seconds_of(turns)):
            alternation.take(interval(index, ok=10 * index))
    return followers, alternation.tps


def test_telemetry_is_there_for_its_blocks_and_begins_with_what_is_counted():
    followers, _ = _followers_of([False, True, True, False])
    assert [follower.intervals for follower in followers] == [
        list(range(LEAD + number * BLOCK, LEAD + (number + 1) * BLOCK)) for number in (1, 2)
    ]
    begins_s = [LEAD + number * BLOCK + SETTLING for number in (1, 2)]
    assert [follower.began_ns for follower in followers] == [at * SECOND_NS for at in begins_s]
    assert all(follower.is_finished for follower in followers)


def test_a_block_has_the_mean_of_its_counted_intervals():
    _, tps = _followers_of([True, False])
    middles = [LEAD + number * BLOCK + SETTLING + (COUNTED - 1) / 2 for number in (0, 1)]
    assert tps == pytest.approx([10 * middle for middle in middles])


def test_telemetry_ends_also_where_the_load_does_not_come_to_its_end():
    follower = _Follower()
    with (
        suppress(KeyboardInterrupt),
        alternating([True], lambda: nullcontext(follower)) as alternation,
    ):
        alternation.take(HELLO)
        alternation.take(interval(LEAD - 1))
        raise KeyboardInterrupt
    assert follower.is_finished
