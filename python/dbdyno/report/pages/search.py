"""A search for the highest rate as text and as plain data: the answer first, then the curve.

All numbers come from the runs' records; rates are not judged here.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import asdict

from dbdyno.analysis.doubts import disturbed_text
from dbdyno.analysis.search.rate_search import Search, Trial, counts
from dbdyno.formatting import NOTHING, counted, milliseconds, percent, plain, tps
from dbdyno.layout import Columns, Line, Paragraph, laid_out
from dbdyno.model.record import RunRecord
from dbdyno.report.verdict import server_label

_TIMES = {"p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9"}
_OUTCOMES = {"met": "met", "missed": "missed", "open": "undecided"}
HEADINGS = ("rate", "TPS", *_TIMES.values(), "failed", "objective", "run")


def render_search_text(found: Search, screen: int | None = None) -> str:
    """Render for a terminal of this width, or a log; ends in a newline."""
    blocks: list[list[Line]] = [
        [Paragraph(title(found), "  ")],
        [Paragraph(sentence) for sentence in (verdict(found), *bounds(found))],
    ]
    if found.trials:
        blocks.append([Columns([HEADINGS, *rows(found)], left=0)])
    return "\n\n".join(laid_out(block, screen, flow=None) for block in blocks) + "\n"


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
        "trials": [_trial_object(trial) for trial in in_order(found)],
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


def in_order(found: Search) -> list[Trial]:
    """The trials by rate, the lowest first."""
    return sorted(found.trials, key=lambda trial: trial.rate_tps)


def title(found: Search) -> str:
    """What was searched for, and on which server."""
    probe = found.probe
    return f"{probe.workload} on {server_label(probe.target, probe.server)}: {wanted(found)}"


def wanted(found: Search) -> str:
    """All objectives in one line."""
    return " and ".join(objective.text for objective in found.objectives)


def verdict(found: Search) -> str:
    """The answer in one sentence."""
    if not found.trials:
        return "Interrupted before a rate was judged."
    text = _none_met(found) if found.met_tps is None else _met(found, found.met_tps)
    return text if found.is_over else f"Interrupted; so far: {text}"


def _none_met(found: Search) -> str:
    judged = [trial for trial in in_order(found) if trial.results]
    if not judged:
        return f"Whether {wanted(found)} is met is not known: at no rate was a run valid."
    lowest = judged[0]
    how = "is missed" if lowest.outcome == "missed" else "is undecided"
    rate = tps(lowest.rate_tps)
    if len(judged) < len(found.trials):
        return (
            f"{wanted(found)} is met at no rate that could be judged: at {rate} TPS, the lowest of "
            f"{len(judged)}, it {how}."
        )
    return f"{wanted(found)} is met at no rate tried: even at {rate} TPS it {how}."


def _met(found: Search, met_tps: float) -> str:
    return f"{wanted(found)} is met up to {tps(met_tps)} transactions per second{_above(found)}."


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


def bounds(found: Search) -> Iterator[str]:
    """How certain the answer is, and the capacity of the server; first what disturbed its runs."""
    runs = [run for trial in found.trials for run in trial.runs]
    if told := disturbed_text([found.probe, *runs]):
        yield f"{told}."
    yield (
        f"At most {percent(found.error)} of such searches call a rate met that misses the "
        "objective, or missed that meets it."
    )
    capacity = tps(found.capacity_tps)
    yield f"A closed loop with as many clients reached {capacity} transactions per second."
    if left_out := [run for run in runs if not counts(run)]:
        reasons = dict.fromkeys(reason for run in left_out for reason in run.invalid_reasons)
        yield (
            f"{len(left_out)} of {counted(len(runs), 'run')} were not valid and were not judged, "
            f"the first because {next(iter(reasons), 'it did not end')}."
        )
    if any(trial.outcome == "open" and trial.results for trial in found.trials):
        yield "To decide undecided rates, use longer trials (-T)."


def rows(found: Search) -> list[tuple[str, ...]]:
    """A row for each run, by rate."""
    return [_row(trial, run) for trial in in_order(found) for run in trial.runs]


def _row(trial: Trial, run: RunRecord) -> tuple[str, ...]:
    done, times = run.throughput_tps, run.response_ms
    return (
        tps(trial.rate_tps),
        tps(done.value) if done else NOTHING,
        *(milliseconds(getattr(times, name)) if times else NOTHING for name in _TIMES),
        _failed(run),
        _OUTCOMES[trial.outcome] if counts(run) else "not valid",
        run.run_id,
    )


def _failed(run: RunRecord) -> str:
    counts = run.transactions
    ended = counts.ok + counts.failed if counts else 0
    return percent(counts.failed / ended) if counts and ended else NOTHING
