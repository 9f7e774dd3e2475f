"""``dbdyno study``: factors, repeats, order; many runs and a verdict."""

from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, Json, print_json, print_result, print_table
from dbdyno.cli.study_words import catalogue_table, made_table, plan_text, spec_text
from dbdyno.errors import DbdynoError
from dbdyno.model.study import Size
from dbdyno.run.tools import engine_tools
from dbdyno.store.studies import list_studies, read_rates
from dbdyno.study.file import SIZES
from dbdyno.study.finding import catalogue, find_study
from dbdyno.study.machine import look
from dbdyno.study.plan import StudyPlan, plan_study, refuse
from dbdyno.study.rates import rates_from
from dbdyno.study.spec import Overrides, read_study

app = command(
    "study",
    "dbdyno study list                        what there is, and what was run",
    "dbdyno study plan hot-rows --size tiny   every point, time and disk; starts nothing",
    "dbdyno study run hot-rows --size small",
    "dbdyno study run mine.toml --repeats 10 --json > study.json",
    "dbdyno study resume last                 go on with a study that was interrupted",
    "dbdyno study verdict last",
)
app.help = "Factors, repeats, order: many runs and a verdict."

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


@app.command(name="list")
def list_(*, json: Json = False) -> int:
    """List the studies that come with dbdyno, and those that were run."""
    known, made = catalogue(), list_studies()
    if json:
        summaries = [
            {"study_id": r.study_id, "name": r.spec.name, "status": r.status} for r in made
        ]
        print_json({"studies": list(known), "runs": summaries})
        return Exit.OK
    print_table(catalogue_table(known.items()))
    if made:
        print_result("")
        print_table(made_table(made))
    return Exit.OK


@app.command
def show(name: Name, /, *, size: SizeOption = "small", json: Json = False) -> int:
    """Say what a study asks, varies, compares and answers."""
    path = find_study(name)
    spec = read_study(path, size)
    if json:
        print_json(spec)
    else:
        print_result(spec_text(spec, path))
    return Exit.OK


@app.command
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

    What does not fit is refused, with what would.
    """
    overrides = overrides_of(repeats, server)
    planned = planned_study(name, size, overrides)
    if json:
        print_json(planned)
    else:
        print_result(plan_text(planned))
    refuse_unfit(planned, name, overrides)
    return Exit.OK


def planned_study(name: str, size: Size, overrides: Overrides) -> StudyPlan:
    """The plan of a study on this machine."""
    spec = read_study(find_study(name), size, overrides)
    return plan_study(spec, engine_tools(), look(), rates_from(read_rates()))


def refuse_unfit(planned: StudyPlan, name: str, overrides: Overrides) -> None:
    """An error for what does not fit; it names the size that would."""
    if planned.refusals:
        refuse(planned, smaller=_size_that_fits(name, planned.spec.size, overrides))


def overrides_of(repeats: int | None, server: str | None) -> Overrides:
    """What the command line says instead of the file."""
    if repeats is not None and repeats < 1:
        raise DbdynoError("usage", f"--repeats {repeats}: must be at least 1", "")
    return Overrides(repeats=repeats, server=server)


def _size_that_fits(name: str, size: Size, overrides: Overrides) -> str:
    for smaller in reversed(SIZES[: SIZES.index(size)]):
        if not planned_study(name, smaller, overrides).refusals:
            return f"--size {smaller} would fit."
    return ""
