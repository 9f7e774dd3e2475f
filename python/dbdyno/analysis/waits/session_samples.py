"""Session samples as client-seconds, with a confidence interval.

A sample represents some seconds of the run; a session in it counts for that many client-seconds.
Consecutive samples often show the same long wait, so they are not independent: intervals come from
a bootstrap over blocks of time (Künsch, *Annals of Statistics* 17, 1989). What a session was doing
is not considered here.
"""

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.series.planned_load import client_seconds_planned
from dbdyno.analysis.statistics.estimate import CONFIDENCE, SAMPLES_MIN, Series
from dbdyno.model.run import Run
from dbdyno.model.tables import Blocking, Waits
from dbdyno.model.telemetry import FIRST_LOCK_SAMPLE

SESSIONS, LOCKS = "waits", "locks"
_BLOCK_S = 1.0
_BLOCKS_MAX = 600
"""In a long run the blocks are longer, which costs no accuracy and bounds the work."""
_RESAMPLES = 1000
_SEED = 1989

Indexes = NDArray[np.intp]
Group = TypeVar("Group", bound=Hashable)
AnySampled = TypeVar("AnySampled", Waits, Blocking)


class SessionSamples(Struct, frozen=True):
    """The samples of the measured part, in order of time."""

    time_s: Series
    seconds: Series
    block: Indexes
    """The block of time of each sample; every block has a sample."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return int(self.block.max()) + 1

    @property
    def total_s(self) -> float:
        """Seconds of the run that the samples represent."""
        return float(self.seconds.sum())


class SampledRows(Struct, Generic[AnySampled], frozen=True):
    """Rows of a table that belong to samples of the measured part."""

    table: AnySampled
    client_seconds: Series
    block: Indexes


class ClientSeconds(Struct, frozen=True):
    """An amount with its 95 % interval; no interval from fewer than five blocks of time."""

    seconds: float
    low: float | None
    high: float | None

    def times(self, share: float) -> "ClientSeconds":
        """A share of the amount."""
        low, high = (None if end is None else end * share for end in (self.low, self.high))
        return ClientSeconds(self.seconds * share, low, high)

    def less(self, seconds: float) -> "ClientSeconds":
        """The amount without this part of it, which is known exactly."""
        low, high = (
            None if end is None else max(end - seconds, 0.0) for end in (self.low, self.high)
        )
        return ClientSeconds(self.seconds - seconds, low, high)


def measured_s(run: Run) -> float:
    """The length of the measured part as far as it is recorded."""
    intervals = run.intervals
    return float(intervals.seconds[intervals.phase == "measure"].sum())


def client_time_s(run: Run) -> float:
    """Client time of the measured part, the whole that shares of it refer to: N·T.

    N is the number of clients that the plan wants at work, stage by stage.
    """
    return float(client_seconds_planned(run.plan, 0.0, measured_s(run)))


def measured_samples(run: Run) -> SessionSamples | None:
    """The session samples; None if none were taken."""
    return _measured(run, SESSIONS)


def unsampled_s(run: Run) -> float:
    """Seconds of the measured part for which no session sample stands; 0 if none were taken."""
    samples = measured_samples(run)
    return max(measured_s(run) - samples.total_s, 0.0) if samples else 0.0


def measured_lock_samples(run: Run) -> SessionSamples | None:
    """The samples that include locks; all samples if the recording does not distinguish them."""
    return _measured(run, LOCKS) or measured_samples(run)


def sampled_locks(run: Run) -> bool:
    """Whether any measured sample includes locks; in older folders, which do not say, all do."""
    source = run.samples.source
    if (source == LOCKS).any():
        return _measured(run, LOCKS) is not None
    return int((source == SESSIONS).sum()) >= FIRST_LOCK_SAMPLE


def _measured(run: Run, source: str) -> SessionSamples | None:
    samples = run.samples
    end_s = measured_s(run)
    wanted = (samples.source == source) & (samples.time_s > 0) & (samples.time_s <= end_s)
    if not wanted.any():
        return None
    time_s = samples.time_s[wanted]
    order = np.argsort(time_s, kind="stable")
    length_s = max(_BLOCK_S, end_s / _BLOCKS_MAX)
    _, block = np.unique(np.ceil(time_s[order] / length_s), return_inverse=True)
    # A sample represents the time before it, some of which may precede the measured part. The
    # sample that would represent the end comes after it, so the last one represents that, too.
    time_s, seconds = time_s[order], samples.seconds[wanted][order]
    within = np.minimum(seconds, time_s)
    within[-1] += min(end_s - time_s[-1], seconds[-1])
    return SessionSamples(time_s, within, block)


def sampled_rows(samples: SessionSamples, table: AnySampled) -> SampledRows[AnySampled]:
    """The rows of a table that belong to these samples."""
    nearest = np.searchsorted(samples.time_s, table.time_s)
    place = np.minimum(nearest, len(samples.time_s) - 1)
    wanted = samples.time_s[place] == table.time_s
    place = place[wanted]
    return SampledRows(
        table=table.where(wanted),
        client_seconds=table.count[wanted] * samples.seconds[place],
        block=samples.block[place],
    )


def client_seconds(
    samples: SessionSamples, found: SampledRows[AnySampled], groups: Sequence[Group | None]
) -> dict[Group, ClientSeconds]:
    """Client-seconds of each group; ``groups`` gives each row's group, None for none."""
    numbers: dict[Group, int] = {}
    group = np.array(
        [-1 if name is None else numbers.setdefault(name, len(numbers)) for name in groups],
        dtype=np.intp,
    )
    if not numbers:
        return {}
    kept = group >= 0
    by_block = np.zeros((samples.blocks, len(numbers)))
    np.add.at(by_block, (found.block[kept], group[kept]), found.client_seconds[kept])
    sums: list[float] = by_block.sum(axis=0).tolist()
    ends = _bootstrapped(by_block)
    return {name: ClientSeconds(sums[number], *ends[number]) for name, number in numbers.items()}


def _bootstrapped(by_block: Series) -> list[tuple[float, float]] | list[tuple[None, None]]:
    """The 95 % intervals of the sums of columns, with blocks resampled with replacement.

    With one block every draw is the same, and with a few they vary much less than runs do.
    """
    if len(by_block) < SAMPLES_MIN:
        return [(None, None)] * by_block.shape[1]
    blocks = len(by_block)
    chance = np.random.default_rng(_SEED)
    draws = chance.multinomial(blocks, np.full(blocks, 1 / blocks), size=_RESAMPLES)
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws @ by_block, (outside, 1 - outside), axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))
