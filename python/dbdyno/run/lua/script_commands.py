"""Runs the commands of a sysbench script on a server, without measuring."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import IO

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Survey
from dbdyno.run.connected_server import connect_to
from dbdyno.run.job import Job
from dbdyno.run.lua.arguments import read_arguments
from dbdyno.run.lua.commands import perform, survey_command
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.tools import Tools


def for_commands(options: RunOptions) -> RunOptions:
    """Return the options with one client, as in sysbench, unless threads are requested."""
    has_threads = "threads" in read_arguments(options.script_options)
    return options if has_threads else replace(options, clients=1)


def survey_commands(job: Job, commands: Sequence[str], tools: Tools) -> dict[str, Survey]:
    """Return the script's survey for each command; needs no server.

    Raises the problems of the script, or of the request.
    """
    refuse_other_scripts(job)
    return {command: survey_command(tools, job.draft, command) for command in commands}


def refuse_other_scripts(job: Job) -> None:
    """Refuse what has no commands."""
    if job.work.lua is None:
        raise DbdynoError(
            code="usage",
            message=f"{job.items[0].name} is not a sysbench script",
            hint="Give a Lua file, or the name of a script that comes with sysbench.",
        )


def execute(
    job: Job,
    surveys: Mapping[str, Survey],
    tools: Tools,
    say: Callable[[str], None],
    log: IO[str],
) -> None:
    """Execute the surveyed commands, one after the other."""
    with job.server.open(job.clients) as server, connect_to(server) as connected:
        plan = job.plan({}, server.endpoint(), connected.target.sql_dialect)
        for command, survey in surveys.items():
            perform(tools, plan, command, say, log, is_parallel=survey.is_parallel)
