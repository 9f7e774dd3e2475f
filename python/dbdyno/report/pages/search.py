"""A search for the highest rate as a page: the answer, the curve of response times, all trials.

And as plain data. All numbers come from the runs' records; rates are not judged here.
"""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from msgspec.structs import asdict

from dbdyno.analysis.doubts import disturbed_text
from dbdyno.analysis.search.objective import Measure, name_of
from dbdyno.analysis.search.rate_search import Search, Trial, counts
from dbdyno.answers.answer import CurveOf, CurveSeries
from dbdyno.formatting import NOTHING, counted, milliseconds, percent, plain, tps
from dbdyno.model.record import RunRecord
from dbdyno.report.charts.curves import curve_figure
from dbdyno.report.content import Block, HeadLine, Page, PageSection, Table, Text, Verdict, filled
from dbdyno.report.verdict import server_label

_TIMES: dict[Measure, str] = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}
_OUTCOMES = {"met": "met", "missed": "missed", "open": "undecided"}
_HEADINGS = ("Rate", "TPS", *_TIMES.values(), "Failed", "Objective", "Run")
_FOOTER = (
    "Response time is done − due: arrivals follow a schedule that does not wait for the server, "
    "so time in the queue counts. Transactions that failed or were unfinished when a trial ended "
    "count as too late; a mean is that of the successful ones."
)


def search_page(found: Search) -> Page:
    """The whole page."""
    probe = found.probe
    status = "Decided by the trials" if found.met_tps is not None else "No such rate found"
    rows = [_row(trial, run) for trial in _in_order(found) for run in trial.runs]
    table = Table(
        caption="All runs, lowest rate first",
        columns=_HEADINGS,
        rows=rows,
        numeric=frozenset(range(len(_HEADINGS) - 2)),
        code=frozenset({len(_HEADINGS) - 1}),
    )
    began = probe.started_at[:19].replace("T", " ")
    return Page(
        name=f"search {found.search_id}",
        title=f"{probe.workload} on {server_label(probe.target, probe.server)}: {_wanted(found)}",
        head=[
            HeadLine(text=f"What is the highest rate at which {_wanted(found)}?", style="question"),
            HeadLine(text=f"{began} · {sum(len(trial.runs) for trial in found.trials)} trials"),
        ],
        top=[
            Verdict(
                status=status if found.is_over else "Not decided",
                text=verdict(found),
                is_good=found.is_over and found.met_tps is not None,
                reasons=[
                    f"At most {percent(found.error)} of such searches call a rate met that misses "
                    "the objective, or missed that meets it.",
                    f"A closed loop with as many clients reached {tps(found.capacity_tps)} "
                    "transactions per second.",
                ],
                doubts=[*doubts(found)],
            )
        ],
        sections=filled(
            PageSection(id="curve", title="Response time against rate", blocks=_curve(found)),
            PageSection(id="trials", title="Trials", blocks=[table] if rows else []),
        ),
        footer=_FOOTER,
    )


def _curve(found: Search) -> Sequence[Block]:
    """The curve; for a rate with several runs the median is drawn."""
    trials = [trial for trial in _in_order(found) if all(run.response_ms for run in trial.runs)]
    if len(trials) < 2:
        return [Text(text="A curve needs at least two rates.")] if found.trials else []
    measures = [one.measure for one in found.objectives if one.measure != "failures"]
    rates = [trial.rate_tps for trial in trials]
    series = []
    for measure in dict.fromkeys([*measures, *_TIMES]):
        times_ms = [_median_ms(trial, measure) for trial in trials]
        series.append(CurveSeries(label=name_of(measure), x=rates, y=times_ms))
        for objective in found.objectives:
            if objective.measure == measure:  # its limit, in the same colour
                ends, limits = [rates[0], rates[-1]], [objective.limit, objective.limit]
                series.append(CurveSeries(label=objective.text, x=ends, y=limits, fitted=True))
    first: Measure = measures[0] if measures else "p99"
    lowest, highest = (
        f"{milliseconds(_median_ms(trial, first))} at {tps(trial.rate_tps)}"
        for trial in (trials[0], trials[-1])
    )
    return [
        curve_figure(
            CurveOf(
                title="Response time against rate",
                summary=f"{name_of(first)} is {lowest}, and {highest} arrivals per second.",
                x_title="arrivals per second",
                y_title="milliseconds",
                series=series,
                y_axis="log",
                marks=[(found.met_tps, "met up to here")] if found.met_tps else (),
            ),
            "rate-curve",
        )
    ]


def _median_ms(trial: Trial, measure: Measure) -> float:
    return median(float(getattr(run.response_ms, measure)) for run in trial.runs)


def _in_order(found: Search) -> list[Trial]:
    """The trials by rate, the lowest first."""
    return sorted(found.trials, key=lambda trial: trial.rate_tps)


def _wanted(found: Search) -> str:
    """All objectives in one line."""
    return " and ".join(objective.text for objective in found.objectives)


def verdict(found: Search) -> str:
    """The answer in one sentence."""
    if not found.trials:
        return "Interrupted before a rate was judged."
    text = (
        _none_met(found)
        if found.met_tps is None
        else f"{_wanted(found)} is met up to {tps(found.met_tps)} transactions per second"
        f"{_above(found)}."
    )
    return text if found.is_over else f"Interrupted; so far: {text}"


def _none_met(found: Search) -> str:
    judged = [trial for trial in _in_order(found) if trial.results]
    if not judged:
        return f"Whether {_wanted(found)} is met is not known: at no rate was a run valid."
    lowest = judged[0]
    how = "is missed" if lowest.outcome == "missed" else "is undecided"
    rate = tps(lowest.rate_tps)
    if len(judged) < len(found.trials):
        return (
            f"{_wanted(found)} is met at no rate that could be judged: at {rate} TPS, the lowest "
            f"of {len(judged)}, it {how}."
        )
    return f"{_wanted(found)} is met at no rate tried: even at {rate} TPS it {how}."


def _above(found: Search) -> str:
    """What is known about higher rates."""
    above = found.not_met
    if above is None and found.met_tps == found.rate_max_tps:
        return ", the highest rate requested"
    if above is None:
        return f", and a closed loop reached no more than {tps(found.capacity_tps)}"
    if above.outcome == "missed":
        return f" and missed at {tps(above.rate_tps)}"
    if not above.results:
        return f"; at {tps(above.rate_tps)}, no run was valid"
    return f"; at {tps(above.rate_tps)}, {len(above.runs)} runs could not decide"


def doubts(found: Search) -> Iterator[str]:
    """What weakens the answer; first what disturbed its runs."""
    runs = [run for trial in found.trials for run in trial.runs]
    if told := disturbed_text([found.probe, *runs]):
        yield f"{told}."
    if left_out := [run for run in runs if not counts(run)]:
        reasons = dict.fromkeys(reason for run in left_out for reason in run.invalid_reasons)
        yield (
            f"{len(left_out)} of {counted(len(runs), 'run')} were not valid and were not judged, "
            f"the first because {next(iter(reasons), 'it did not end')}."
        )
    if any(trial.outcome == "open" and trial.results for trial in found.trials):
        yield "To decide undecided rates, use longer trials (-T)."


def _row(trial: Trial, run: RunRecord) -> tuple[str, ...]:
    done, times, outcomes = run.throughput_tps, run.response_ms, run.transactions
    ended = outcomes.ended or 0 if outcomes else 0
    return (
        tps(trial.rate_tps),
        tps(done.value) if done else NOTHING,
        *(milliseconds(getattr(times, name)) if times else NOTHING for name in _TIMES),
        percent((ended - outcomes.ok) / ended) if outcomes and ended else NOTHING,
        _OUTCOMES[trial.outcome] if counts(run) else "not valid",
        run.run_id,
    )


def search_object(found: Search) -> dict[str, Any]:
    """The object of ``--json``."""
    return {
        "search": found.search_id,
        "workload": found.probe.workload,
        "objectives": [plain(objective.text) for objective in found.objectives],
        "verdict": plain(verdict(found)),
        "highest_rate_tps": {"value": found.met_tps, "low": found.met_tps, "high": found.upper_tps},
        "error": found.error,
        "capacity_tps": found.capacity_tps,
        "is_over": found.is_over,
        "trials": [_trial_object(trial) for trial in _in_order(found)],
    }


def _trial_object(trial: Trial) -> dict[str, Any]:
    return {
        "rate_tps": trial.rate_tps,
        "outcome": trial.outcome,
        "judged": [asdict(one) for one in trial.results],
        "runs": [
            {
                "run_id": run.run_id,
                "throughput_tps": run.throughput_tps,
                "response_ms": run.response_ms,
                "valid": run.valid,
                "doubts": run.doubts,
            }
            for run in trial.runs
        ],
    }
