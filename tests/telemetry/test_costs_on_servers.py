"""Costs per transaction of short runs, against what the test itself reads around their load."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from dbdyno.host.processes import ProcessTable, running_ns
from dbdyno.model.frame import Connected, Frame
from dbdyno.model.record import CostRecord
from dbdyno.model.run import Run
from dbdyno.run.tools import Tools
from dbdyno.servers.base import Server
from dbdyno.servers.existing import ExistingServer
from tests.support.engine import Astray, tools
from tests.support.patience import PATIENCE_S
from tests.telemetry.watched import measure

pytestmark = pytest.mark.usefixtures("home", "patient")

ROOT = Path("/")
INSERT = "insert into filled (filler) values (repeat(md5({random}()::text), 10));\n"
WORK = "select sum(n) from generate_series(1, 2000) n;\n"
WAL_ERROR_MAX = 0.02
CPU_ERROR_MAX = 0.05
OTHER_CPU_US = 40_000
"""At most what telemetry's sessions use between its readings and those of the test."""


@pytest.fixture(autouse=True)
def _patient_with_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The load's sessions publish their last counts when they disconnect."""
    for task in ("server_task", "machine_task"):
        monkeypatch.setattr(f"dbdyno.telemetry.{task}.DISCONNECT_MAX_S", PATIENCE_S)


class Meter:
    """How much a counter grows from just before the first transaction on."""

    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read
        self._before = 0.0

    def tools(self) -> Tools:
        """The real engine; the counter is read when the run is ready for the load."""
        meter = self

        class Metered(Astray):
            def __iter__(self) -> Iterator[tuple[bytes, Frame]]:
                for raw, frame in self.engine:
                    yield raw, frame
                    if isinstance(frame, Connected):
                        meter._before = meter._read()

        return tools(Metered)

    def grown(self) -> float:
        return self._read() - self._before


def lsn_of(control: psycopg.Connection) -> Callable[[], float]:
    def read() -> float:
        row = control.execute("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        assert row is not None
        return float(row[0])

    return read


def cpu_us_of(server: Server) -> Callable[[], float]:
    """All that the server's processes have used, and those that have ended."""
    first = server.process_id
    assert first is not None

    def read() -> float:
        tree = ProcessTable(ROOT).tree(first, fresh=True)
        alive_us = sum((running_ns(ROOT, process.pid) or 0) / 1000 for process in tree)
        return alive_us + sum(process.buried.cpu_us for process in tree)

    return read


def script(folder: Path, text: str) -> str:
    path = folder / "work.sql"
    path.write_text(text)
    return str(path)


def fixed_work(server: Server, work: str, meter: Meter | None = None, **options) -> Run:
    given = meter.tools() if meter else None
    return measure(server, work, tools=given, **{"clients": 1, "duration_ns": None} | options)


def costs_of(recording: Run) -> dict[str, CostRecord]:
    return {cost.id: cost for cost in recording.record.costs if not cost.script}


def committed(recording: Run) -> int:
    assert recording.record.transactions is not None
    return recording.record.transactions.committed


@pytest.fixture
def filled(any_server: Server, new_database: Callable[[Server], Server]) -> Server:
    """A database with a table to fill, on each version in turn."""
    database = new_database(any_server)
    with database.connect() as control:
        control.execute("create table filled (id bigserial primary key, filler text)")
    return database


@pytest.mark.parametrize("level", ["basic", "full"])
def test_wal_of_fixed_work_is_what_the_insert_position_grew_by(
    filled: Server, tmp_path: Path, level: str
) -> None:
    work = script(tmp_path, INSERT.format(random="random"))
    with filled.connect() as control:
        meter = Meter(lsn_of(control))
        recording = fixed_work(filled, work, meter, transactions=3000, telemetry=level)
        grown = meter.grown()
    cost = costs_of(recording)["wal_bytes"]
    assert cost.window == "load"
    assert cost.value == pytest.approx(grown / committed(recording), rel=WAL_ERROR_MAX)


@pytest.mark.parametrize(("clients", "each"), [(1, 4000), (64, 60)])
def test_cpu_time_of_fixed_work_is_what_the_kernel_counted(
    any_server: Server,
    new_database: Callable[[Server], Server],
    tmp_path: Path,
    clients: int,
    each: int,
) -> None:
    database = new_database(any_server)
    meter = Meter(cpu_us_of(database))
    recording = fixed_work(
        database, script(tmp_path, WORK), meter, clients=clients, transactions=each
    )
    cost = costs_of(recording)["server_cpu_us"]
    assert cost.window == "load"
    counted_us = meter.grown()
    assert cost.value * committed(recording) == pytest.approx(
        counted_us, rel=CPU_ERROR_MAX, abs=OTHER_CPU_US
    )


def test_counters_that_sessions_publish_at_their_end_are_in_the_cost(
    filled: Server, tmp_path: Path
) -> None:
    """This load is over before any session would publish by itself."""
    recording = fixed_work(
        filled, script(tmp_path, INSERT.format(random="random")), transactions=50
    )
    written = costs_of(recording)["rows_written"]
    assert (written.window, written.value) == ("load", pytest.approx(1.0))


def test_rows_and_redo_of_fixed_work_on_mariadb(
    mariadb_server: Server, new_database: Callable[[Server], Server], tmp_path: Path
) -> None:
    database = new_database(mariadb_server)
    with database.connect() as control:
        control.execute("create table filled (id bigint auto_increment primary key, filler text)")

        def redo() -> float:
            ((_, value),) = control.execute("show global status like 'Innodb_lsn_current'")
            return float(value)

        meter = Meter(redo)
        insert = INSERT.format(random="rand").replace("::text", "")
        recording = fixed_work(database, script(tmp_path, insert), meter, transactions=10_000)
        grown = meter.grown()
    found = costs_of(recording)
    assert {found[name].window for name in ("wal_bytes", "rows_written", "server_cpu_us")} == {
        "load"
    }
    assert found["rows_written"].value == pytest.approx(1.0, abs=0.1)
    # The server's own threads go on writing redo until the test reads.
    assert found["wal_bytes"].value == pytest.approx(grown / committed(recording), rel=0.05)


def test_without_telemetry_the_engines_own_costs_are_of_the_whole_load(
    filled: Server, tmp_path: Path
) -> None:
    recording = fixed_work(
        filled, script(tmp_path, INSERT.format(random="random")), transactions=500, telemetry="off"
    )
    found = costs_of(recording)
    assert {cost.side for cost in found.values()} == {"client", "network"}
    assert {cost.window for cost in found.values()} == {"load"}
    assert found["round_trips"].value == 1.0


def test_a_server_elsewhere_has_its_own_counters_and_no_cpu_time(
    filled: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def elsewhere(**known) -> Server:
        return ExistingServer(**{**known, "process_id": None, "data_directory": None})

    monkeypatch.setattr("dbdyno.servers.existing.ExistingServer", elsewhere)
    with filled.connect() as control:
        meter = Meter(lsn_of(control))
        work = script(tmp_path, INSERT.format(random="random"))
        recording = fixed_work(filled, work, meter, transactions=2000)
        grown = meter.grown()
    found = costs_of(recording)
    assert "server_cpu_us" not in found
    assert found["wal_bytes"].value == pytest.approx(
        grown / committed(recording), rel=WAL_ERROR_MAX
    )
