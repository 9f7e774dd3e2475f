"""The results of each stage of a load that changes by plan, beside the planned load."""

from collections.abc import Sequence

from dbdyno.analysis.stages import stages_of
from dbdyno.formatting import NOTHING, milliseconds, significant, tps
from dbdyno.model.record import StageRecord
from dbdyno.report.content import Block, Section, Subject, Table, Text
from dbdyno.report.sections.plan import STAGE_COLUMNS, stage_cells


def build(subject: Subject) -> Sequence[Block]:
    """A row for each stage: the plan and the results.

    Computed again, because the record of an older run does not have it.
    """
    plan = subject.recording.plan
    found = stages_of(plan, subject.timeline.measured())
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
                for number, (planned, stage) in enumerate(
                    zip(plan["stages"], found, strict=True), 1
                )
            ],
            numeric=frozenset(range(len(columns))),
        ),
    ]


def _measured_cells(stage: StageRecord) -> tuple[str, ...]:
    failed_per_s = stage.failed_per_s
    return (
        tps(stage.tps),
        NOTHING if failed_per_s is None else significant(failed_per_s),
        milliseconds(stage.p50_ms),
        milliseconds(stage.p99_ms),
    )


SECTION = Section(id="stages", title="Stages", order=7, build=build)
