"""The study requested on the command line of ``dbdyno study``, planned on this host.

Starts nothing: what does not fit, or can show no effect, is reported or refused here.
"""

from dbdyno.errors import DbdynoError
from dbdyno.model.study import Size
from dbdyno.run.tools import engine_tools
from dbdyno.store.studies import read_rates
from dbdyno.study.file import SIZES
from dbdyno.study.finding import find_study
from dbdyno.study.machine import read_machine
from dbdyno.study.plan import StudyPlan, plan_study
from dbdyno.study.rates import rates_from
from dbdyno.study.spec import Overrides, read_study


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
