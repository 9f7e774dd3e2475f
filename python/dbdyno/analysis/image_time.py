"""The share of client time that goes with full-page images in the WAL.

N clients have N·s client-seconds in an interval of s seconds, whatever happens in it. If a
transaction takes a of them and an image b more, then N·s = a·(transactions) + b·(images) in each
interval. Least squares gives both if the images per transaction vary, as they do after each
checkpoint. In an open loop clients may be idle, and where the number of clients changes so does the
time of a transaction: then there is no estimate.

Each session publishes its counters up to a second late. Counts of images so displaced, beside exact
counts of transactions, would seem to explain a part of any noise in throughput: the mean of two
displaced copies of it has less of it than each. So the images of an interval are taken to be those
for each WAL record, which are published together, times the records of its transactions.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.alignment import measured_intervals
from dbdyno.analysis.estimate import Series
from dbdyno.analysis.least_squares import fit
from dbdyno.analysis.planned_load import client_seconds_planned, is_constant_load
from dbdyno.analysis.wal import Wal, wal
from dbdyno.model.recording import Recording

_SAMPLES_MIN = 6


class ImageTime(Struct, frozen=True):
    """The share of client time that goes with images, and its 95 % interval."""

    share: float
    low: float
    high: float


def image_time(recording: Recording) -> ImageTime | None:
    """None if it cannot be estimated; an interval that contains 0 shows no effect."""
    if not is_constant_load(recording.plan):
        return None
    intervals = measured_intervals(recording)
    committed = intervals.committed
    causes = np.stack([committed, _images(wal(recording, intervals), committed)], axis=1)
    known = ~np.isnan(causes).any(axis=1)
    spent = client_seconds_planned(recording.plan, intervals.begin_s, intervals.end_s)
    return _share_of_second(causes[known], spent[known])


def _images(counted: Wal, committed: Series) -> Series:
    """The images of each interval's transactions; NaN where no record was counted."""
    known = ~np.isnan(counted.images + counted.records)
    records_each = counted.records[known].sum() / max(committed[known].sum(), 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        images: Series = counted.images / counted.records * records_each * committed
    return np.where(np.isfinite(images), images, np.nan)


def _share_of_second(causes: NDArray[np.float64], spent: Series) -> ImageTime | None:
    """Share of all client time that goes with the second cause."""
    fitted = fit(spent, causes) if len(spent) >= _SAMPLES_MIN else None
    if fitted is None:
        return None
    weight = float(causes[:, 1].sum() / spent.sum())
    share, half = float(fitted.value[1]) * weight, float(fitted.half[1]) * weight
    is_separate = fitted.value[0] > 0 and 2 * half < 1
    return ImageTime(share, share - half, share + half) if is_separate else None
