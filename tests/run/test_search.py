"""The search's driver on made-up runs: which it makes, how it judges them, and what ends it."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest

from dbdyno.analysis.search.objective import Objective
from dbdyno.analysis.search.objective_windows import Windows
from dbdyno.analysis.search.sequential import LOOKS_MAX
from dbdyno.errors import DbdynoError
from dbdyno.run import search as searching
from dbdyno.run.events.planned import planned_event
from dbdyno.run.options.grammar import WeightedName, objective
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.search import Wanted, check_search, search
from dbdyno.run.target import Existing, New
from dbdyno.run.tools import engine_tools
from tests.run.test_runner import Observer
from tests.store import synthetic
from tests.support.numbers import throughput

CAPACITY = 1000.0
SLO = Objective(measure="p99", limit=5.0)


class Service:
    """Stands in for the runner: nothing is slow up to ``met_up_to``, about one transaction in a
    hundred up to ``doubtful_up_to``, and all beyond.
    """

    def __init__(self, met_up_to=600.0, doubtful_up_to=600.0, ends="done"):
        self.met_up_to, self.doubtful_up_to, self.ends = met_up_to, doubtful_up_to, ends
        self.requested = []
        self.opened = []

    def open(self, server, clients):
        self.opened.append((server, clients))
        return contextlib.nullcontext("the server")

    def run(self, job, _tools, _observer, server):
        assert server == "the server"
        options = job.options
        self.requested.append(options)
        record = synthetic.record(
            run_id=f"run-{len(self.requested)}",
            status=self.ends if options.rate_tps else "done",
            invalid_reasons=["the server went away"],
            throughput_tps=throughput(options.rate_tps or CAPACITY),
        )
        return SimpleNamespace(record=record, rate_tps=options.rate_tps)

    def windows(self, run, requested):
        assert requested == SLO
        rate, total = run.rate_tps, np.full(40, 100.0)
        if self.met_up_to < rate <= self.doubtful_up_to:
            return Windows(np.tile([0.0, 2.0], 20), total, total)
        return Windows(np.zeros(40) if rate <= self.met_up_to else total, total, total)

    @property
    def rates(self):
        return [options.rate_tps for options in self.requested]


def searched(monkeypatch, service, options=RunOptions(), what="tpcb", **wanted):
    monkeypatch.setattr(searching, "run", service.run)
    monkeypatch.setattr(searching, "objective_windows", service.windows)

    def opened(choice, clients):
        return service.open(choice, clients)

    for choice in (Existing, New):
        monkeypatch.setattr(choice, "open", opened)
    known, observer, tools = [], Observer(), engine_tools()
    requested = Wanted(objectives=[SLO], **wanted)
    job = check_search([WeightedName(what, 1)], options, tools, observer.say)
    try:
        found = search(job, requested, tools, observer, known=known.append)
    except KeyboardInterrupt:
        found = None
    return found, known, observer


def test_first_a_closed_loop_then_rates_below_it_until_the_answer_is_close(monkeypatch):
    service = Service(met_up_to=600.0)
    found, known, observer = searched(monkeypatch, service)
    assert service.rates[:4] == [None, 250.0, 500.0, 750.0]
    assert found.is_over
    assert found.met_tps <= 600 < found.not_met.rate_tps <= found.met_tps * 1.06
    told = [len(one.trials) for one in known]
    assert told == list(range(len(found.trials) + 1)), "capacity alone is already worth keeping"
    assert "250 TPS: met" in observer.messages
    assert "750 TPS: missed" in observer.messages


def test_data_is_replaced_once_before_the_first_run(monkeypatch):
    service = Service()
    searched(monkeypatch, service, RunOptions(replace=True))
    assert [one.replace for one in service.requested] == [True] + [False] * (
        len(service.requested) - 1
    )
    assert len(service.requested) > 1


def test_events_are_refused_as_each_rate_would_have_them_on_what_the_last_one_left(monkeypatch):
    options = RunOptions(events=(planned_event("1s:restart"),))
    with pytest.raises(DbdynoError, match="a search sets the load itself: --event cannot be given"):
        searched(monkeypatch, Service(), options)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "shops.lua"
    path.write_text(
        "sysbench.cmdline.options = {shops = {'How many', 5}} function event() end",
        encoding="utf-8",
    )
    return str(path)


def test_options_after_the_dashes_are_applied_before_anything_starts(monkeypatch, script):
    given = ("--shops=4", "--num-threads=64", "--time=20", "--pgsql-host=far")
    service = Service()
    _, _, observer = searched(monkeypatch, service, RunOptions(script_options=given), script)
    assert service.opened == [(Existing("postgresql://sbtest@far/sbtest"), 64)]
    assert {one.clients for one in service.requested} == {64}
    assert [one.duration_ns for one in service.requested[:2]] == [20 * SECOND_NS] * 2
    assert not any("overrides" in text for text in observer.messages)


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("--rate=100", "a search sets the load itself: --rate cannot be given"),
        ("--events=100", "a search sets the load itself: --transactions cannot be given"),
        ("--shosp=4", "invalid option: --shosp"),
    ],
)
def test_script_options_that_a_search_sets_are_refused(monkeypatch, script, token, expected):
    service = Service()
    with pytest.raises(DbdynoError) as caught:
        searched(monkeypatch, service, RunOptions(script_options=(token,)), script)
    assert expected in caught.value.message
    assert service.opened == []


def test_an_undecided_rate_keeps_its_runs_and_is_not_called_met(monkeypatch):
    service = Service(met_up_to=300.0, doubtful_up_to=9e9)
    found, *_ = searched(monkeypatch, service)
    seconds = [one.duration_ns / SECOND_NS for one in service.requested if one.rate_tps == 500.0]
    assert seconds == [10, 10, 20, 40, 80]
    assert len(seconds) == LOOKS_MAX
    assert found.met_tps <= 300 < found.not_met.rate_tps
    assert found.not_met.outcome == "open"


def test_every_trial_is_an_ordinary_run_that_can_be_found_again(monkeypatch):
    service = Service()
    options = RunOptions(tags=(("who", "me"),), arrivals="constant", clients=3)
    found, *_ = searched(monkeypatch, service, options)
    probe, trial = service.requested[:2]
    search_tag = ("search", found.search_id)
    assert probe.tags == (("who", "me"), search_tag, ("rate", "closed loop"))
    assert trial.tags == (("who", "me"), search_tag, ("rate", "250"))
    assert (probe.arrivals, trial.arrivals) == (None, "constant")
    # The objectives judge failures, by how much intervals differ.
    assert trial.failures_max == 0.999
    assert (trial.duration_ns, trial.interval_ns) == (10 * SECOND_NS, SECOND_NS // 4)


def test_failures_that_are_let_pass_are_let_pass_in_every_trial(monkeypatch):
    """Including those of a script that can never work, as in a run."""
    service = Service()
    searched(monkeypatch, service, RunOptions(failures_max=1.0))
    assert {one.failures_max for one in service.requested} == {1.0}


def test_no_rate_above_the_highest_requested_is_tried(monkeypatch):
    service = Service()
    found, *_ = searched(monkeypatch, service, rate_max_tps=400.0)
    assert service.rates == [None, 100.0, 200.0, 300.0, 400.0]
    assert found.met_tps == 400.0


def test_an_interrupt_leaves_what_is_known(monkeypatch):
    service = Service()
    original = service.run

    def run(job, *rest):
        service.ends = "interrupted" if job.options.rate_tps == 750.0 else "done"
        return original(job, *rest)

    service.run = run
    found, known, _ = searched(monkeypatch, service)
    assert found is None
    assert known[-1].met_tps == 500.0
    assert not known[-1].is_over


def test_a_failed_run_ends_the_search_with_its_reason(monkeypatch):
    with pytest.raises(DbdynoError, match="run-2 failed: the server went away") as caught:
        searched(monkeypatch, Service(ends="failed"))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (RunOptions(rate_tps=5.0), "--rate"),
        (RunOptions(transactions=5), "--transactions"),
        (RunOptions(latency_limit_ns=5), "--latency-limit"),
        (RunOptions(clients=0), "-c 0: must be at least 1"),
        (RunOptions(define=(("scal", "3"),)), "no parameter scal"),
    ],
)
def test_options_that_contradict_a_search_are_refused_before_a_server_is_started(
    monkeypatch, options, expected
):
    service = Service()
    with pytest.raises(DbdynoError) as caught:
        searched(monkeypatch, service, options)
    assert expected in caught.value.message
    assert service.requested == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p99<10ms", Objective(measure="p99", limit=10.0)),
        (" p99.9 < 1.5s", Objective(measure="p999", limit=1500.0)),
        ("p999<=20", Objective(measure="p999", limit=20.0)),
        ("mean<500us", Objective(measure="mean", limit=0.5)),
        ("failures<0.1%", Objective(measure="failures", limit=0.001)),
    ],
)
def test_objectives_are_read_as_people_write_them(text, found):
    assert objective(text) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p99", "in quotes because of the shell"),
        ("p98<10ms", "measures are p50, p90, p95, p99, p99.9, mean, failures"),
        ("p99>10ms", "is not an objective"),
        ("p99<soon", "is not a duration"),
        ("p99<0ms", "is not a valid limit"),
        ("failures<100%", "is not a valid limit"),
        ("failures<10ms", "is not a share"),
    ],
)
def test_bad_objectives_are_explained(text, expected):
    with pytest.raises(ValueError, match=r"objective|limit|duration|share") as caught:
        objective(text)
    assert expected in str(caught.value)
