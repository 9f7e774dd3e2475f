"""The sentences of each rule, on numbers made by hand: no run is needed for them."""

import pytest
from msgspec.structs import replace

from dbdyno.analysis.events.wal import ImageTime
from dbdyno.analysis.series.steadiness import Shift
from dbdyno.analysis.waits.processor_time import ProcessorTime
from dbdyno.databases.known import native_database
from dbdyno.explain.gains import Gains, GainsOfWaits
from dbdyno.explain.locks.convoy import Convoy
from dbdyno.explain.locks.row_holds import RowHold
from dbdyno.explain.registry import all_rules
from dbdyno.explain.resources.event_losses import LossNumbers
from dbdyno.explain.resources.growth import Course
from dbdyno.explain.resources.named_waits import WaitAt
from dbdyno.explain.rule import Claim
from dbdyno.explain.rules.autovacuum_behind import AutovacuumBehind
from dbdyno.explain.rules.autovacuum_interference import AutovacuumInterference
from dbdyno.explain.rules.checkpoint_io import CheckpointIo
from dbdyno.explain.rules.connection_churn import ConnectionChurn
from dbdyno.explain.rules.cpu_generator import GeneratorSaturated
from dbdyno.explain.rules.cpu_others import CpuOthers, Program
from dbdyno.explain.rules.cpu_server import CpuServer
from dbdyno.explain.rules.cpu_steal import CpuSteal
from dbdyno.explain.rules.cpu_throttled import Stopped, Throttled
from dbdyno.explain.rules.data_read import DataRead
from dbdyno.explain.rules.deadlocks import Deadlocks, ScriptCount
from dbdyno.explain.rules.distorting_settings import DistortingSettings, Distortion
from dbdyno.explain.rules.failed_transactions import ClassCount, FailedTransactions
from dbdyno.explain.rules.foreign_lock import BlockedAt, ForeignLock, Root
from dbdyno.explain.rules.full_page_writes import FullPageWrites
from dbdyno.explain.rules.furious_flushing import FreePageWaits, FuriousFlushing
from dbdyno.explain.rules.hot_updates import AssignedByTable, FullPages, IndexedColumn
from dbdyno.explain.rules.long_transaction import HeldHorizon, HeldPurge
from dbdyno.explain.rules.lwlock import LatchWaits, UnnamedWaits
from dbdyno.explain.rules.missing_index import Blamed, HiddenLookup, MissingIndex
from dbdyno.explain.rules.no_checkpoint_cycle import NoCheckpointCycle
from dbdyno.explain.rules.other_waits import OtherWaits
from dbdyno.explain.rules.outage import Outage
from dbdyno.explain.rules.own_work import FewClients, OnTheWay, Work, WorkBesideWaits
from dbdyno.explain.rules.parallel_workers import ParallelWorkers
from dbdyno.explain.rules.plan_choice import ExpensiveGeneric, PlanChange
from dbdyno.explain.rules.purge_lag import PurgeLag
from dbdyno.explain.rules.round_trips import RoundTrips
from dbdyno.explain.rules.row_lock_convoy import claim_of
from dbdyno.explain.rules.schedule_lag import LateStarts, Overrun
from dbdyno.explain.rules.statement_order import StatementOrder
from dbdyno.explain.rules.statements_lost import StatementsLost
from dbdyno.explain.rules.table_growth import Grown, TableGrowth
from dbdyno.explain.rules.temporary_files import TablesOnDisk, TemporaryFiles
from dbdyno.explain.rules.too_many_connections import TooManyConnections
from dbdyno.explain.rules.tries_again import TriesAgain
from dbdyno.explain.rules.unsteady import Unsteady
from dbdyno.explain.rules.wal_write import Flushes, Promise, WalWrite
from dbdyno.explain.statements.sql import Sql
from dbdyno.explain.statements.statements import Statement
from dbdyno.explain.statements.unindexed_lookups import Lookup
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.record import FailureRecord
from dbdyno.model.telemetry import PlanFacts


def plain(text):
    """With spaces of the usual width."""
    return text.replace(THIN_SPACE, " ")


def listed(texts):
    return [plain(text) for text in texts]


# ------------------------------------------------------------------------------ what is gained


@pytest.mark.parametrize(
    ("gains", "share", "text"),
    [
        (Gains(), 0.5, "Throughput rises by a factor of at most 2."),
        (Gains(), 0.02, ""),
        (Gains(), 0.999, "Throughput rises by a factor of 100 or more."),
        (Gains(has_its_rate=True), 0.5, "Response times fall; the rate stays as requested."),
        (Gains(did_nothing=True), 0.5, ""),
        (
            GainsOfWaits(utilization=0.8),
            0.5,
            "Throughput rises by a factor of at most 1.25; the CPU is then saturated.",
        ),
        (GainsOfWaits(utilization=0.1), 0.5, "Throughput rises by a factor of at most 2."),
        (
            GainsOfWaits(utilization=0.99),
            0.5,
            "Throughput hardly rises: the CPU is already saturated.",
        ),
        (
            GainsOfWaits(),
            0.5,
            "Throughput rises by a factor of at most 2, unless the CPU, whose utilization is not "
            "known, is saturated before.",
        ),
        (GainsOfWaits(utilization=0.8), 0.02, ""),
        (GainsOfWaits(has_its_rate=True), 0.5, "Response times fall; the rate stays as requested."),
    ],
)
def test_a_gain_is_promised_as_far_as_it_is_bounded(gains, share, text):
    assert gains.text(share) == text


# ------------------------------------------------------------------------- events that cost some


def a_loss(**more):
    numbers = {
        "occurrences": 3,
        "transactions_lost": 1200.0,
        "share_of_run": 0.2,
        "share_of_loss": 0.6,
        "chance": 0.01,
    }
    return LossNumbers(**numbers | more)


def test_repeated_losses_have_a_share_and_a_single_one_is_an_anecdote():
    assert plain(a_loss().text) == (
        "It happened 3 times and cost 1 200 transactions: 20 % of what the run could have done, "
        "60 % of all lost throughput. At random times, 1 % of trials lose as much."
    )
    once = a_loss(occurrences=1, share_of_loss=None)
    assert plain(once.text).startswith("It happened once and cost 1 200 transactions: 20 % of what")
    assert "lost throughput" not in once.text


def checkpoints(**more):
    numbers = {"pages_written": 5000, "sync_s": 1.0, "write_s": 9.0, "has_finished": True}
    loss = more.pop("loss", a_loss())
    return CheckpointIo(share=loss.share_of_loss, loss=loss, **numbers | more)


def test_what_checkpoints_cost_is_lost_throughput():
    claim = checkpoints()
    assert (claim.severity, claim.certainty, claim.share_of) == (
        "major",
        "likely",
        "lost throughput",
    )
    assert plain(claim.summary) == (
        "Throughput fell around checkpoints: this cost 20 % of the run's throughput."
    )
    assert plain(claim.seen[1]).startswith("They wrote 5 000 pages and spent 9")
    assert claim.gain == "Throughput rises by a factor of at most 1.25."
    assert [*claim.evidence] == [
        "occurrences",
        "transactions_lost",
        "share_of_run",
        "share_of_loss",
        "chance",
        "pages_written",
        "sync_s",
    ]


def test_a_single_checkpoint_is_a_hint_and_one_without_an_end_has_no_phases():
    claim = checkpoints(loss=a_loss(occurrences=1, share_of_loss=None), has_finished=False)
    assert (claim.severity, claim.certainty, claim.share_of) == ("minor", "hint", "")
    assert claim.seen[1].endswith(
        "pages; none had finished, so their write and sync times are not known."
    )


def autovacuums(*labels, pauses=True):
    return AutovacuumInterference(
        loss=a_loss(), autovacuums=[*labels], seconds=20.0, longest_s=15.0, pauses=pauses
    )


def test_one_autovacuum_is_not_the_longest_of_several():
    assert plain(autovacuums("autovacuum of a").seen[1]) == "Autovacuum ran for 20 s in total."
    assert plain(autovacuums("autovacuum of a", "autovacuum of b").seen[1]) == (
        "Autovacuum ran for 20 s in total, the autovacuum of a for 15 s."
    )


def test_a_delay_of_0_cannot_be_made_ten_times_as_long():
    pausing, eager = autovacuums("a"), autovacuums("a", pauses=False)
    assert "autovacuum_vacuum_cost_delay ten times as long:" in pausing.refute
    assert "autovacuum_vacuum_cost_delay = 20ms:" in eager.refute
    assert "It is 0: autovacuum never pauses" in eager.advice[0]
    assert "lower autovacuum_vacuum_cost_limit" in pausing.advice[0]


# ----------------------------------------------------------------------------- dead rows, growth


def behind(**more):
    numbers = {
        "table": "accounts",
        "dead_rows": 5000,
        "live_rows": 10_000,
        "made_per_s": 200.0,
        "cleaned_per_s": 150.0,
        "tolerated": 2050.0,
        "time_to_double_s": 200.0,
        "more_per_s": 50.0,
        "vacuums": 2.0,
    }
    return AutovacuumBehind(**numbers | more)


def test_dead_rows_are_graver_the_more_of_them_there_are_per_live_row():
    assert behind().severity == "minor"
    assert behind(dead_rows=10_000).severity == "major"
    assert behind(dead_rows=1000).severity == "note"


def test_time_to_double_is_given_until_the_table_has_doubled():
    assert plain(behind().why).endswith(
        "and the table grows: at this rate it doubles in 3 min 20 s."
    )
    assert "twice the size" in behind(dead_rows=10_000).why


@pytest.mark.parametrize(
    ("more", "cause", "remedy", "tried"),
    [
        ({}, "does not keep up", "Autovacuum already starts early", "at half the rate (--rate)"),
        ({"off": "server"}, "is off", "ALTER SYSTEM SET autovacuum = on;", "with autovacuum on"),
        (
            {"off": "table"},
            "is disabled for this table",
            "ALTER TABLE accounts RESET (autovacuum_enabled);",
            "with autovacuum on",
        ),
        (
            {"more_eager": ["a = 1", "b = 2"]},
            "does not keep up",
            "ALTER TABLE accounts SET (a = 1, b = 2);",
            "with a = 1, b = 2",
        ),
    ],
)
def test_the_remedy_is_what_is_left_to_set(more, cause, remedy, tried):
    claim = behind(**more)
    assert plain(claim.summary) == (
        "accounts has 5 000 dead rows for 10 000 live ones, and 50 more per second: "
        f"autovacuum {cause}."
    )
    assert claim.advice[0].startswith(remedy)
    assert claim.refute == f"Run again {tried}: dead rows must level off."


def grown(last, of_rows=0.0):
    course = Course(first=100 << 20, last=last, seconds=60.0)
    worst = Grown("accounts", course, of_rows)
    return TableGrowth(
        relation="accounts",
        bytes_before=course.first,
        bytes_after=course.last,
        bytes_of_new_rows=of_rows,
        time_to_double_s=120.0,
        worst=worst,
    )


def test_bloat_counts_from_a_fifth_of_the_table_on():
    assert grown(150 << 20).severity == "minor"
    assert grown(110 << 20).severity == "note"
    assert plain(grown(150 << 20, of_rows=float(10 << 20)).summary) == (
        "accounts grew from 100 MiB to 150 MiB in 60 s, 40 MiB of which new rows do not explain."
    )
    assert plain(grown(150 << 20).gain) == "At this rate it doubles in 2 min."
    assert replace(grown(150 << 20), time_to_double_s=None).gain == ""


def test_of_many_relations_that_grew_three_more_are_shown():
    others = [Grown(f"t{number}", Course(1.0, 2.0, 1.0), 0.0) for number in range(5)]
    claim = replace(grown(150 << 20), others=others)
    assert [text.split(":")[0] for text in claim.seen] == ["accounts", "t0", "t1", "t2"]


def horizon(**more):
    numbers = {
        "oldest_transaction_s": 30.0,
        "horizon_age_transactions": 9000.0,
        "table": "accounts",
        "dead_rows": 20_000.0,
        "live_rows": 10_000.0,
        "lost_throughput": 0.3,
    }
    return HeldHorizon(**numbers | more)


@pytest.mark.parametrize(
    ("more", "title", "who"),
    [
        ({}, "Long transaction", "A transaction that is 30 s old"),
        ({"is_idle": True}, "Idle transaction", "An idle transaction that is 30 s old"),
        (
            {"is_standby": True},
            "Replication slot or standby",
            "A replication slot or a standby",
        ),
    ],
)
def test_who_holds_the_horizon_is_named(more, title, who):
    claim = horizon(**more)
    assert claim.title == f"{title} holds back the xmin horizon"
    assert plain(claim.summary) == (
        f"{who} keeps 20 000 dead rows of accounts from being removed; the table has 10 000 live "
        "rows."
    )


def test_an_idle_transaction_is_limited_by_a_timeout_and_a_standby_is_looked_up():
    assert "idle_in_transaction_session_timeout" in horizon(is_idle=True).advice[1]
    assert "shorter transactions" in horizon().advice[1]
    assert "pg_replication_slots" in horizon(is_standby=True).advice[0]


@pytest.mark.parametrize(
    ("dead", "lost", "severity", "certainty"),
    [
        (20_000.0, 0.3, "major", "sure"),
        (20_000.0, None, "major", "likely"),
        (5000.0, 0.0, "minor", "likely"),
        (5000.0, 0.5, "critical", "likely"),
    ],
)
def test_a_held_horizon_is_judged_by_dead_rows_and_lost_throughput(dead, lost, severity, certainty):
    claim = horizon(dead_rows=dead, lost_throughput=lost)
    assert (claim.severity, claim.certainty) == (severity, certainty)


@pytest.mark.parametrize(
    ("lost", "texts"),
    [
        (None, []),
        (0.01, ["Throughput did not fall noticeably."]),
        (0.25, ["Throughput in the last third of the run is 25 % below the first third."]),
    ],
)
def test_lost_throughput_is_told_if_it_is_known(lost, texts):
    assert listed(horizon(lost_throughput=lost).seen[1:]) == texts


def test_a_held_purge_counts_transactions():
    claim = HeldPurge(
        oldest_transaction_s=12.0, history_first=100.0, history_last=50_000.0, lost_throughput=None
    )
    assert claim.title == "Long transaction holds back the purge of old versions"
    assert plain(claim.summary) == (
        "A transaction that is 12 s old keeps the old row versions of 50 000 transactions from "
        "being purged."
    )
    assert (claim.severity, claim.certainty) == ("major", "likely")
    idle = replace(claim, is_idle=True, lost_throughput=0.1)
    assert idle.title.startswith("Idle transaction")
    assert idle.summary.startswith("An idle transaction")
    assert idle.certainty == "sure"


@pytest.mark.parametrize(("put_off", "severity"), [(0.1, "note"), (0.2, "minor"), (0.5, "major")])
def test_purge_lag_is_graver_the_more_is_put_off(put_off, severity):
    claim = PurgeLag(history_first=0, history_last=20_000, put_off=put_off, per_s=300.0)
    assert claim.severity == severity
    assert plain(claim.seen[0]) == "It grew by 300 transactions per second."


# ---------------------------------------------------------------------------- connections, CPU


def churn(**more):
    numbers = {
        "share": 0.5,
        "connections": 1000,
        "connect_ms": 5.0,
        "connections_per_transaction": 1.0,
        "server_sessions": 1000.0,
        "forks": None,
        "per_s": 100.0,
        "session": "process",
        "pooler": "PgBouncer",
    }
    return ConnectionChurn(**numbers | more)


def test_connecting_is_sure_if_the_server_counted_it_too():
    assert (churn().certainty, churn(server_sessions=None).certainty) == ("sure", "likely")
    assert plain(churn().seen[1]) == "The server counted 1 000 new sessions."
    assert len(churn(server_sessions=None).seen) == 1


def test_only_a_run_that_was_to_reconnect_is_told_to_omit_it():
    assert len(churn().advice) == 1
    assert churn(is_wanted=True).advice[1].endswith("omit -C.")


def test_a_saturated_generator_is_critical():
    full = GeneratorSaturated(share=0.95, busy_share=0.95)
    assert (full.severity, full.certainty, full.share_of) == ("critical", "sure", "")
    assert plain(full.summary).startswith("The load generator used 95 % of the CPU time it can get")


def others(*busiest, **more):
    numbers = {
        "share": 0.5,
        "others_share": 0.5,
        "server_share": 0.3,
        "in_use": 0.9,
        "kernel_share": 0.0,
        "foreign_share": 0.0,
        "named_share": 0.9,
    }
    return CpuOthers(busiest=[*busiest], **numbers | more)


def test_other_programs_are_named_if_most_of_their_time_is_known():
    known, unknown = others(Program("cc1", 20.0)), others(Program("cc1", 1.0), named_share=0.05)
    assert plain(known.summary) == (
        "Other programs used 50 % of the CPU of a saturated host, cc1 most of all."
    )
    assert (known.severity, known.certainty) == ("critical", "likely")
    assert plain(unknown.summary).endswith("of a saturated host.")
    assert (unknown.severity, unknown.certainty) == ("minor", "hint")
    assert unknown.seen[-1].startswith("Most of it cannot be attributed")
    assert plain(known.seen[-1]) == "cc1 used 20 s of CPU time."


def test_what_is_certainly_of_others_is_as_grave_as_it_is():
    assert others(named_share=0.4).severity == "major"


@pytest.mark.parametrize(
    ("foreign", "begins"),
    [(0.0, ["Stop them"]), (0.5, ["Find out what"]), (0.2, ["Stop them", "Find out what"])],
)
def test_programs_are_stopped_and_sessions_looked_up(foreign, begins):
    advice = others(foreign_share=foreign).advice
    assert all(text.startswith(begin) for text, begin in zip(advice, begins, strict=True))


def test_the_kernels_own_threads_are_told_apart():
    assert "the kernel's own threads" not in others().seen[0]
    assert plain(others(kernel_share=0.1).seen[0]).endswith(
        "server 30 %, the kernel's own threads (storage, network) 10 %."
    )


def of_server(**more):
    used = ProcessorTime(
        cores=4.0, server=0.7, engine=0.1, dbdyno=0.0, others=0.1, stolen=0.0, idle=0.1
    )
    numbers = {
        "server_share": 0.7,
        "cores": 4.0,
        "server_cpu_s": 0.002,
        "used": used,
        "predominates": True,
    }
    return CpuServer(**numbers | more)


def test_the_servers_own_work_is_a_note_with_what_it_costs():
    claim = of_server()
    assert claim.severity == "note"
    assert plain(claim.summary) == (
        "The server's own work kept 2.8 of 4 cores busy: 2 ms of CPU time per transaction."
    )
    assert plain(claim.gain) == "At most 2 000 TPS with all 4 cores for the server."
    assert plain(claim.seen[0]) == (
        "CPU time of the host: server 70 %, load generator 10 %, other programs 10 %, idle 10 %."
    )


def test_beside_others_the_servers_work_is_what_transactions_cost():
    assert "closed loop" in of_server().why
    assert of_server(predominates=False).why.startswith("Others used more")
    assert "without the others" in of_server(predominates=False).refute


def test_steal_is_told_of_cores():
    claim = CpuSteal(share=0.1, stolen_share=0.08, of_wanted=0.1, cores=2.0)
    assert plain(claim.summary) == (
        "The hypervisor withheld 10 % of the CPU time that this virtual machine requested."
    )
    assert plain(claim.seen[0]) == "Steal time: 8 % of 2 cores."


@pytest.mark.parametrize(
    ("cores", "quota"), [(1.0, " of 1 core"), (1.5, " of 1.5 cores"), (None, "")]
)
def test_a_quota_is_told_if_it_is_known(cores, quota):
    claim = Throttled(share=0.4, who="server", throttled_share=0.4, limit_cores=cores)
    assert plain(claim.summary) == (
        f"The cgroup of the server exhausted its CPU quota{quota} and was throttled for 40 % of "
        "the time."
    )


def test_stopped_processes_are_a_finding_of_their_own():
    claim = Stopped(share=0.2, stopped_share=0.2)
    assert claim.title == "Server processes stopped by signals"
    assert plain(claim.seen[0]) == "In state T (stopped by a signal) for 20 % of the time."


def crowd(**more):
    numbers = {
        "share": 0.5,
        "clients": 200,
        "knee_clients": 2.5,
        "queued_share": 0.8,
        "response_ms": 100.0,
        "involuntary_switches_per_transaction": 3.0,
        "tps": 2000.0,
    }
    return TooManyConnections(**numbers | more)


def test_four_times_the_knee_is_enough():
    assert crowd().refute.startswith("Run with -c 10:")
    assert crowd().advice[0].startswith("Use about 10 connections:")
    assert plain(crowd().seen[0]) == (
        "N = X·R: 2 000 TPS × 100 ms = 200 clients, of which 40 do not wait for CPU."
    )


def a_work(on_cpu=0.6, for_a_core=0.1, on_the_way=0.2):
    return Work(on_cpu=on_cpu, for_a_core=for_a_core, on_the_way=on_the_way)


@pytest.mark.parametrize(("clients", "who"), [(1, "1 client left"), (2, "2 clients left")])
def test_few_clients_are_told_how_many_saturate_the_cpu(clients, who):
    claim = FewClients(
        share=0.9, clients=clients, cpu_in_use=0.5, work=a_work(), cpu_idle=0.5, growth=2.0
    )
    assert plain(claim.summary).startswith(f"{who} the CPU 50 % idle: 80 % of client time")
    assert claim.advice[0] == f"Use more clients: about {2 * clients} saturate the CPU."
    assert claim.gain.startswith("Throughput rises by a factor of about 2,")
    assert [*claim.evidence] == ["clients", "cpu_in_use", "on_cpu", "for_a_core", "on_the_way"]


def test_work_beside_waits_is_a_note():
    claim = WorkBesideWaits(share=0.9, work=a_work())
    assert claim.severity == "note"
    assert plain(claim.summary).startswith("90 % of client time was the work")
    assert plain(claim.seen[0]) == (
        "The server at work: 60 % of client time; waiting for a core: 10 %; on the way within the "
        "host: 20 %."
    )


def test_time_on_the_way_within_a_full_host_is_the_generators():
    claim = OnTheWay(share=0.2, on_the_way=0.2, engine_share=0.3)
    assert plain(claim.seen[0]) == "The load generator used 30 % of the CPU."
    assert claim.severity == "note"


def trips(**more):
    numbers = {
        "share": 0.5,
        "round_trips_per_transaction": 5.0,
        "round_trip_ms": 2.0,
        "floor_ms": 10.0,
        "pipelining_saves_ms": 8.0,
        "gains": GainsOfWaits(utilization=0.1),
    }
    return RoundTrips(**numbers | more)


def test_of_many_round_trips_one_remains():
    assert plain(trips().advice[0]).endswith("up to 8 ms less per transaction.")
    assert trips().gain == "Throughput rises by a factor of at most 1.67."
    single = trips(round_trips_per_transaction=1.0)
    assert single.advice[1] == "Use more clients: the server has capacity for them."
    assert single.gain == ""


def test_between_ends_of_one_host_something_stands():
    assert trips(is_within_machine=True).advice[1].startswith("Connect directly")
    assert "over a Unix socket" in trips(is_within_machine=True).refute
    assert "on the server's own host" in trips().refute


def test_a_network_whose_server_is_not_seen_is_a_hint():
    assert (trips().certainty, trips(sees_processors=False).certainty) == ("likely", "hint")
    assert "was not seen" in trips(sees_processors=False).seen[-1]
    assert len(trips().seen) == 1
    assert plain(trips(behind_locks_share=0.1).seen[1]).startswith("10 % of client time is spent")


# ------------------------------------------------------------------------------ storage, the log

WAL = Promise(
    log="WAL",
    relaxed="synchronous_commit=off instead of on",
    reach="per transaction where possible",
)
UNFLUSHED = Promise(log="redo log", is_of_redo=False, relaxed="", reach="for the whole server")


def flushes(**more):
    numbers = {
        "flushes_per_s": 100.0,
        "commits_per_flush": 4.0,
        "flush_ms": 8.0,
        "flush_bytes": 2000.0,
        "bound_tps": 500.0,
        "at_most_ms": 9.0,
        "bytes_per_transaction": 500.0,
    }
    return Flushes(**numbers | more)


def wal(flushed=None, promise=WAL, **more):
    numbers = {"share": 0.6, "own_share": 0.6, "behind_locks_share": 0.0, "event": "WALSync"}
    return WalWrite(flushes=flushed or flushes(), promise=promise, **numbers | more)


def test_waits_for_the_log_are_told_with_their_flushes():
    claim = wal()
    assert claim.title == "Limited by WAL writes and flushes"
    assert (claim.severity, claim.certainty) == ("critical", "sure")
    assert plain(claim.summary) == (
        "Transactions wait for the WAL to reach storage: 60 % of client time, most of it in "
        "WALSync."
    )
    assert listed(claim.seen) == [
        "They wait for it directly for 60 % of client time.",
        "100 flushes per second; 4 commits per flush.",
        "A flush takes 8 ms: one after the other, with as many commits in each, they allow 500 "
        "commits per second.",
    ]


def test_waits_behind_locks_of_those_who_wait_are_told():
    claim = wal(own_share=0.2, behind_locks_share=0.4)
    assert "to reach storage, or for locks of transactions that do: 60" in claim.summary
    assert plain(claim.seen[0]) == (
        "They wait for it directly for 20 % of client time, for 40 % for locks whose holders do."
    )


def test_uncounted_flushes_are_not_told():
    claim = wal(Flushes(), event="")
    assert claim.seen == [claim.seen[0]]
    assert claim.certainty == "likely"
    assert plain(claim.summary).endswith("60 % of client time.")
    assert claim.evidence["flushes_per_s"] is None
    assert claim.severity == "critical"


def test_flushes_within_a_millisecond_are_the_price_of_durability():
    claim = wal(flushes(flush_ms=0.5, at_most_ms=0.6))
    assert claim.severity == "note"
    assert not any("faster flushes" in text for text in claim.advice)
    assert any("the price of durable commits" in text for text in claim.seen)
    assert any("faster flushes" in text for text in wal().advice)


def test_a_commit_delay_that_takes_most_of_the_time_is_the_cause():
    claim = wal(flushes(delay_ms=5.0))
    assert claim.title == "Commits wait for others to join them (commit_delay)"
    assert [text[:22] for text in claim.advice] == ["Set commit_delay = 0; "]
    assert claim.refute.startswith("Run again with commit_delay = 0")


def test_a_commit_delay_that_is_felt_is_named_and_a_smaller_one_is_not():
    felt, small = wal(flushes(delay_ms=1.0)), wal(flushes(delay_ms=0.1))
    assert felt.title.startswith("Limited by")
    assert felt.advice[0].startswith("Set commit_delay = 0")
    assert any("a commit waits 1" in text for text in felt.seen)
    assert not any("commit_delay" in text for text in [*small.seen, *small.advice])


def test_large_flushes_take_time_by_what_they_write():
    claim = wal(flushes(flush_bytes=100_000.0, bytes_per_transaction=25_000.0))
    assert claim.advice[0].startswith("Write less WAL per transaction")
    assert not any("number of flushes" in text for text in claim.advice)
    assert any("A flush writes 97.7" in text for text in claim.seen)


def test_where_no_commit_waits_the_commit_stage_is_work():
    claim = wal(Flushes(), UNFLUSHED, event="commit")
    assert (claim.severity, claim.certainty) == ("note", "hint")
    assert plain(claim.summary).startswith("Transactions wait for the redo log: 60 %")
    assert "in which it also works" in claim.seen[-1]
    assert claim.advice[0].startswith("Write less redo log")
    assert claim.why.startswith("No commit waits for storage here")
    assert claim.refute == "Run again with the redo log on faster storage: this share must fall."


def test_a_binary_log_is_left_as_it_is_where_there_are_replicas():
    both = replace(WAL, is_of_binary_log=True)
    assert wal(promise=both).advice[-1].startswith("Where there are replicas")
    assert (
        wal()
        .advice[-1]
        .endswith("synchronous_commit=off instead of on, per transaction where possible.")
    )


def images(**more):
    numbers = {
        "images_per_transaction": 0.5,
        "share_of_wal": 0.5,
        "wal_bytes_per_transaction": 8192.0,
        "checkpoints": 1,
        "images_counted": 1000.0,
        "first_touches_expected": 1100.0,
        "share_of_client_time_in_wal": 0.1,
    }
    return FullPageWrites(**numbers | more)


@pytest.mark.parametrize(
    ("checkpoints", "when"),
    [
        (0, "after the checkpoint before the run"),
        (1, "after 1 checkpoint"),
        (2, "after 2 checkpoints"),
    ],
)
def test_images_follow_checkpoints(checkpoints, when):
    assert plain(images(checkpoints=checkpoints).summary) == (
        f"50 % of the WAL is full-page images, written when a page is first changed {when}: 4 KiB "
        "of 8 KiB per transaction."
    )


def test_images_are_the_surer_the_more_agrees():
    timed = ImageTime(share=0.2, low=0.1, high=0.3)
    assert images().certainty == "likely"
    assert images(time=timed).certainty == "sure"
    assert images(images_counted=5000.0).certainty == "hint"
    assert images(images_counted=5000.0, time=timed).certainty == "likely"
    assert images(images_counted=5000.0, loss=a_loss(share_of_run=0.5)).severity == "critical"
    assert images(images_counted=5000.0).severity == "minor"


def test_the_loss_around_checkpoints_is_evidence_of_images_if_there_is_one():
    assert "occurrences" not in images().evidence
    assert images(loss=a_loss()).evidence["occurrences"] == 3
    assert images(loss=a_loss()).seen[-1] == a_loss().text


def furious(**more):
    numbers = {
        "near": 0.5,
        "lost": 0.2,
        "peak_share": 0.9,
        "bound_bytes": float(100 << 20),
        "bytes_per_s": float(10 << 20),
        "free_waits": 0.0,
        "turn_s": 10.0,
    }
    return FuriousFlushing(**numbers | more)


def test_a_small_log_that_costs_throughput_is_sure():
    assert (furious().severity, furious().certainty) == ("major", "sure")
    assert (furious(turn_s=600.0, lost=0.0).severity, furious(turn_s=600.0).certainty) == (
        "minor",
        "likely",
    )
    assert plain(furious().summary) == (
        "The redo log was nearly full for 50 % of the time, so changes wait until pages are "
        "written: at 10 MiB per second the load fills its 100 MiB every 10 s."
    )


def test_waits_for_free_pages_are_told_beside_a_full_log_or_alone():
    assert len(furious(lost=0.0).seen) == 1
    assert plain(furious(free_waits=12.0).seen[-1]) == "Sessions waited for a free page 12 times."
    alone = FreePageWaits(free_waits=12.0)
    assert (alone.title, alone.severity) == ("Buffer pool full of dirty pages", "minor")
    assert alone.seen == ["Sessions waited for a free page 12 times."]


@pytest.mark.parametrize(
    ("every_s", "needed_s", "seen", "advice"),
    [
        (
            300.0,
            570.0,
            ["A checkpoint starts every 5 min (checkpoint_timeout)."],
            "Run for at least 9 min 30 s: -T 570.",
        ),
        (None, None, [], "Run for longer than the time between two checkpoints."),
    ],
)
def test_a_run_without_a_checkpoint_is_told_how_long_one_takes(every_s, needed_s, seen, advice):
    claim = NoCheckpointCycle(
        checkpoint_every_s=every_s, needed_s=needed_s, reason="checkpoint_timeout"
    )
    assert (listed(claim.seen), listed(claim.advice)) == (seen, [advice])


def reads(**more):
    numbers = {
        "share": 0.5,
        "reads_per_transaction": 2.0,
        "hit_share": 0.8,
        "read_ms": 0.5,
        "share_counted": 0.4,
        "share_seen": 0.5,
        "cache_setting": "shared_buffers",
    }
    return DataRead(**numbers | more)


def test_reads_are_sure_if_both_measurements_agree():
    assert reads().certainty == "sure"
    assert reads(share_counted=None).certainty == "likely"
    assert reads(share_seen=None).certainty == "likely"
    assert reads(share_counted=0.01).certainty == "likely"


def test_the_cache_is_compared_with_the_data_if_both_are_known():
    assert listed(reads(read_ms=0.0).seen) == ["Cache hit ratio (shared_buffers): 80 %."]
    known = reads(cache_bytes=float(1 << 20), touched_bytes=float(4 << 20))
    assert listed(known.seen[1:]) == [
        "A read took 500 µs on average.",
        "shared_buffers is 1 MiB, the tables and indexes of the statements are 4 MiB: with uniform "
        "keys it holds 25 %.",
    ]


def spilled(**more):
    numbers = {
        "files": 1.0,
        "bytes": float(4 << 20),
        "work_mem_bytes": float(1 << 20),
        "waiting_share": None,
        "executions": 1.0,
        "statements": ["SELECT 1"],
    }
    return TemporaryFiles(**numbers | more)


@pytest.mark.parametrize(
    ("files", "text"), [(1.0, "1 temporary file and"), (2.0, "2 temporary files and")]
)
def test_temporary_files_are_counted(files, text):
    assert text in plain(spilled(files=files).summary)


def test_memory_is_advised_if_each_execution_writes_files():
    assert plain(spilled().advice[0]).startswith("Set work_mem above 12 MiB for these statements")
    assert spilled(executions=100.0).advice[0].startswith("Find what writes them")
    many = spilled(files=16.0)
    assert plain(many.advice[0]).startswith("Set work_mem above 12 MiB")


def test_temporary_files_are_at_least_minor_if_they_are_frequent():
    assert (spilled().severity, spilled(files=0.05).severity) == ("minor", "note")
    assert spilled(share=0.5, waiting_share=0.5).severity == "critical"
    assert (spilled().certainty, spilled(share=0.5).certainty) == ("likely", "sure")


def test_tables_on_disk_have_no_bytes():
    claim = TablesOnDisk(disk_tables=1.0, merge_passes=2.0, statements=[])
    assert plain(claim.summary) == (
        "Intermediate results do not fit into memory: 1 on-disk table and 2 sort merge passes per "
        "transaction."
    )
    assert (claim.seen, claim.severity) == ([], "minor")
    assert replace(claim, disk_tables=0.02, merge_passes=0.0).severity == "note"


# ---------------------------------------------------------------------------------------- locks


def held(*roots, **more):
    numbers = {
        "share": 0.6,
        "relations": ["accounts"],
        "between_share": 0.0,
        "waits": [BlockedAt(0, 0.6), BlockedAt(1, 0.01), BlockedAt(-1, 0.5)],
        "texts": {0: "UPDATE accounts", 1: "SELECT 1"},
        "clients": 8.0,
        "end_session": "End it.",
        "end_by_itself": "a timeout",
        "online_ddl": "Run DDL online.",
    }
    roots = roots or (Root("foreign", "idle_in_transaction", "", 0.6),)
    return ForeignLock(roots=[*roots], **numbers | more)


@pytest.mark.parametrize(
    ("root", "who"),
    [
        (
            Root("foreign", "idle_in_transaction", "", 0.6),
            "A foreign session (idle in transaction)",
        ),
        (Root("foreign", "lock", "relation", 0.6), "A foreign session (waiting for relation)"),
        (Root("foreign", "lock", "", 0.6), "A foreign session (state unknown)"),
        (
            Root("autovacuum worker", "cpu", "", 0.6),
            "The server's autovacuum worker (running a statement)",
        ),
    ],
)
def test_who_holds_locks_is_named_with_what_it_does(root, who):
    claim = held(root)
    assert claim.title == f"{who.split(' (')[0]} holds locks"
    assert plain(claim.summary) == (
        f"{who} held locks on accounts: clients spent 60 % of their time waiting for them."
    )


def test_only_noticed_waits_at_statements_are_told():
    assert listed(held().seen) == [
        "A foreign session (idle in transaction): 60 % of client time.",
        "On average 4.8 clients waited at “UPDATE accounts”: 60 % of client time.",
    ]
    assert "held locks: clients" in held(relations=[]).summary
    alone = held(share=0.125, waits=[BlockedAt(0, 0.125)])
    assert plain(alone.seen[1]).startswith("On average 1 client waited")


def test_ddl_is_advised_to_run_online():
    ddl = Root("foreign", "cpu", "", 0.6)
    assert held(ddl, tables_share=0.6).advice == ["Run DDL online.", "End it."]
    assert held(ddl).advice == ["End it.", "Set timeouts: a timeout."]
    between = held(ddl, tables_share=0.6, between_share=0.6)
    assert between.advice[-1].startswith("Run DDL with a short lock timeout")
    assert plain(between.seen[-1]).startswith("60 % of client time was spent behind a session that")


def hold(relation="branches", *, statement=3, waiting_s=40.0, rows=1.0, **more):
    numbers = {"script": 0, "script_share": 1.0, "hold_s": 0.002, "taken_s": 0.002}
    return RowHold(
        statement=statement, relation=relation, waiting_s=waiting_s, rows=rows, **numbers | more
    )


def convoy(*holds, **more):
    holds = holds or (hold(),)
    numbers = {
        "clients": 8,
        "share": 0.4,
        "total_s": 100.0,
        "shield": None,
        "bound_tps": 500.0,
        "bound_range_tps": None,
        "measured_tps": 450.0,
        "behind_pauses": 0.0,
        "is_uneven": False,
    }
    made = Convoy(holds=[*holds], hot=holds[-1], **numbers | more)
    return claim_of(
        made, {2: "UPDATE tellers", 3: "UPDATE branches"}, GainsOfWaits(utilization=0.1)
    )


def test_a_convoy_has_the_row_that_limits_it():
    claim = convoy()
    assert claim.title == "Row-lock convoy on branches"
    assert claim.certainty == "sure"
    assert plain(claim.summary) == (
        "Clients queue for the 1 row of branches (held for 2 ms each time, which allows about 500 "
        "TPS; measured: 450): they spend 40 % of their time waiting for each other's row locks."
    )
    assert listed(claim.seen) == [
        "On average 3.2 clients wait for the 1 row of branches at “UPDATE branches”: 40 % of "
        "client time.",
        "Throughput is 90 % of what the row allows.",
    ]


def test_a_shield_lets_some_clients_past():
    tellers = hold("tellers", statement=2, waiting_s=10.0, rows=4.0)
    claim = convoy(tellers, hold(waiting_s=0.0), shield=tellers, bound_tps=None)
    assert claim.title == "Row-lock convoy: tellers shields branches"
    assert plain(claim.summary).startswith("The 4 rows of tellers let at most ")
    assert plain(claim.seen[1]) == (
        "No client was sampled waiting for the 1 row of branches at “UPDATE branches”, behind the "
        "queue."
    )


def test_each_of_several_scripts_that_holds_the_row_is_told_and_what_one_request_saves():
    """Per transaction, half of them: (2 ms + 6 ms) / 2 allow 250, and without the way 500."""
    payment = hold(script_share=0.5, on_the_way_s=0.001, while_held={4: 1.0, 5: 2.5})
    order = hold(script=1, script_share=0.5, hold_s=0.006, on_the_way_s=0.003, while_held={6: 1.0})
    scripts = {"scripts": ["payment", "new-order"], "one_request": "-D style=procedures"}
    claim = replace(convoy(payment, order, bound_tps=250.0, measured_tps=225.0), **scripts)
    assert [plain(text) for text in claim.seen if "holds it" in text] == [
        "payment holds it for 2 ms, through 3.5 further statements: 1 ms of it on the way to the "
        "server and back.",
        "new-order holds it for 6 ms, through 1 further statement: 3 ms of it on the way to the "
        "server and back.",
    ]
    at_once = next(text for text in claim.advice if "one request" in text)
    assert "by a function on the server (-D style=procedures)" in at_once
    assert plain(at_once).endswith("the row allows up to 500 TPS.")
    near = replace(claim, in_one_request_tps=255.0)
    assert not any("one request" in text for text in near.advice)


def test_rows_that_come_first_without_shielding_are_told():
    tellers = hold("tellers", statement=2, waiting_s=0.0, rows=1000.0, while_held={3: 1.0, 4: 1.0})
    assert any(
        text.startswith("The 1 000 rows of tellers come first and do not shield branches")
        for text in listed(convoy(tellers, hold()).seen)
    )


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        (510.0, "Throughput is what the row allows, within the error of the hold time."),
        (5000.0, "the server releases the row before clients receive the commit."),
    ],
)
def test_a_bound_that_is_reached_or_exceeded_is_told(measured, text):
    claim = convoy(measured_tps=measured)
    assert claim.seen[-1].endswith(text)
    assert ("allows about" in claim.summary) == (measured < 1000)


@pytest.mark.parametrize(
    ("of", "advice", "refute"),
    [
        ({}, "Hold rows of branches", "Run the same load on data with 8 times the rows"),
        ({"is_drawn_over_scale": False}, "Hold rows", "Let the script draw from 8 times as many"),
        ({"rows": None}, "Hold rows of branches", "Let each client use its own row of branches"),
        ({"locks_first": True}, "Let each client take a row", "Run again with SKIP LOCKED"),
        ({"locks_all": True}, "Let the statement find its rows", "Run again with an index"),
        ({"while_held": {3: 1.0}}, "Spread branches over more rows", "Run the same load on data"),
    ],
)
def test_what_is_done_about_a_hot_row_depends_on_how_it_is_locked(of, advice, refute):
    claim = convoy(hold(**{"is_drawn_over_scale": True} | of))
    assert claim.advice[0].startswith(advice)
    assert claim.refute.startswith(refute)


def test_pauses_and_hot_rows_are_told():
    claim = convoy(behind_pauses=0.2, is_uneven=True, bound_tps=None)
    assert claim.certainty == "likely"
    assert claim.advice[0].startswith("End the transaction before the script pauses")
    assert any(text.startswith("Some rows of branches are hot") for text in claim.seen)
    assert plain(claim.seen[-1]).startswith("20 % of client time is spent waiting behind clients")


def test_a_lock_by_something_that_the_text_does_not_name_is_told():
    text = convoy(hold(is_named=False, locks_all=True)).seen[0]
    assert "It does not name branches: a trigger" in text
    assert text.endswith("locks every row that it reads.")


def order(**more):
    numbers = {
        "table": "branches",
        "bound_before_tps": 500.0,
        "bound_before_range_tps": (400.0, 600.0),
        "bound_after_tps": 1000.0,
        "bound_after_range_tps": (800.0, 1200.0),
        "hold_before_ms": 2.0,
        "hold_after_ms": 1.0,
        "gain_predicted": 2.0,
        "scripts": {"a": "BEGIN;\nUPDATE branches SET x = 1;\nEND;"},
        "table_after": "branches",
        "measured_tps": 450.0,
        "run_id": "r1",
    }
    return StatementOrder(**numbers | more)


def test_a_better_order_holds_the_row_for_less_time():
    claim = order()
    assert plain(claim.summary) == (
        "Rows of branches are locked earlier than necessary: each is held for 2 ms; in the best "
        "statement order for 1 ms."
    )
    assert "limit is 1 000 TPS (800 to 1 200), by branches." in plain(claim.seen[0])
    assert (claim.severity, claim.certainty) == ("critical", "likely")
    assert claim.gain == "Throughput rises by a factor of at most 2."
    assert claim.refute == "dbdyno explain r1 --verify"


def test_after_it_another_row_may_limit():
    assert plain(order(table_after="tellers").summary).endswith(
        "order rows of tellers limit throughput instead, held for 1 ms."
    )


def test_a_bound_that_is_exceeded_makes_the_order_a_hint():
    claim = order(measured_tps=5000.0)
    assert (claim.severity, claim.certainty) == ("minor", "hint")
    assert claim.gain == "Not known: --verify measures it."
    assert "were measured" in claim.seen[0]


def latches(**events):
    return LatchWaits(
        share=sum(events.values()),
        events=events,
        internal_lock="LWLock",
        internal_locks="LWLocks",
    )


@pytest.mark.parametrize(
    ("event", "guards"),
    [
        ("BufferMapping", "the mapping of pages to buffers"),
        ("LockManager", "the heavyweight lock table"),
        ("XactSLRU", "the commit log"),
        ("Whatever", "something inside the server"),
    ],
)
def test_a_latch_is_known_by_what_it_protects(event, guards):
    claim = latches(**{event: 0.3, "other": 0.1})
    assert claim.title == f"LWLock contention: {event}"
    assert f"which protects {guards}" in claim.summary
    assert plain(claim.summary).endswith(": 30 % of client time, 40 % with all LWLocks.")
    assert listed(claim.seen) == [
        f"{event}: 30 % of client time.",
        "other: 10 % of client time.",
    ]


def test_a_wait_without_a_name_is_a_hint():
    claim = UnnamedWaits(share=0.6, events={"futex": 0.6})
    assert (claim.severity, claim.certainty) == ("minor", "hint")
    assert "performance_schema = ON with the instruments" in claim.advice[0]
    assert "= ON" not in replace(claim, is_schema_on=True).advice[0]


def test_other_waits_are_named_by_cause_and_longest_event():
    claim = OtherWaits(
        share=0.5,
        events={"relation": 0.2, "advisory": 0.25, "sql/mdl_x": 0.01},
        waits=[WaitAt("advisory", "SELECT pg_advisory_lock(1)", 0.25)],
    )
    assert claim.title == "Waits for application-defined locks: advisory"
    assert listed(claim.seen) == ["advisory at “SELECT pg_advisory_lock(1)”: 25 % of client time."]
    tables = replace(claim, events={"relation": 0.3, "sql/mdl_x": 0.1, "advisory": 0.1})
    assert tables.title == "Waits for table locks: relation"
    assert plain(tables.summary) == (
        "Clients spend 40 % of their time waiting for table locks, 50 % with other such waits."
    )


def test_an_unknown_wait_is_called_as_the_server_does():
    claim = OtherWaits(share=0.5, events={"Strange": 0.5}, waits=[])
    assert claim.title == "Waits for what the server calls Strange"
    assert claim.advice == ["Look up Strange among the wait events in the server's manual."]
    assert plain(claim.summary).endswith("the server calls Strange.")


def test_waits_for_parallel_workers_are_told_by_statement():
    waits = [WaitAt("ExecuteGather", "SELECT 1", 0.2)]
    claim = ParallelWorkers(share=0.2, events={"ExecuteGather": 0.2}, waits=waits)
    assert plain(claim.summary) == (
        "Clients spend 20 % of their time waiting for parallel workers."
    )
    assert listed(claim.seen) == ["ExecuteGather at “SELECT 1”: 20 % of client time."]


# ------------------------------------------------------------------------- statements, indexes


def lookup(sql="SELECT 1", **more):
    numbers = {
        "columns": ["owner"],
        "wanted": "with one value of owner",
        "lack": "no index begins with owner",
        "advice": [f"CREATE INDEX for {sql};"],
    }
    return Lookup(statement=Statement(0, Sql(sql)), **numbers | more)


def missing(*lookups, **more):
    blamed = [Blamed("accounts", 100_000.0, one) for one in lookups or (lookup(),)]
    numbers = {
        "share": 0.5,
        "table": "accounts",
        "column": "owner",
        "statement": "SELECT 1",
        "rows_per_scan": 100_000.0,
        "scans_per_transaction": 1.0,
        "others": [one.lookup.statement.sql for one in blamed[1:]],
    }
    return MissingIndex(blamed=blamed, **numbers | more)


def test_a_missing_index_is_told_with_what_is_read():
    claim = missing()
    reads = (
        "“SELECT 1” reads 100 000 rows of accounts to find those with one value of owner: no index "
        "begins with owner."
    )
    assert plain(claim.summary) == reads
    assert listed(claim.seen) == [
        "Sequential scans of accounts: 1 per transaction, 100 000 rows each.",
        "The server plans a sequential scan of accounts for it.",
    ]
    assert plain(claim.why).startswith("The statement takes 50 % of client time")
    assert claim.refute.startswith("Run again with that index:")


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, " 1 other statement lacks one too."), (2, " 2 other statements lack one too.")],
)
def test_other_lookups_are_counted(number, text):
    claim = missing(*(lookup(f"SELECT {one}") for one in range(number + 1)))
    assert plain(claim.summary).endswith(text)
    assert claim.why.startswith("These statements take")
    assert [one[:9] for one in claim.seen[2:]] == ["Likewise "] * number
    assert claim.refute.startswith("Run again with these indexes:")
    assert len(claim.advice) == number + 1


def test_a_lookup_that_is_not_planned_is_likely_and_one_by_estimate_says_so():
    assert missing(lookup(is_planned=False)).certainty == "likely"
    assert missing().certainty == "sure"
    assert plain(missing(table_rows=90_000.0).seen[0]) == (
        "Rows read in order, of all tables together: 100 000 for each of 1 executions per "
        "transaction; by the server's estimate accounts has 90 000."
    )
    assert plain(missing(found_at_most=3, expected=50_000.0).seen[-1]) == (
        "By what it returned or changed, it finds 3 rows on average or fewer; the server expects "
        "50 000."
    )


def test_where_the_statement_is_to_change_no_index_is_tried():
    assert missing(lookup(changes_statement=True)).refute.startswith(
        "Run again with that statement changed:"
    )
    assert missing(share=None).gain == ""


def test_a_hidden_lookup_is_not_in_the_scripts():
    claim = HiddenLookup(share=0.3, table="parts", rows_per_scan=5000.0, scans_per_transaction=0.5)
    assert plain(claim.summary).startswith(
        "No statement of the scripts reads parts, yet all of its 5 000 rows are read, on average "
        "0.5 times per transaction"
    )
    assert claim.wrong_when.startswith("A session outside the load scans the table")


UPDATED = {
    "table": "accounts",
    "updates_per_transaction": 1.0,
    "misses_per_transaction": 0.95,
    "index_writes_per_transaction": 1.9,
    "of_wal_records": 0.4,
    "missed_share": 0.95,
    "indexes_written": 2,
}


def indexed(**more):
    numbers = {"columns": "balance", "indexes": "by_balance", "statement": "UPDATE 1"}
    return IndexedColumn(**UPDATED | numbers | more)


@pytest.mark.parametrize(
    ("more", "ends"),
    [
        ({}, "the updated column balance is in the index by_balance."),
        (
            {"columns": "a, b", "are_several_columns": True},
            "the updated columns a, b are in the index by_balance.",
        ),
        (
            {"indexes": "i, j", "are_several_indexes": True},
            "the updated column balance is in the indexes i, j.",
        ),
    ],
)
def test_indexed_columns_are_named(more, ends):
    assert plain(indexed(**more).summary) == (
        f"95 % of the updates of accounts were not HOT: {ends}"
    )


def test_indexes_with_other_columns_can_be_made_shorter():
    assert indexed().advice[0] == "Drop by_balance if no query needs it."
    assert indexed(have_others=True).advice[0] == (
        "Drop by_balance if no query needs it, or recreate it without balance."
    )
    several = indexed(indexes="i, j", are_several_indexes=True, have_others=True)
    assert several.advice[0].endswith("needs them, or recreate them without balance.")


def test_updates_are_counted_with_the_indexes_that_they_write():
    assert listed(indexed().seen) == [
        "Updates of accounts per transaction: 1, of which 0.95 were not HOT.",
        "They wrote 1.9 index entries per transaction into 2 indexes: 40 % of all WAL records.",
        "A statement sets balance: UPDATE 1",
    ]
    unknown = indexed(of_wal_records=None, indexes_written=1)
    assert plain(unknown.seen[1]) == "They wrote 1.9 index entries per transaction into 1 index."
    assert (indexed().certainty, indexed(missed_share=0.5).certainty) == ("sure", "likely")


def full(**more):
    numbers = {
        "fillfactor": 100,
        "row_bytes": 1024.0,
        "free_versions": 0,
        "enough": 80,
        "pages": "accounts",
    }
    return FullPages(**UPDATED | numbers | more)


def test_full_pages_get_room_by_their_fillfactor():
    assert full().title == "HOT updates prevented by full pages (fillfactor)"
    assert full().advice[0].startswith("ALTER TABLE accounts SET (fillfactor = 80); then rewrite")
    assert (
        "SET (fillfactor = 80); likewise each partition of accounts; then"
        in (full(pages="accounts_1").advice[0])
    )
    assert plain(full().summary).endswith("(fillfactor 100, rows of about 1 KiB).")


def test_pages_whose_fillfactor_is_low_are_not_pruned():
    claim = full(fillfactor=80, free_versions=1)
    assert claim.title == "HOT updates prevented by full pages (not pruned)"
    assert "holds back the xmin horizon" in claim.advice[0]
    assert claim.refute.startswith("Rewrite the table, end old transactions")
    assert plain(claim.seen[2]) == "The fillfactor leaves room for 1 new row version per page."


def test_moved_versions_make_full_pages_sure():
    assert [full(free_versions=free).certainty for free in (0, 1)] == ["likely", "hint"]
    assert full(moved_per_transaction=0.9).certainty == "sure"
    assert full(moved_per_transaction=0.9).seen[-1] == (
        "New versions on another page per transaction: 0.9."
    )


def test_what_a_table_assigns_itself_is_named():
    claim = AssignedByTable(
        **UPDATED, assigned_by=["trigger touch", "generated column b"], free_versions=2
    )
    assert claim.summary.endswith("(trigger touch and generated column b).")
    assert claim.seen[-1] == "The fillfactor leaves room for 2 new row versions per page."


def a_plan(*nodes, cost=100.0, variant="custom"):
    return PlanFacts(statement=0, variant=variant, cost=cost, text="plan", nodes=nodes)


SCAN, LOOKUP = ("Seq Scan", "accounts", 1.0), ("Index Scan", "accounts", 1.0)


def test_a_changed_plan_is_minor_at_most():
    claim = PlanChange(
        statement="SELECT 1",
        before="a",
        after="b",
        plan_before=a_plan(LOOKUP, cost=8.0),
        plan_after=a_plan(SCAN),
        working_share=0.9,
    )
    assert claim.severity == "minor"
    assert replace(claim, working_share=0.0).severity == "note"
    assert claim.summary == (
        "The plan of “SELECT 1” changed during the run: from Index Scan accounts to Seq Scan "
        "accounts (custom plan)."
    )
    assert claim.seen == ["Estimated cost 8 before, 100 after."]
    assert claim.evidence == {"statement": "SELECT 1", "before": "a", "after": "b"}


def test_an_expensive_generic_plan_matters_if_it_is_forced():
    claim = ExpensiveGeneric(
        statement="SELECT 1",
        generic="a",
        custom="b",
        plan_generic=a_plan(SCAN, variant="generic"),
        plan_custom=a_plan(LOOKUP, cost=10.0),
    )
    assert claim.summary == (
        "The generic plan of “SELECT 1” has 10 times the estimated cost of a custom plan."
    )
    assert (claim.severity, replace(claim, is_forced=True).severity) == ("note", "minor")
    assert claim.seen == ["Generic: Seq Scan accounts. Custom: Index Scan accounts."]


# ----------------------------------------------------------------------- failures, the schedule


def failure(kind="deadlock", code="40P01", count=3, **more):
    return FailureRecord(
        failure_class=kind, code=code, count=count, message=f"{kind} detected", **more
    )


MYSQL = native_database("mysql")


def rolled_back(*failed, again=(), **more):
    numbers = {
        "share": 0.2,
        "failures": {one.code: one.count for one in failed},
        "tried_again": {one.code: one.count for one in again},
        "retried": 0,
        "retries": 0,
        "server_deadlocks": None,
        "thrown_away": 0.2,
        "standing_still": None,
        "database": native_database("postgresql"),
    }
    return Deadlocks(failed=failed, again=again, **numbers | more)


@pytest.mark.parametrize(
    ("claim", "title", "summary"),
    [
        (
            rolled_back(failure(count=1)),
            "Deadlocks between transactions",
            "1 deadlock: about 20 % of client time was lost to them.",
        ),
        (
            rolled_back(failure("serialization", "40001"), share=0.0),
            "Serialization failures between transactions",
            "3 serialization failures.",
        ),
        (
            rolled_back(again=[failure(count=5)]),
            "Deadlocks between transactions",
            "5 deadlocks, all retried: about 20 % of client time was lost to them.",
        ),
        (
            rolled_back(failure(count=2), again=[failure(count=5)]),
            "Deadlocks between transactions",
            "7 deadlocks, 5 of them retried: about 20 % of client time was lost to them.",
        ),
        (
            rolled_back(server_deadlocks=4.0, share=0.0),
            "Deadlocks between transactions",
            "4 deadlocks.",
        ),
        (
            rolled_back(retried=1, retries=2, share=0.0),
            "Deadlocks or serialization failures between transactions",
            "2 retries of 1 transaction.",
        ),
        (
            rolled_back(retried=2, retries=2, server_deadlocks=0.0, share=0.0),
            "Serialization failures between transactions",
            "2 retries of 2 transactions.",
        ),
    ],
)
def test_deadlocks_are_counted_by_kind(claim, title, summary):
    assert claim.title == title
    assert plain(claim.summary) == summary


def test_one_kind_is_fought_by_order_and_the_other_by_retries():
    assert rolled_back(failure()).advice[0].startswith("Lock the same rows in the same order every")
    assert any("--max-tries" in text for text in rolled_back(failure()).advice)
    assert not any(
        "--max-tries" in text for text in rolled_back(failure(), tries_again=True).advice
    )
    some = rolled_back(failure(), scripts=["a", "b"], are_some_scripts=True)
    assert some.advice[0].startswith("Lock the same rows in the same order in a, b:")
    assert some.refute.startswith("Run a, b each alone")
    shared = rolled_back(failure(), share_rows=True)
    assert shared.advice[0].startswith("Take each row lock at once in the strongest mode")
    serial = rolled_back(failure("serialization", "40001"))
    assert serial.advice[0].startswith("Retry (--max-tries)")
    assert rolled_back(retried=1, retries=1).advice[0].startswith("Find out which they are")


def test_the_database_decides_what_a_deadlock_costs_beside_its_work():
    assert "(deadlock_timeout) everyone" in rolled_back(failure()).why
    assert "at every row-lock wait" in rolled_back(failure(), database=MYSQL).why
    assert rolled_back(failure("serialization")).why.endswith("and is repeated or missing.")
    assert rolled_back(failure(), database=MYSQL).advice[-1].startswith("Use READ COMMITTED")


def test_what_was_seen_of_deadlocks_is_told():
    claim = rolled_back(
        failure(),
        server_deadlocks=1.0,
        standing_still=0.1,
        logged=2,
        failed_by_script=[ScriptCount("a", 2, 100), ScriptCount("b", 1, 50)],
    )
    assert listed(claim.seen) == [
        "40P01: deadlock detected.",
        "Failed transactions by script: a 2 of 100, b 1 of 50.",
        "The server counted 1 deadlock.",
        "The server's log describes 2, with the waiters and blockers of each.",
        "20 % of client time was spent in failed attempts.",
        "10 % of client time was spent in lock waits while a deadlock was pending.",
    ]
    assert rolled_back(retried=1, retries=1).gain == ""


def failed(number, ended=100):
    records = [failure("constraint", "23514", number)]
    return FailedTransactions(
        failed=number,
        ended=ended,
        failures=[ClassCount("constraint", "23514", number)],
        records=records,
    )


def test_failures_are_counted_and_nearly_all_are_all():
    some, nearly_all = failed(20), failed(99)
    assert plain(some.summary) == "20 of 100 transactions failed, 20 %: constraint (23514)."
    assert (some.title, some.severity) == ("", "major")
    assert (nearly_all.title, nearly_all.severity) == (
        "Nearly every transaction failed",
        "critical",
    )
    assert nearly_all.why.startswith("The load did none of its work")
    assert some.evidence["failures"] == [{"class": "constraint", "code": "23514", "count": 20}]


def lost_statements(*emptied_by):
    records = [failure("statement", "26000", 5)]
    return StatementsLost(
        failures={"26000": 5}, emptied_by=[*emptied_by], records=records, ended=1000
    )


def test_lost_statements_are_likely_if_a_script_removes_them():
    unknown, known = lost_statements(), lost_statements("a", "b")
    assert (unknown.certainty, known.certainty) == ("hint", "likely")
    assert unknown.severity == "minor"
    assert unknown.advice[0].startswith("Behind a pooler")
    assert known.advice[0].startswith("Remove it from a, b,")
    assert known.seen[1:] == [f"{name} contains DISCARD or DEALLOCATE." for name in "ab"]
    assert plain(unknown.summary).startswith("5 transactions, 0.5 % of all, failed because")


@pytest.mark.parametrize(("number", "text"), [(1, "1 attempt failed"), (3, "3 attempts failed")])
def test_attempts_are_counted(number, text):
    records = [failure("lock_timeout", "55P03", number)]
    claim = TriesAgain(
        tries={"55P03": number}, share_of_time=0.1, share_of_tries=0.2, records=records
    )
    assert plain(claim.summary) == (
        f"{text} and had to be retried, by lock timeout (55P03): 10 % of client time was spent in "
        "them."
    )
    assert (claim.severity, replace(claim, has_succeeded=False).severity) == ("minor", "critical")


def outage(**more):
    numbers = {
        "share": 0.1,
        "outages": 1,
        "seconds": 6.0,
        "connections_lost": 8,
        "came_back": True,
        "server_restarted": False,
        "duration_s": 60.0,
        "messages": ["gone"],
    }
    return Outage(**numbers | more)


@pytest.mark.parametrize(
    ("more", "summary"),
    [
        (
            {"connections_lost": 1},
            "1 connection was lost: 6 s of 60 s passed before the first reconnect.",
        ),
        (
            {"outages": 2},
            "8 connections were lost in 2 outages: 6 s of 60 s passed before the first reconnect.",
        ),
        (
            {"affected_all": True},
            "All clients lost their connections: 6 s of 60 s passed before the first reconnect.",
        ),
        (
            {"came_back": False},
            "8 connections were lost, until the end of the run: 6 s of 60 s.",
        ),
        (
            {"came_back": False, "affected_all": True, "never_ended": True},
            "All clients lost their connections, until the end of the run: 6 s of 60 s passed "
            "without a server.",
        ),
    ],
)
def test_an_outage_is_told_by_who_lost_and_whether_it_ended(more, summary):
    assert plain(outage(**more).summary) == summary


def test_an_outage_for_all_is_a_step_graver():
    assert outage().severity == "minor"
    assert outage(affected_all=True).severity == "major"
    assert outage(affected_all=True, share=0.9).severity == "critical"
    assert outage(never_ended=True, share=0.01).severity == "critical"
    assert (outage().title, outage(never_ended=True).title) == (
        "",
        "Outage: the server did not come back",
    )


def test_a_restart_in_the_log_makes_an_outage_sure():
    claim = outage(server_restarted=True, still_s=4.0)
    assert (claim.certainty, outage().certainty) == ("sure", "likely")
    assert listed(claim.seen) == [
        "8 connections lost: gone.",
        "The server's log shows a restart.",
        "For 4 s of that time no transaction completed.",
    ]


def test_an_overrun_is_told_with_the_work_that_waits():
    claim = Overrun(due_per_s=1000.0, throughput_tps=500.0, waiting_at_end=5000.0)
    assert plain(claim.summary) == (
        "1 000 transactions per second became due but 500 completed: the queue grew to 5 000, 10 s "
        "of work."
    )
    assert claim.refute == "Run at 400 per second: the queue must not grow over time."
    nothing = replace(claim, throughput_tps=0.0)
    assert plain(nothing.summary).endswith("the queue grew to 5 000.")
    assert nothing.refute.startswith("Run at a tenth of the rate")


def late(**more):
    numbers = {
        "share": 0.5,
        "waiting_mean": 10.0,
        "lag_ms": 10.0,
        "response_ms": 20.0,
        "service_ms": 10.0,
        "due_per_s": 1000.0,
    }
    return LateStarts(**numbers | more)


def test_late_starts_are_known_from_two_clocks_or_from_the_queue():
    assert plain(late().summary) == (
        "Transactions started 10 ms after they were due, 50 % of their response time."
    )
    assert listed(late().seen) == [
        "Of a response time of 20 ms, 10 ms were service time; the rest passed before the "
        "transaction was sent."
    ]
    assert listed(late(service_ms=None).seen) == [
        "On average 10 were due and not started: at 1 000 per second 10 ms each, of a response "
        "time of 20 ms."
    ]
    assert late().share_of == "response time"


def test_a_queue_of_moments_needs_no_more_clients():
    claim = late(is_in_moments=True)
    assert claim.summary.endswith("a few moments: at other times hardly any waited.")
    assert claim.advice[0].startswith("Check the charts over time")
    assert claim.refute.startswith("Run again without what happened then")
    assert late().refute.startswith("Run with twice the clients")


@pytest.mark.parametrize(
    ("more", "cause", "severity"),
    [
        ({"reach": None}, "too few samples for a confidence interval", "note"),
        ({"reach": 5.0}, "throughput is hardly known: its 95 % interval extends to 0", "note"),
        ({"reach": 0.25}, "throughput is known only to ±25 %", "note"),
        ({"duration_s": 4.0}, "only 4 s were measured", "note"),
        (
            {"shift": Shift(place=30, before=1000.0, after=500.0)},
            "throughput went from 1 000 to 500 TPS within the run",
            "minor",
        ),
    ],
)
def test_what_weakens_a_run_is_told_with_its_consequence(more, cause, severity):
    claim = Unsteady(**{"duration_s": 60.0, "rare": "checkpoints"} | more)
    assert listed(claim.evidence["causes"]) == [cause]
    assert plain(claim.summary) == f"{cause[0].upper()}{cause[1:]}."
    assert (claim.severity, len(claim.seen)) == (severity, 1)


def test_several_weaknesses_are_one_sentence_and_a_longer_run_is_four_times_as_long():
    claim = Unsteady(reach=None, duration_s=4.0, rare="checkpoints")
    assert plain(claim.summary) == (
        "Too few samples for a confidence interval; only 4 s were measured."
    )
    assert claim.advice[0].startswith("Run longer: -T 30,")
    assert replace(claim, duration_s=60.0).advice[0].startswith("Run longer: -T 240,")


def test_settings_that_distort_are_as_severe_as_the_worst():
    known = [
        Distortion("a = 1", "it loses.", "Set a = 0.", "note"),
        Distortion("b", "slow.", "No."),
    ]
    claim = DistortingSettings(settings=[one.setting for one in known], distortions=known)
    assert claim.summary == "The run was measured on a server with a = 1, b."
    assert (claim.severity, claim.certainty) == ("minor", "sure")
    assert (claim.seen, claim.advice) == (["a = 1: it loses.", "b: slow."], ["Set a = 0.", "No."])


def leaves(kind):
    """The classes of claims that rules make: those of which there are no other kinds."""
    below = kind.__subclasses__()
    return {leaf for one in below for leaf in leaves(one)} if below else {kind}


RULES = all_rules()  # which reads all of their modules, so that their claims are known
MADE_BY_RULES = sorted(
    (one for one in leaves(Claim) if one.__module__.startswith("dbdyno.explain.rules")),
    key=lambda one: one.__name__,
)


@pytest.mark.parametrize("kind", MADE_BY_RULES, ids=lambda kind: kind.__name__)
def test_each_claim_says_what_it_is_why_it_matters_and_what_to_do(kind):
    for part in ("summary", "why", "advice", "refute"):
        assert getattr(kind, part) is not getattr(Claim, part), part


def test_each_rule_has_a_claim():
    assert {one.__module__.rpartition(".")[2] for one in MADE_BY_RULES} == RULES.keys()
