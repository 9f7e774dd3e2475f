"""The course of a level over the measurement: its start, its end, and its rate."""

from msgspec import Struct

from dbdyno.analysis.series.readings import LevelSeries


class Course(Struct, frozen=True):
    """First and last value of a level, and the seconds between them."""

    first: float
    last: float
    seconds: float

    @property
    def per_s(self) -> float:
        """Growth per second, from end to end."""
        return (self.last - self.first) / self.seconds if self.seconds else 0.0

    @property
    def relative(self) -> float:
        """Growth as a share of the first value."""
        return self.last / self.first - 1 if self.first else 0.0


def course(series: LevelSeries) -> Course:
    """From the last reading before the measured part, if there is one, to the very last."""
    first = max(int((series.time_s <= 0).sum()) - 1, 0)
    seconds = float(series.time_s[-1] - series.time_s[first])
    return Course(float(series.value[first]), float(series.value[-1]), seconds)


def time_to_double_s(of: float, per_s: float) -> float | None:
    """Time until as much again has been added; None if it does not grow."""
    return of / per_s if per_s > 0 else None
