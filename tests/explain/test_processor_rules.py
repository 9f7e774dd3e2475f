"""CPU use by server, engine and others: each rule on made-up counters of the kernel."""

import pytest

from dbdyno.analysis.doubts import shared_host
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import WaitCount
from tests.explain.made import CORE_S, made_run, with_looks, with_processors
from tests.explain.rule_outcomes import outcome_of, reached
from tests.support.recordings import MadeRun, changed

RULES = ("cpu_server", "cpu_others", "cpu_steal", "cpu_throttled")


@pytest.mark.parametrize("rule", RULES)
def test_an_idle_machine_limits_no_load(rule):
    assert isinstance(outcome_of(rule, with_processors(made_run(), server=0.4)), NotFound)


@pytest.mark.parametrize("rule", RULES)
def test_without_telemetry_the_rule_could_not_look(rule):
    outcome = outcome_of(rule, made_run())
    assert outcome == CouldNotLook("the run was measured without telemetry")


@pytest.mark.parametrize("rule", ["cpu_server", "cpu_others", "cpu_steal", "cpu_throttled"])
def test_a_remote_server_is_not_examined_by_the_local_cpu(rule):
    run = made_run().counters("processes", {"user_us": CORE_S}, of="engine")
    run.counters("machine", {"user_us": 2 * CORE_S})
    assert "not visible on this host" in outcome_of(rule, run).reason


@pytest.mark.parametrize("rule", ["cpu_server", "cpu_others", "cpu_steal"])
def test_a_server_that_was_started_again_is_not_taken_for_another_program(rule):
    run = made_run().counters("machine", {"user_us": 1.9 * CORE_S, "idle_us": 0.1 * CORE_S})
    run.levels("machine", {"processors": 2})
    run.counters("processes", {"user_us": CORE_S}, of="server", at_s=range(1, 21))
    run.lack("processes", "the server's process has ended")
    reason = outcome_of(rule, run).reason
    assert reason.startswith("the server's CPU time is known for only 33.3\u202f%")
    assert reason.endswith("the server's process has ended")


def test_a_server_that_fills_the_machine_is_the_normal_end_of_a_closed_loop():
    found = outcome_of("cpu_server", with_processors(made_run(ok=1000), server=1.5, engine=0.4))
    assert isinstance(found, Finding)
    assert found.severity == "note"
    # 1.5 core-seconds a second for 1000 transactions, and two cores.
    assert "1.5 of 2 cores" in found.summary
    assert "1.5\u202fms" in found.summary
    assert "1\u202f333 TPS" in found.gain


def test_processes_never_have_more_than_was_in_use():
    """The host's total, counted in ticks, is a little less than what its processes used."""
    run = made_run().counters("machine", {"user_us": 2 * CORE_S})
    for of, cores in (("server", 1.75), ("engine", 0.35)):
        run.counters("processes", {"user_us": cores * CORE_S}, of=of)
        run.levels("processes", {"count": 1}, of=of)
    run.levels("machine", {"processors": 2})
    (seen,) = outcome_of("cpu_server", run).seen
    assert "server 83.3\u202f%, load generator 16.7\u202f%" in seen
    assert "other programs" not in seen


def test_the_clients_time_that_the_server_worked_is_accounted_for():
    run = with_processors(made_run("select 1", clients=4), server=1.5, engine=0.4)
    found = outcome_of("cpu_server", with_looks(run, (0, "", "", 3)))
    assert found.share == pytest.approx(0.75)


def test_other_programs_are_named_with_what_they_took():
    run = with_processors(made_run(), server=0.4, engine=0.2, others=1.2)
    run.counters("busiest", {"cpu_us": 0.9 * CORE_S}, of="backup/4711")
    run.counters("busiest", {"cpu_us": 0.02 * CORE_S}, of="cron/7")
    found = outcome_of("cpu_others", run)
    assert [one["name"] for one in found.evidence["busiest"]] == ["backup/4711"]
    assert found.severity == "critical"
    assert found.share == pytest.approx(0.6)
    assert "60\u202f%" in found.summary
    assert "backup/4711" in found.summary
    assert "factor of at most 2.5" in found.gain


def test_the_kernels_threads_are_no_other_programs():
    run = with_processors(made_run(), server=0.4, engine=0.2, others=1.2)
    run.counters("busiest", {"cpu_us": 0.8 * CORE_S}, of="[kworker/u4:2]/7")
    run.counters("busiest", {"cpu_us": 0.39 * CORE_S}, of="backup/4711")
    found = outcome_of("cpu_others", run)
    assert found.evidence["others_share"] == pytest.approx(0.2)
    assert [one["name"] for one in found.evidence["busiest"]] == ["backup/4711"]
    assert "the kernel's own threads (storage, network) 40\u202f%" in found.seen[0]
    assert "kworker" not in found.summary


def test_a_host_that_is_busy_with_the_kernels_threads_alone_has_no_other_programs():
    run = with_processors(made_run(), server=0.4, engine=0.4, others=1.0)
    run.counters("busiest", {"cpu_us": 0.5 * CORE_S}, of="[jbd2/vda1-8]/7")
    run.counters("busiest", {"cpu_us": 0.5 * CORE_S}, of="[kswapd0]/8")
    outcome = outcome_of("cpu_others", run)
    assert isinstance(outcome, NotFound)
    assert "the kernel's own threads (storage, network) 50\u202f%" in outcome.reason


def beside_other_sessions(*, load=1, others=3, more=()):
    """All of the CPU time is the server's, and these numbers of sessions are at work in it."""
    run = with_processors(made_run("select 1", ok=1000, clients=4), server=1.8, engine=0.2)
    run.counters("busiest", {"cpu_us": 0.01 * CORE_S}, of="cron/1")
    for number in range(int(run.seconds * 2)):
        waits = [
            WaitCount("client", 0, "asking", "active", "", "", load),
            WaitCount("foreign", -1, "", "active", "", "", others),
            WaitCount("foreign", -1, "", "idle", "Client", "ClientRead", 5),
            *more,
        ]
        run.look((number + 1) * 0.5, waits, seconds=0.5)
    return reached(run, unix={"path": "/tmp/.s.PGSQL.5432"})


def test_other_sessions_of_the_server_are_others():
    found = outcome_of("cpu_others", beside_other_sessions(load=4))
    # Three of seven sessions at work, of 90 % of the CPU.
    assert found.share == pytest.approx(0.9 * 3 / 7)
    assert found.summary.endswith("host, other sessions of the server most of all.")
    assert [one["name"] for one in found.evidence["busiest"]] == ["other sessions of the server"]
    assert "pg_stat_activity" in found.advice[0]
    assert "taskset" not in " ".join(found.advice)


def test_sessions_without_a_name_may_be_those_of_clients_that_connect():
    connecting = WaitCount("client", -1, "unconnected", "", "", "", 1)
    assert isinstance(outcome_of("cpu_others", beside_other_sessions(more=[connecting])), NotFound)


def test_the_work_for_other_sessions_is_no_cost_of_the_load():
    found = outcome_of("cpu_server", beside_other_sessions(load=4, others=1))
    # Four fifths of 1.8 core-seconds a second, for 1000 transactions.
    assert "1.4 of 2 cores" in found.summary
    assert "1.44\u202fms" in found.summary


def test_beside_others_that_use_more_the_load_still_costs_what_it_costs():
    run = with_processors(made_run("select 1", clients=4), server=0.6, engine=0.2, others=1.2)
    found = outcome_of("cpu_server", with_looks(run, (0, "", "", 2), (-1, "idle", "", 2)))
    # Half of client time, of which 0.6 of 2 core-seconds were CPU time, the rest the run queue:
    # of that, as much as of the CPU.
    assert found.share == pytest.approx(0.15 + 0.35 * 0.3)
    assert found.severity == "note"
    assert "Others used more" in found.why


def test_what_hardly_used_the_cpu_is_not_bound_by_it():
    run = with_processors(made_run(), server=0.04, others=1.9)
    assert isinstance(outcome_of("cpu_server", run), NotFound)


def test_a_share_below_the_kernels_tick_is_not_reported():
    run = with_processors(made_run("select 1"), server=1.8, others=0.001)
    (sentence,) = outcome_of("cpu_server", run).seen
    assert "server 9" in sentence
    assert "other programs" not in sentence


def test_other_programs_do_no_harm_where_processors_are_idle():
    assert isinstance(
        outcome_of("cpu_others", with_processors(made_run(), server=0.2, others=0.6)), NotFound
    )


def test_others_without_a_name_are_a_hint_and_minor():
    """The kernel's own work for the load, or compilers that last a moment each."""
    run = with_processors(made_run(), server=0.4, engine=0.2, others=1.2)
    run.counters("busiest", {"cpu_us": 0.1 * CORE_S}, of="rustc/4711")
    found = outcome_of("cpu_others", run)
    assert (found.severity, found.certainty) == ("minor", "hint")
    assert "cannot be attributed" in found.seen[-1]
    assert "rustc" not in found.summary


def test_what_has_a_name_is_severe_though_most_has_none():
    run = with_processors(made_run(), server=0.4, engine=0.2, others=1.2)
    run.counters("busiest", {"cpu_us": 0.5 * CORE_S}, of="backup/4711")
    found = outcome_of("cpu_others", run)
    assert (found.severity, found.certainty) == ("major", "hint")


def test_stolen_cpu_time_slows_runnable_processes():
    run = with_processors(made_run("select 1", clients=4), server=0.7, engine=0.1, stolen=0.2)
    found = outcome_of("cpu_steal", with_looks(run, (0, "", "", 2), (-1, "idle", "", 2)))
    # A fifth of the wanted CPU time was stolen, and half of client time was such work.
    assert found.share == pytest.approx(0.1)
    assert found.severity == "minor"
    assert "20\u202f%" in found.summary


def throttled(seconds):
    """A quota of 0.3 cores, used up in nine of ten periods, for ``seconds`` in each second."""
    run = with_processors(made_run(), server=0.3)
    counted = {"periods": 10, "throttled_periods": 9, "throttled_us": seconds * CORE_S}
    run.counters("control_group", counted, of="server")
    run.levels("control_group", {"limit_cores": 0.3}, of="server")
    return run.levels("processes", {"count": 12, "stopped": 0}, of="server")


def test_a_quota_that_runs_out_stops_its_group():
    found = outcome_of("cpu_throttled", throttled(0.7))
    assert found.severity == "critical"
    assert found.share == pytest.approx(0.7)
    assert "quota of 0.3 cores" in found.summary
    assert found.certainty == "sure"


def test_throttled_time_is_a_share_of_all_cores():
    """The kernel sums throttling over the cores; 0.3 of 2 cores take 15 % of the time."""
    assert outcome_of("cpu_throttled", throttled(1.7)).share == pytest.approx(0.85)


def test_stopped_processes_are_seen():
    run = made_run().levels("processes", {"count": 10, "stopped": 7}, of="server")
    found = outcome_of("cpu_throttled", run)
    assert found.share == pytest.approx(0.7)
    assert "stopped" in found.title


def test_a_full_generator_makes_the_numbers_its_own():
    run = MadeRun(engine={"cpu_us": 1.9 * CORE_S})
    found = outcome_of("cpu_generator", run)
    assert found.severity == "critical"
    assert "95\u202f%" in found.summary


def test_a_generator_can_have_no_more_than_the_processors_it_may_use():
    run = MadeRun(engine={"cpu_us": 0.95 * CORE_S})
    run.engine_processors = 1
    assert "95\u202f%" in outcome_of("cpu_generator", run).summary


def test_a_generator_on_the_servers_full_machine_is_a_condition_of_the_run():
    run = with_processors(made_run(), server=1.2, engine=0.7)
    assert isinstance(outcome_of("cpu_generator", run), NotFound)
    doubt = shared_host(run.loaded())
    assert doubt is not None
    assert doubt.startswith(
        "shared host: the load generator used 35\u202f% of the host's saturated"
    )


@pytest.mark.parametrize(("server", "engine"), [(0.6, 0.7), (1.9, 0.05)])
def test_a_generator_that_takes_nothing_from_the_server_is_no_doubt(server, engine):
    run = with_processors(made_run(), server=server, engine=engine)
    assert shared_host(run.loaded()) is None


def few(*seen, server=1.45, clients=2, **more):
    """Clients that leave cores idle; each of ``seen`` is a session sample's wait."""
    trips = {"round_trips": 20_000}
    run = made_run("select 1", ok=10_000, clients=clients, seconds=20, engine=trips, **more)
    return with_looks(with_processors(run, server=server, engine=0.1), *seen)


WORKING = (0, "", "", 2)


def test_own_work_wait_for_their_own_transactions():
    found = outcome_of("own_work", few(WORKING))
    assert found.title.startswith("Not saturated")
    assert found.evidence["on_cpu"] == pytest.approx(1.45 / 2)
    # The kernel shows the rest as waits for a core, which no other finding accounts for.
    assert (found.severity, found.share) == ("note", pytest.approx(1.0))
    # Server and engine use 1.55 of two cores, and 0.45 are idle: 1.29 times as much.
    assert found.advice[0] == "Use more clients: about 3 saturate the CPU."
    assert "factor of about 1.29," in found.gain
    assert "-c 3:" in found.refute


def test_beside_waits_the_own_work_is_no_reason_for_more_clients():
    found = outcome_of("own_work", few((0, "Lock", "transactionid", 1), (0, "", "", 1), server=0.6))
    assert found.share == pytest.approx(0.5)
    assert found.title == "The transactions' own work"
    assert not any("more clients" in advice for advice in found.advice)


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (few(WORKING, server=1.6), "CPU utilization was 85"),
        (few((0, "Lock", "transactionid", 2), server=0.1), "it took 0"),
        (
            few(WORKING).counters(
                "control_group",
                {"periods": 10, "throttled_periods": 5, "throttled_us": 0.2 * CORE_S},
                of="server",
            ),
            "CPU time was withheld",
        ),
    ],
)
def test_own_work_is_not_told_where_it_waits_for_others_or_for_a_cpu(run, reason):
    outcome = outcome_of("own_work", run)
    assert isinstance(outcome, NotFound)
    assert reason in outcome.reason


def test_at_a_given_rate_the_number_of_clients_limits_nothing():
    plan = {"arrivals": {"open": {"law": "poisson"}}}
    found = outcome_of("own_work", changed(few(WORKING).loaded(), plan=plan))
    assert found.title == "The transactions' own work"


def test_the_way_on_a_full_cpu_is_the_load_generators():
    run = with_processors(made_run("select 1", clients=4), server=1.5, engine=0.4)
    sent = WaitCount("client", 0, "asking", "idle", "Client", "ClientRead", 1)
    for second in range(1, 61):
        run.look(second, [sent, WaitCount("client", 0, "asking", "active", "", "", 3)], seconds=1)
    local = reached(run, unix={"path": "/tmp/.s.PGSQL.5432"})
    found = outcome_of("own_work", local)
    assert (found.share, found.share_of) == (pytest.approx(0.25), "client time")
    assert found.title == "On the way within a saturated host"
