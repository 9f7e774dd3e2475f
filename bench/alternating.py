"""A load that goes on while telemetry is switched on and off beside it, block after block.

Whole runs cannot show what little telemetry costs: a machine's speed changes by more from one
minute to the next. Neighbouring blocks of one run are seconds apart. What is watched, and what the
numbers mean, is for others to know.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeAlias

from msgspec.structs import replace

from bench.ratio import Ratio, ratio_of_pairs
from dbdyno.model.frame import Frame, Hello, Interval, Started
from dbdyno.run.watching import Follower

INTERVAL_NS = 10**9
LEAD = 3
"""Intervals before the first block: the warm-up."""
SETTLING = 2
"""Those at the begin of a block, not counted: telemetry connects or takes its leave.

When it ends it waits for a second that the load's sessions disconnect, and here they stay.
"""
COUNTED = 5
"""The others, in which telemetry reads each of its sources as often as in any other seconds."""
BLOCK = SETTLING + COUNTED

Watch: TypeAlias = Callable[[], AbstractContextManager[Follower]]


def turns_of(pairs: int, seed: int) -> list[bool]:
    """Whether telemetry is on, by block: in one of each two, and in the mirrored one of the next.

    So a load that becomes steadily slower does not speak for either; which of the two begins is
    drawn for each four, so that nothing that comes regularly does.
    """
    chance = random.Random(seed)
    turns: list[bool] = []
    while len(turns) < 2 * pairs:
        first = chance.random() < 1 / 2
        turns += [first, not first, not first, first]
    return turns[: 2 * pairs]


def ratio_of_turns(turns: Sequence[bool], tps: Sequence[float]) -> Ratio:
    """What is left with telemetry: each block with it over its neighbour without."""
    blocks = list(zip(turns, tps, strict=True))
    return ratio_of_pairs(
        [value for is_on, value in blocks if is_on],
        [value for is_on, value in blocks if not is_on],
    )


def seconds_of(turns: Sequence[bool]) -> int:
    """How long the load has to be measured; one interval more lets the last block end in it."""
    return len(turns) * BLOCK + 1


class Alternation:
    """Takes the frames of a load, and switches when the last interval of a block has been told.

    To telemetry the counted part of a block is a run of its own, from its first instant to its
    last: it connects before, and ends after.
    """

    def __init__(self, turns: Sequence[bool], watch: Watch, ending: ThreadPoolExecutor) -> None:
        self._turns = turns
        self._watch = watch
        self._ending = ending
        self._hello: Hello | None = None
        self._started: Started | None = None
        self._follower: Follower | None = None
        self._way_out = ExitStack()
        self._completed = [0] * len(turns)

    @property
    def tps(self) -> list[float]:
        """Of the counted intervals, by block."""
        return [completed / (COUNTED * INTERVAL_NS / 1e9) for completed in self._completed]

    def take(self, frame: Frame) -> None:
        """What the engine said."""
        if self._follower is not None:
            self._follower.take(frame)
        match frame:
            case Hello():
                self._hello = frame
            case Started():
                self._started = frame
            case Interval():
                self._count(frame)
            case _:
                pass

    def _count(self, interval: Interval) -> None:
        number, place = divmod(interval.index - LEAD, BLOCK)
        if place >= SETTLING and 0 <= number < len(self._turns):
            self._completed[number] += interval.completed_ok
        if place == SETTLING - 1:
            self._begin((interval.index + 1) * INTERVAL_NS)
        if place == BLOCK - 1:
            self.end()
            if number + 1 < len(self._turns) and self._turns[number + 1]:
                self._connect()

    def _connect(self) -> None:
        assert self._hello
        self._follower = self._way_out.enter_context(self._watch())
        self._way_out.callback(self._follower.finish)
        self._follower.take(self._hello)

    def _begin(self, passed_ns: int) -> None:
        """If telemetry is on: to it the load begins now, so long after it did."""
        if self._follower is not None:
            assert self._started
            self._follower.take(_later(self._started, passed_ns))

    def end(self) -> None:
        """Telemetry takes its leave, if it was on, while the load goes on."""
        self._follower = None
        self._ending.submit(self._way_out.pop_all().close)


def _later(started: Started, passed_ns: int) -> Started:
    """On the grid of instants that both sides look at; its end is not known beforehand."""
    return replace(
        started,
        monotonic_ns=started.monotonic_ns + passed_ns,
        unix_ns=started.unix_ns + passed_ns,
        measure_begin_ns=started.monotonic_ns + passed_ns,
        measure_end_ns=None,
    )


@contextmanager
def alternating(turns: Sequence[bool], watch: Watch) -> Iterator[Alternation]:
    """Leaves no telemetry behind."""
    with ThreadPoolExecutor(max_workers=1) as ending:
        alternation = Alternation(turns, watch, ending)
        try:
            yield alternation
        finally:
            alternation.end()
