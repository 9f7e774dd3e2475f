"""What the charts over time share: their times, their marks, and their tables."""

from collections.abc import Callable, Sequence

from dbdyno.analysis.timeline import Timeline
from dbdyno.report import resample
from dbdyno.report.content import Mark
from dbdyno.report.words import seconds

_ROWS_MAX = 60


def times(line: Timeline, size: int) -> list[float]:
    """The time of each point."""
    return [round(time, 3) for time in resample.first_of(line.time_s, size).tolist()]


def marks(line: Timeline) -> list[Mark]:
    """The warm-up and the drain, where there were any."""
    names = {"warmup": "warm-up", "drain": "drain"}
    found = [(name, line.phase == name) for name in names]
    return [
        Mark(
            float(line.time_s[where][0]),
            float(line.time_s[where][-1] + line.seconds[where][-1]),
            names[name],
        )
        for name, where in found
        if where.any()
    ]


def shading_words(line: Timeline) -> str:
    """What the shaded stretches are, for a caption; nothing when there are none."""
    names = " and ".join(mark.label for mark in marks(line))
    return f"; shaded: {names}" if names else ""


def sampled_rows(
    line: Timeline, columns: Sequence[resample.Values], write: Callable[[float], str]
) -> list[tuple[str, ...]]:
    """Rows for a table: every interval of a short run, the first of each group of a long one."""
    step = max(1, -(-len(line.time_s) // _ROWS_MAX))
    return [
        (
            seconds(float(line.time_s[index])),
            str(line.phase[index]),
            *(write(float(column[index])) for column in columns),
        )
        for index in range(0, len(line.time_s), step)
    ]
