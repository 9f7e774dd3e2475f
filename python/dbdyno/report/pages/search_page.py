"""A search as a page: the answer, the curve of response times against the rate, all trials."""

from collections.abc import Iterator, Sequence
from statistics import median

from dbdyno.analysis.search.objective import Measure, name_of
from dbdyno.analysis.search.rate_search import Search, Trial
from dbdyno.answers.answer import CurveOf, CurveSeries
from dbdyno.formatting import tps
from dbdyno.model.record import RunRecord
from dbdyno.report.charts.curves import curve_figure
from dbdyno.report.content import Block, Page, PageSection, Table, Text
from dbdyno.report.pages.answering_page import answering_page
from dbdyno.report.pages.search import HEADINGS, bounds, in_order, rows, title, verdict, wanted

_DRAWN: tuple[Measure, ...] = ("p50", "p95", "p99", "p999")
FOOTER = (
    "Response time is done − due: arrivals follow a schedule that does not wait for the server, "
    "so time in the queue counts. Transactions that failed or were unfinished when a trial ended "
    "count as too late; a mean is that of the successful ones."
)


def search_page(found: Search) -> Page:
    """The whole page."""
    probe = found.probe
    began = probe.started_at[:19].replace("T", " ")
    return answering_page(
        name=f"search {found.search_id}",
        title=title(found),
        question=f"What is the highest rate at which {wanted(found)}?",
        when=f"{began} · {sum(len(trial.runs) for trial in found.trials)} trials",
        verdict=verdict(found),
        status="Decided by the trials" if found.met_tps is not None else "No such rate found",
        is_decided=found.is_over and found.met_tps is not None,
        doubts=[*bounds(found)],
        sections=[
            PageSection(id="curve", title="Response time against rate", blocks=_curve(found)),
            PageSection(id="trials", title="Trials", blocks=[_table(found)]),
        ],
        footer=FOOTER,
    )


def _table(found: Search) -> Table:
    last = len(HEADINGS) - 1
    return Table(
        caption="All runs, lowest rate first",
        columns=[heading.capitalize() if heading[0] != "p" else heading for heading in HEADINGS],
        rows=rows(found),
        numeric=frozenset(range(last - 1)),
        code=frozenset({last}),
    )


def _curve(found: Search) -> Sequence[Block]:
    """The curve; for a rate with several runs the median is drawn."""
    trials = [trial for trial in in_order(found) if all(run.response_ms for run in trial.runs)]
    if len(trials) < 2:
        return [Text(text="A curve needs at least two rates.")]
    measures = [one.measure for one in found.objectives if one.measure != "failures"]
    drawn = dict.fromkeys([*measures, *_DRAWN])
    return [
        curve_figure(
            CurveOf(
                title="Response time against rate",
                summary=_summary(found),
                x_title="arrivals per second",
                y_title="milliseconds",
                series=[line for measure in drawn for line in _lines(found, trials, measure)],
                y_axis="log",
                marks=[(found.met_tps, "met up to here")] if found.met_tps else (),
            ),
            "rate-curve",
        )
    ]


def _summary(found: Search) -> str:
    return f"{verdict(found)} A closed loop with as many clients: {tps(found.capacity_tps)} TPS."


def _lines(found: Search, trials: Sequence[Trial], measure: Measure) -> Iterator[CurveSeries]:
    """The measured values, and in the same colour the limit of the objective."""
    rates = [trial.rate_tps for trial in trials]
    yield CurveSeries(
        label=name_of(measure),
        x=rates,
        y=[median(_time_ms(run, measure) for run in trial.runs) for trial in trials],
    )
    for objective in found.objectives:
        if objective.measure == measure:
            limits = [objective.limit, objective.limit]
            ends = [rates[0], rates[-1]]
            yield CurveSeries(label=objective.text, x=ends, y=limits, fitted=True)


def _time_ms(run: RunRecord, measure: Measure) -> float:
    return float(getattr(run.response_ms, measure))
