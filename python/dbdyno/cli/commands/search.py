"""``dbdyno search``: the highest rate at which a service meets its objectives."""

from typing import Annotated

from cyclopts import Parameter

from dbdyno.analysis.search.objective import Objective
from dbdyno.analysis.search.rate_search import Search
from dbdyno.cli.app import command
from dbdyno.cli.commands.run import What
from dbdyno.cli.output import (
    Exit,
    print_error,
    print_json,
    refuse_several_forms,
    showing_kept_result,
)
from dbdyno.cli.pages import (
    Form,
    FormOption,
    print_page,
    print_report_path,
    refuse_unwritable,
    write_page,
)
from dbdyno.cli.progress import ProgressLines
from dbdyno.errors import DbdynoError
from dbdyno.report.pages.search import search_object, search_page
from dbdyno.run.options import grammar
from dbdyno.run.options.parameters import each, parsed
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.plan import progress_ns
from dbdyno.run.search import Wanted, check_search, search as search_it
from dbdyno.run.tools import engine_tools

app = command(
    "search",
    'dbdyno search tpcb -s 50 -c 32 --slo "p99<10ms"',
    "dbdyno search app.sql --target postgresql://db/app \\\n"
    '      --slo "p95<5ms" --slo "failures<0.1%"',
    'dbdyno search select-only -T 30s --slo "p99.9<20ms" --report search.html',
    'dbdyno search tpcb --slo "p99<10ms" --format markdown > search.md',
)

WANTED = Wanted(objectives=())
Objectives = Annotated[
    tuple[Objective, ...],
    Parameter(converter=each(grammar.objective), n_tokens=1, accepts_keys=False, metavar="LIMIT"),
]
Rate = Annotated[float | None, Parameter(converter=parsed(grammar.number))]
Share = Annotated[float, Parameter(converter=parsed(grammar.percentage), metavar="SHARE")]


@app.default
def search(
    *what: What,
    slo: Objectives = (),
    rate_max: Rate = None,
    error: Share = WANTED.error,
    form: FormOption = None,
    options: RunOptions = RunOptions(),
) -> int:
    """Find the highest arrival rate that meets objectives.

    A closed-loop run measures the capacity; then lower rates are tried in an open loop, each
    until it can be judged. Every trial is a run of its own, of 10s unless -T is given, and
    longer if that is too short to judge. The search sets the load itself: --rate, --stages, -t,
    --think and -L are refused. Exits with 4 if no rate meets the objectives.

    Parameters
    ----------
    what
        A workload, or script files; @3 after a name gives it the weight 3. dbdyno workloads
        lists the workloads.
    slo
        Objective, in quotes: "p99<10ms" (or p50, p90, p95, p99.9, mean), or "failures<1%";
        repeatable, all must be met.
    rate_max
        Highest rate to try, in transactions per second.
    error
        Probability of calling a rate met that is missed, or missed that is met; default 5%.
    """
    wanted = _wanted(slo, rate_max, error)
    refuse_several_forms("search …", {"--format": form is not None, "--json": options.json})
    refuse_unwritable(options.report)
    tools = engine_tools()
    job = check_search(what, options, tools, ProgressLines(0).say)
    progress = ProgressLines(progress_ns(job.options))
    latest: list[Search] = []
    failed: DbdynoError | None = None
    try:
        found = search_it(job, wanted, tools, progress, known=latest.append)
    except KeyboardInterrupt:
        if not latest:
            raise
        found = latest[-1]
    except DbdynoError as why:
        if not latest:
            raise
        found, failed = latest[-1], why
    finally:
        progress.close()
    with showing_kept_result("All runs are kept: dbdyno runs"):
        _show(found, failed, form, options)
    return exit_of(found) if failed is None else Exit.FAILED


def exit_of(found: Search) -> Exit:
    """Return the exit code: whether a rate meets the objectives, or the search was interrupted."""
    if not found.is_over:
        return Exit.INTERRUPTED
    return Exit.VERDICT_FAILED if found.met_tps is None else Exit.OK


def _wanted(slo: tuple[Objective, ...], rate_max: float | None, error: float) -> Wanted:
    problems = []
    if not slo:
        problems.append('no objective given: use --slo "p99<10ms"')
    if rate_max is not None and rate_max <= 0:
        problems.append(f"--rate-max {rate_max:g}: must be above 0")
    if not 0 < error < 0.5:
        problems.append(f"--error {error:g}: must be above 0 and below 50%")
    if problems:
        raise DbdynoError("usage", "; ".join(problems), "See dbdyno search --help.")
    return Wanted(objectives=slo, error=error, rate_max_tps=rate_max)


def _show(
    found: Search, failed: DbdynoError | None, form: Form | None, options: RunOptions
) -> None:
    """Show what was found, and what ended it before its end."""
    page = search_page(found)
    if options.report is not None:
        write_page(page, options.report)
        print_report_path(options.report)
    if options.json:
        why = failed and {"code": failed.code, "message": failed.message, "hint": failed.hint}
        print_json(search_object(found) | ({"failure": why} if why else {}))
        return
    print_page(page, form)
    if failed is not None:
        print_error(failed.code, failed.message, failed.hint, as_json=False)
