"""``dbdyno workloads``: lists the workloads and their parameters.

All of it comes from the workloads' declarations. Their tables, scripts and invariants are in the
manual.
"""

from typing import get_args

from dbdyno.cli.app import Json, command
from dbdyno.cli.lookup import WorkloadName
from dbdyno.cli.output import Exit, print_aside, print_json, print_lines, print_table
from dbdyno.layout import Columns, Paragraph
from dbdyno.workloads.base import Question
from dbdyno.workloads.registry import all_workloads, find_workload

app = command(
    "workloads",
    "dbdyno workloads",
    "dbdyno workloads pk               its parameters",
    "dbdyno run pk -D operation=select -D scale=10",
)


@app.default
def workloads(name: WorkloadName | None = None, /, *, json: Json = False) -> int:
    """List the workloads by the question they answer, or the parameters of one.

    dbdyno run NAME runs one; -D NAME=VALUE sets a parameter, -s the size of its data.

    Parameters
    ----------
    name
        List the parameters of this workload.
    """
    chosen = [*all_workloads().values()] if name is None else [find_workload(name)]
    if json:
        listed = [
            {
                "name": one.name,
                "summary": one.summary,
                "question": one.question,
                "parameters": list(one.parameters),
            }
            for one in chosen
        ]
        print_json({"workloads": listed})
    elif name is None:
        width = max(len(one.name) for one in chosen)
        for question in get_args(Question):
            rows = [
                (f"  {one.name:<{width}}", one.summary)
                for one in chosen
                if one.question == question
            ]
            print_lines([Paragraph(question), Columns(rows, 2), ""])
        print_aside("dbdyno workloads NAME lists the parameters of one; set them: -D NAME=VALUE.")
    else:
        print_lines([Paragraph(f"{chosen[0].name}: {chosen[0].summary}"), ""])
        print_table(
            ("parameter", "default", "values", "description"),
            (
                (one.name, one.default_text, one.range, one.description)
                for one in chosen[0].parameters
            ),
        )
    return Exit.OK
