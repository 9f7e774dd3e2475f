"""A continuous load, beside which telemetry is switched on and off several times a second.

The speed of a host drifts: from minute to minute it changes by far more than telemetry costs, so
that whole runs cannot show the cost; from one fifth of a second to the next it changes little.
This module does not know what is measured, nor what the numbers mean.
"""

import math
import random
from collections.abc import Sequence

from msgspec.structs import replace

from bench.ratio import Ratio, ratio_of_sums
from bench.standing_clock import StandingClock
from dbdyno.model.frame import Activity, Frame, Interval, Started
from dbdyno.run.watching import Follower

BLOCK_NS = 200_000_000
"""Longer than telemetry's work at one instant, and a fraction of its period of a second."""
LEAD = 15
"""Blocks of the warm-up, in which telemetry is on and nothing is counted."""


def instant_ns(look_every_ns: int) -> int:
    """Return how often the engine must report on its clients, so that it does at every sample.

    Samples are taken at multiples of their interval, on a clock that stood still for whole blocks.
    """
    return math.gcd(look_every_ns, BLOCK_NS)


def turns_of(pairs: int, seed: int) -> list[bool]:
    """Whether telemetry is on, by block: in one of each two, and in the mirrored one of the next.

    So a steady slowdown favours neither; which of the two begins is drawn at random for each four
    blocks, so that no periodic event favours one.
    """
    chance = random.Random(seed)
    turns: list[bool] = []
    while len(turns) < 2 * pairs:
        first = chance.random() < 1 / 2
        turns += [first, not first, not first, first]
    return turns[: 2 * pairs]


def ratio_of_turns(turns: Sequence[bool], completed: Sequence[int]) -> Ratio:
    """TPS with telemetry, as a ratio of its blocks to their neighbours without."""
    blocks = list(zip(turns, completed, strict=True))
    return ratio_of_sums(
        [count for is_on, count in blocks if is_on],
        [count for is_on, count in blocks if not is_on],
    )


class Alternation:
    """Takes the frames of a load, whose intervals are the blocks, and counts transactions.

    It forwards to telemetry the frames that telemetry would receive, on telemetry's own clock.
    """

    def __init__(self, blocks: int, clock: StandingClock, follower: Follower) -> None:
        self._clock = clock
        self._follower = follower
        self.completed = [0] * blocks

    def take(self, frame: Frame) -> None:
        """Takes a frame of the engine."""
        match frame:
            case Activity():
                if self._clock.goes(frame.at_ns):
                    shown_ns = self._clock.shown_ns(frame.at_ns)
                    self._follower.take(replace(frame, at_ns=shown_ns))
            case Interval():
                if 0 <= (number := frame.index - LEAD) < len(self.completed):
                    self.completed[number] += frame.completed_ok
            case Started():
                self._clock.begin(frame.monotonic_ns + LEAD * BLOCK_NS)
                self._follower.take(frame)
            case _:
                self._follower.take(frame)
