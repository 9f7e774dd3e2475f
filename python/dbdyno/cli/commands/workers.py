"""``dbdyno workers``: what ``--workers`` would start, and whether it can share a load."""

from typing import Annotated, TypeAlias

from cyclopts import Parameter

from dbdyno.cli.app import Json, command
from dbdyno.cli.output import Exit, examples, print_aside, print_json, print_lines, print_table
from dbdyno.fleet.words import Workers, worker_list
from dbdyno.formatting import count
from dbdyno.layout import Paragraph
from dbdyno.run.options.parameters import parsed

app = command(
    "workers",
    "dbdyno workers list ssh:h1,ssh:h2*2",
    "dbdyno workers check ssh:h1,ssh:h2*2      before the first run",
    "dbdyno workers check local*2 --json",
)
app.help = """Show and check the agents that --workers of a run would start.

Each agent is an engine with a part of the load, here or on another host.
"""

WorkerList: TypeAlias = Annotated[
    Workers, Parameter(converter=parsed(worker_list), n_tokens=1, accepts_keys=False)
]
HEADINGS = ("worker", "host", "CPUs", "clock source", "files", "round trip, µs", "clock, µs")


@app.command(name="list", help_epilogue=examples("dbdyno workers list ssh:h1,ssh:h2*2"))
def list_(workers: WorkerList, /, *, json: Json = False) -> int:
    """List the agents and the commands that would start them, without starting any.

    Parameters
    ----------
    workers
        As --workers of dbdyno run: local*4,ssh:HOST,ray:*2,exec:'COMMAND', or a file with these
        in lines.
    """
    places = workers.places()
    if json:
        print_json({"workers": [{"name": it.name, "command": it.command} for it in places]})
    else:
        print_table(("worker", "command"), [(it.name, " ".join(it.command)) for it in places])
    return Exit.OK


@app.command(help_epilogue=examples("dbdyno workers check ssh:h1,ssh:h2*2"))
def check(workers: WorkerList, /, *, json: Json = False) -> int:
    """Start each agent and ask it who it is and what its clock says: nothing is loaded.

    A worker without an agent, or with another build of dbdyno, is a problem. Exits with 4 if
    there is one.

    Parameters
    ----------
    workers
        As --workers of dbdyno run: local*4,ssh:HOST,ray:*2,exec:'COMMAND', or a file with these
        in lines.
    """
    from dbdyno.fleet.examining import examined  # noqa: PLC0415 - loads the engine

    found = examined(workers.places())
    if json:
        print_json({"workers": found})
    else:
        rows = [
            (
                its.name,
                its.host,
                count(its.cpus),
                its.clock_source,
                count(its.open_files_max),
                f"{its.round_trip_us:.0f}",
                f"{its.clock_offset_us:+z.0f} ± {its.clock_bound_us:.0f}",
            )
            for its in found
            if not its.problem
        ]
        if rows:
            print_table(HEADINGS, rows, left=2)
        print_lines(Paragraph(f"problem  {its.problem}", " " * 9) for its in found if its.problem)
        print_aside(f"{len(rows)} of {len(found)} workers can share a load")
    return Exit.VERDICT_FAILED if any(its.problem for its in found) else Exit.OK
