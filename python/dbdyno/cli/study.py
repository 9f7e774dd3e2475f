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
from dbdyno.cli.pages import refuse_unwritable
from dbdyno.cli.study_plan import plan_object, show_plan
from dbdyno.cli.study_progress import StudyLines
from dbdyno.cli.study_showing import show_study, show_verdict, write_study_html
from dbdyno.cli.study_words import made_row, spec_lines, time_told
from dbdyno.errors import DbdynoError
from dbdyno.model.study import Size
from dbdyno.run.tools import engine_tools
from dbdyno.store.studies import (
    StudyWriter,
    find_study_folder,
    list_studies,
    read_rates,
    read_study_record,
)
from dbdyno.study.execute import execute
from dbdyno.study.file import SIZES, read_file
from dbdyno.study.finding import catalogue, find_study
from dbdyno.study.machine import look
from dbdyno.study.plan import StudyPlan, plan_study, unfit
from dbdyno.study.rates import rates_from
from dbdyno.study.spec import Overrides, read_study
from dbdyno.study.starting import begin_study, reopen_study

app = command(
    "study",
    "dbdyno study list                        what there is, and what was run",
    "dbdyno study plan hot-rows --size tiny   every point, starting nothing",
    "dbdyno study run hot-rows --size small",
    "dbdyno study run mine.toml --repeats 10 --json > study.json",
    "dbdyno study resume last                 go on after an interruption",
    "dbdyno study verdict last",
)
app.help = """Factors, repeats, order: many runs and a verdict.

A study varies what its file says, runs every point once in each block, in an order drawn by
chance, and says what can be told from that and what cannot. Five come with dbdyno; a TOML file
of your own works as well. Begin with plan: it tells the time and the disk that a study takes.
"""

Name = Annotated[str, Parameter(help="A study that comes with dbdyno, or a TOML file of your own.")]
SizeOption = Annotated[
    Size,
    Parameter(
        name="--size",
        show_default=True,
        help="tiny ends in minutes on any machine, full is as published.",
    ),
]
Repeats = Annotated[int | None, Parameter(help="Blocks to run, instead of the study's own number.")]
ServerOption = Annotated[
    str | None, Parameter(metavar="SPEC", help="The server, instead of the study's own; as in run.")
]

Made = Annotated[
    str, Parameter(show_default=True, help="A study that was run: its name, a part of it, or last.")
]
ReportOption = Annotated[
    Path | None, Parameter(name="--report", metavar="FILE", help="Write the HTML report there.")
]


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
        "dbdyno study show mine.toml",
    )
)
def show(name: Name, /, *, size: SizeOption = "small", json: Json = False) -> int:
    """Say what a study asks, varies, compares and answers."""
    path = find_study(name)
    spec = read_study(path, size)
    if json:
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
    smaller = _smaller_size(planned, name, overrides)
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
    if error := unfit(planned, smaller=_smaller_size(planned, name, overrides)):
        raise error
    _refuse_without_effect(planned, anyway=anyway)
    with begin_study(find_study(name), planned.spec, overrides) as writer:
        return _made(writer, report, as_json=json)


@app.command(
    help_epilogue=examples(
        "dbdyno study resume",
        "dbdyno study resume 20261120-2142-hot-rows --report hot-rows.html",
    )
)
def resume(study: Made = "last", /, *, report: ReportOption = None, json: Json = False) -> int:
    """Go on with a study that was interrupted; finished turns are not repeated.

    A study whose file was changed since it began is not gone on with.
    """
    refuse_unwritable(report)
    with reopen_study(find_study_folder(study)) as writer:
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


def _made(writer: StudyWriter, report: Path | None, *, as_json: bool) -> int:
    """Runs what is left, and shows what the whole came to."""
    lines = StudyLines()
    try:
        record = execute(writer, engine_tools(), lines, rates_from(read_rates()))
    finally:
        lines.close()
    print_aside(time_told(record))
    if report is not None:
        write_study_html(record, report)
        print_aside(f"report: {report}")
    show_study(record, as_json=as_json)
    return Exit.OK if all(r.status == "done" for r in record.results) else Exit.NOT_VALID


def _refuse_without_effect(planned: StudyPlan, *, anyway: bool) -> None:
    if planned.without_effect and not anyway:
        raise DbdynoError(
            "no_effect", planned.without_effect, "--anyway runs it all the same, as a rehearsal."
        )


def planned_study(name: str, size: Size, overrides: Overrides) -> StudyPlan:
    """The plan of a study on this machine."""
    spec = read_study(find_study(name), size, overrides)
    return plan_study(spec, engine_tools(), look(), rates_from(read_rates()))


def overrides_of(repeats: int | None, server: str | None) -> Overrides:
    """What the command line says instead of the file."""
    if repeats is not None and repeats < 1:
        raise DbdynoError("usage", f"--repeats {repeats}: must be at least 1", "")
    return Overrides(repeats=repeats, server=server)


def _smaller_size(planned: StudyPlan, name: str, overrides: Overrides) -> str:
    """The largest size that would fit, where this one does not."""
    sizes = SIZES[: SIZES.index(planned.spec.size)] if planned.refusals else ()
    for smaller in reversed(sizes):
        if not planned_study(name, smaller, overrides).refusals:
            return f"--size {smaller} would fit."
    return ""
