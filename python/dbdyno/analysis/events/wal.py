"""PostgreSQL's WAL over time: bytes, and how many of them are full-page images.

Before version 19 the server counts images but not their bytes. An image is a page without its hole
(the free space in its middle), compressed if so configured. The mean size of an image follows from
how bytes grew with records and images, if the share of images varied, as it does after each
checkpoint.

The share of client time that goes with full-page images in the WAL.

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

from dbdyno.analysis.series.alignment import Intervals, measured_intervals, over_intervals
from dbdyno.analysis.series.planned_load import client_seconds_planned, is_constant_load
from dbdyno.analysis.series.readings import growth
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.statistics.least_squares import fit
from dbdyno.model.counters import Counter, PgWal, WalPosition
from dbdyno.model.run import Run

_ERROR_MAX = 0.1
_LATE_MAX_S = 1.0
"""Each session publishes its counters at least this often while it works."""


class Wal(Struct, frozen=True):
    """One element per interval, NaN where it was not read."""

    bytes: Series
    records: Series
    """As counted, together with the images and as late as they."""
    images: Series
    image_bytes: Series
    is_estimated: bool
    """Whether ``image_bytes`` are images times their mean size, which is fitted or assumed."""


def wal(run: Run, intervals: Intervals) -> Wal:
    """What was written in each interval.

    The bytes are those of the insert position if it was read: it is exact at each instant, while
    the counters are published up to a second late. In a run of a few seconds these may lack much of
    it, or contain much from before it: then images keep their share of the bytes that were counted
    with them. (If more is lacking than can be late, it is the rest of segments that were left
    empty, and contains no images.)
    """
    counted, records, images, image_bytes = (
        _series(run, counter, intervals)
        for counter in (PgWal.wal_bytes, PgWal.wal_records, PgWal.wal_fpi, PgWal.wal_fpi_bytes)
    )
    is_estimated = not np.nansum(image_bytes) and bool(np.nansum(images))
    if is_estimated:
        image_bytes = images * _image_size_in(run, counted, records, images)
    elif np.isnan(image_bytes).all():
        image_bytes = images  # none, as far as they were counted
    position = _series(run, WalPosition.bytes, intervals)
    if np.isnan(position).all():
        return Wal(counted, records, images, image_bytes, is_estimated)
    of_all = _written_by_counted(position, counted, intervals)
    return Wal(position, records * of_all, images * of_all, image_bytes * of_all, is_estimated)


def _image_size_in(run: Run, *counted: Series) -> float:
    """Mean size of the images of a run, from its measured intervals: one alone does not show it.

    If the intervals contain none, from the intervals of ``counted``: bytes, records and images.
    """
    measured = measured_intervals(run)
    bytes_, records, images = (
        _series(run, counter, measured)
        for counter in (PgWal.wal_bytes, PgWal.wal_records, PgWal.wal_fpi)
    )
    is_known = np.nansum(np.where(np.isnan(bytes_ + records), np.nan, images)) > 0
    page_bytes = run.database.page_bytes
    series = (bytes_, records, images) if is_known else counted
    return image_size(*series, page_bytes=page_bytes)


def _written_by_counted(position: Series, counted: Series, intervals: Intervals) -> float:
    """Factor from what was counted to what was written; 1 if it is not due to late counters."""
    known = ~np.isnan(position + counted)
    total, seconds = (
        float(series[known].sum()) for series in (counted, intervals.end_s - intervals.begin_s)
    )
    factor = float(position[known].sum()) / total if total else 1.0
    return factor if factor * (seconds - _LATE_MAX_S) <= seconds else 1.0


def image_size(written: Series, records: Series, images: Series, *, page_bytes: int) -> float:
    """Mean bytes of an image: b of bytes = a·records + b·images, by least squares.

    If b is not known to within a tenth, its upper bound: a whole page, or all that was written.
    """
    known = ~np.isnan(written + records + images)
    at_most = min(page_bytes, float(written[known].sum() / images[known].sum()))
    found = fit(written[known], np.stack([records[known], images[known]], axis=1))
    if found is None:
        return at_most
    of_record, size = found.value.tolist()
    is_known = of_record > 0 and 0 < size <= at_most and found.error[1] <= _ERROR_MAX * size
    return size if is_known else at_most


def _series(run: Run, counter: Counter, intervals: Intervals) -> Series:
    grown = growth(run, counter)
    if grown is None:
        return np.full(len(intervals.begin_s), np.nan)
    return over_intervals(grown, intervals)


_SAMPLES_MIN = 6


class ImageTime(Struct, frozen=True):
    """The share of client time that goes with images, and its 95 % interval."""

    share: float
    low: float
    high: float


def image_time(run: Run) -> ImageTime | None:
    """None if it cannot be estimated; an interval that contains 0 shows no effect."""
    if not is_constant_load(run.plan):
        return None
    intervals = measured_intervals(run)
    committed = intervals.committed
    causes = np.stack([committed, _images(wal(run, intervals), committed)], axis=1)
    known = ~np.isnan(causes).any(axis=1)
    spent = client_seconds_planned(run.plan, intervals.begin_s, intervals.end_s)
    fitted = fit(spent[known], causes[known]) if known.sum() >= _SAMPLES_MIN else None
    if fitted is None:
        return None
    # The share of all client time that goes with the second cause.
    weight = float(causes[known, 1].sum() / spent[known].sum())
    share, half = float(fitted.value[1]) * weight, float(fitted.half[1]) * weight
    is_separate = fitted.value[0] > 0 and 2 * half < 1
    return ImageTime(share, share - half, share + half) if is_separate else None


def _images(counted: Wal, committed: Series) -> Series:
    """The images of each interval's transactions; NaN where no record was counted."""
    known = ~np.isnan(counted.images + counted.records)
    records_each = counted.records[known].sum() / max(committed[known].sum(), 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        images: Series = counted.images / counted.records * records_each * committed
    return np.where(np.isfinite(images), images, np.nan)
