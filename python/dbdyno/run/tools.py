"""What a run needs of the engine, as one value, so that tests can substitute another."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from dbdyno.model.frame import Survey
from dbdyno.model.plan import Plan, Statement
from dbdyno.model.run import Histograms
from dbdyno.run.measure import Engine
from dbdyno.workloads.loading import Bulk

if TYPE_CHECKING:
    from dbdyno.engine import Problem


@dataclass(frozen=True)
class Tools:
    """The functions of the engine."""

    check_plan: Callable[[Plan], list["Problem"]]
    statements_with_variables: Callable[[Plan], list[Statement]]
    make_room: Callable[[Plan], None]
    start: Callable[[Plan, IO[str]], Engine]
    survey: Callable[[Plan, IO[str] | None], Survey]
    load: Bulk
    histograms: Histograms


def engine_tools() -> Tools:
    """Return the functions of the real engine."""
    from dbdyno import engine  # noqa: PLC0415 - tests without the engine substitute another

    return Tools(
        check_plan=engine.check_plan,
        statements_with_variables=engine.statements_with_variables,
        make_room=engine.make_room,
        start=engine.EngineProcess,
        survey=engine.survey,
        load=engine.load,
        histograms=Histograms(
            quantiles=engine.histogram_quantiles,
            merge=engine.histogram_merge,
            bars=engine.histogram_bars,
        ),
    )
