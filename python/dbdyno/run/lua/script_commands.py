"""Runs the commands of a sysbench script on a server, without measuring."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Survey
from dbdyno.model.plan import Plan
from dbdyno.run.connected_server import connect_to
from dbdyno.run.draft_plan import draft, plan_of
from dbdyno.run.grammar import WeightedName
from dbdyno.run.lua.arguments import equip, read_arguments
from dbdyno.run.lua.commands import perform, survey_command
from dbdyno.run.options import RunOptions
from dbdyno.run.seeds import seed_of
from dbdyno.run.target import open_server, protocol_of
from dbdyno.run.tools import Tools
from dbdyno.run.work import Work, find_work


@dataclass(frozen=True)
class ScriptCommands:
    """A script with all of its options."""

    options: RunOptions
    work: Work
    seed: int

    def draft(self) -> Plan:
        """Return its plan before there is a server."""
        return draft(self.options, self.work, protocol_of(self.options), seed=self.seed)


def read_script(
    item: WeightedName, options: RunOptions, say: Callable[[str], None]
) -> ScriptCommands:
    """Read the script; as in sysbench, one thread executes a command unless more are requested."""
    work = find_work([item], (), options)
    if work.lua is None:
        raise DbdynoError(
            code="usage",
            message=f"{item.name} is not a sysbench script",
            hint="Give a Lua file, or the name of a script that comes with sysbench.",
        )
    threads = None if "threads" in read_arguments(options.script_options) else 1
    adopted, equipped = equip(replace(options, clients=threads), work, say)
    return ScriptCommands(adopted, equipped, seed_of(adopted))


def check(request: ScriptCommands, commands: Sequence[str], tools: Tools) -> dict[str, Survey]:
    """Return the script's survey for each command; needs no server.

    Raises the problems of the script, or of the request.
    """
    return {command: survey_command(tools, request.draft(), command) for command in commands}


def execute(
    request: ScriptCommands,
    checked: Mapping[str, Survey],
    tools: Tools,
    say: Callable[[str], None],
    log: IO[str],
) -> None:
    """Execute the checked commands, one after the other."""
    clients = request.options.clients or 1
    with open_server(request.options, clients) as server, connect_to(server) as connected:
        plan = plan_of(
            request.options,
            request.work,
            {},
            server.endpoint(),
            sql_dialect=connected.target.sql_dialect,
            seed=request.seed,
        )
        for command, survey in checked.items():
            perform(tools, plan, command, say, log, is_parallel=survey.is_parallel)
