"""What was requested: load, scripts, and everything that is needed to repeat the run."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from dbdyno.formatting import NOTHING, seconds, significant
from dbdyno.report.content import Block, Facts, Section, Subject, Table, Text
from dbdyno.report.facts import readable_pairs

STAGE_COLUMNS = ("Stage", "Duration", "Clients", "Rate, TPS")
Stage: TypeAlias = Mapping[str, float | None]


def build(subject: Subject) -> Sequence[Block]:
    """The plan, its stages, and the scripts as they were written."""
    plan = dict(subject.recording.plan)
    scripts = plan.pop("scripts", [])
    stages = plan.pop("stages", [])
    blocks: list[Block] = [Facts(pairs=readable_pairs(plan))] if plan else []
    if stages:
        blocks.append(_stages(stages))
    for script in scripts:
        blocks.append(Text(text=f"Script {script['name']}, weight {script['weight']}"))
        blocks.append(Text(text=script["text"], code=True))
    return blocks


def _stages(stages: Sequence[Stage]) -> Table:
    return Table(
        caption="Stages",
        columns=STAGE_COLUMNS,
        rows=[stage_cells(number, stage) for number, stage in enumerate(stages, 1)],
        numeric=frozenset(range(len(STAGE_COLUMNS))),
    )


def stage_cells(number: int, stage: Stage) -> tuple[str, ...]:
    """A stage as it was planned."""
    return (
        str(number),
        NOTHING if (length := stage["duration_ns"]) is None else seconds(length / 1e9),
        "all" if (clients := stage["clients"]) is None else str(clients),
        NOTHING if (rate := stage["rate_tps"]) is None else significant(rate),
    )


SECTION = Section(id="plan", title="Plan", order=100, build=build)
