"""The results of each stage of a load that changes by plan, beside the planned load."""

from collections.abc import Sequence

from dbdyno.analysis.series.stages import stages_of
from dbdyno.analysis.series.timeline import timeline
from dbdyno.formatting import NOTHING, counted, milliseconds, seconds, significant, tps
from dbdyno.model.record import RunRecord, StageRecord
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Section, Table, Text
from dbdyno.report.sections.plan import STAGE_COLUMNS, stage_cells


def build(run: Run) -> Sequence[Block]:
    """A row for each stage: the plan and the results.

    Computed again, because the record of an older run does not have it.
    """
    plan = run.plan
    found = stages_of(plan, timeline(run).measured())
    if not found:
        return []
    columns = (*STAGE_COLUMNS, "Throughput, TPS", "Failed / s", "p50", "p99")
    return [
        Text(text="The numbers at the top cover all stages together; this table has each stage."),
        Table(
            caption="p50 and p99: median over the measurement intervals of the stage",
            columns=columns,
            rows=[
                (*stage_cells(number, planned), *_measured_cells(stage))
                for number, (planned, stage) in enumerate(zip(plan.stages, found, strict=True), 1)
            ],
            numeric=frozenset(range(len(columns))),
        ),
    ]


def summary(record: RunRecord) -> Sequence[Block]:
    """Each stage alone: the numbers above are of all stages together."""
    if not record.stages:
        return []
    return [
        Table(
            columns=("stage", "duration", "load", "TPS", "p50", "p99"),
            rows=[_cells_in_short(number, stage) for number, stage in enumerate(record.stages, 1)],
            numeric=frozenset({3, 4, 5}),
        ),
        Text(text="p50 and p99 of a stage: median over its measurement intervals", note=True),
    ]


def _cells_in_short(number: int, stage: StageRecord) -> tuple[str, ...]:
    clients, rate = stage.clients, f"{tps(stage.rate_tps)} TPS"
    load = rate if clients is None else counted(clients, "client")
    times = (milliseconds(stage.p50_ms), milliseconds(stage.p99_ms))
    return (str(number), seconds(stage.duration_s), load, tps(stage.tps), *times)


def _measured_cells(stage: StageRecord) -> tuple[str, ...]:
    failed_per_s = stage.failed_per_s
    return (
        tps(stage.tps),
        NOTHING if failed_per_s is None else significant(failed_per_s),
        milliseconds(stage.p50_ms),
        milliseconds(stage.p99_ms),
    )


SECTION = Section(id="stages", title="Stages", build=build, summary=summary)
