"""A made-up search, on a server whose response times grow as a queue's do."""

from dbdyno.analysis.search.objective import Objective
from dbdyno.analysis.search.rate_search import Search, Trial, next_rate
from dbdyno.analysis.search.sequential import SequentialResult
from dbdyno.analysis.statistics.estimate import IntervalEstimate
from dbdyno.model.record import TransactionCounts
from tests.store import synthetic
from tests.support.numbers import latency, throughput

CAPACITY = 5000.0
SERVER = {"kind": "private", "product": "postgres", "title": "PostgreSQL", "version": "18.6"}


def run(rate, number=0):
    """A run with the mean response time of a single-server queue; p99 is five times that."""
    wait_ms = 1.0 / max(1 - rate / CAPACITY, 0.01)
    return synthetic.record(
        run_id=f"20261121-0500{number:02}-tpcb-{int(rate):04x}",
        server=SERVER,
        throughput_tps=throughput(rate),
        response_ms=latency(wait_ms),
        transactions=TransactionCounts(
            ok=int(rate * 10), failed=0, skipped=0, unfinished=0, retried=0
        ),
    )


def judge(rate, limit_ms):
    found = run(rate).response_ms.p99
    judgement = (
        "open" if abs(found / limit_ms - 1) < 0.06 else "met" if found < limit_ms else "missed"
    )
    return SequentialResult(judgement, IntervalEstimate(0.01, 0.005, 0.02), 40, 30.0)


def search(limit_ms=20.0, rate_max=None, trials_max=99):
    """A search that is over, or was interrupted after ``trials_max`` rates."""
    found = Search(
        search_id="20261121-050000-ab12",
        objectives=[Objective(measure="p99", limit=limit_ms)],
        error=0.05,
        rate_max_tps=rate_max,
        probe=run(CAPACITY),
    )
    trials = []
    while len(trials) < trials_max and (rate := next_rate(with_trials(found, trials))):
        result = judge(rate, limit_ms)
        runs = [run(rate, number) for number in range(5 if result.judgement == "open" else 1)]
        trials.append(Trial(rate_tps=rate, runs=runs, results=[result]))
    return with_trials(found, trials, is_over=len(trials) < trials_max)


def with_trials(found, trials, *, is_over=False):
    known = {name: getattr(found, name) for name in found.__struct_fields__}
    return Search(**known | {"trials": list(trials), "is_over": is_over})
