"""``dbdyno load``: loads a workload's data, or runs a sysbench script's prepare, without a run."""

import sys
from contextlib import closing
from functools import partial
from typing import Annotated

from dbdyno.cli.app import Json, command
from dbdyno.cli.lookup import WorkloadName
from dbdyno.cli.output import Exit, print_aside, print_json, print_result, wrapped
from dbdyno.cli.progress import ProgressLines
from dbdyno.errors import DbdynoError
from dbdyno.fleet.words import Workers, worker_list
from dbdyno.formatting import plain
from dbdyno.run.connected_server import connect_to
from dbdyno.run.data_preparation import load_summary, prepare
from dbdyno.run.job import Job, read_job
from dbdyno.run.lua.script_commands import execute, for_commands, survey_commands
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.parameters import WORK, parsed, whole, worded
from dbdyno.run.options.run_options import (
    NO_SCRIPT_OPTIONS,
    SECOND_NS,
    DataOptions,
    RunOptions,
    ScriptOptions,
    TargetOptions,
)
from dbdyno.run.plan import refuse_contradictions
from dbdyno.run.target import refuse_passing_server
from dbdyno.run.tools import engine_tools
from dbdyno.workloads.preparing import Prepared

JOBS_MAX = 1000

app = command(
    "load",
    "dbdyno load tpcb -s 100 --target postgresql://db/bench",
    "dbdyno load tpcb -s 200 --replace --server bench",
    "dbdyno load tpcb -s 5000 -j 8 --target postgresql://db/bench",
    "dbdyno load tpcb --target postgresql://db/bench --workers ssh:load1,ssh:load2",
    "dbdyno load oltp_read_write -D tables=4 -D table_size=100000 --server bench",
    "dbdyno load my.lua --target mysql://u@db/bench -- --tables=4 --threads=4",
)


@app.default
def load(  # noqa: PLR0913 - one for each group of options
    workload: WorkloadName,
    /,
    *,
    target: TargetOptions = TargetOptions(),
    data: DataOptions = DataOptions(),
    script: ScriptOptions = NO_SCRIPT_OPTIONS,
    jobs: Annotated[int | None, whole("-j", "--jobs", group=WORK)] = None,
    workers: Annotated[
        Workers | None, worded("--workers", WORK, parsed(worker_list), "LIST")
    ] = None,
    json: Json = False,
) -> int:
    """Load a workload's data without measuring.

    Needs a database that keeps running: --target, or --server with the name of a kept server.
    Existing data that matches is left as it is; other data is replaced only with --replace. A load
    that was interrupted is continued by the same command.

    Parameters
    ----------
    workload
        The workload's name; dbdyno workloads lists them and their parameters. Or a sysbench
        script, whose prepare command is run, with --replace after its cleanup; its options
        follow --.
    jobs
        Number of connections that load in parallel; default: the number of this host's cores,
        but one connection on two cores.
    workers
        The agents that load together, as of dbdyno run: by default, each has a connection for each
        of its host's cores.
    """
    options = for_commands(RunOptions(**vars(target), **vars(data), **vars(script)))
    refuse = partial(refuse_contradictions, command="load")
    job = read_job([WeightedName(workload, 1)], options, print_aside, refuse)
    _refuse_odd_jobs(jobs, is_of_script=job.work.lua is not None)
    if workers and job.work.lua is not None:
        raise DbdynoError(
            code="usage",
            message="--workers does not apply to a sysbench script, which loads its data itself",
            hint="Leave out --workers.",
        )
    refuse_passing_server(job.server, "load")
    if job.work.lua is not None:
        return _prepare(job, json=json)
    prepared = _loaded(job, jobs, workers)
    if json:
        values, report = prepared.values, prepared.report
        print_json({"workload": job.work.name, "values": values, "load": report})
    elif prepared.report is None:
        print_result(f"the data exists already, loaded by {prepared.made_by}")
    else:
        print_result(wrapped(plain(load_summary(prepared.report))))
    return Exit.OK


def _loaded(job: Job, jobs: int | None, workers: Workers | None) -> Prepared:
    from dbdyno.fleet.fleet import opened as opened_fleet  # noqa: PLC0415 - loads the engine

    with (
        closing(ProgressLines(SECOND_NS)) as progress,
        opened_fleet(workers, "stop", print_aside) as fleet,
        job.server.open(job.clients) as server,
        connect_to(server) as connected,
    ):
        connected.intermediaries(job.options.further_targets, print_aside, prepares=False)
        return prepare(
            connected,
            job,
            bulk=fleet.load if fleet else engine_tools().load,
            watch=progress.loading,
            say=print_aside,
            jobs=fleet.load_jobs(server.endpoint(), jobs) if fleet else jobs,
        )


def _prepare(job: Job, *, json: bool) -> int:
    tools = engine_tools()
    commands = ["cleanup", "prepare"] if job.options.replace else ["prepare"]
    execute(job, survey_commands(job, commands, tools), tools, print_aside, sys.stderr)
    if json:
        print_json({"workload": job.work.name, "values": {}, "load": None})
    return Exit.OK


def _refuse_odd_jobs(jobs: int | None, *, is_of_script: bool) -> None:
    if jobs is None:
        return
    if is_of_script:
        raise DbdynoError(
            code="usage",
            message="-j does not apply to a sysbench script, which has an option of its own",
            hint=f"Pass it to the script: -- --threads={jobs}",
        )
    if not 1 <= jobs <= JOBS_MAX:
        raise DbdynoError(
            code="usage",
            message=f"-j {jobs}: must be between 1 and {JOBS_MAX}",
            hint="More connections than the server has cores gain nothing.",
        )
