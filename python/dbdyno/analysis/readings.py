"""Series and sums of what telemetry counted, by source, object and name.

A reading that is absent from the tables is 0 for a counter and unchanged for a level, as
long as the source was read then: the table ``samples`` tells. What was never read is None
here, never 0.
"""

from msgspec import Struct

from dbdyno.analysis.estimate import Series
from dbdyno.model.recording import Recording


class Growth(Struct, frozen=True):
    """What a counter grew by: one element a reading, each over its own seconds.

    ``time_s`` is the end of each. Readings over which counters were set back are not there.
    """

    time_s: Series
    seconds: Series
    delta: Series


class LevelSeries(Struct, frozen=True):
    """What was at each reading."""

    time_s: Series
    value: Series


def was_read(recording: Recording, source: str) -> bool:
    """Whether the source was read at least once."""
    raise NotImplementedError


def lack_of(recording: Recording, source: str) -> str | None:
    """Why a source was not read, when telemetry knows; for the words of a rule."""
    raise NotImplementedError


def objects(recording: Recording, source: str) -> list[str]:
    """The names of the objects that the source has told something of."""
    raise NotImplementedError


def growth(recording: Recording, source: str, name: str, of: str | None = None) -> Growth | None:
    """A counter over time, of one object or summed over all; None if the source was not read."""
    raise NotImplementedError


class Span(Struct, frozen=True):
    """A part of the run in seconds from the warm-up's end; an end of None is the last reading."""

    begin_s: float = 0.0
    end_s: float | None = None


MEASURED = Span()


def total(
    recording: Recording, source: str, name: str, of: str | None = None, span: Span = MEASURED
) -> float | None:
    """How much a counter grew in a part of the run; None if the source was not read in it."""
    raise NotImplementedError


def level(
    recording: Recording, source: str, name: str, of: str | None = None
) -> LevelSeries | None:
    """A level over time, of one object or summed over all; None if the source was not read."""
    raise NotImplementedError
