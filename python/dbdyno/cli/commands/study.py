"""``dbdyno study``: factors, repeats, order; many runs and a verdict."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import Json, command
from dbdyno.cli.lookup import find_all
from dbdyno.cli.output import (
    Exit,
    examples,
    print_aside,
    print_error,
    print_json,
    print_lines,
    print_result,
    print_table,
    refuse_several_forms,
    showing_kept_result,
)
from dbdyno.cli.pages import (
    Form,
    JunitFile,
    PageParts,
    print_or_write,
    refuse_page_beside_text,
    refuse_unwritable,
)
from dbdyno.cli.study_output import (
    kept,
    made_row,
    plan_object,
    results_of,
    show_plan,
    show_study,
    show_verdict,
    spec_lines,
    time_summary,
)
from dbdyno.cli.study_progress import run_turns
from dbdyno.errors import DbdynoError
from dbdyno.formatting import counted
from dbdyno.model.study import Size
from dbdyno.report.pages.study.page import study_page
from dbdyno.run.tools import engine_tools
from dbdyno.store.studies import (
    StudyWriter,
    find_study_folder,
    list_studies,
    read_rates,
    read_study_record,
)
from dbdyno.study.file import SIZES, catalogue, find_study, read_file, text_of
from dbdyno.study.folder import begin_study, remove_study, reopen_study
from dbdyno.study.machine import read_machine
from dbdyno.study.plan import StudyPlan, plan_study, unfit
from dbdyno.study.rates import rates_from
from dbdyno.study.spec import Overrides, read_study

app = command(
    "study",
    "dbdyno study list                        available studies, and those run",
    "dbdyno study plan hot-rows --size tiny   its points; runs nothing",
    "dbdyno study run hot-rows --size small",
    "dbdyno study run mine.toml --repeats 10 --json > study.json",
    "dbdyno study resume last                 continue after an interruption",
    "dbdyno study resume last --repeats 12    continue until each point has 12 runs",
    "dbdyno study verdict last",
    "dbdyno study show hot-rows --toml > mine.toml   a copy to edit",
)
app.help = """Run an experiment: factors, repeats, randomized blocks, a verdict.

A study varies the factors in its file, runs every point once in each block, in random order,
and reports what can be concluded and what cannot. Studies come with dbdyno (dbdyno study list);
you can also write your own as a TOML file. Begin with plan, which estimates the time and disk
space needed.
"""

Name = Annotated[str, Parameter(help="A study that comes with dbdyno, or a TOML file.")]
SizeOption = Annotated[
    Size,
    Parameter(
        name="--size",
        show_default=True,
        help="Size of the study: tiny takes minutes on any host, full is as published.",
    ),
]
Repeats = Annotated[int | None, Parameter(help="Number of blocks; overrides the study's file.")]
ServerOption = Annotated[
    str | None,
    Parameter(metavar="SPEC", help="Server, as for dbdyno run; overrides the study's file."),
]
MADE = "A study that was run: its name, a part of it, or last."
Made = Annotated[str, Parameter(show_default=True, help=MADE)]
ReportOption = Annotated[
    Path | None,
    Parameter(
        name="--report",
        metavar="FILE",
        help="Write the report to this file: a page, or by its ending text (.txt), .md or .json.",
    ),
]


@app.command(name="list", help_epilogue=examples("dbdyno study list"))
def list_(*, json: Json = False) -> int:
    """List the available studies, and those that were run."""
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
        "dbdyno study show hot-rows --toml > mine.toml   a copy to edit",
        "dbdyno study show mine.toml",
    )
)
def show(
    name: Name,
    /,
    *,
    size: SizeOption = "small",
    toml: Annotated[
        bool, Parameter(negative=(), help="Print the study's file, with all sizes, to be edited.")
    ] = False,
    json: Json = False,
) -> int:
    """Show a study's question, factors, comparisons and answers."""
    refuse_several_forms(f"study show {name}", {"--toml": toml, "--json": json})
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
    """Print every point of a study, and the time and disk space it needs, without running it.

    Exits with 1 if the study does not fit on this host, and suggests what would.
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
            print_error(error.code, "it does not fit, as shown above", smaller, as_json=False)
    return Exit.OK if error is None else Exit.NOTHING_RUN


@app.command(
    help_epilogue=examples(
        "dbdyno study run hot-rows --size tiny",
        "dbdyno study run pk-oltp --server postgres:17 --report pk.html",
        "dbdyno study run mine.toml --repeats 10 --json > study.json",
    )
)
def run(  # noqa: PLR0913 - one for each option
    name: Name,
    /,
    *,
    size: SizeOption = "small",
    repeats: Repeats = None,
    server: ServerOption = None,
    anyway: Annotated[
        bool,
        Parameter(negative=(), help="Run even if the factors can have no effect on this host."),
    ] = False,
    report: ReportOption = None,
    json: Json = False,
) -> int:
    """Run a study: all points in every block, and report its verdict.

    A run that fails is recorded and does not stop the others; the exit code is then 3. After an
    interruption, dbdyno study resume continues.
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
        "dbdyno study resume last --repeats 12   nine more if there were three",
    )
)
def resume(
    study: Made = "last",
    /,
    *,
    repeats: Annotated[
        int | None,
        Parameter(help="Continue until every point has this many runs, including earlier ones."),
    ] = None,
    report: ReportOption = None,
    json: Json = False,
) -> int:
    """Continue a study that was interrupted or needs more repeats.

    Finished runs are not repeated. A study whose file has changed since it began is refused.
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
        "dbdyno study report last --format markdown > hot-rows.md",
        "dbdyno study report last --charts charts --tables tables",
    ),
)
def report_(  # noqa: PLR0913 - one for each option
    study: Made = "last",
    /,
    *,
    output: Annotated[
        Path | None,
        Parameter(
            name=("-o", "--output"),
            metavar="FILE",
            help="File to write; default report.html in the study's folder.",
        ),
    ] = None,
    form: Annotated[
        Form | None,
        Parameter(
            name="--format",
            help="The form of the report; default by the ending of FILE (.txt, .md, .json), else "
            "html. Without FILE, text, Markdown and JSON are printed.",
        ),
    ] = None,
    parts: PageParts = PageParts(),
    text: Annotated[
        bool, Parameter(negative=(), help="Print the text without what the page folds away.")
    ] = False,
    json: Json = False,
) -> int:
    """Write a study's report as one HTML page, or as text, Markdown or JSON.

    A study need not be over. --json prints its points, comparisons and answers for programs,
    --format json the page. With --charts or --tables alone, no page is written.
    """
    refuse_page_beside_text(
        f"study report {study}", output=output, form=form, parts=parts, text=text, json=json
    )
    folder = find_study_folder(study)
    record = read_study_record(folder)
    if text or json:
        show_study(record, None, as_json=json)
    else:
        page, usual = study_page(*results_of(record)), folder / "report.html"
        parts.write(page)
        if not parts.are_wanted or output or form:
            print_or_write(page, output, form, usual=usual, otherwise=kept(record))
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno study verdict",
        "dbdyno study verdict hot-rows --json",
        "dbdyno study verdict last --junit study.xml",
    )
)
def verdict(study: Made = "last", /, *, junit: JunitFile = None, json: Json = False) -> int:
    """Print a study's verdict in one sentence, with its doubt.

    dbdyno study report writes all answers, with their tables. In --junit, each turn and each
    answer is a test: a turn may have failed, and an answer that is not decided is skipped.
    """
    refuse_unwritable(junit)
    show_verdict(read_study_record(find_study_folder(study)), junit, as_json=json)
    return Exit.OK


@app.command(
    help_epilogue=examples(
        "dbdyno study rm last",
        "dbdyno study rm 20261120-214233-hot-rows 20261121-090012-mine",
    )
)
def rm(study: Annotated[str, Parameter(help=MADE)], /, *studies: str) -> int:
    """Remove studies that were run, with all their runs.

    Study files are not removed, and neither is the data that was prepared: see dbdyno data
    prune.

    Parameters
    ----------
    studies
        Further studies.
    """
    for folder in dict.fromkeys(find_all((study, *studies), find_study_folder)):
        runs = remove_study(folder)
        print_result(f"removed {folder.name} and its {counted(runs, 'run')}")
    return Exit.OK


def _made(writer: StudyWriter, report: Path | None, *, as_json: bool) -> int:
    """Run the remaining turns, and show the results of the whole study."""
    record = run_turns(writer)
    print_aside(time_summary(record))
    study_id = writer.record.study_id
    with showing_kept_result(f"The study is kept: dbdyno study verdict {study_id}"):
        show_study(record, report, as_json=as_json)
    return Exit.OK if all(r.status == "done" for r in record.results) else Exit.NOT_VALID


def refuse_without_effect(planned: StudyPlan, *, anyway: bool) -> None:
    """Refuse a study that can show no effect on this host, unless the user insists."""
    if planned.without_effect and not anyway:
        raise DbdynoError(
            "no_effect", planned.without_effect, "Use --anyway to run it as a rehearsal."
        )


def planned_study(name: str, size: Size, overrides: Overrides) -> StudyPlan:
    """Return the plan of a study on this host."""
    spec = read_study(find_study(name), size, overrides)
    return plan_study(spec, engine_tools(), read_machine(), rates_from(read_rates()))


def overrides_of(repeats: int | None, server: str | None) -> Overrides:
    """Return what the command line overrides in the file."""
    if repeats is not None and repeats < 1:
        raise DbdynoError("usage", f"--repeats {repeats}: must be at least 1", "")
    return Overrides(repeats=repeats, server=server)


def smaller_size(planned: StudyPlan, name: str, overrides: Overrides) -> str:
    """Return a hint with the largest size that would fit, if this one does not."""
    sizes = SIZES[: SIZES.index(planned.spec.size)] if planned.refusals else ()
    for smaller in reversed(sizes):
        if not planned_study(name, smaller, overrides).refusals:
            return f"--size {smaller} would fit."
    return ""
