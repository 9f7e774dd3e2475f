"""Advice on the order of statements, verified: which runs are made, and what they show."""

import dataclasses
import json
import os
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from dbdyno.analysis.statistics.effect import paired_ratio
from dbdyno.cli.commands.explain import verification_lines, with_verdict
from dbdyno.errors import DbdynoError
from dbdyno.explain.explain import Explanation
from dbdyno.host.busyness import Busy
from dbdyno.model.record import Finding, Throughput
from dbdyno.run import quiet, verify as verifying
from dbdyno.run.plan import refuse_contradictions
from dbdyno.run.target import choose_server
from dbdyno.run.tools import engine_tools
from dbdyno.run.verify import Trial, Verification, verify
from dbdyno.servers.placement import Cpus
from dbdyno.store.run import open_run
from tests.explain.made import with_processors
from tests.run.test_end_to_end import dbdyno
from tests.support.ended import record_of
from tests.support.recordings import MadeRun, changed

TOOLS = engine_tools()
LAST_CPU = Cpus((max(os.sched_getaffinity(0)),))
ADVISED = "BEGIN;\nSELECT 1;\nEND;"
BRANCHES_FIRST = """\
\\set aid random(1, 100000 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = 1;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
END;
"""


def advice():
    return Finding(
        id="statement_order",
        title="",
        severity="major",
        summary="",
        evidence={"gain_predicted": 1.5, "scripts": {"tpcb": ADVISED}},
    )


COMMAND = "tpcb --scale 3 --server postgres:17,fsync=off --protocol simple --max-tries 4 --io epoll"


def explained(workload="tpcb", more_options="", kind="private", made=None):
    """The run that was explained."""
    made = (made or MadeRun(scripts={"tpcb": "SELECT 1;"})).loaded()
    more = {
        "variables": {"scale": 3},
        "query_mode": "simple",
        "threads": 2,
        "io": "epoll",
        "retry": {"tries_max": 4},
    }
    return changed(
        made,
        plan=more,
        record=msgspec.structs.replace(
            made.record,
            workload=workload,
            command=f"{COMMAND} {more_options}".split(),
            server={"kind": kind, "version": "17.11"},
        ),
        server={"version_number": 170_011, "chosen": [{"name": "fsync", "value": "off"}]},
    )


def beside_its_server(threads=2, **more):
    """The run that was explained, on a host that server and load generator saturated together."""
    made = with_processors(MadeRun(scripts={"tpcb": "SELECT 1;"}), server=1.5, engine=0.5)
    return changed(explained(made=made, **more), plan={"threads": threads})


@pytest.fixture
def runs(monkeypatch):
    """The runs that were requested; those with the advised script are faster."""
    trials = []

    def fake_run(job, _tools, _observer):
        text = Path(job.items[1].name).read_text()
        trials.append((job.items, job.options, text))
        found = MadeRun().loaded()
        tps = 1500.0 if text == ADVISED else 1000.0
        changes = {"throughput_tps": throughput(tps), "server": {"version": "17.12"}}
        return dataclasses.replace(found, record=msgspec.structs.replace(found.record, **changes))

    monkeypatch.setattr(verifying, "run", fake_run)
    return trials


def throughput(value):
    return Throughput(
        value=value,
        low=None,
        high=None,
        min=None,
        max=None,
        samples=0,
        samples_effective=None,
        coefficient_of_variation=None,
    )


def test_both_orders_run_in_turn_with_nothing_else_changed(runs):
    found = verify(explained(), [advice()], Trial(pairs=3), TOOLS, lambda _line: None)
    assert [text == ADVISED for _, _, text in runs] == [False, True, True, False, False, True]
    for items, options, _ in runs:
        assert items[0] == ("tpcb", 0, "write")
        assert (options.server, options.settings) == ("postgres:17", (("fsync", "off"),))
        assert (options.seed, options.clients, options.query_mode) == (42, 8, "simple")
        assert options.define == (("scale", "3"),)
        assert (options.tries_max, options.threads, options.io) == (4, 2, "epoll")
    assert found.pairs == [(1000.0, 1500.0)] * 3
    assert found.measured.value == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("threads", "changed_to"), [(4, {"threads": 2}), (1, {"engine_cpus": LAST_CPU})]
)
def test_a_generator_beside_its_server_gets_less_in_one_run_of_each_pair(runs, threads, changed_to):
    found = verify(beside_its_server(threads), [], Trial(pairs=2), TOOLS, lambda _line: None)
    assert found.of == "load generator"
    assert found.predicted is None
    name = next(iter(changed_to))
    values = [getattr(options, name) for _, options, _ in runs]
    less = changed_to[name]
    assert [value == less for value in values] == [False, True, True, False]
    assert {text for _, _, text in runs} == {"SELECT 1;"}


def test_a_generator_of_several_workers_is_not_made_smaller(runs):
    shared = beside_its_server(more_options="--workers local*2")
    with pytest.raises(DbdynoError, match="a load of several workers cannot be verified"):
        verify(shared, [], Trial(pairs=2), TOOLS, lambda _line: None)


def test_an_interrupt_ends_the_whole_trial(runs, monkeypatch):
    finished = verifying.run

    def interrupted(*arguments):
        found = finished(*arguments)
        return dataclasses.replace(
            found, record=msgspec.structs.replace(found.record, status="interrupted")
        )

    monkeypatch.setattr(verifying, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        verify(explained(), [advice()], Trial(pairs=3), TOOLS, lambda _line: None)
    assert len(runs) == 1


def test_an_invalid_run_compares_no_order(runs, monkeypatch):
    finished = verifying.run

    def late(*arguments):
        found = finished(*arguments)
        reasons = ["the load generator was late"]
        return dataclasses.replace(
            found, record=msgspec.structs.replace(found.record, invalid_reasons=reasons)
        )

    monkeypatch.setattr(verifying, "run", late)
    with pytest.raises(DbdynoError, match="is invalid: the load generator was late"):
        verify(explained(), [advice()], Trial(pairs=1), TOOLS, lambda _line: None)


def test_the_options_of_the_run_apply_to_the_trial(runs):
    options = "--define fillfactor=80 --think 5ms --connect --latency-limit 20ms --time 1h"
    verify(
        explained(more_options=f"{options} --server-cpus 0"),
        [advice()],
        Trial(pairs=1),
        TOOLS,
        lambda _line: None,
    )
    (_, options, _), _ = runs
    assert dict(options.define) == {"scale": "3", "fillfactor": "80"}
    assert (options.think.mean_ns, options.latency_limit_ns) == (5_000_000, 20_000_000)
    assert options.reconnect
    assert options.server_cpus is not None
    assert options.duration_ns == Trial().duration_ns
    refuse_contradictions(options)


def test_scripts_of_one_name_in_two_folders_stay_two(runs):
    recording = explained()
    scripts = [
        {"name": "a/pay.sql", "weight": 3, "text": "SELECT 'a';"},
        {"name": "b/pay.sql", "weight": 1, "text": "SELECT 'b';"},
    ]
    recording = changed(recording, plan={"scripts": scripts})
    verify(recording, [advice()], Trial(pairs=1), TOOLS, lambda _line: None)
    for items, _, text in runs:
        assert [(Path(item.name).name, item.weight) for item in items[1:]] == [
            ("pay.sql", 3),
            ("pay.sql", 1),
        ]
        assert text == "SELECT 'a';"


@pytest.mark.parametrize(
    "setting",
    [
        ("optimizer_switch", "mrr=on,mrr_cost_based=off"),
        ("log_line_prefix", "%m [%p] "),
    ],
)
def test_settings_reach_the_trials_server_to_the_letter(runs, setting):
    name, value = setting
    changes = {"version_number": 170_011, "chosen": [{"name": name, "value": value}]}
    recording = changed(explained(), server=changes)
    verify(recording, [advice()], Trial(pairs=1), TOOLS, lambda _line: None)
    assert [choose_server(options).spec.settings for _, options, _ in runs] == [{name: value}] * 2


@pytest.mark.parametrize(
    "options", ["--rate 100 --arrivals constant", "--stages 5s:10/s", "--stages 5s:3c"]
)
def test_the_trial_of_a_run_with_a_rate_or_stages_is_a_reported_closed_loop(runs, options):
    messages = []
    verify(explained(more_options=options), [advice()], Trial(pairs=1), TOOLS, messages.append)
    assert "the trial is a closed loop of 8 clients" in messages[0]
    (_, options, _), _ = runs
    assert (options.rate_tps, options.arrivals, options.stages) == (None, None, None)
    assert options.clients == 8
    refuse_contradictions(options)


def test_a_busy_host_is_told_before_each_pair_and_waited_for_on_request(runs, monkeypatch):
    busy = Busy(cores=2, stolen_cores=0.0, programs=[("burn", 4242, 1.0)])
    monkeypatch.setattr(quiet, "Sample", lambda _own: SimpleNamespace(busy=lambda: busy))
    messages = []
    recording = explained(more_options="--max-disturbance 5%")
    verify(recording, [advice()], Trial(pairs=2), TOOLS, messages.append)
    told = [one for one in messages if one.startswith("other programs use 1.00 of 2 CPUs (burn")]
    assert len(told) == 2
    waited = []
    monkeypatch.setattr(quiet.BeforeRun, "_wait", lambda _self, found: waited.append(found))
    verify(explained(more_options="--when-quiet"), [advice()], Trial(pairs=2), TOOLS, print)
    assert waited == [busy] * 2
    assert not any(options.when_quiet for _, options, _ in runs)


def test_a_different_server_version_is_reported_once(runs):
    messages = []
    verify(explained(), [advice()], Trial(pairs=2), TOOLS, messages.append)
    changes = "the run's server was version 17.11; the trial uses the installed version 17.12"
    assert messages.count(changes) == 1


@pytest.mark.parametrize(
    ("recording", "findings", "code"),
    [
        (explained(), [], "nothing_to_verify"),
        (beside_its_server(kind="existing"), [], "unknown_data"),
        (explained(kind="existing"), [advice()], "unknown_data"),
        (explained("tpcb.sql"), [advice()], "unknown_data"),
        (explained("my-own-script"), [advice()], "unknown_data"),
    ],
)
def test_what_cannot_be_tried_is_refused(runs, recording, findings, code):
    with pytest.raises(DbdynoError) as refused:
        verify(recording, findings, Trial(), TOOLS, lambda _line: None)
    assert refused.value.code == code
    assert runs == []


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(100, 150), (101, 149), (100, 151)], "faster, as predicted"),
        ([(100, 90), (101, 89), (99, 91)], "refuted"),
        ([(100, 120), (100, 90), (100, 130)], "cannot tell the two orders apart"),
        ([(100, 200), (101, 199), (100, 202)], "by more than predicted"),
        ([(100, 150)], "one pair has no interval"),
    ],
)
def test_the_words_follow_the_interval(pairs, expected):
    found = Verification(predicted=1.5, measured=paired_ratio(pairs), pairs=pairs, run_ids=[])
    assert expected in "\n".join(verification_lines(found, Trial()))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(100, 120), (101, 119), (100, 121)], "limits this load"),
        ([(100, 99), (101, 100), (100, 99)], "does not limit"),
        ([(100, 120), (100, 90), (100, 130)], "cannot tell whether"),
    ],
)
def test_whether_the_generator_limits_follows_the_interval(pairs, expected):
    found = Verification(
        of="load generator",
        change="with 1 engine thread",
        predicted=None,
        measured=paired_ratio(pairs),
        pairs=pairs,
        run_ids=[],
    )
    text = "\n".join(verification_lines(found, Trial()))
    assert expected in text
    assert "with 1 engine thread" in text
    assert "predicted" not in text
    before = Explanation(findings=[advice()], not_looked=[], unexplained=None)
    explanation = with_verdict(before, found)
    if expected != "limits this load":
        assert explanation == before
        return
    first, second = explanation.findings
    assert (first.id, first.severity, first.share_of) == (
        "cpu_generator",
        "major",
        "lost throughput",
    )
    assert first.share == pytest.approx(1 - 1 / found.measured.value)
    assert "With 1 engine thread throughput was 1.2 times as high" in first.summary
    assert second == before.findings[0]


def test_less_of_a_generator_on_real_servers(home, monkeypatch):
    load = ("-s", "1", "-c", "16", "-j", "2", "--warmup", "300ms", "-T", "2")
    record_of(dbdyno("run", "select-only", *load, "--set", "shared_buffers=64MB", "--json"))
    # Not every host is saturated by these clients.
    monkeypatch.setattr(verifying, "shared_host", lambda _run: "shared host: both on one")
    trial = Trial(pairs=1, duration_ns=1_500_000_000)
    recording = open_run("last").load(TOOLS.histograms)
    found = verify(recording, [], trial, TOOLS, lambda _line: None)
    assert found.change == "with 1 engine thread"
    assert all(tps > 0 for tps in found.pairs[0])
    plans = [open_run(one).load(TOOLS.histograms).plan for one in found.run_ids]
    assert [plan.threads for plan in plans] == [2, 1]


def test_on_real_servers(home, tmp_path):
    script = tmp_path / "branches_first.sql"
    script.write_text(BRANCHES_FIRST)
    small = ("--set", "shared_buffers=64MB", "--set", "fsync=off", "--warmup", "300ms")
    load = ("-c", "8", "-T", "2", "--telemetry", "full", "--json")
    ran = dbdyno("run", "tpcb@0", script, *small, *load)
    record_of(ran)
    # Even where the machine stalls for a second, each run has some transactions.
    ended = dbdyno("explain", "last", "--verify", "--pairs", "1", "--time", "1500ms", "--json")
    assert ended.returncode == 0, ended.stderr
    messages = json.loads(ended.stdout)["verification"]
    assert messages["predicted"] > 1
    assert all(tps > 0 for tps in messages["pairs"][0])
    assert len(set(messages["run_ids"])) == 2
