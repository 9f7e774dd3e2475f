"""``dbdyno script``: runs a command of a sysbench script, such as its cleanup or its help."""

import sys
from functools import partial

from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, print_aside
from dbdyno.errors import DbdynoError
from dbdyno.run.job import read_job
from dbdyno.run.lua.commands import print_help
from dbdyno.run.lua.script_commands import (
    execute,
    for_commands,
    refuse_other_scripts,
    survey_commands,
)
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import (
    NO_SCRIPT_OPTIONS,
    RunOptions,
    ScriptOptions,
    TargetOptions,
)
from dbdyno.run.plan import refuse_contradictions
from dbdyno.run.target import refuse_passing_server
from dbdyno.run.tools import engine_tools

app = command(
    "script",
    "dbdyno script oltp_read_write.lua help",
    "dbdyno script my.lua cleanup --target mysql://u@db/bench -- --tables=4",
    "dbdyno script tpcc.lua check --server bench -- --scale=10 --threads=8",
)


@app.default
def script(
    name: str,
    command: str,
    /,
    *,
    target: TargetOptions = TargetOptions(),
    script: ScriptOptions = NO_SCRIPT_OPTIONS,
) -> int:
    """Run a command of a sysbench script, such as cleanup.

    The script's own options follow --, in sysbench's syntax. Its output goes to standard output.
    All commands except help need a database that keeps running: --target, or --server with the
    name of a kept server. To measure, use dbdyno run.

    Parameters
    ----------
    name
        The script's file, or the name of a script that comes with sysbench.
    command
        Command to run: prepare, cleanup, help, or any other that the script defines.
    """
    tools = engine_tools()
    options = for_commands(RunOptions(**vars(target), **vars(script)))
    refuse = partial(refuse_contradictions, command="script")
    job = read_job([WeightedName(name, 1)], options, print_aside, refuse)
    if command == "help":
        refuse_other_scripts(job)
        print_help(tools, job.draft, sys.stdout)
        return Exit.OK
    if command == "run":
        raise DbdynoError("usage", "dbdyno script does not measure", f"Use: dbdyno run {name}")
    surveys = survey_commands(job, [command], tools)
    refuse_passing_server(job.server, "script")
    execute(job, surveys, tools, print_aside, sys.stdout)
    return Exit.OK
