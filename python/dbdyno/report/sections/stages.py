"""What each stage of a load that was meant to change came to.

The numbers at the top of the page are of all stages together, which is no load that anybody
asked for.
"""

from collections.abc import Sequence

import numpy as np

from dbdyno.analysis.asked_load import has_stages, stage_at
from dbdyno.analysis.medians import median
from dbdyno.analysis.stretches import Mask
from dbdyno.analysis.timeline import Timeline
from dbdyno.report.content import Block, Section, Subject, Table, Text
from dbdyno.report.sections.plan import STAGE_COLUMNS, stage_cells
from dbdyno.report.words import NOTHING, milliseconds, significant, tps


def build(subject: Subject) -> Sequence[Block]:
    """A row for each stage, as it was asked for and as it went."""
    plan, line = subject.recording.plan, subject.timeline.measured()
    if not has_stages(plan) or not len(line.tps):
        return []
    stage = stage_at(plan, line.time_s)
    rows = [
        (*stage_cells(number + 1, asked), *_measured_cells(line, stage == number))
        for number, asked in enumerate(plan["stages"])
    ]
    columns = (*STAGE_COLUMNS, "Done, TPS", "Failed / s", "p50", "p99")
    return [
        Text(text="The numbers at the top are of all stages together; here each stands alone."),
        Table(
            caption="p50 and p99: the median of what they were in the intervals of the stage",
            columns=columns,
            rows=rows,
            numeric=frozenset(range(len(columns))),
        ),
    ]


def _measured_cells(line: Timeline, within: Mask) -> tuple[str, ...]:
    """Nothing of a stage that the run did not reach."""
    if not within.any():
        return (NOTHING,) * 4
    length_s = line.seconds[within]
    return (
        tps(float(np.average(line.tps[within], weights=length_s))),
        significant(float(np.average(line.failed_per_s[within], weights=length_s))),
        *(_median(line.latencies_ms[name][within]) for name in ("p50_ms", "p99_ms")),
    )


def _median(latencies_ms: np.ndarray) -> str:
    known_ms = latencies_ms[~np.isnan(latencies_ms)]
    return milliseconds(median(known_ms)) if len(known_ms) else NOTHING


SECTION = Section(id="stages", title="Stages", order=7, build=build)
