"""How much of the clients' time goes with the images of whole pages that the WAL takes.

N clients give N·s client-seconds to an interval of s seconds, whatever happens in it. If a
transaction takes a of them and an image b more, then N·s = a·(transactions) + b·(images) in
each interval, and both follow by least squares when the images per transaction vary, as they do
after each checkpoint. In an open loop clients are idle at will, and where their number changes
what a transaction takes does, too: then nothing follows.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.alignment import measured_intervals
from dbdyno.analysis.estimate import Series
from dbdyno.analysis.least_squares import fit
from dbdyno.analysis.planned_load import is_constant_load
from dbdyno.analysis.wal import wal
from dbdyno.model.recording import Recording

_SAMPLES_MIN = 6


class ImageTime(Struct, frozen=True):
    """The share of the clients' time that goes with images, and its 95 % interval."""

    share: float
    low: float
    high: float


def image_time(recording: Recording) -> ImageTime | None:
    """None when it cannot be told; an interval that holds 0 tells of no effect."""
    if not is_constant_load(recording.plan):
        return None
    intervals = measured_intervals(recording)
    causes = np.stack([intervals.committed, wal(recording, intervals).images], axis=1)
    known = ~np.isnan(causes).any(axis=1)
    spent = recording.plan["clients"] * (intervals.end_s - intervals.begin_s)
    return _share_of_second(causes[known], spent[known])


def _share_of_second(causes: NDArray[np.float64], spent: Series) -> ImageTime | None:
    """What of all that was spent goes with the second cause."""
    fitted = fit(spent, causes) if len(spent) >= _SAMPLES_MIN else None
    if fitted is None:
        return None
    weight = float(causes[:, 1].sum() / spent.sum())
    value, half = float(fitted.value[1]), float(fitted.half[1])
    return ImageTime(value * weight, (value - half) * weight, (value + half) * weight)
