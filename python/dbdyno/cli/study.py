"""``dbdyno study``: factors, repeats, order; many runs and a verdict."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import command, examples
from dbdyno.cli.output import (
    Exit,
    Json,
    print_aside,
    print_error,
    print_json,
    print_lines,
    print_result,
    print_table,
)
from dbdyno.cli.pages import refuse_unwritable, tell_page
from dbdyno.cli.removing import all_found
from dbdyno.cli.study_asked import overrides_of, planned_study, refuse_without_effect, smaller_size
from dbdyno.cli.study_options import (
    MADE,
    Made,
    Name,
    Repeats,
    ReportOption,
    ServerOption,
    SizeOption,
)
from dbdyno.cli.study_plan import plan_object, show_plan
from dbdyno.cli.study_progress import StudyLines
from dbdyno.cli.study_showing import show_study, show_verdict, write_study_html
from dbdyno.cli.study_words import made_row, spec_lines, time_told
from dbdyno.run.tools import engine_tools
from dbdyno.store.studies import (
    StudyWriter,
    find_study_folder,
    list_studies,
    read_rates,
    read_study_record,
)
from dbdyno.study.execute import execute
from dbdyno.study.file import read_file, text_of
from dbdyno.study.finding import catalogue, find_study
from dbdyno.study.plan import unfit
from dbdyno.study.rates import rates_from
from dbdyno.study.removing import remove_study
from dbdyno.study.spec import read_study
from dbdyno.study.starting import begin_study, reopen_study
from dbdyno.words import counted

app = command(
    "study",
    "dbdyno study list                        what there is, and what was run",
    "dbdyno study plan hot-rows --size tiny   every point, starting nothing",
    "dbdyno study run hot-rows --size small",
    "dbdyno study run mine.toml --repeats 10 --json > study.json",
    "dbdyno study resume last                 go on after an interruption",
    "dbdyno study resume last --repeats 12    or until each point has twelve runs",
    "dbdyno study verdict last",
    "dbdyno study show hot-rows --toml > mine.toml   a copy to change",
)
app.help = """Factors, repeats, order: many runs and a verdict.

A study varies what its file says, runs every point once in each block, in an order drawn by
chance, and says what can be told from that and what cannot. Five come with dbdyno; a TOML file
of your own works as well. Begin with plan: it tells the time and the disk that a study takes.
"""


@app.command(name="list", help_epilogue=examples("dbdyno study list"))
def list_(*, json: Json = False) -> int:
    """List the studies that come with dbdyno, and those that were run."""
    known, made = catalogue(), list_studies()
    if json:
        summaries = [
            {"study_id": r.study_id, "name": r.spec.name, "status": r.status} for r in made
        ]
        print_json({"studies": list(known), "runs": summaries})
        return Exit.OK
    questions = ((name, read_file(path).question) for name, path in known.items())
    print_table(("study", "question"), questions)
    if made:
        print_result("")
        print_table(("run", "status", "size", "turns"), map(made_row, made))
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno study show hot-rows --size full",
        "dbdyno study show hot-rows --toml > mine.toml   to change it",
        "dbdyno study show mine.toml",
    )
)
def show(
    name: Name,
    /,
    *,
    size: SizeOption = "small",
    toml: Annotated[
        bool, Parameter(negative=(), help="Its file as it is, with all sizes: a copy to change.")
    ] = False,
    json: Json = False,
) -> int:
    """Say what a study asks, varies, compares and answers."""
    path = find_study(name)
    spec = read_study(path, size)
    if toml:
        print_result(text_of(path).rstrip())
    elif json:
        print_json(spec)
    else:
        print_lines(spec_lines(spec, path))
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno study plan hot-rows --size tiny",
        "dbdyno study plan pk-oltp --server postgres:17 --repeats 10",
        "dbdyno study plan mine.toml --json > plan.json",
    )
)
def plan(
    name: Name,
    /,
    *,
    size: SizeOption = "small",
    repeats: Repeats = None,
    server: ServerOption = None,
    json: Json = False,
) -> int:
    """Print every point of a study, the time and the disk it takes; start nothing.

    What does not fit is refused, with what would; the exit code is 1 then.
    """
    overrides = overrides_of(repeats, server)
    planned = planned_study(name, size, overrides)
    smaller = smaller_size(planned, name, overrides)
    error = unfit(planned, smaller=smaller)
    if json:
        print_json(plan_object(planned, error))
    else:
        show_plan(planned)
        if error is not None:
            print_error(error.code, "it does not fit, as told above", smaller, as_json=False)
    return Exit.OK if error is None else Exit.NOTHING_RUN


@app.command(
    help_epilogue=examples(
        "dbdyno study run hot-rows --size tiny",
        "dbdyno study run pk-oltp --server postgres:17 --report pk.html",
        "dbdyno study run mine.toml --repeats 10 --json > study.json",
    )
)
def run(  # noqa: PLR0913 - one an option
    name: Name,
    /,
    *,
    size: SizeOption = "small",
    repeats: Repeats = None,
    server: ServerOption = None,
    anyway: Annotated[
        bool, Parameter(negative=(), help="Run also what can have no effect on this machine.")
    ] = False,
    report: ReportOption = None,
    json: Json = False,
) -> int:
    """Run a study: all points in every block, and tell what they came to.

    A point that fails is kept and told, and does not stop the rest; the exit code is 3 then.
    Interrupted or killed, the study is gone on with by dbdyno study resume.
    """
    refuse_unwritable(report)
    overrides = overrides_of(repeats, server)
    planned = planned_study(name, size, overrides)
    if error := unfit(planned, smaller=smaller_size(planned, name, overrides)):
        raise error
    refuse_without_effect(planned, anyway=anyway)
    with begin_study(find_study(name), planned.spec, overrides) as writer:
        return _made(writer, report, as_json=json)


@app.command(
    help_epilogue=examples(
        "dbdyno study resume",
        "dbdyno study resume 20261120-214233-hot-rows --report hot-rows.html",
        "dbdyno study resume last --repeats 12   nine more after three",
    )
)
def resume(
    study: Made = "last",
    /,
    *,
    repeats: Annotated[
        int | None,
        Parameter(help="Go on until every point has this many runs, earlier ones included."),
    ] = None,
    report: ReportOption = None,
    json: Json = False,
) -> int:
    """Go on with a study: one that was interrupted, or one that needs more repeats.

    Finished turns are not repeated. A study whose file was changed since it began is not gone
    on with.
    """
    refuse_unwritable(report)
    with reopen_study(find_study_folder(study), repeats) as writer:
        return _made(writer, report, as_json=json)


@app.command(
    name="report",
    help_epilogue=examples(
        "dbdyno study report",
        "dbdyno study report hot-rows -o hot-rows.html",
        "dbdyno study report last --text",
    ),
)
def report_(
    study: Made = "last",
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=("-o", "--output"), metavar="FILE", help="Where to write it.")
    ] = None,
    text: Annotated[bool, Parameter(negative=(), help="As text, on standard output.")] = False,
    json: Json = False,
) -> int:
    """Write a study's report as one HTML page, or as text; also of one that is not over.

    Without -o the page lies in the study's folder.
    """
    folder = find_study_folder(study)
    record = read_study_record(folder)
    if text or json:
        show_study(record, as_json=json)
    else:
        path = output or folder / "report.html"
        write_study_html(record, path)
        print_result(str(path))
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno study verdict",
        "dbdyno study verdict hot-rows --json",
    )
)
def verdict(study: Made = "last", /, *, json: Json = False) -> int:
    """Say what a study came to, in a sentence with its doubt.

    The whole, with its tables, is told by dbdyno study report.
    """
    show_verdict(read_study_record(find_study_folder(study)), as_json=json)
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno study rm last",
        "dbdyno study rm 20261120-214233-hot-rows 20261121-090012-mine",
    )
)
def rm(study: Annotated[str, Parameter(help=MADE)], /, *studies: str) -> int:
    """Remove studies that were run, with all their runs.

    Those that come with dbdyno and files of your own stay; so does the data that was prepared:
    dbdyno data prune removes that.

    Parameters
    ----------
    studies
        Further ones.
    """
    for folder in dict.fromkeys(all_found((study, *studies), find_study_folder)):
        runs = remove_study(folder)
        print_result(f"removed {folder.name} and {counted(runs, 'run')} of it")
    return Exit.OK


def _made(writer: StudyWriter, report: Path | None, *, as_json: bool) -> int:
    """Runs what is left, and shows what the whole came to."""
    lines = StudyLines()
    try:
        record = execute(writer, engine_tools(), lines, rates_from(read_rates()))
    except KeyboardInterrupt:
        lines.close()
        print_aside(
            f"What was measured is kept. Go on: dbdyno study resume {writer.record.study_id}"
        )
        raise
    finally:
        lines.close()
    print_aside(time_told(record))
    if report is not None:
        write_study_html(record, report)
        tell_page(report)
    show_study(record, as_json=as_json)
    return Exit.OK if all(r.status == "done" for r in record.results) else Exit.NOT_VALID
