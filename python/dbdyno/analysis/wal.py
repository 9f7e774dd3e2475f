"""PostgreSQL's WAL over time: bytes, and how many of them are full-page images.

Before version 19 the server counts images but not their bytes. An image is a page without its hole
(the free space in its middle), compressed if so configured. The mean size of an image follows from
how bytes grew with records and images, if the share of images varied, as it does after each
checkpoint.
"""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.alignment import Intervals, measured_intervals, over_intervals
from dbdyno.analysis.estimate import Series
from dbdyno.analysis.least_squares import fit
from dbdyno.analysis.protocol import PAGE_BYTES, POSTGRESQL
from dbdyno.analysis.readings import growth
from dbdyno.model.recording import Recording

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


def wal(recording: Recording, intervals: Intervals) -> Wal:
    """What was written in each interval.

    The bytes are those of the insert position if it was read: it is exact at each instant, while
    the counters are published up to a second late. In a run of a few seconds these may lack much of
    it, or contain much from before it: then images keep their share of the bytes that were counted
    with them. (If more is lacking than can be late, it is the rest of segments that were left
    empty, and contains no images.)
    """
    counted, records, images, image_bytes = (
        _series(recording, "pg_stat_wal", name, intervals)
        for name in ("wal_bytes", "wal_records", "wal_fpi", "wal_fpi_bytes")
    )
    is_estimated = not np.nansum(image_bytes) and bool(np.nansum(images))
    if is_estimated:
        image_bytes = images * _image_size_in(recording, counted, records, images)
    elif np.isnan(image_bytes).all():
        image_bytes = images  # none, as far as they were counted
    position = _series(recording, "wal_position", "bytes", intervals)
    if np.isnan(position).all():
        return Wal(counted, records, images, image_bytes, is_estimated)
    of_all = _written_by_counted(position, counted, intervals)
    return Wal(position, records * of_all, images * of_all, image_bytes * of_all, is_estimated)


def _image_size_in(recording: Recording, *counted: Series) -> float:
    """Mean size of the images of a run, from its measured intervals: one alone does not show it.

    If the intervals contain none, from the intervals of ``counted``: bytes, records and images.
    """
    measured = measured_intervals(recording)
    bytes_, records, images = (
        _series(recording, "pg_stat_wal", name, measured)
        for name in ("wal_bytes", "wal_records", "wal_fpi")
    )
    is_known = np.nansum(np.where(np.isnan(bytes_ + records), np.nan, images)) > 0
    return image_size(bytes_, records, images) if is_known else image_size(*counted)


def _written_by_counted(position: Series, counted: Series, intervals: Intervals) -> float:
    """Factor from what was counted to what was written; 1 if it is not due to late counters."""
    known = ~np.isnan(position + counted)
    total, seconds = (
        float(series[known].sum()) for series in (counted, intervals.end_s - intervals.begin_s)
    )
    factor = float(position[known].sum()) / total if total else 1.0
    return factor if factor * (seconds - _LATE_MAX_S) <= seconds else 1.0


def image_size(written: Series, records: Series, images: Series) -> float:
    """Mean bytes of an image: b of bytes = a·records + b·images, by least squares.

    If b is not known to within a tenth, its upper bound: a whole page, or all that was written.
    """
    known = ~np.isnan(written + records + images)
    at_most = min(PAGE_BYTES[POSTGRESQL], float(written[known].sum() / images[known].sum()))
    found = fit(written[known], np.stack([records[known], images[known]], axis=1))
    if found is None:
        return at_most
    of_record, size = found.value.tolist()
    is_known = of_record > 0 and 0 < size <= at_most and found.error[1] <= _ERROR_MAX * size
    return size if is_known else at_most


def _series(recording: Recording, source: str, name: str, intervals: Intervals) -> Series:
    grown = growth(recording, source, name)
    if grown is None:
        return np.full(len(intervals.begin_s), np.nan)
    return over_intervals(grown, intervals)
