"""``dbdyno check``: checks a workload's invariants on existing data."""

from functools import partial

from dbdyno.cli.app import Json, command
from dbdyno.cli.lookup import WorkloadName
from dbdyno.cli.output import Exit, print_aside, print_json, print_result
from dbdyno.cli.pages import JunitFile, refuse_unwritable, write_text
from dbdyno.errors import DbdynoError
from dbdyno.report.render_junit import Case, render_junit
from dbdyno.run.connected_server import connect_to
from dbdyno.run.job import read_job
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import ANY_SIZE, RunOptions, SizeOptions, TargetOptions
from dbdyno.run.plan import refuse_contradictions
from dbdyno.run.target import refuse_passing_server
from dbdyno.workloads.conditions import told
from dbdyno.workloads.invariants import violations
from dbdyno.workloads.status import data_status

app = command(
    "check",
    "dbdyno check tpcb --target postgresql://db/bench",
    "dbdyno check oltp_read_write -D tables=4 --server bench --json",
    "dbdyno check tpcc --server bench --json",
    "dbdyno check tpcc --server bench --junit check.xml",
)


@app.default
def check(
    workload: WorkloadName,
    /,
    *,
    target: TargetOptions = TargetOptions(),
    data: SizeOptions = ANY_SIZE,
    junit: JunitFile = None,
    json: Json = False,
) -> int:
    """Check a workload's invariants on loaded data.

    The invariants hold only if nothing but dbdyno has changed the data since it was loaded;
    pgbench without -n, for example, truncates pgbench_history before it runs. Needs a database
    that keeps running: --target, or --server with the name of a kept server. Exits with 4 if an
    invariant is broken. Conditions of a workload (tpcc has twelve) are read in one snapshot; of a
    broken one, the number of rows that break it and the first of them are shown.

    Parameters
    ----------
    workload
        The workload's name; dbdyno workloads lists them.
    """
    refuse_unwritable(junit)
    options = RunOptions(**vars(target), **vars(data))
    refuse = partial(refuse_contradictions, command="check")
    job = read_job([WeightedName(workload, 1)], options, print_aside, refuse)
    refuse_passing_server(job.server, "check")
    work = job.work
    if work.workload is None:
        raise DbdynoError("usage", f"{workload} is not a workload", "Give a workload's name.")
    with job.server.open(job.clients) as server, connect_to(server) as connected:
        status = data_status(work.workload, connected.target, connected.control, work.given)
        if status.state != "compatible":
            hint = status.why or f"Load it: dbdyno load {workload}"
            raise DbdynoError("no_data", f"no data of {workload} to check", hint)
        values = status.values(work.workload, work.given)
        with connected.target.understood("check the invariants"):
            laws = work.workload.check(connected.target, connected.control, values)
            checks = work.workload.check_conditions(connected.target, connected.control)
    cases = [
        *(_case(f"invariant of {', '.join(law.about)}", law.broken) for law in laws),
        *(_case(f"condition {one.id}: {one.claim}", "" if one.ok else told(one)) for one in checks),
    ]
    broken = [case.message for case in cases if case.outcome == "failed"]
    if junit is not None:
        write_text(render_junit("check", work.name, cases), junit)
    if json:
        print_json({"workload": work.name, "broken": violations(laws), "checks": checks})
    else:
        for message in broken:
            print_result(f"broken: {message}")
        if broken:
            print_aside("Changes by other programs break invariants, too: dbdyno check --help.")
        else:
            print_result("all invariants hold")
    return Exit.VERDICT_FAILED if broken else Exit.OK


def _case(name: str, broken: str) -> Case:
    return Case(name=name, outcome="failed" if broken else "passed", message=broken)
