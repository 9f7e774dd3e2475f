import msgspec
import numpy as np
import pytest

from dbdyno.analysis.waits.budget import budget
from dbdyno.analysis.waits.session_samples import unsampled_s
from dbdyno.model.telemetry import BlockCount, WaitCount
from tests.support.recordings import MadeRun

CLIENTS, SECONDS = 8, 20
WHOLE = CLIENTS * SECONDS
RUNNING = WaitCount("client", 0, "asking", "active", "", "", 2)
QUEUED = WaitCount("client", 1, "asking", "active", "Lock", "transactionid", 3)
FLUSHING = WaitCount("client", 2, "asking", "active", "IO", "WALSync", 1)
ON_THE_WAY = WaitCount("client", 0, "asking", "idle in transaction", "Client", "ClientRead", 2)
ALL = (RUNNING, QUEUED, FLUSHING, ON_THE_WAY)


def behind(root_wait, root_who="client", root=2, root_state="active", count=3):
    return BlockCount(
        "client",
        1,
        root_who,
        root,
        root_who,
        root,
        root_state,
        root_wait,
        "transactionid",
        "ShareLock",
        "pgbench_branches",
        "(0,1)",
        1,
        count,
        None,
    )


def made(waits=ALL, blocking=(), every_s=0.5):
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for number in range(1, int(SECONDS / every_s) + 1):
        run.look(number * every_s, waits, blocking, seconds=every_s)
    return run


def spent(*arguments, **named):
    return budget(made(*arguments, **named).loaded())


def test_without_samples_there_is_no_budget():
    assert budget(MadeRun().loaded()) is None


def test_looks_of_the_warm_up_and_of_the_drain_do_not_count():
    run = made().look(-1.0, ALL).look(SECONDS + 0.5, ALL)
    assert budget(run.loaded()).samples == 40


def test_a_sample_at_the_start_stands_for_the_measured_part_alone():
    run = MadeRun(clients=CLIENTS, seconds=SECONDS).look(1.0, ALL, seconds=5.0)
    run.look(6.0, (), seconds=5.0)
    assert budget(run.loaded()).not_seen == pytest.approx(WHOLE - CLIENTS)


@pytest.mark.parametrize("first_s", [0.5, 2.0, 3.5, 5.0])
def test_rare_samples_stand_for_the_whole_measured_part_wherever_they_fall(first_s):
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for time_s in np.arange(first_s, SECONDS + 0.1, 5.0):
        run.look(float(time_s), ALL, seconds=5.0)
    assert budget(run.loaded()).not_seen == pytest.approx(0)


def test_the_last_sample_stands_for_no_more_time_after_it_than_before():
    run = MadeRun(clients=CLIENTS, seconds=SECONDS).look(10.0, ALL, seconds=2.0)
    assert budget(run.loaded()).not_seen == pytest.approx(WHOLE - 4 * CLIENTS)


def test_a_gap_between_samples_is_known():
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for half in [*range(1, 11), *range(21, 41)]:
        run.look(half / 2, ALL, seconds=0.5)
    assert unsampled_s(run.loaded()) == pytest.approx(5.0)
    assert unsampled_s(made().loaded()) == pytest.approx(0.0)
    assert unsampled_s(MadeRun().loaded()) == 0.0  # without telemetry


def test_the_parts_are_the_clients_seconds():
    found = spent()
    assert found.total == WHOLE
    assert found.not_seen == pytest.approx(0)
    assert {part.kind: part.seconds for part in found.parts} == {
        "lock": 60.0,
        "cpu": 40.0,
        "client_or_network": 40.0,
        "wal": 20.0,
    }


def test_shares_by_kind_event_and_statement():
    found = spent()
    assert found.share("lock") == pytest.approx(3 / 8)
    assert found.share(event="WALSync") == pytest.approx(1 / 8)
    assert found.share(statement=0) == pytest.approx(4 / 8)
    assert found.share("cpu", statement=1) == 0


def test_time_that_no_sample_accounts_for_is_reported():
    assert spent(waits=(RUNNING,)).not_seen == pytest.approx(WHOLE * 6 / 8)


def test_the_engine_reports_what_a_client_does_while_the_server_does_not_work_for_it():
    between = [
        WaitCount("client", -1, "pausing", "idle in transaction", "Client", "ClientRead", 1),
        WaitCount("client", -1, "idle", "idle", "Client", "ClientRead", 1),
        WaitCount("client", -1, "unconnected", "", "", "", 1),
    ]
    kinds = {part.kind: part.statement for part in spent(waits=between).parts}
    assert kinds == {"pause": -1, "idle": -1, "unconnected": -1}


def test_sessions_whose_state_is_hidden_are_not_seen():
    hidden = WaitCount("client", 0, "asking", "", "", "", 8)
    found = spent(waits=[hidden])
    assert found.parts == []
    assert found.not_seen == WHOLE


def test_whether_a_session_is_known_to_be_a_clients():
    """Behind a pooler the engine knows other process IDs for them; track_activities may be off."""
    asking = WaitCount("client", 0, "asking", "", "", "", 4)
    pausing = WaitCount("client", -1, "pausing", "", "", "", 4)
    pooled = WaitCount("foreign", -1, "", "active", "", "", 4)
    untracked = WaitCount("client", 0, "asking", "disabled", "", "", 4)
    assert not spent(waits=[asking, pooled]).knows_sessions
    assert not spent(waits=[asking, pooled]).foreign_of_work
    assert not spent(waits=[untracked]).knows_sessions
    assert spent(waits=[pausing, pooled]).knows_sessions
    assert spent(waits=[asking, RUNNING]).knows_sessions
    assert spent(waits=[RUNNING, pooled]).foreign_of_work


def test_other_sessions_are_nobodys_time():
    others = [
        WaitCount("foreign", -1, "", "active", "", "", 4),
        WaitCount("checkpointer", -1, "", "", "IO", "DataFileWrite", 1),
    ]
    assert spent(waits=others).parts == []


@pytest.mark.parametrize(
    ("wait_type", "event", "kind"),
    [
        ("LWLock", "WALWrite", "wal"),
        ("LWLock", "WALWriteLock", "wal"),
        ("LWLock", "wal_insert", "wal"),
        ("IO", "WalSync", "wal"),
        ("IO", "DataFileRead", "io"),
        ("IPC", "BufferIO", "io"),
        ("LWLock", "BufferMapping", "lwlock"),
        ("Lock", "tuple", "lock"),
        ("Client", "ClientWrite", "client_or_network"),
        ("IPC", "SyncRep", "other_wait"),
        ("Timeout", "PgSleep", "other_wait"),
        ("BufferPin", "BufferPin", "other_wait"),
    ],
)
def test_wait_events_have_kinds(wait_type, event, kind):
    waiting = WaitCount("client", 0, "asking", "active", wait_type, event, 1)
    (part,) = spent(waits=[waiting]).parts
    assert (part.kind, part.wait_type, part.wait_event) == (kind, wait_type, event)


def test_half_of_the_runnable_sessions_had_a_processor():
    run = made().counters("processes", {"user_us": 700e3, "system_us": 300e3}, of="server")
    found = budget(run.loaded())  # 20 s of CPU time for 40 s of runnable sessions
    assert found.knows_cpu_queue
    assert found.share("cpu") == pytest.approx(20 / WHOLE)
    assert found.share("cpu_queue") == pytest.approx(20 / WHOLE)


def test_processes_of_the_server_share_the_processors():
    waits = (*ALL, WaitCount("autovacuum worker", -1, "", "active", "", "", 2))
    run = made(waits).counters("processes", {"user_us": 1e6}, of="server")
    found = budget(run.loaded())  # 20 s for 80 s
    assert found.share("cpu") == pytest.approx(10 / WHOLE)
    assert found.share("cpu_queue") == pytest.approx(30 / WHOLE)


def test_without_the_servers_processor_time_nothing_is_split():
    found = spent()
    assert not found.knows_cpu_queue
    assert found.share("cpu_queue") == 0


def test_lock_waits_are_charged_to_what_their_root_did():
    found = spent(blocking=[behind("WALSync")])
    (charge,) = found.charges
    assert (charge.root_who, charge.root, charge.root_kind) == ("client", 2, "wal")
    assert charge.seconds == pytest.approx(60)
    assert found.charged("wal") == pytest.approx((20 + 60) / WHOLE)
    assert found.charged("lock") == pytest.approx(0)


def test_work_of_foreign_sessions_is_no_work_of_the_load():
    found = spent(blocking=[behind("WALSync", root_who="foreign", root=-1)])
    assert found.behind_others == pytest.approx(60 / WHOLE)
    assert found.charged("wal") == pytest.approx(20 / WHOLE)
    assert found.charged("lock") == pytest.approx(0)


def test_each_rare_lock_sample_is_charged_for_the_time_since_the_last():
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for number in range(1, 41):
        at_locks = number % 10 == 0
        blocking = [behind("WALSync")] if at_locks else []
        run.look(number * 0.5, ALL, blocking, locks_seconds=5.0 if at_locks else None)
    found = budget(run.loaded())
    assert found.charges[0].seconds == pytest.approx(60)
    assert found.charged("wal") == pytest.approx((20 + 60) / WHOLE)
    assert found.charged("lock") == pytest.approx(0)


def test_lock_waits_are_charged_statement_by_statement():
    several = [
        msgspec.structs.replace(behind("WALSync", count=number), waiter=number) for number in (1, 2)
    ]
    charges = {charge.waiter: charge.seconds for charge in spent(blocking=several).charges}
    assert charges == pytest.approx({1: 20, 2: 40})


def test_a_lock_wait_whose_root_was_not_sampled_remains_a_lock_wait():
    found = spent(blocking=[behind("WALSync", count=1)])
    assert found.charged("lock") == pytest.approx(40 / WHOLE)


@pytest.mark.parametrize(
    ("who", "root", "state", "kind"),
    [
        ("client", 2, "idle in transaction", "client_or_network"),
        ("client", -1, "idle in transaction", "idle_in_transaction"),
        ("foreign", -1, "idle in transaction", "idle_in_transaction"),
        ("foreign", -1, "active", "cpu"),
        ("foreign", -1, "", "other_wait"),
    ],
)
def test_roots_have_kinds(who, root, state, kind):
    (charge,) = spent(blocking=[behind("", who, root, state)]).charges
    assert charge.root_kind == kind


def test_a_root_that_waits_for_a_processor_passes_that_on():
    run = made(blocking=[behind("")]).counters("processes", {"user_us": 1e6}, of="server")
    charges = budget(run.loaded()).charges
    assert {charge.root_kind: charge.seconds for charge in charges} == pytest.approx(
        {"cpu": 30, "cpu_queue": 30}
    )


def test_intervals_come_from_blocks_not_from_samples():
    """A wait of ten of the twenty seconds is one observation, however often it is sampled."""

    def width(every_s):
        run = MadeRun(clients=CLIENTS, seconds=SECONDS)
        for number in range(1, int(SECONDS / every_s) + 1):
            is_stuck = number * every_s <= SECONDS / 2
            run.look(number * every_s, [QUEUED] if is_stuck else [], seconds=every_s)
        (part,) = budget(run.loaded()).parts
        assert part.low < part.seconds < part.high
        return part.high - part.low

    assert width(0.1) == pytest.approx(width(0.5), rel=0.05)


def test_a_few_seconds_of_samples_give_no_interval():
    """Every resample of a single block is the block itself: that is no certainty."""
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for time_s in (0.3, 0.6, 0.9):
        run.look(time_s, [QUEUED], seconds=0.3)
    (part,) = budget(run.loaded()).parts
    assert part.seconds > 0
    assert (part.low, part.high) == (None, None)


def test_the_interval_holds_the_true_share_as_often_as_it_says():
    chance = np.random.default_rng(3)
    runs, held = 40, 0
    for _ in range(runs):
        run = MadeRun(clients=CLIENTS, seconds=40)
        for number, count in enumerate(chance.binomial(CLIENTS, 0.25, size=80), start=1):
            run.look(number * 0.5, [msgspec.structs.replace(QUEUED, count=int(count))])
        (part,) = budget(run.loaded()).parts
        held += part.low <= CLIENTS * 0.25 * 40 <= part.high
    assert held >= 0.85 * runs


def test_a_deadlock_in_the_making_stays_a_lock_wait():
    found = spent(blocking=[behind("transactionid")])
    assert [charge.root_kind for charge in found.charges] == ["lock"]
    assert found.charged("lock") == pytest.approx(60 / WHOLE)


STAGES = [(10, 2), (10, 8)]


def in_stages(first, second):
    run = MadeRun(clients=8, seconds=20, stages=STAGES)
    for number in range(1, 41):
        run.look(number * 0.5, first if number <= 20 else second)
    return run


def test_clients_of_a_later_stage_are_none_of_the_client_time():
    parked = WaitCount("client", -1, "idle", "idle", "Client", "ClientRead", 6)
    at_work = WaitCount("client", 0, "asking", "active", "Lock", "tuple", 2)
    found = budget(in_stages([at_work, parked], [at_work, parked]).loaded())
    assert found.total == 2 * 10 + 8 * 10
    assert found.not_seen == pytest.approx(0)
    assert found.share("lock") == pytest.approx(2 * 20 / 100)
    assert found.share("idle") == pytest.approx(6 * 10 / 100)  # those of the second stage


def test_parked_clients_that_connect_for_each_transaction_have_no_connection():
    parked = WaitCount("client", -1, "unconnected", "", "", "", 6)
    at_work = WaitCount("client", 0, "asking", "active", "Lock", "tuple", 2)
    all_at_work = WaitCount("client", 0, "asking", "active", "Lock", "tuple", 8)
    found = budget(in_stages([at_work, parked], [all_at_work]).loaded())
    assert {part.kind for part in found.parts} == {"lock"}
    assert found.share("lock") == pytest.approx(1)
