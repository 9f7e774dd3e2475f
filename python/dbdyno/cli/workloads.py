"""``dbdyno workloads``: what can be run by name, and what each can be asked for.

All of it is what the workloads declare. The tables, scripts and laws of each are in the manual.
"""

from rich.table import Table
from rich.text import Text

from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, Json, print_aside, print_json, print_result, print_table
from dbdyno.workloads.base import Workload
from dbdyno.workloads.registry import all_workloads, find_workload

app = command(
    "workloads",
    "dbdyno workloads",
    "dbdyno workloads pk               its parameters",
    "dbdyno run pk -D operation=select -D rows=100000",
)


@app.default
def workloads(name: str | None = None, /, *, json: Json = False) -> int:
    """List the workloads, or the parameters of one.

    Parameters
    ----------
    name
        The workload whose parameters are to be told.
    """
    asked = [*all_workloads().values()] if name is None else [find_workload(name)]
    if json:
        print_json({"workloads": [_object(workload) for workload in asked]})
    elif name is None:
        print_table(_list(asked))
        print_aside("Parameters of one: dbdyno workloads NAME; they are set with -D NAME=VALUE.")
    else:
        print_result(f"{asked[0].name}: {asked[0].summary}\n")
        print_table(_parameters(asked[0]))
    return Exit.OK


def _object(workload: Workload) -> dict[str, object]:
    return {
        "name": workload.name,
        "summary": workload.summary,
        "parameters": list(workload.parameters),
    }


def _list(asked: list[Workload]) -> Table:
    table = Table("workload", "what it does", box=None, pad_edge=False, header_style="bold")
    for workload in asked:
        table.add_row(workload.name, Text(workload.summary))
    return table


def _parameters(workload: Workload) -> Table:
    table = Table(
        *("parameter", "default", "values", "what it is"),
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for one in workload.parameters:
        table.add_row(one.name, one.default_word, one.range, Text(one.description))
    return table
