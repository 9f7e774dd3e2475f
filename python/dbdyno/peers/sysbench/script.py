"""A sysbench script's commands and its run, by the request that ``dbdyno run`` makes."""

import sys
from collections.abc import Iterator

from dbdyno.peers.command_line import RefusalError
from dbdyno.peers.streams import Streams
from dbdyno.peers.sysbench.command import TIME_DEFAULT_S, Command
from dbdyno.peers.sysbench.report import Reports
from dbdyno.run.job import Job, check_scripts, read_job
from dbdyno.run.lua.commands import print_help
from dbdyno.run.lua.script_commands import execute, survey_commands
from dbdyno.run.lua.script_files import ENDING, find_script
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.runner import run
from dbdyno.run.tools import engine_tools


def job_of(command: Command) -> Job:
    """Return the job that the command asks for."""
    name = command.test if command.test.endswith(ENDING) else f"{command.test}{ENDING}"
    if find_script(name) is None:
        raise RefusalError(
            f"FATAL: Cannot find benchmark '{command.test}': no such built-in test, file or module"
        )
    options = RunOptions(script_options=command.script_options, failures_max=1.0)
    return read_job([WeightedName(name, 1)], options, _unsaid)


def _unsaid(_text: str) -> None:
    """What has no effect is in the manual."""


def show_help(job: Job) -> None:
    """Print the script's own help."""
    print_help(engine_tools(), job.draft, sys.stdout)


def execute_command(command: Command, job: Job, streams: Streams) -> None:
    """Execute prepare, cleanup, or whatever else the script declares."""
    tools, name = engine_tools(), command.command
    survey = check_scripts(job, tools, _unsaid).survey
    if survey is None or name not in survey.commands:
        raise RefusalError(text=f"Unknown command: {name}\n")
    surveys = survey_commands(job, [name], tools)
    if surveys[name].is_parallel and command.threads > 1:
        streams.result("Initializing worker threads...\n\n")
    execute(job, surveys, tools, _unsaid, sys.stdout)


def run_script(command: Command, job: Job, streams: Streams) -> int:
    """Run it and report; return the exit code."""
    tools = engine_tools()
    checked = check_scripts(job, tools, _unsaid)
    streams.result("".join(f"{line}\n" for line in _opening(command)))
    reports = Reports(command, streams.result)
    record = run(checked, tools, reports).record
    reports.finish()
    if record.status != "done":
        streams.result("".join(f"FATAL: {reason}\n" for reason in record.invalid_reasons))
        return 1
    streams.say(*(f"warning: {reason}" for reason in record.invalid_reasons))
    return 0


def _opening(command: Command) -> Iterator[str]:
    options = command.options
    yield "Running the test with following options:"
    yield f"Number of threads: {command.threads}"
    if options.get("warmup_time"):
        yield f"Warmup time: {options['warmup_time']}s"
    if options.get("rate"):
        yield f"Target transaction rate: {options['rate']}/sec"
    if options.get("report_interval"):
        yield f"Report intermediate results every {options['report_interval']} second(s)"
    if options.get("report_checkpoints"):
        instants = ", ".join(map(str, options["report_checkpoints"]))
        yield f"Report checkpoint(s) at {instants} seconds"
    seed = options.get("rand_seed")
    yield (
        f"Initializing random number generator from seed ({seed})."
        if seed
        else "Initializing random number generator from current time"
    )
    grace_s, seconds = options.get("forced_shutdown"), options.get("time", TIME_DEFAULT_S)
    if grace_s is not None and seconds:
        yield from ("", f"Forcing shutdown in {seconds + grace_s} seconds")
    else:
        yield ""
    yield from ("", "Initializing worker threads...", "")
