"""Agents that share a load are together one engine: real processes on a real server."""

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

from dbdyno import engine
from dbdyno.analysis.workers import worker_doubts
from dbdyno.engine import EngineProcess, histogram_bars, histogram_merge
from dbdyno.errors import DbdynoError
from dbdyno.fleet import fleet as fleet_module, pulse as pulse_module, running as running_module
from dbdyno.fleet.agents import Agent, Arrivals as AgentArrivals
from dbdyno.fleet.clocks import Offset
from dbdyno.fleet.fleet import Fleet, opened
from dbdyno.fleet.processes import Command
from dbdyno.fleet.pulse import Pulse
from dbdyno.fleet.running import RunningFleet
from dbdyno.fleet.words import OnLost, Place, worker_list
from dbdyno.model.frame import (
    Connected,
    Done,
    Failed,
    Frame,
    Hello,
    Interval,
    Note,
    Outage,
    OutageBegun,
    Started,
    Window,
)
from dbdyno.model.plan import (
    Address,
    Arrivals,
    Endpoint,
    OdbcAddress,
    OpenArrivals,
    Plan,
    Script,
    Stage,
    TcpAddress,
)
from dbdyno.model.worker import WorkerPart
from tests.engine.postgres import Postgres
from tests.engine.running import assert_identities, plan_for, times
from tests.engine.without_uring import IO_URING_SETUP
from tests.support.patience import PATIENCE_S, eventually, wait_until
from tests.support.rights import namespaces

ROOT = Path(__file__).parent.parent.parent
INSERT = "\\set r random(1, 1000000000)\ninsert into got values (:client_id, :r);"


@contextlib.contextmanager
def begun(text: str, on_lost: OnLost = "stop") -> Iterator[Fleet]:
    with opened(worker_list(text), on_lost, lambda _: None) as fleet:
        assert fleet is not None
        yield fleet


def shared(
    text: str,
    plan: Plan,
    log: IO[str],
    during: Callable[[Fleet, Frame], None] = lambda _fleet, _frame: None,
    on_lost: OnLost = "stop",
) -> tuple[list[Frame], RunningFleet]:
    """Run a plan on agents to its end; ``during`` sees each frame."""
    frames: list[Frame] = []
    with begun(text, on_lost) as fleet:
        fleet.refuse(plan, plan.endpoint, plan.threads)
        running = fleet.start(fleet.shared(plan, plan.threads), log)
        for _, frame in running:
            frames.append(frame)
            during(fleet, frame)
    return frames, running


def of_kind(kind: type[Any], frames: list[Frame]) -> list[Any]:
    return [frame for frame in frames if isinstance(frame, kind)]


def received(server: Postgres) -> list[tuple[int, int]]:
    """Return what the transactions have written, and forget it."""
    with server.connect() as connection:
        rows = connection.execute("select client, r from got order by client, r").fetchall()
        connection.execute("truncate got")
    return rows


@pytest.fixture
def table(local: Postgres) -> Iterator[Postgres]:
    with local.connect() as connection:
        connection.execute("create table got (client int, r int)")
    yield local
    with local.connect() as connection:
        connection.execute("drop table got")


def alone(plan: Plan, log: IO[str]) -> Done:
    (done,) = of_kind(Done, [frame for _, frame in EngineProcess(plan, log)])
    return done


OPEN: dict[str, Any] = {
    "arrivals": Arrivals(open=OpenArrivals(law="poisson")),
    "stages": [Stage(duration_ns=None, rate_tps=2000.0)],
}


@pytest.mark.parametrize("changes", [{}, OPEN], ids=["closed", "open"])
def test_together_they_do_the_transactions_of_one(table, log, changes):
    plan = plan_for(
        table.endpoint(), INSERT, clients=7, threads=3, seed=5, **{**times(20), **changes}
    )
    one = alone(plan, log)
    expected = received(table)
    frames, running = shared("local*3", plan, log)
    (done,) = of_kind(Done, frames)
    assert len(expected) == 7 * 20 == done.counters.ok == one.counters.ok
    rows = received(table)
    if changes:  # which client takes an arrival is a matter of time, what it does is not
        expected, rows = sorted(r for _, r in expected), sorted(r for _, r in rows)
    assert rows == expected
    assert sum(len(part.clients) for part in running.workers()) == 7
    assert sum(part.transactions for part in running.workers()) == 7 * 20


def test_their_frames_are_those_of_one_engine(local, log):
    plan = plan_for(local.endpoint(), "select 1;", clients=4, threads=4, seconds=1)
    frames, running = shared("local*4", plan, log)
    order = [type(frame) for frame in frames if not isinstance(frame, Note)]
    assert (order[0], order[-1]) == (Hello, Done)
    assert order.index(Connected) < order.index(Started) < order.index(Interval)
    intervals, (done,) = of_kind(Interval, frames), of_kind(Done, frames)
    assert [interval.index for interval in intervals] == list(range(len(intervals)))
    for interval in intervals:
        assert_identities(interval.counters)
    assert (done.end, done.counters.in_flight) == ("complete", 0)
    assert of_kind(Hello, frames)[0].threads == 4
    assert len(set(of_kind(Connected, frames)[0].backend_pids) - {0}) == 4
    # One machine has one clock.
    for part in running.workers():
        assert abs(part.clock_offset_ns) <= part.clock_bound_ns


def test_histograms_add_up_bucket_by_bucket(local, log):
    plan = plan_for(local.endpoint(), "select 1;", clients=4, threads=4, seconds=1)
    frames, running = shared("local*4", plan, log)
    (done,) = of_kind(Done, frames)
    parts = [part.response for part in running.workers() if part.response is not None]
    bars = histogram_bars(done.response)
    assert bars == histogram_bars(histogram_merge(parts))
    windows = [script.response for window in of_kind(Window, frames) for script in window.scripts]
    assert bars == histogram_bars(histogram_merge(windows))
    measured = [interval for interval in of_kind(Interval, frames) if interval.phase != "warmup"]
    assert done.counters.ok == sum(i.scripts[0].response.count for i in measured)


def killing(place: int, number: signal.Signals) -> Callable[[Fleet, Frame], None]:
    """Send one of the agents a signal as soon as there are transactions."""
    is_done: list[bool] = []

    def act(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Interval) and frame.completed_ok and not is_done:
            is_done.append(True)
            greeting = fleet.agents[place].greeting
            assert greeting is not None
            os.kill(greeting.pid, number)

    return act


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (signal.SIGKILL, "its process was killed by SIGKILL"),
        (signal.SIGSTOP, "nothing was heard of it"),
    ],
)
def test_a_lost_agent_stops_the_others(local, log, number, why):
    plan = plan_for(
        local.endpoint(), "select 1;", clients=3, threads=3, seconds=60, interval_ns=200_000_000
    )
    frames, running = shared("local*3", plan, log, killing(1, number))
    (done,) = of_kind(Done, frames)
    assert (done.end, done.reason) == ("aborted", f"worker local-2 was lost: {why}")
    lost = [part.name for part in running.workers() if part.lost_at_s is not None]
    assert lost == ["local-2"]
    assert done.counters.ok > 0
    wait_until(lambda: local.backends() == [], "the backends' end")


def test_the_others_continue_without_a_lost_one(local, log):
    plan = plan_for(
        local.endpoint(), "select 1;", clients=2, threads=2, seconds=2, interval_ns=200_000_000
    )
    frames, running = shared("local*2", plan, log, killing(0, signal.SIGKILL), "continue")
    (done,) = of_kind(Done, frames)
    assert done.end == "complete"
    assert_identities(done.counters)
    assert [part.lost_at_s is None for part in running.workers()] == [False, True]
    assert "worker local-1 was lost" in of_kind(Note, frames)[0].text


def test_one_that_hears_nothing_for_long_ends_its_part_as_a_failure(local, log, monkeypatch):
    """It cannot know whether anybody is still there: what it says last must not look complete."""
    monkeypatch.setattr(Pulse, "_watch", lambda pulse: pulse._over.wait())
    plan = plan_for(
        local.endpoint(), "select 1;", clients=2, threads=2, seconds=60, interval_ns=200_000_000
    )
    frames, running = shared("local*2", plan, log)
    (done,) = of_kind(Done, frames)
    first = done.reason.partition(" was lost")[0]
    assert (done.end, done.reason) == ("aborted", f"{first} was lost: it heard nothing for 5 s")
    assert {part.why_lost for part in running.workers()} == {"it heard nothing for 5 s"}
    assert done.measured_ns > 0  # its throughput is known, too


@contextlib.contextmanager
def standing_still(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_one_that_cannot_be_ended_from_here_is_lost_all_the_same(local, log):
    """Its command has left the group of processes that is ended, as sudo's does."""
    away = f"exec:'setsid --wait {sys.executable} -m dbdyno agent',local"
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, seconds=3)
    said: list[str] = []
    frames = []
    with contextlib.ExitStack() as stopped:
        with opened(worker_list(away), "continue", said.append) as fleet:
            assert fleet is not None
            ((_, greeting, _), _) = fleet.known()
            for _, frame in fleet.start(fleet.shared(plan, 2), log):
                if isinstance(frame, Started):
                    stopped.enter_context(standing_still(greeting.pid))
                frames.append(frame)
        assert of_kind(Done, frames)[0].end == "complete"
        assert of_kind(Note, frames)[0].text.endswith("nothing was heard of it")
        assert "cannot be ended from here" in said[-1]
    left = Path(f"/proc/{greeting.pid}")
    wait_until(lambda: not left.exists(), "it has ended, since its input has")


def test_other_hosts_find_a_server_by_its_name_where_this_one_has_a_loopback_address():
    """Such as Debian's 127.0.1.1 for a host's own name."""

    def endpoint_at(host: str) -> Endpoint:
        tcp = TcpAddress(host=host, port=5432, numeric="127.0.1.1")
        return Endpoint(address=Address(tcp=tcp), user="me", database="mine")

    by_name, local = endpoint_at("db.example"), endpoint_at("localhost")
    with begun("local") as fleet:
        fleet.load_jobs(local, 1)  # all agents are on this host
        greeting = fleet.agents[0].greeting
        assert greeting is not None
        fleet.agents[0].greeting = msgspec.structs.replace(greeting, boot="of another host")
        fleet.load_jobs(by_name, 1)
        with pytest.raises(DbdynoError, match="worker local-1 is on another host, and a server"):
            fleet.load_jobs(local, 1)
    assert by_name.elsewhere.address.tcp == TcpAddress(host="db.example", port=5432)


@pytest.mark.parametrize(
    ("attributes", "is_here"),
    [
        ("Driver={PostgreSQL Unicode};Servername=LocalHost;Port=5432", True),
        ("Driver=x;SERVER=127.0.1.1", True),
        ("Server=tcp:127.0.0.1,1433", True),
        ("Host=::1;Port=1", True),
        ("Server={[::1]}", True),
        (r"Driver=x;Server=.\SQLEXPRESS", True),
        ("Server=(local)", True),
        ("Driver=x;Servername=/var/run/postgresql", True),
        ("Socket=/run/mysqld/mysqld.sock", True),
        ("Driver=x;Server=db.example,1433", False),
        ("Server=127-0.example", False),
        ("Server=10.0.0.1;Database=localhost", False),
        ("DSN=localhost", False),
    ],
)
def test_a_connection_string_with_a_loopback_address_is_of_this_host(attributes, is_here):
    assert Address(odbc=OdbcAddress(attributes=attributes)).is_on_this_host is is_here


def test_two_signals_end_a_load_with_one_that_cannot_be_ended_from_here(local, log):
    away = f"exec:'setsid --wait {sys.executable} -m dbdyno agent'"
    plan = plan_for(local.endpoint(), "select 1;", clients=1, threads=1, seconds=60)
    with contextlib.ExitStack() as stopped, begun(away) as fleet:
        ((_, greeting, _),) = fleet.known()
        running = fleet.start(plan, log)
        for _, frame in running:
            if isinstance(frame, Started):
                stopped.enter_context(standing_still(greeting.pid))
                running.kill()
    wait_until(lambda: not Path(f"/proc/{greeting.pid}").exists(), "it has ended")


def test_one_for_whose_numbers_the_others_wait_is_lost_and_not_all(local, log, monkeypatch):
    """It answers, but its link is too slow for its frames, or its threads hang."""
    monkeypatch.setattr(running_module, "AWAITED_MIN_S", 1.0)
    plan = plan_for(
        local.endpoint(), "select 1;", clients=2, threads=2, seconds=3, interval_ns=200_000_000
    )
    frames, running = shared(spoiling("mute part_interval"), plan, log, on_lost="continue")
    (done,) = of_kind(Done, frames)
    assert done.end == "complete"
    mute, other = running.workers()
    assert mute.why_lost == "its numbers did not come for 1 s"
    assert sum(interval.counters.ok for interval in of_kind(Interval, frames)[-1:]) > 0
    assert other.transactions == done.counters.ok


def test_one_that_is_waited_for_is_lost_however_much_others_say(local, log, monkeypatch):
    """With many hosts, something is always there that was not read yet."""
    monkeypatch.setattr(running_module, "AWAITED_MIN_S", 2.0)
    plan = plan_for(
        local.endpoint(), "select 1;", clients=4, threads=4, seconds=6, interval_ns=200_000_000
    )

    def read_slowly(_fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Note):
            time.sleep(0.02)  # twice as long as it takes to say the next one

    workers = f"{spoiling('mute part_interval')},{spoiling('chatting')}"
    frames, running = shared(workers, plan, log, read_slowly, "continue")
    assert of_kind(Done, frames)[0].end == "complete"
    mute, *others = running.workers()
    assert mute.why_lost == "its numbers did not come for 2 s"
    assert [part.lost_at_s for part in others] == [None] * 3


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("hello", "did not take its part"),
        ("part_connected", "did not connect its clients"),
        ("started", "did not begin"),
        ("part_interval", "sent no further numbers"),
    ],
)
def test_one_that_answers_and_does_not_go_on_is_known_by_name(local, log, kind, what):
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, seconds=600)
    with begun(spoiling(f"mute {kind}")) as fleet:
        running = fleet.start(fleet.shared(plan, 2), log)
        reading = threading.Thread(target=lambda: list(running))
        reading.start()
        try:
            wait_until(lambda: running.awaited() == f"worker exec-1 {what}", "it is known")
        finally:
            running.kill()
            reading.join()


def test_processes_of_agents_here_make_the_load(local, log):
    """Also those that a command has started in turn, but not what reaches one elsewhere."""
    agent = f"{sys.executable} -m dbdyno agent"
    plan = plan_for(local.endpoint(), "select 1;", clients=3, threads=3, **times(1))
    with begun(f"exec:'{agent}; true',local*2") as fleet:
        wrapped, direct, away = fleet.agents
        assert away.greeting is not None
        away.greeting = msgspec.structs.replace(away.greeting, boot="of another host")
        (hello,) = of_kind(Hello, [frame for _, frame in fleet.start(plan, log)])
    assert wrapped.pid not in (None, wrapped.carrier_pid)
    assert [hello.pid, *hello.further_pids] == [wrapped.pid, wrapped.carrier_pid, direct.pid]
    assert hello.carrier_pids == [away.carrier_pid]
    assert direct.pid == direct.carrier_pid


@namespaces
def test_a_number_in_a_container_is_not_one_of_this_host():
    agent = f"{sys.executable} -m dbdyno agent"
    with begun(f"exec:'unshare --pid --fork --kill-child {agent}'") as fleet:
        ((agent, greeting, _),) = fleet.known()
        assert greeting.pid == 1
        assert agent.pid is None


def test_clocks_of_the_others_are_compared_also_if_one_does_not_answer(local, log, monkeypatch):
    monkeypatch.setattr(fleet_module, "CLOCK_MAX_S", 0.5)
    plan = plan_for(local.endpoint(), "select 1;", clients=3, threads=3)
    with begun("local*3") as fleet, contextlib.ExitStack() as stopped:
        hour = Offset(1, 3600 * 10**9)
        fleet._offsets = dict.fromkeys(fleet.agents, hour)  # they have gone apart since
        pid = fleet.agents[0].pid
        assert pid is not None
        stopped.enter_context(standing_still(pid))
        running = fleet.start(fleet.shared(plan, 3), log)
        first, *others = running.workers()
    assert first.clock_offset_ns == hour.offset_ns
    for part in others:
        assert abs(part.clock_offset_ns) <= part.clock_bound_ns


def test_one_that_prints_without_end_is_lost(local, log, monkeypatch):
    monkeypatch.setattr(pulse_module, "PRINTED_BYTES_MAX", 2**17)
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, seconds=5)
    _, running = shared(spoiling("printing"), plan, log, on_lost="continue")
    printing, other = running.workers()
    assert printing.why_lost.startswith("it prints without end; it printed last: y")
    assert other.lost_at_s is None


def test_one_that_takes_no_words_is_lost_and_no_other(local, log):
    many = "\n".join(f"select {number};" for number in range(200_000))
    plan = plan_for(local.endpoint(), many, clients=3, threads=3, seconds=1)
    with begun("local*3") as fleet:
        pid = fleet.agents[2].pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        *_, (_, failed) = fleet.start(fleet.shared(plan, 3), log)
    assert isinstance(failed, Failed)
    assert failed.message.startswith("worker local-3 was lost before the load began: ")


@pytest.mark.parametrize("number", ["", "{n}"], ids=["of one command", "of several"])
def test_few_agents_are_started_at_once(tmp_path, monkeypatch, number):
    """Sshd, that of a jump host, too, refuses logins at random when more than 10 are not done."""
    monkeypatch.setattr(fleet_module, "GREETING_MAX_S", 5.0)
    started = tmp_path / "started"
    refusal = pytest.raises(DbdynoError, match="exec-1 is no agent of dbdyno: nothing within 5 s")
    with refusal, begun(f"exec:'echo x{number} >> {started}; exec sleep 60'*12"):
        pass
    assert started.read_text().count("x") == fleet_module.STARTING_MAX


@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (40, "signal 40")])
def test_a_signal_is_named_if_it_has_a_name(number, name):
    with Command(("sh", "-c", f"kill -{number} $$")) as command:
        assert command.why_ended() == f"its process was killed by {name}"
        command.printed.close()


class _AtSocket(Command):
    """A command whose stream is a socket, as that of a node of Ray."""

    def __init__(self, words: tuple[str, ...]) -> None:
        super().__init__(words)
        self.own, other = socket.socketpair()
        assert self.stdout is not None
        self.stdout.close()
        self.stdout = other.makefile("rb", buffering=0)
        other.send(b"a word that is never read")
        other.close()


@dataclass(frozen=True)
class _Socket(Place):
    def start(self) -> Command:
        return _AtSocket(self.command)


def test_a_connection_that_is_reset_has_ended():
    arrivals = AgentArrivals()
    place = _Socket("h", ("sleep", "60"))
    agent = Agent(0, place, arrivals)
    process = agent._process
    assert isinstance(process, _AtSocket)
    process.own.close()  # with a word that it has not read
    arrived = arrivals.get(timeout=PATIENCE_S)
    assert (arrived.frame, arrived.end) == (None, "its stream ended")
    agent.kill()
    assert agent.close()


def test_what_a_command_printed_is_shown_in_part():
    endless = "head -c 20000000 /dev/zero | tr '\\0' x >&2"
    with pytest.raises(DbdynoError) as refused, begun(f'exec:"{endless}"'):
        pass
    assert len(refused.value.message) < 1000


def test_a_number_that_may_be_anothers_is_not_killed(monkeypatch):
    killed: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, _: killed.append(group))
    with Command(("true",)) as command:
        command.wait()
        assert killed == [command.pid], "what it may have left in its group ends with it"
        command.kill()
        assert len(killed) == 1
        command.printed.close()


def spoiling(kind: str) -> str:
    return f"exec:'{sys.executable} {Path(__file__).with_name('spoiling.py')} {kind}',local"


def test_one_whose_numbers_are_rubbish_is_lost_by_name(local, log):
    plan = plan_for(
        local.endpoint(), "select 1;", clients=2, threads=2, seconds=2, interval_ns=200_000_000
    )
    frames, running = shared(spoiling("part_interval"), plan, log, on_lost="continue")
    assert of_kind(Done, frames)[0].end == "complete"
    first, second = running.workers()
    assert second.lost_at_s is None
    assert first.why_lost.startswith("it sent what no agent does")


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("ahead", r"a report of a time 3\d{3}\.\d s ahead"),
        ("endless part_interval", "time again"),
        ("endless started", "a second Started"),
        ("endless part_begun", "a second PartBegun"),
        ("telling", r"Note \d{5} times"),
        ("nested", "it sent what no agent does"),
        ("whole", "a Connected, which is of a whole load"),
    ],
)
def test_one_that_would_fill_the_memory_is_lost_by_name(local, log, kind, why):
    plan = plan_for(
        local.endpoint(), "select 1;", clients=2, threads=2, seconds=2, interval_ns=200_000_000
    )
    frames, running = shared(spoiling(kind), plan, log, on_lost="continue")
    assert of_kind(Done, frames)[0].end == "complete"
    first, second = running.workers()
    assert second.lost_at_s is None
    assert re.search(why, first.why_lost)


def test_one_whose_load_stalls_is_lost_and_the_others_go_on(local, log):
    """Its way to the server may be gone, or only its own clients wait for so long."""
    script = "select pg_sleep(20 * (1 - :client_id));"
    plan = plan_for(
        local.endpoint(), script, clients=2, threads=2, seconds=4, stall_limit_ns=1_000_000_000
    )
    frames, running = shared("local*2", plan, log, on_lost="continue")
    assert of_kind(Done, frames)[0].end == "complete"
    first, second = running.workers()
    why = "its load was stalled, by its own clients alone: the server stopped answering"
    assert first.why_lost == why
    assert second.lost_at_s is None
    assert second.transactions > 0
    frames, _ = shared("local*2", plan, log)
    done = of_kind(Done, frames)[0]
    assert (done.end, done.reason) == (
        "stalled",
        "worker local-1, by its own clients alone: the server stopped answering",
    )


def test_one_that_prints_instead_of_beginning_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(fleet_module, "PRINTED_BYTES_MAX", 2**17)
    refusal = pytest.raises(DbdynoError, match=r"worker exec-1 is no agent .*prints without end")
    with refusal, begun("exec:'yes >&2'"):
        pass


def test_one_that_is_connected_before_it_says_hello_is_lost_by_name(local, log):
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, seconds=2)
    frames, _ = shared(spoiling("early"), plan, log)
    (failed,) = of_kind(Failed, frames)
    assert "worker exec-1 was lost before the load began: it sent what no" in failed.message


def test_outages_that_a_lost_one_does_not_end_are_those_of_its_threads_that_are_out(local, log):
    def kill(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Outage) and frame.end_ns is not None:
            fleet.agents[0].kill()

    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, seconds=2)
    frames, _ = shared(spoiling("outages"), plan, log, kill, "continue")
    outages = of_kind(Outage, frames)
    assert {(one.message, one.end_ns is None) for one in outages} == {
        ("first", False),
        ("second", True),
    }
    begun_ns = {one.at_ns for one in of_kind(OutageBegun, frames) if one.message == "second"}
    assert {one.begin_ns for one in outages if one.end_ns is None} <= begun_ns


def test_one_that_contradicts_itself_is_lost_and_the_others_are_right(local, log):
    plan = plan_for(
        local.endpoint(), "select 1;", clients=2, threads=2, seconds=2, interval_ns=200_000_000
    )
    frames, running = shared(spoiling("more"), plan, log, on_lost="continue")
    (done,) = of_kind(Done, frames)
    assert done.end == "complete"
    assert_identities(done.counters)
    first, second = running.workers()
    assert "started = ok + failed + in_flight + unfinished does not hold" in first.why_lost
    assert (second.lost_at_s, second.transactions) == (None, done.counters.ok)


@pytest.mark.parametrize("kind", ["greeting", "clock"])
def test_one_that_says_the_same_for_ever_is_refused_by_name(kind):
    """Also if another one says nothing at all."""
    with (
        pytest.raises(DbdynoError, match="worker exec-1 is no agent"),
        begun(spoiling(f"endless {kind}").replace(",local", ",exec:'sleep 60'" * (kind[0] == "g"))),
    ):
        pass


def test_one_that_says_hello_for_ever_is_lost_by_name(local, log):
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, seconds=2)
    frames, _ = shared(spoiling("endless hello"), plan, log)
    (failed,) = of_kind(Failed, frames)
    assert "worker exec-1 was lost before the load began" in failed.message
    assert "a second Hello" in failed.message


def test_another_architecture_is_refused_by_name():
    refusal = pytest.raises(DbdynoError, match=r"worker exec-1 \(.*, s390x\) has another build")
    with refusal, begun(spoiling("other")):
        pass


def test_one_that_never_begins_is_not_waited_for(local, log):
    def stop_when_connected(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Connected):  # all are told to begin once this has returned
            pid = fleet.agents[1].pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)

    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, seconds=3)
    frames, running = shared("local*2", plan, log, stop_when_connected, "continue")
    assert len(of_kind(Started, frames)) == 1
    assert of_kind(Done, frames)[0].end == "complete"
    assert [part.lost_at_s is None for part in running.workers()] == [True, False]


def test_threads_that_begin_late_are_known_by_name(local, log):
    """One had the word in time, and was stopped when the others began."""
    was_in_time: list[bool] = []

    def stop_over_the_beginning(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Started):
            greeting = fleet.agents[1].greeting
            assert greeting is not None
            os.kill(greeting.pid, signal.SIGSTOP)
            was_in_time.append(time.monotonic_ns() < frame.monotonic_ns)
            time.sleep((frame.monotonic_ns - time.monotonic_ns()) / 1e9 + 0.3)
            os.kill(greeting.pid, signal.SIGCONT)

    plan = plan_for(local.endpoint(), "select 1;", clients=6, threads=6, seconds=1)

    def parts() -> list[WorkerPart]:
        frames, running = shared("local*3", plan, log, stop_over_the_beginning)
        assert of_kind(Done, frames)[0].end == "complete"
        return running.workers()

    first, late, last = eventually(parts, lambda _: was_in_time.pop())  # or the host was busy
    assert late.begun_late_ns > 250e6
    assert max(first.begun_late_ns, last.begun_late_ns) < late.begun_late_ns
    (doubt,) = [one for one in worker_doubts([late]) if one.startswith("worker clock: local-2")]
    assert "after the common instant" in doubt


@namespaces
def test_an_hour_between_clocks_makes_no_difference(local, log, tmp_path):
    """The clock of one began at another time, as those of two hosts do; the calendar of another
    is wrong."""
    steps, by = tmp_path / "steps.so", tmp_path / "by"
    source = ROOT / "tests/reliability/steps.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", steps, source, "-ldl"], check=True)
    by.write_bytes((3600 * 10**9).to_bytes(8, "little"))
    hour = "unshare --time --fork --kill-child --monotonic 3600"
    calendar = f"env LD_PRELOAD={steps} CLOCK_STEP={by}"
    agent = f"{sys.executable} -m dbdyno agent"
    text = f"exec:'{hour} {agent}',exec:'{calendar} {agent}',local"
    plan = plan_for(local.endpoint(), "select 1;", clients=3, threads=3, seconds=1)
    frames, running = shared(text, plan, log)
    (done,) = of_kind(Done, frames)
    assert done.end == "complete"
    assert_identities(done.counters)
    ahead, *others = running.workers()
    assert abs(ahead.clock_offset_ns - 3600e9) <= ahead.clock_bound_ns
    for part in others:
        assert abs(part.clock_offset_ns) <= part.clock_bound_ns
    for interval in of_kind(Interval, frames):
        assert 0 < interval.end_ns - interval.begin_ns < 2e9


def stopped(plan: Plan, log: IO[str]) -> list[Frame]:
    """Stop a load as soon as both have told of their parts."""
    with begun("local*2") as fleet:
        running = fleet.start(fleet.shared(plan, 2), log)
        frames, is_stopped = [], False
        for _, frame in running:
            frames.append(frame)
            if isinstance(frame, Interval) and len(frame.workers) == 2 and not is_stopped:
                is_stopped = True
                running.stop()
    return frames


def test_an_early_end_is_that_of_all(local, log):
    frames = stopped(plan_for(local.endpoint(), "select 1;", clients=2, threads=2, seconds=60), log)
    (done,) = of_kind(Done, frames)
    assert (done.end, done.counters.in_flight) == ("interrupted", 0)


def test_they_stop_at_one_instant(local, log):
    """The intervals after it are those of both, and come while the last transactions end."""
    text = "select pg_sleep(3);"
    plan = plan_for(local.endpoint(), text, clients=2, threads=2, seconds=60, interval_ns=10**8)
    frames = stopped(plan, log)
    drained = [one for one in of_kind(Interval, frames) if one.phase == "drain"]
    assert len(drained) > 5
    assert {len(one.workers) for one in drained[:-1]} == {2}


def test_what_scripts_of_a_lost_one_have_counted_stays_counted(local, log):
    text = 'local done = counter("done")\nlocal ask = statement("select 1")\n'
    text += "function transaction() done() ask() end"
    plan = plan_for(local.endpoint(), "", clients=2, threads=2, seconds=2, interval_ns=200_000_000)
    plan = msgspec.structs.replace(plan, scripts=[Script(name="a", text=text, language="lua")])
    frames, running = shared("local*2", plan, log, killing(0, signal.SIGKILL), "continue")
    (done,) = of_kind(Done, frames)
    assert [part.lost_at_s is None for part in running.workers()] == [False, True]
    assert done.counted == {"done": done.counters.ok}


def test_the_measured_time_of_one_that_is_lost_at_the_end_is_that_of_all(local, log):
    def kill(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Interval) and frame.phase == "drain":
            fleet.agents[0].kill()

    text = "select pg_sleep(3);"
    plan = plan_for(local.endpoint(), text, clients=2, threads=2, seconds=1, interval_ns=10**8)
    frames, running = shared("local*2", plan, log, kill, "continue")
    assert [part.lost_at_s is None for part in running.workers()] == [False, True]
    assert of_kind(Done, frames)[0].measured_ns == 10**9


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (signal.SIGKILL, "its process was killed by SIGKILL"),
        (signal.SIGSTOP, "nothing was heard of it"),
    ],
)
def test_one_that_is_lost_before_the_load_is_told_with_the_reason(local, log, number, why):
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2)
    with begun("local*2") as fleet:
        pid = fleet.agents[1].pid
        assert pid is not None
        os.kill(pid, number)  # while data is loaded, say
        *_, (_, failed) = fleet.start(fleet.shared(plan, 2), log)
    assert isinstance(failed, Failed)
    assert failed.message == f"worker local-2 was lost before the load began: {why}"


def test_one_waits_for_a_job_as_long_as_it_is_asked_for_its_clock(local, log):
    plan = plan_for(local.endpoint(), "select 1;", clients=1, threads=1, seconds=1)
    with begun("local") as fleet:
        time.sleep(6)  # longer than it bears silence
        *_, (_, done) = fleet.start(fleet.shared(plan, 1), log)
    assert isinstance(done, Done)
    assert done.end == "complete"


def test_one_without_a_job_ends_when_nobody_wants_it_any_more(monkeypatch):
    """Its network may be gone: sshd would keep it for hours."""
    monkeypatch.setattr(Pulse, "_watch", lambda pulse: pulse._over.wait())
    with begun("local") as fleet:
        folder = Path(f"/proc/{fleet.agents[0].pid}")
        assert folder.exists()
        wait_until(lambda: not folder.exists(), "an agent that nobody asks has ended")
        wait_until(lambda: "it heard nothing for 5 s" in fleet.agents[0].printed(), "and says why")


def test_what_fails_before_the_load_names_the_agent(local, log):
    nobody = msgspec.structs.replace(local.endpoint(), user="nobody_at_all")
    frames, _ = shared("local*2", plan_for(nobody, "select 1;", clients=2, threads=2), log)
    failed = frames[-1]
    assert isinstance(failed, Failed)
    assert failed.message.startswith("worker local-")


def test_it_is_recorded_which_of_them_use_another_interface(local, log):
    agent = f"{sys.executable} -m dbdyno agent"
    refused = f"{sys.executable} -m tests.support.without_system_call {IO_URING_SETUP} EPERM"
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, **times(1))

    def hello(text: str) -> Hello:
        return of_kind(Hello, shared(text, plan, log)[0])[0]

    usual = hello("local*2")
    mixed = hello(f"local,exec:'{refused} {agent}'")
    assert usual.io in {"epoll", "uring"}
    assert mixed.io == " and ".join(sorted({"epoll", usual.io}))
    assert "exec-2: io_uring is forbidden here" in mixed.io_reason
    assert ("local-1: " in mixed.io_reason) is (usual.io == "epoll")
    # If they say the same, it is said once.
    both = hello(f"exec:'{refused} {agent}'*2")
    assert both.io == "epoll"
    assert both.io_reason.startswith("io_uring is forbidden here")


def test_any_command_that_starts_an_agent_will_do(local, log):
    text = f"exec:'{sys.executable} -m dbdyno agent',local"
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, **times(3))
    frames, running = shared(text, plan, log)
    assert of_kind(Done, frames)[0].counters.ok == 6
    assert [part.name for part in running.workers()] == ["exec-1", "local-2"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo I am a banner that is longer than a length", "it sent what no agent does"),
        ("echo no route to host >&2; exit 255", "no route to host"),
        ("no-such-command-at-all", "not found"),
        ("printf '\\\\005\\\\000\\\\000\\\\000abc'", "its process ended with exit code 0"),
    ],
)
def test_what_is_no_agent_is_refused_by_name(command, why):
    with (
        pytest.raises(DbdynoError, match="worker exec-2 is no agent") as refused,
        begun(f'local,exec:"{command}"'),
    ):
        pass
    assert why in refused.value.message


def test_many_agents_have_the_files_that_they_need():
    """Also where a shell's limit is lower: it may be raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 12, hard)
    )
    try:
        with begun("local*6") as fleet:
            assert len(fleet.agents) == 6
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_command_that_cannot_be_started_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(DbdynoError, match=r"worker h could not be started: .*'ssh'"),
        begun("ssh:h"),
    ):
        pass


def test_the_own_build_is_looked_at_once(monkeypatch):
    """It is that of 40 MB, for each of a thousand agents."""
    own = engine.build()
    monkeypatch.setattr(engine, "build_of", lambda _: "another")
    assert engine.build() == own


def test_another_build_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(fleet_module.engine, "build", lambda: "0123456789abcdef")
    refusal = pytest.raises(DbdynoError, match=r"worker local-1 .* has another build")
    with refusal, begun("local"):
        pass


def test_more_agents_than_clients_are_refused(local, log):
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2)
    with pytest.raises(DbdynoError, match="2 clients cannot be shared by 3 agents"):
        shared("local*3", plan, log)


CONTROLLER = """
import msgspec, sys
from dbdyno.fleet.fleet import opened
from dbdyno.fleet.words import worker_list
from dbdyno.model.frame import Started
from dbdyno.model.plan import Plan
plan = msgspec.json.decode({plan!r}, type=Plan)
with opened(worker_list({workers!r}), "stop", print) as fleet:
    for _, frame in fleet.start(fleet.shared(plan, {threads}), sys.stderr):
        if isinstance(frame, Started):
            print("started", flush=True)
"""


@contextlib.contextmanager
def controller(plan: Plan, workers: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that shares a load; yield it when the load has begun."""
    program = CONTROLLER.format(
        plan=msgspec.json.encode(plan), workers=workers, threads=plan.threads
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "started\n" in iter(process.stdout.readline, "")
        yield process


def kill_a_controller(local, workers, *, clients, threads, host=""):
    """Kill one whose clients wait for the server; return when nobody does any more."""
    plan = plan_for(
        local.endpoint(host), "select pg_sleep(600);", clients=clients, threads=threads, seconds=60
    )
    with controller(plan, workers) as process:
        wait_until(lambda: len(local.backends()) == clients, "the load")
        process.kill()
    wait_until(lambda: local.backends() == [], "the end of the load")


def test_nothing_outlives_its_controller(local):
    """Not even what the server is executing: it is cancelled."""
    kill_a_controller(local, "local*3", clients=6, threads=3)
