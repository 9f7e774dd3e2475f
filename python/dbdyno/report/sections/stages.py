"""The results of each stage of a load that changes by plan, beside the planned load."""

from collections.abc import Sequence

from dbdyno.analysis.series.stages import stages_of
from dbdyno.analysis.series.timeline import timeline
from dbdyno.formatting import NOTHING, counted, milliseconds, seconds, significant, tps
from dbdyno.model.record import RunRecord
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
                (
                    *stage_cells(number, planned),
                    tps(stage.tps),
                    NOTHING if (failed := stage.failed_per_s) is None else significant(failed),
                    milliseconds(stage.p50_ms),
                    milliseconds(stage.p99_ms),
                )
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
            rows=[
                (
                    str(number),
                    seconds(stage.duration_s),
                    f"{tps(stage.rate_tps)} TPS"
                    if stage.clients is None
                    else counted(stage.clients, "client"),
                    tps(stage.tps),
                    milliseconds(stage.p50_ms),
                    milliseconds(stage.p99_ms),
                )
                for number, stage in enumerate(record.stages, 1)
            ],
            numeric=frozenset({3, 4, 5}),
        ),
        Text(text="p50 and p99 of a stage: median over its measurement intervals", note=True),
    ]


SECTION = Section(id="stages", title="Stages", build=build, summary=summary)
