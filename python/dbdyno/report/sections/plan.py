"""What was requested: load, scripts, and everything that is needed to repeat the run."""

from collections.abc import Sequence

from dbdyno.formatting import NOTHING, counted, seconds, significant
from dbdyno.model.plan import Stage
from dbdyno.model.record import ImportRecord, IsolationRecord
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Facts, Folded, Section, Table, Text
from dbdyno.report.facts import readable_pairs

STAGE_COLUMNS = ("Stage", "Duration", "Clients", "Rate, TPS")


def build(run: Run) -> Sequence[Block]:
    """The plan, its stages, and behind folds the scripts as they were written.

    Those of sysbench come with their modules: thousands of lines. An imported run has no plan: of
    it, what its text has.
    """
    if told := run.record.imported:
        return _as_printed(told)
    plan = dict(run.as_recorded.plan)
    lua = dict(plan.pop("lua", None) or {})
    modules = lua.pop("modules", {})
    del plan["scripts"], plan["stages"]
    plan |= {"lua": lua} if lua else {}
    pairs = [*readable_pairs(plan), *_isolation(run.record.isolation)]
    blocks: list[Block] = [Facts(pairs=pairs)] if pairs else []
    if run.plan.stages:
        rows = [stage_cells(number, stage) for number, stage in enumerate(run.plan.stages, 1)]
        numeric = frozenset(range(len(STAGE_COLUMNS)))
        blocks.append(Table(caption="Stages", columns=STAGE_COLUMNS, rows=rows, numeric=numeric))
    for script in run.plan.scripts:
        title = f"Script {script.name}, weight {script.weight}"
        if pacing := script.pacing:
            title += f", keying for {seconds(pacing.keying_ns / 1e9)}"
            title += f", thinking for {seconds(pacing.think_mean_ns / 1e9)} on average"
        blocks.append(_source(title, script.text))
    blocks += [_source(f"Module {name}", text) for name, text in modules.items()]
    return blocks


def _as_printed(told: ImportRecord) -> list[Block]:
    facts = {
        "Measured by": f"{told.tool} {told.version}".strip(),
        "Text": f"{told.source}, lines {told.first_line} to {told.last_line}",
        "Command": told.command,
    }
    figures = Table(
        caption="As it was printed",
        columns=("Line", "Figure", "Value", "Unit", "Of"),
        rows=[(str(one.line), one.name, str(one.value), one.unit, one.of) for one in told.figures],
        numeric=frozenset({0, 2}),
        code=frozenset({4}),
    )
    return [
        Facts(pairs=[(name, text) for name, text in facts.items() if text]),
        *([figures] if told.figures else []),
    ]


def _isolation(found: IsolationRecord | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    origin = "" if found.is_requested else " (the default)"
    return [("Isolation level", f"{found.level}{origin}"), ("Access mode", found.access_mode)]


def _source(title: str, text: str) -> Folded:
    lines = counted(len(text.splitlines()), "line")
    return Folded(title=f"{title}: {lines}", blocks=[Text(text=text, code=True)])


def stage_cells(number: int, stage: Stage) -> tuple[str, ...]:
    """A stage as it was planned."""
    return (
        str(number),
        NOTHING if (length := stage.duration_ns) is None else seconds(length / 1e9),
        "all" if (clients := stage.clients) is None else str(clients),
        NOTHING if (rate := stage.rate_tps) is None else significant(rate),
    )


SECTION = Section(id="plan", title="Plan", build=build)
