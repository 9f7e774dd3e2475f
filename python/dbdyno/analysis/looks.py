"""Looks at the sessions, as client-seconds with an interval.

A look stands for some seconds of the run; a session seen in it counts for so many
client-seconds. Looks that follow each other often see the same long wait, so they are not
independent samples: intervals come from a bootstrap of blocks of time (Künsch, *Annals of
Statistics* 17, 1989). What a session was doing is not this file's business.
"""

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.estimate import CONFIDENCE, SAMPLES_MIN, Series
from dbdyno.model.recording import Columns, Recording
from dbdyno.model.telemetry import FIRST_LOOK_AT_LOCKS

SESSIONS, LOCKS = "waits", "locks"
_BLOCK_S = 1.0
_BLOCKS_MAX = 600
"""Of a long run the blocks are longer, which costs no accuracy and bounds the work."""
_RESAMPLES = 1000
_SEED = 1989

Indexes = NDArray[np.intp]
Group = TypeVar("Group", bound=Hashable)


class Looks(Struct, frozen=True):
    """The looks of the measured part, in the order of time."""

    time_s: Series
    seconds: Series
    block: Indexes
    """Which block of time each is of; all blocks have a look."""

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return int(self.block.max()) + 1

    @property
    def total_s(self) -> float:
        """How much of the run the looks stand for."""
        return float(self.seconds.sum())


class Seen(Struct, frozen=True):
    """Rows of a table that measured looks saw."""

    columns: Columns
    client_seconds: Series
    block: Indexes

    def rows(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """The named columns, row by row."""
        return list(zip(*(self.columns[name].tolist() for name in names), strict=True))


class ClientSeconds(Struct, frozen=True):
    """How many, with their 95 % interval; none from fewer than five blocks of time."""

    seconds: float
    low: float | None
    high: float | None

    def times(self, share: float) -> "ClientSeconds":
        """A share of them."""
        low, high = (None if end is None else end * share for end in (self.low, self.high))
        return ClientSeconds(self.seconds * share, low, high)


def measured_s(recording: Recording) -> float:
    """The length of the measured part as far as it is recorded."""
    intervals = recording.tables["intervals"]
    return float(intervals["seconds"][intervals["phase"] == "measure"].sum())


def measured_looks(recording: Recording) -> Looks | None:
    """Those at the sessions; None when nobody looked."""
    return _looks(recording, SESSIONS)


def measured_looks_at_locks(recording: Recording) -> Looks | None:
    """Those that were at the locks, too: all where the run's record does not tell them apart."""
    return _looks(recording, LOCKS) or measured_looks(recording)


def looked_at_locks(recording: Recording) -> bool:
    """Whether any of the measured part was at the locks; in older folders, which say not, all."""
    source = recording.tables["samples"]["source"]
    if (source == LOCKS).any():
        return _looks(recording, LOCKS) is not None
    return int((source == SESSIONS).sum()) >= FIRST_LOOK_AT_LOCKS


def _looks(recording: Recording, source: str) -> Looks | None:
    samples = recording.tables["samples"]
    end_s = measured_s(recording)
    wanted = (samples["source"] == source) & (samples["time_s"] > 0) & (samples["time_s"] <= end_s)
    if not wanted.any():
        return None
    time_s = samples["time_s"][wanted]
    order = np.argsort(time_s, kind="stable")
    length_s = max(_BLOCK_S, end_s / _BLOCKS_MAX)
    _, block = np.unique(np.ceil(time_s[order] / length_s), return_inverse=True)
    seconds = _within(time_s[order], samples["seconds"][wanted][order], end_s)
    return Looks(time_s[order], seconds, block)


def _within(time_s: Series, seconds: Series, end_s: float) -> Series:
    """How much of the measured part each look stands for.

    A look stands for the time before it, of which some may lie before the measured part. The one
    that would tell of the end comes after it: the last stands for as much of that, too.
    """
    within = np.minimum(seconds, time_s)
    within[-1] += min(end_s - time_s[-1], seconds[-1])
    return within


def seen(looks: Looks, table: Columns) -> Seen:
    """The rows of a table that belong to these looks."""
    nearest = np.searchsorted(looks.time_s, table["time_s"])
    place = np.minimum(nearest, len(looks.time_s) - 1)
    wanted = looks.time_s[place] == table["time_s"]
    place = place[wanted]
    return Seen(
        columns={name: column[wanted] for name, column in table.items()},
        client_seconds=table["count"][wanted] * looks.seconds[place],
        block=looks.block[place],
    )


def client_seconds(
    looks: Looks, found: Seen, groups: Sequence[Group | None]
) -> dict[Group, ClientSeconds]:
    """Client-seconds of each group; ``groups`` names that of each row, None for none."""
    numbers: dict[Group, int] = {}
    group = np.array(
        [-1 if name is None else numbers.setdefault(name, len(numbers)) for name in groups],
        dtype=np.intp,
    )
    if not numbers:
        return {}
    kept = group >= 0
    by_block = np.zeros((looks.blocks, len(numbers)))
    np.add.at(by_block, (found.block[kept], group[kept]), found.client_seconds[kept])
    sums: list[float] = by_block.sum(axis=0).tolist()
    ends = _bootstrapped(by_block)
    return {name: ClientSeconds(sums[number], *ends[number]) for name, number in numbers.items()}


def _bootstrapped(by_block: Series) -> list[tuple[float, float]] | list[tuple[None, None]]:
    """The ends of the 95 % intervals of the columns' sums, blocks drawn anew with replacement.

    Of one block every draw is the same, and of a few they differ much less than runs do.
    """
    if len(by_block) < SAMPLES_MIN:
        return [(None, None)] * by_block.shape[1]
    blocks = len(by_block)
    chance = np.random.default_rng(_SEED)
    draws = chance.multinomial(blocks, np.full(blocks, 1 / blocks), size=_RESAMPLES)
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws @ by_block, (outside, 1 - outside), axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))
