"""The bench's evaluation of a load during which telemetry is switched on and off."""

import random

import pytest

from bench.alternating import (
    BLOCK_NS,
    LEAD,
    Alternation,
    instant_ns,
    ratio_of_turns,
    turns_of,
)
from bench.ratio import Ratio
from bench.standing_clock import StandingClock
from dbdyno.model.frame import Activity, Frame, Started
from dbdyno.telemetry.pace import PACES
from tests.support.frames import interval, started


@pytest.mark.parametrize("seed", range(5))
def test_one_of_each_two_blocks_is_watched_and_each_four_are_mirrored(seed: int):
    turns = turns_of(20, seed)
    fours = [turns[at : at + 4] for at in range(0, 40, 4)]
    assert all(four == four[::-1] and four[0] != four[1] for four in fours)
    assert len({four[0] for four in fours}) == 2, "chance says which comes first"
    assert turns == turns_of(20, seed) != turns_of(20, seed + 1)


@pytest.mark.parametrize("left", [1.0, 0.97])
def test_a_small_remaining_effect_is_found_despite_much_larger_drift(left: float):
    turns = turns_of(400, seed=1)
    chance = random.Random(2)
    speed, completed = 10_000.0, []
    for is_on in turns:
        speed *= chance.gauss(1, 0.05)
        completed.append(round(speed * (left if is_on else 1)))
    found = ratio_of_turns(turns, completed)
    assert found.low < left < found.high
    assert found.high - found.low < 0.03
    assert max(completed) > 2 * min(completed)


@pytest.mark.parametrize("pace", PACES.values(), ids=PACES.keys())
def test_the_engine_sends_at_every_sample_however_long_its_clock_was_paused(pace):
    for blocks in range(10):
        for look in range(10):
            at_ns = look * pace.interval_ns + blocks * BLOCK_NS
            assert at_ns % instant_ns(pace.interval_ns) == 0


def test_a_pair_without_a_transaction_counts_as_any_other():
    assert ratio_of_turns([True, False, False, True, True, False], [0, 0, 8, 4, 5, 10]).value == 0.5


@pytest.mark.parametrize(
    ("low", "high", "kept"),
    [(0.97, 1.01, True), (0.98, 0.99, True), (0.96, 0.97, None), (0.9, 0.96, False)],
)
def test_a_bound_is_met_or_missed_only_if_the_whole_interval_agrees(low, high, kept):
    assert Ratio((low + high) / 2, low, high).is_at_least(0.97) is kept


class _Follower:
    """Keeps the frames that it receives."""

    def __init__(self) -> None:
        self.received: list[Frame] = []

    def take(self, frame: Frame) -> None:
        self.received.append(frame)

    def finish(self) -> None:
        pass


def test_telemetry_receives_only_its_own_blocks_as_if_there_were_no_others():
    follower, turns = _Follower(), [True, False, False, True]
    alternation = Alternation(len(turns), StandingClock(turns, BLOCK_NS), follower)
    alternation.take(started())
    first_ns, half_ns = LEAD * BLOCK_NS, BLOCK_NS // 2
    for block in range(-1, 5):
        alternation.take(Activity(first_ns + block * BLOCK_NS + half_ns, bytes([block + 1]), b""))
    begin, *messages = follower.received
    assert isinstance(begin, Started)
    assert [(word.statements[0] - 1, word.at_ns - first_ns - half_ns) for word in messages] == [
        (block, number * BLOCK_NS) for number, block in enumerate((-1, 0, 3, 4), -1)
    ]


def test_blocks_are_the_intervals_after_the_warm_up():
    alternation = Alternation(3, StandingClock([True] * 3, BLOCK_NS), _Follower())
    for index in range(LEAD + 5):
        alternation.take(interval(index, ok=index))
    assert alternation.completed == [LEAD, LEAD + 1, LEAD + 2]
