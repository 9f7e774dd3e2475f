"""Tools take turns: one runs while the others are stopped, and none outlives the measurement."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.cases import Bound, Case, Entrant
from bench.compare import compare_all
from bench.data import Data
from bench.dbdyno_tool import DBDYNO
from bench.pgbench import PGBENCH, initialize
from bench.process import run_to_end
from bench.server import bench_server
from bench.tally import Tally
from bench.turns import Entry, take_turns
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint

SECONDS = 2

# Notes the processor's time and the clock's whenever it has worked for a while.
WORKER = """
import json, sys, time
ends_at = time.monotonic() + float(sys.argv[2])
open(sys.argv[1], "w").close()
worked = []
while (now := time.monotonic()) < ends_at:
    sum(range(10_000))
    worked.append(now)
print(json.dumps(worked))
"""


@dataclass
class Worker:
    """A tool that uses a core, and tells when."""

    mark: Path
    lengths: list[int] = field(default_factory=list)

    def entry(self) -> Entry:
        return Entry(self._command, self.mark.exists, connecting_s=0.2)

    def _command(self, seconds: int) -> list[str]:
        self.lengths.append(seconds)
        return [sys.executable, "-c", WORKER, str(self.mark), str(seconds)]


def _entry_of(program: str, mark: Path) -> Entry:
    return Entry(lambda _: [sys.executable, "-c", program], mark.exists, connecting_s=0.2)


def test_only_one_of_them_runs_at_a_time(tmp_path):
    workers = [Worker(tmp_path / name) for name in ("one", "other")]
    found = take_turns([worker.entry() for worker in workers], SECONDS)
    one, other = (json.loads(turns.finished.output) for turns in found)
    assert len(_spells(one, other)) > 2, "they must have changed places"
    for turns in found:
        run = turns.finished
        assert 0 < run.stopped_s < run.elapsed_s
        assert run.cpu_s <= run.elapsed_s - run.stopped_s + 0.1, "a stopped tool uses no processor"
        assert 0 < turns.cpu_s <= min(turns.running_s + 0.1, run.cpu_s)
        assert turns.running_s < run.elapsed_s - run.stopped_s


def _spells(one: list[float], other: list[float]) -> list[str]:
    """Who worked, in the order of time, without repetitions; none may fall into another's spell.

    The first notes of each are from before all had connected, when nobody was stopped.
    """
    begin = max(one[0], other[0])
    notes = sorted([(at, "one") for at in one] + [(at, "other") for at in other])
    names = [name for at, name in notes if at >= begin]
    changes = [name for name, before in zip(names[1:], names, strict=False) if name != before]
    assert len(changes) < len(names) / 20
    return changes


def test_a_tool_that_fails_is_shown_with_its_output_and_the_others_are_ended(tmp_path):
    worker = Worker(tmp_path / "one")
    failing = f"open({str(tmp_path / 'other')!r}, 'w'); import sys; sys.exit('no such table')"
    with pytest.raises(DbdynoError, match="exited with 1") as raised:
        take_turns([worker.entry(), _entry_of(failing, tmp_path / "other")], SECONDS)
    assert raised.value.hint == "no such table"
    assert _processes_with(str(worker.mark)) == []


def test_a_tool_that_ends_before_it_connects_is_an_error(tmp_path):
    with pytest.raises(DbdynoError, match="ended before its clients connected"):
        take_turns([_entry_of("pass", tmp_path / "never")], SECONDS)


def test_a_load_that_ends_during_a_stop_gives_no_figure(tmp_path, monkeypatch):
    """As when the tool before it takes long to write its results."""
    monkeypatch.setattr("bench.turns.ALONE_S", 0)
    mark, worker = tmp_path / "one", Worker(tmp_path / "other")
    slow = f"import time; open({str(mark)!r}, 'w').close(); time.sleep(10)"
    with pytest.raises(DbdynoError, match="ended while it was stopped"):
        take_turns([_entry_of(slow, mark), worker.entry()], 1)
    assert _processes_with(str(worker.mark)) == []


def test_a_process_that_ignores_the_request_to_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.process.PATIENCE_S", 0.2)
    mark = tmp_path / "one"
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"open({str(mark)!r}, 'w').close(); time.sleep(600)"
    )
    with pytest.raises(DbdynoError, match="ended before"):
        take_turns([_entry_of(deaf, mark), _entry_of("pass", tmp_path / "never")], SECONDS)
    assert _processes_with(str(mark)) == []


def test_the_time_of_a_command_is_that_of_its_whole_tree():
    busy = "sum(range(20_000_000))"
    shell = run_to_end(["sh", "-c", f"{sys.executable} -c '{busy}'; true"])
    assert shell.cpu_s > 0.1
    assert shell.stopped_s == 0


def test_pgbench_and_dbdyno_are_compared_on_copies_of_the_data(capsys):
    small = Data(name="small", load=_load_small, settle=lambda _: None)
    own = Entrant("dbdyno", DBDYNO, ("select-only", "-s", "1", "--telemetry", "off"))
    peer = Entrant("pgbench", PGBENCH, ("-b", "select-only"))
    bounds = (Bound(own, peer, 0.0, 1e9),)
    case = Case("select-only", "postgres", "socket", small, 4, bounds, floors=())
    tally = Tally()
    with bench_server("postgres") as at:
        # The tools connect in less time than they run, also on a busy host.
        compare_all(tally, at, [case], rounds=2, seconds=10)
    out, err = capsys.readouterr()
    assert "ok   select-only, 4 clients, PostgreSQL, socket" in out
    assert "dbdyno relative to pgbench: TPS " in out
    assert [line.count("|") for line in err.splitlines()] == [1, 1], "a line for each round"
    assert tally.all_passed


def _load_small(endpoint: Endpoint) -> None:
    initialize(endpoint, 1)


def _processes_with(argument: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if argument.encode() in words:
            found.append(int(path.parent.name))
    return found
