"""The plan made from options, and options that contradict each other."""

import pytest
from msgspec.structs import replace

from dbdyno.analysis.compare.unequal_conditions import loop_of
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Address, Pacing, Script, Stage, TcpAddress, Think, UnixSocket
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.plan import planned_ns, refuse_contradictions
from dbdyno.servers.placement import Cpus
from tests.support.plans import ENDPOINT, plan_of

MYSQL = replace(ENDPOINT, protocol="mysql")


def test_the_defaults_are_those_of_the_manual():
    plan = plan_of()
    assert plan.clients == 8
    assert plan.stages == [Stage(duration_ns=30 * SECOND_NS)]
    assert plan.warmup_ns == 3 * SECOND_NS
    assert plan.query_mode == "prepared"
    assert plan.arrivals.closed is not None
    assert planned_ns(plan) == 30 * SECOND_NS


@pytest.mark.parametrize(
    ("cores", "clients", "threads"),
    [
        (1, 500, 1),
        (2, 1, 1),
        (2, 7, 2),
        (2, 8, 1),
        (2, 16, 2),
        (2, 500, 2),
        (64, 255, 64),
        (64, 256, 32),
    ],
)
def test_beside_a_busy_mysql_each_thread_has_eight_clients(monkeypatch, cores, clients, threads):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    assert plan_of(endpoint=MYSQL, clients=clients).threads == threads


def test_beside_postgresql_every_core_has_a_thread(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    assert plan_of(clients=8).threads == 2


@pytest.mark.parametrize(
    ("address", "threads"),
    [
        (Address(unix=UnixSocket(path="/tmp/s")), 1),
        (Address(tcp=TcpAddress(host="localhost", port=1)), 1),
        (Address(tcp=TcpAddress(host="db", port=1, numeric="127.0.0.2")), 1),
        (Address(tcp=TcpAddress(host="db", port=1)), 2),
    ],
)
def test_a_server_elsewhere_leaves_all_cores_to_the_load(monkeypatch, address, threads):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    assert plan_of(endpoint=replace(MYSQL, address=address)).threads == threads


def test_the_cores_of_the_engine_are_its_own():
    assert plan_of(clients=16, engine_cpus=Cpus((0, 1, 2, 3))).threads == 4


def test_never_more_threads_than_clients():
    assert plan_of(clients=2, threads=64).threads == 2


def test_each_thread_has_an_executor_beside_the_clients(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)))
    plan = plan_of(clients=10, executors=4)
    assert (plan.clients, plan.requesting_clients, plan.executors, plan.threads) == (14, 10, 4, 4)
    assert plan_of(clients=10).requesting_clients == 10


def test_a_rate_makes_the_loop_open():
    plan = plan_of(rate_tps=500.0, arrivals="constant", duration_ns=SECOND_NS)
    assert plan.arrivals.open.law == "constant"
    assert plan.stages == [Stage(duration_ns=SECOND_NS, rate_tps=500.0)]


def test_stages_determine_how_many_clients_connect():
    stages = (Stage(duration_ns=1, clients=4), Stage(duration_ns=2, clients=16))
    assert plan_of(stages=stages).clients == 16
    assert planned_ns(plan_of(stages=stages)) == 3


def test_a_count_has_no_duration():
    plan = plan_of(transactions=10)
    assert plan.stages == [Stage(duration_ns=None)]
    assert plan.transactions_per_client == 10
    assert planned_ns(plan) is None


def test_a_think_time_is_the_closed_loops():
    think = Think(law="exponential", mean_ns=5)
    assert plan_of(think=think).arrivals.closed.think == think


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"clients": 0}, "-c 0: must be at least 1"),
        ({"clients": 2**40}, "-c 1099511627776: must be at most"),
        ({"threads": 0}, "-j 0"),
        ({"transactions": 0}, "-t 0"),
        ({"scale": -1}, "-s -1"),
        ({"rate_tps": 0.0}, "--rate 0: must be above 0"),
        ({"rate_tps": float("nan")}, "--rate nan"),
        ({"rate_tps": 1e8}, "--rate 1e+08: must be above 0 and at most 10,000,000 per second"),
        ({"stages": (Stage(duration_ns=1, rate_tps=1e8),)}, "--stages 1e+08"),
        (
            {"stages": (Stage(duration_ns=1, clients=2**32),)},
            "--stages 4294967296c: must be at most",
        ),
        ({"duration_ns": 0}, "-T 0"),
        ({"interval_ns": 1}, "at least 100ms"),
        ({"tries_max": -1}, "--max-tries -1"),
        ({"seed": -1}, "--seed -1"),
        ({"transactions": 5, "duration_ns": 1}, "-t and -T cannot be used together"),
        ({"stages": (Stage(duration_ns=1),), "duration_ns": 1}, "-T and --stages"),
        ({"rate_tps": 1.0, "think": Think(mean_ns=1)}, "--rate and --think"),
        (
            {"stages": (Stage(duration_ns=1, rate_tps=1.0),), "think": Think(mean_ns=1)},
            "--stages with rates and --think cannot be used together",
        ),
        ({"target": "x", "server": "y"}, "--target and --server"),
        ({"target": "", "server": "y"}, "--target and --server"),
        ({"target": "", "durability": "none"}, "--durability is only for private servers"),
        ({"target": "x", "settings": (("a", "b"),)}, "--target and --set"),
        ({"arrivals": "poisson"}, "--arrivals needs --rate"),
        (
            {"clients": 2, "stages": (Stage(duration_ns=1, clients=4),)},
            "less than the clients of --stages",
        ),
        ({"tries_max": 0, "transactions": 1}, "--max-tries 0 needs a bound"),
    ],
)
def test_contradictory_options_are_refused(options, expected):
    with pytest.raises(DbdynoError) as refused:
        refuse_contradictions(RunOptions(**options))
    assert expected in refused.value.message
    assert refused.value.exit_code == 1


@pytest.mark.parametrize(
    "options",
    [
        {"rate_tps": 5.0},
        {"think": Think(mean_ns=1)},
        {"stages": (Stage(duration_ns=1, rate_tps=1),)},
    ],
)
def test_scripts_with_pauses_of_their_own_are_a_closed_loop_without_others(options):
    paced = Script(name="s", text="", pacing=Pacing(keying_ns=1, think_mean_ns=0))
    with pytest.raises(DbdynoError, match="the scripts say when each client pauses"):
        plan_of(scripts=[paced], **options)
    assert loop_of(plan_of(scripts=[paced])) == "closed, paced by its scripts"


def test_all_problems_are_named_at_once():
    with pytest.raises(DbdynoError) as refused:
        refuse_contradictions(RunOptions(clients=0, threads=0))
    assert "-c 0" in refused.value.message
    assert "-j 0" in refused.value.message
