"""The cost of one committed transaction, each with its interval: hardly affected by noise."""

from collections.abc import Sequence

from dbdyno.explain.explain import explained_record
from dbdyno.formatting import NOTHING
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Section, Table, Text
from dbdyno.report.costs import cost_text, interval_text

_SIDES = {"server": "server", "client": "load generator", "network": "network"}
_MEANING = (
    "What the run used, per committed transaction. These costs are less noisy than throughput: "
    "compare them first."
)
_OVER_LOAD = (
    "Counted over the whole load, from just before its first transaction until its sessions had "
    "ended."
)
_MEASURED_ALONE = "Over the measured intervals alone: {titles}."
_OF_SCRIPTS = "costs of single scripts"


def build(run: Run) -> Sequence[Block]:
    """One table for all scripts together, one for each script whose costs could be separated."""
    costs = explained_record(run).costs
    if not costs:
        return []
    # What was counted, unless it is the measured intervals, as everywhere.
    window, alone = "", [cost for cost in costs if cost.window == "measured"]
    if len(alone) < len(costs):
        titles = dict.fromkeys(_OF_SCRIPTS if cost.script else cost.title for cost in alone)
        window = _MEASURED_ALONE.format(titles=", ".join(titles)) if titles else ""
        window = f" {_OVER_LOAD} {window}".rstrip()
    return [
        Text(text=f"{_MEANING}{window}"),
        *(
            Table(
                caption=f"Per transaction of {script}" if script else "Per transaction",
                columns=("Cost", "Component", "Mean", "95 % interval within this run"),
                rows=[
                    (cost.title, _SIDES[cost.side], cost_text(cost), interval_text(cost) or NOTHING)
                    for cost in costs
                    if cost.script == script
                ],
                numeric=frozenset({2, 3}),
            )
            for script in dict.fromkeys(cost.script for cost in costs)
        ),
    ]


SECTION = Section(id="costs", title="Cost per transaction", build=build)
