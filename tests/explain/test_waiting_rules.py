"""The WAL, internal locks and the network: what clients wait for besides rows."""

import numpy as np
import pytest
from inline_snapshot import snapshot

from dbdyno.analysis.waits.budget import budget
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.formatting import percent
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import ServerFacts, WaitCount
from tests.explain.made import made_run, with_looks, with_processors
from tests.explain.rule_outcomes import outcome_of, reached, text_of
from tests.explain.tpcb import BRANCHES, END, SECONDS, behind, tpcb, waiting
from tests.support.recordings import MadeRun, changed

each_rule = pytest.mark.parametrize(
    "rule", ["wal_write", "lwlock", "round_trips", "other_waits", "parallel_workers"]
)


@each_rule
def test_could_not_look_without_samples(rule):
    assert isinstance(outcome_of(rule, MadeRun()), CouldNotLook)


@each_rule
def test_behind_a_pooler_the_waits_of_clients_are_unknown(rule):
    """The pooler's sessions have other process IDs than those that it reported to the engine."""
    asking = WaitCount("client", 0, "asking", "", "", "", 8)
    its_own = WaitCount("foreign", -1, "", "active", "IO", "WALSync", 8)
    outcome = outcome_of(rule, MadeRun(engine={"round_trips": 7000}).look(1.0, [asking, its_own]))
    assert isinstance(outcome, CouldNotLook)
    assert "pooler" in outcome.reason


@each_rule
def test_quiet_where_sessions_only_work(rule):
    run = with_looks(MadeRun(engine={"round_trips": 7000}), (0, "", "", 8))
    assert isinstance(outcome_of(rule, run), NotFound)


def flushing(**named):
    """One client flushes, three wait for its row and three for their own flush."""
    waits = [
        waiting(END, 1, "IO", "WALSync"),
        waiting(END, 3, "LWLock", "WALWrite"),
        waiting(BRANCHES, 3),
    ]
    return tpcb(8, waits, [behind(BRANCHES, 3, wait="WALSync")], **named)


FLUSH_TIMES = [
    (("wal_sync", "wal_sync_time"), ""),
    (("fsyncs", "fsync_time"), "client backend/wal/normal"),
]


def test_flushes_are_charged_with_the_row_locks_they_prolong():
    run = flushing(tps=300).counters("pg_stat_wal", {"wal_sync": 150, "wal_sync_time": 750})
    finding = outcome_of("wal_write", run)
    assert finding.share == pytest.approx(7 / 8)
    assert finding.certainty == "sure"
    assert text_of(finding) == snapshot("""\
critical: Limited by WAL writes and flushes
Transactions wait for the WAL to reach storage, or for locks of transactions
that do: 87.5 % of client time, most of it in WALSync.
They wait for it directly for 50 % of client time, for 37.5 % for locks whose
holders do.
150 flushes per second; 2 commits per flush.
A flush takes 5 ms: one after the other, with as many commits in each, they
allow 400 commits per second (385 to 416).
""")
    assert "synchronous_commit=off instead of on" in finding.advice[-1]


@pytest.mark.parametrize(
    ("server", "gain"),
    [
        (0.2, "Throughput rises by a factor of at most 4."),
        (1.6, "Throughput rises by a factor of at most 1.11; the CPU is then saturated."),
    ],
)
def test_without_the_waits_the_processors_are_the_next_bound(server, gain):
    """Six of eight clients wait; server and engine use this much of two cores now."""
    run = with_looks(MadeRun(1000), (0, "IO", "WALSync", 6), (0, "Client", "x", 2))
    with_processors(run, server=server, engine=0.2)
    assert outcome_of("wal_write", run).gain == gain


@pytest.mark.parametrize(("names", "of"), FLUSH_TIMES)
def test_the_commits_that_flushes_allow_have_the_interval_of_their_times(names, of):
    """A commit spends 2 or 3 ms flushing: that allows 400 commits a second, give or take."""
    count, time_ms = names
    source = "pg_stat_io" if of else "pg_stat_wal"
    timed = {count: 150, time_ms: [5000] * 3 + [600, 900] * (SECONDS // 2)}  # first the warm-up
    run = flushing(tps=300).counters(source, timed, of=of)
    evidence = outcome_of("wal_write", run).evidence
    low, high = evidence["bound_range_tps"]
    assert evidence["bound_tps"] == pytest.approx(400)
    assert 300 < low < 400 < high < 500


def test_with_few_readings_the_bound_of_commits_has_no_interval():
    counted = {"wal_sync": 1500, "wal_sync_time": 7500}
    run = flushing(tps=300).counters("pg_stat_wal", counted, at_s=[0, 10, 20])
    finding = outcome_of("wal_write", run)
    assert finding.evidence["bound_range_tps"] is None
    assert any("they allow 400 commits per second." in one for one in finding.seen)


def test_flushes_of_servers_that_count_them_by_backend():
    run = flushing(tps=300)
    run.counters("pg_stat_io", {"fsyncs": 100, "fsync_time": 500}, of="client backend/wal/normal")
    run.counters("pg_stat_io", {"fsyncs": 7}, of="checkpointer/relation/normal")
    evidence = outcome_of("wal_write", run).evidence
    assert evidence["flushes_per_s"] == pytest.approx(100, rel=0.1)
    assert evidence["commits_per_flush"] == pytest.approx(3, rel=0.1)
    assert evidence["flush_ms"] == pytest.approx(5)


def test_flushes_after_the_load_are_of_no_commit_in_it():
    synced = {"wal_sync": [150] * SECONDS + [90_000], "wal_sync_time": 750}
    times = [*range(1, SECONDS + 1), SECONDS + 60]
    run = flushing(tps=300).counters("pg_stat_wal", synced, at_s=times)
    assert outcome_of("wal_write", run).evidence["commits_per_flush"] == pytest.approx(2, rel=0.1)


def test_commits_of_readers_share_no_flush():
    done = np.tile([300, 1200], (20, 1))
    run = MadeRun(done, seconds=20, warmup=0, scripts={"writes": "", "reads": ""})
    run.statement("UPDATE a SET b = 1;", script=0).statement("SELECT b FROM a;", script=1)
    run = with_looks(run, (0, "IO", "WALSync", 8)).counters("pg_stat_wal", {"wal_sync": 150})
    assert outcome_of("wal_write", run).evidence["commits_per_flush"] == pytest.approx(2)


@pytest.mark.parametrize(("wal_bytes", "is_large"), [(100_000, True), (1000, False)])
def test_large_flushes_want_less_wal_rather_than_fewer_flushes(wal_bytes, is_large):
    counted = {"wal_sync": 150, "wal_sync_time": 750, "wal_bytes": 300 * wal_bytes}
    found = outcome_of("wal_write", flushing(tps=300).counters("pg_stat_wal", counted))
    assert found.evidence["flush_bytes"] == pytest.approx(2 * wal_bytes, rel=0.1)
    assert any("A flush writes" in line for line in found.seen) == is_large
    assert found.advice[0].startswith("Write less WAL") == is_large
    assert any("number of flushes" in line for line in found.advice) != is_large


@pytest.mark.parametrize(
    ("delay_us", "is_delayed", "is_felt"),
    [("10000", True, True), ("1000", False, True), ("100", False, False)],
)
def test_commits_that_wait_for_others_are_not_slow_storage(delay_us, is_delayed, is_felt):
    facts = ServerFacts(settings={"commit_delay": delay_us})
    counted = {"wal_sync": 100, "wal_sync_time": 50}
    found = outcome_of("wal_write", flushing(tps=300, facts=facts).counters("pg_stat_wal", counted))
    assert ("commit_delay" in found.title) == is_delayed
    assert ("commit_delay = 0" in found.advice[0]) == is_felt
    assert any("commit_delay" in line for line in found.seen) == is_felt
    assert ("commit_delay" in found.refute) == is_delayed
    assert (found.severity == "note") != is_delayed


def test_flushes_that_were_not_counted():
    finding = outcome_of("wal_write", flushing())
    assert finding.certainty == "likely"
    assert finding.evidence["flushes_per_s"] is None


def test_if_no_commit_waits_for_storage_flushes_are_not_mentioned():
    facts = ServerFacts(settings={"synchronous_commit": "off"})
    run = flushing(facts=facts).counters("pg_stat_wal", {"wal_sync": 1500, "wal_sync_time": 1})
    finding = outcome_of("wal_write", run)
    assert finding.evidence["flushes_per_s"] is None
    assert finding.severity == "critical"
    sentences = " ".join([finding.summary, *finding.seen, *finding.advice, finding.refute])
    assert "synchronous" not in sentences
    assert "flush" not in sentences


@pytest.mark.parametrize(
    ("event", "guarded"),
    [
        ("BufferMapping", "the mapping of pages to buffers"),
        ("buffer_mapping", "the mapping of pages to buffers"),
        ("ProcArrayLock", "the list of running transactions"),
        ("MultiXactOffsetSLRU", "lists of transactions that lock the same row"),
        ("AddinShmemInit", "something inside the server"),
    ],
)
def test_internal_locks_are_named_with_what_they_guard(event, guarded):
    run = with_looks(MadeRun(), (0, "LWLock", event, 2), (0, "LWLock", "XidGen", 1))
    finding = outcome_of("lwlock", run)
    assert finding.title == f"LWLock contention: {event}"
    assert guarded in finding.summary
    assert finding.share == pytest.approx(3 / 8, rel=0.01)


def test_the_words_on_buffer_mapping():
    run = with_looks(MadeRun(), (0, "LWLock", "BufferMapping", 2), (0, "LWLock", "XidGen", 1))
    assert text_of(outcome_of("lwlock", run)) == snapshot("""\
major: LWLock contention: BufferMapping
Sessions wait for the LWLock BufferMapping, which protects the mapping of pages
to buffers: 25 % of client time, 37.5 % with all LWLocks.
BufferMapping: 25 % of client time.
XidGen: 12.5 % of client time.
""")


def test_the_lock_manager_is_busy_with_a_queue_for_rows():
    waits = [(0, "LWLock", "LockManager", 2), (0, "Lock", "transactionid", 3)]
    assert isinstance(outcome_of("lwlock", with_looks(MadeRun(), *waits)), NotFound)
    assert outcome_of("lwlock", with_looks(MadeRun(), waits[0])).severity == "major"
    # A rare wait for a row makes no queue of it.
    rare = [(0, "LWLock", "LockManager", 6), (0, "Lock", "transactionid", 1)]
    assert outcome_of("lwlock", with_looks(MadeRun(), *rare)).evidence["events"].keys() == {
        "LockManager"
    }


def far_away(trips=7, tps=100, clients=8, on_the_way=7):
    """Each client spends most of its time on the network."""
    run = MadeRun(tps, clients=clients, seconds=20, engine={"round_trips": trips * tps})
    idle = WaitCount("client", 0, "asking", "idle in transaction", "Client", "ClientRead", 1)
    for number in range(1, 41):
        waits = [WaitCount("client", 0, "asking", "active", "", "", clients - on_the_way)]
        run.look(number * 0.5, [idle] * on_the_way + waits)
    return run


def test_a_far_client_spends_its_time_on_the_way():
    finding = outcome_of("round_trips", far_away())
    assert finding.share == pytest.approx(7 / 8)
    assert finding.evidence["round_trip_ms"] == pytest.approx(10)
    assert finding.evidence["pipelining_saves_ms"] == pytest.approx(60)
    assert text_of(finding) == snapshot("""\
critical: Network round trips dominate
Transactions spend 87.5 % of client time on the network: 7 round trips of 10 ms
each.
With so many round trips no transaction can be faster than 70 ms, whatever the
server does.
The CPU of the server's host was not seen: sessions that wait there for a CPU
look the same.
""")
    assert finding.certainty == "hint"


def test_within_a_host_nothing_is_said_of_a_network_without_the_cpu_time():
    """A run of two seconds, or one that was killed: the wait may be one for a CPU."""
    outcome = outcome_of(
        "round_trips", reached(far_away(), tcp={"host": "127.0.0.1", "port": 5432})
    )
    assert isinstance(outcome, CouldNotLook)
    assert "the server's CPU time was not read for long enough" in outcome.reason


def test_what_lies_between_two_programs_of_one_host_is_no_distance():
    """A proxy, or a network that is emulated on the loopback interface."""
    idle = with_processors(far_away(), server=0.2, engine=0.1)
    idle.counters("processes", {"run_queue_us": 1}, of="server")
    finding = outcome_of("round_trips", reached(idle, tcp={"host": "127.0.0.1", "port": 5432}))
    assert not any("closer" in advice for advice in finding.advice)
    assert any("Connect directly" in advice for advice in finding.advice)
    assert "over a Unix socket" in finding.refute


def test_one_statement_has_nothing_to_send_together():
    finding = outcome_of("round_trips", far_away(trips=1))
    assert finding.gain == ""
    assert not any("together" in advice for advice in finding.advice)


def test_round_trips_within_a_machine_are_no_network():
    outcome = outcome_of("round_trips", far_away(tps=100_000))
    assert isinstance(outcome, NotFound)
    assert "within a host" in outcome.reason


def test_round_trips_are_long_where_processors_are_full():
    full = with_processors(far_away(), server=1.7, engine=0.3)
    outcome = outcome_of("round_trips", reached(full, tcp={"host": "127.0.0.1", "port": 5432}))
    assert isinstance(outcome, NotFound)
    assert "CPU is saturated" in outcome.reason


@pytest.mark.parametrize("rule", ["round_trips", "cpu_others", "too_many_connections"])
def test_a_network_before_full_processors_is_nobodys_time(rule):
    """Two namespaces of one machine: whether the network or the CPU is slow is unknown."""
    full = with_processors(far_away(trips=1, clients=80, on_the_way=79), server=1.2, others=0.8)
    outcome = outcome_of(rule, reached(full, tcp={"host": "10.0.0.2", "port": 5432}))
    assert not isinstance(outcome, Finding) or outcome.share < 0.03
    assert rule != "round_trips" or "of the network, or because" in outcome.reason


def test_a_unix_socket_is_no_network():
    outcome = outcome_of("round_trips", reached(far_away(), unix={"path": "/tmp/.s.PGSQL.5432"}))
    assert isinstance(outcome, NotFound)
    assert "there is no network" in outcome.reason


def test_a_named_lock_is_reported_with_the_statement_that_waits_for_it():
    waits = [waiting(BRANCHES, 6, "Lock", "advisory"), waiting(END, 2, "IO", "WALSync")]
    finding = outcome_of("other_waits", tpcb(8, waits))
    assert finding.share == pytest.approx(6 / 8)
    assert text_of(finding) == snapshot("""\
critical: Waits for application-defined locks: advisory
Clients spend 75 % of their time waiting for application-defined locks.
advisory at “UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid
= :bid;”: 75 % of client time.
""")


@pytest.mark.parametrize(
    ("wait_type", "event", "name"),
    [
        ("Lock", "object", "the lock of NOTIFY, or of another object that is no table"),
        ("Lock", "table metadata", "table locks"),
        ("Lock", "backup", "the global read lock"),
        ("Lock", "global read", "the global read lock"),
        ("Lock", "query cache", "the query cache's lock"),
        ("IPC", "SyncRep", "the reply of a synchronous standby"),
        ("Timeout", "PgSleep", "a pause within a statement"),
    ],
)
def test_waits_are_described_by_their_purpose(wait_type, event, name):
    finding = outcome_of("other_waits", with_looks(MadeRun(), (0, wait_type, event, 8)))
    assert finding.summary == f"Clients spend {percent(1.0)} of their time waiting for {name}."
    assert finding.title == f"Waits for {name}: {event}"


def test_a_wait_that_only_the_server_has_a_name_for_is_named_once():
    finding = outcome_of("other_waits", with_looks(MadeRun(), (0, "BufferPin", "BufferPin", 8)))
    assert finding.title == "Waits for what the server calls BufferPin"


def test_events_of_one_cause_are_reported_as_one():
    """Neither alone takes as much time as the sleep."""
    locks = [(0, "Lock", "relation", 2), (0, "Lock", "table metadata", 2)]
    run = with_looks(MadeRun(), *locks, (0, "Timeout", "PgSleep", 3))
    finding = outcome_of("other_waits", run)
    assert finding.title.startswith("Waits for table locks: ")
    expected = f"Clients spend {percent(0.5)} of their time waiting for table locks, "
    assert finding.summary == f"{expected}{percent(7 / 8)} with other such waits."


WORKERS = [(0, "IPC", "MessageQueueReceive", 4), (0, "IPC", "BgWorkerShutdown", 2)]


def test_waits_for_parallel_workers_are_reported_apart_from_others():
    sleep = (0, "Timeout", "PgSleep", 2)
    run = with_looks(made_run("SELECT count(*) FROM accounts"), *WORKERS, sleep)
    assert outcome_of("other_waits", run).share == pytest.approx(2 / 8)
    assert text_of(outcome_of("parallel_workers", run)) == snapshot("""\
critical: Statements wait for parallel workers
Clients spend 75 % of their time waiting for parallel workers.
MessageQueueReceive at “SELECT count(*) FROM accounts”: 50 % of client time.
BgWorkerShutdown at “SELECT count(*) FROM accounts”: 25 % of client time.
""")
    assert isinstance(outcome_of("parallel_workers", with_looks(MadeRun(), sleep)), NotFound)


def test_without_waits_a_saturated_cpu_lets_throughput_hardly_rise():
    run = with_processors(with_looks(MadeRun(), *WORKERS, (0, "", "", 2)), server=1.9)
    assert outcome_of("parallel_workers", run).gain == (
        "Throughput hardly rises: the CPU is already saturated."
    )


def test_waits_of_several_kinds_are_reported_together():
    run = with_looks(MadeRun(), (0, "IPC", "SyncRep", 4), (0, "Timeout", "PgSleep", 2))
    finding = outcome_of("other_waits", run)
    assert finding.share == pytest.approx(6 / 8)
    expected = f"Clients spend {percent(0.5)} of their time waiting for the reply of a synchronous "
    assert finding.summary == f"{expected}standby, {percent(0.75)} with other such waits."


@pytest.mark.parametrize(
    "seen", [("Lock", "transactionid"), ("Lock", "record"), ("Kernel", "nanosleep")]
)
def test_waits_for_rows_and_waits_seen_only_by_the_kernel_belong_to_other_rules(seen):
    outcome = outcome_of("other_waits", with_looks(MadeRun(), (0, *seen, 8)))
    assert isinstance(outcome, NotFound)


def test_an_unnamed_wait_is_not_reported():
    """Of eight sessions that the server calls active, one had a core and none was queued."""
    run = with_looks(with_processors(MadeRun(), server=1.0), (0, "", "", 8))
    run.counters("processes", {"run_queue_us": 0.0}, of="server")
    recording = changed(run.loaded(), plan={"endpoint": {"protocol": "mysql"}})
    assert budget(recording).share("other_wait") > 0.8
    assert isinstance(outcome_of("other_waits", recording), NotFound)
