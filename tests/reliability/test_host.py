"""Full disks, homes that cannot be written, many starts at once, and a clock that is set."""

import json
import struct
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from dbdyno.servers.base import Server
from dbdyno.store.run import open_run
from dbdyno.store.summary import list_runs
from tests.reliability.conftest import AnyServer, url_of
from tests.reliability.matrix import ROWS
from tests.run.test_end_to_end import DBDYNO, begin, dbdyno
from tests.run.test_interrupts import servers_left, wait_for
from tests.support.patience import PATIENCE_S
from tests.support.program import Program
from tests.support.rights import mounts

LONG = ("-c", "2", "-T", "600", "--warmup", "0", "--stall-limit", "4s")
# Each makes a small disk at $1, runs dbdyno on it, and reports what it left there.
FULL_HOME = """
mount -t tmpfs -o size=4m tmpfs "$1"; home=$1; shift
"$@"; code=$?
rm "$home/fill"; "$1" -m dbdyno report last --json; exit $code
"""
FULL_SERVER = """
mkdir -p "$1/private" && mount -t tmpfs -o size=$2 tmpfs "$1/private"; home=$1; shift 2
"$@"; code=$?
ls "$home/private"; exit $code
"""
READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"; shift
"$@"
"""


def mounted(script: str, *arguments: object) -> Program[str]:
    return Program(
        ["unshare", "--mount", "sh", "-c", script, "sh", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@mounts
def test_no_room_for_the_run_folder(server: AnyServer, home: Path, script: Path) -> None:
    home.mkdir()
    command = (*DBDYNO, "run", script, "--target", url_of(server), *LONG)
    with mounted(FULL_HOME, home, *command) as process:
        wait_for("measure", process)
        inside = Path(f"/proc/{process.pid}/root{home}/fill")
        with inside.open("wb", buffering=0) as fill:
            while True:
                try:
                    fill.write(bytes(4096))
                except OSError:
                    break
        out, err = process.communicate(timeout=PATIENCE_S)
    ROWS["the disk is full for the run folder"].is_met_by(process.returncode, err)
    kept = json.loads(out)
    assert kept["transactions"]["ok"] > 0
    assert kept["status"] != "running"


# Room for an empty server and little more; the redo log of MariaDB is in it from the start.
SMALL_DISKS = [
    ("postgresql", "80m", "postgres,shared_buffers=16MB,wal_recycle=off,min_wal_size=32MB"),
    ("mariadb", "150m", "mariadb,innodb_log_file_size=16M,innodb_buffer_pool_size=16M"),
]


@mounts
@pytest.mark.parametrize("work", [("volume", "-D", "rows=2000000"), ("tpcc", "-s", "3")])
@pytest.mark.parametrize(("database", "size", "spec"), SMALL_DISKS)
def test_no_room_for_a_private_server(
    home: Path, work: tuple[str, ...], database: str, size: str, spec: str
) -> None:
    command = (*DBDYNO, "run", *work, "--server", spec, *LONG)
    with mounted(FULL_SERVER, home, size, *command) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    ROWS["the disk of a private server fills while data is loaded"].is_met_by(
        process.returncode, err
    )
    assert out.split() == ["lock"]


GROWING_DISK = """
mkdir -p "$1/servers" && mount -t tmpfs -o size=$2 tmpfs "$1/servers"
home=$1 spec=$3 at_once=$4; shift 4
"$@" server start bench --server "$spec" >&2 || exit
"$@" load tpcc -j $at_once --server bench; echo "with little room: $?"
mount -o remount,size=1g "$home/servers"
"$@" load tpcc -j 2 --server bench; echo "with room: $?"
"$@" check tpcc --server bench; echo "checked: $?"
"$@" server stop bench >&2
"""


@mounts
@pytest.mark.parametrize(("database", "size", "spec"), SMALL_DISKS)
def test_a_load_that_filled_the_disk_is_continued(
    home: Path, database: str, size: str, spec: str
) -> None:
    home.mkdir()
    # MariaDB may crash when two connections roll back on a full disk.
    connections = 1 if database == "mariadb" else 3
    with mounted(GROWING_DISK, home, size, spec, connections, *DBDYNO) as process:
        out, err = process.communicate(timeout=3 * PATIENCE_S)
    said = " ".join(out.split())
    assert "with little room: 1" in said, err
    assert "free disk space on the server" in " ".join(err.split())
    assert " rows more, where " in said, err
    assert said.endswith("with room: 0 all invariants hold checked: 0"), err


# A table that grows in each transaction by some hundred kilobytes, on a larger disk by more.
GROW = {
    "postgresql": "insert into grown select md5(random()::text) from generate_series(1, 4000);",
    "mariadb": "insert into grown select repeat(md5(rand()), 8) from seq_1_to_4000;",
}


@mounts
@pytest.mark.parametrize(("database", "size", "spec"), SMALL_DISKS)
def test_the_disk_of_a_private_server_fills_during_the_run(
    home: Path, tmp_path: Path, database: str, size: str, spec: str
) -> None:
    script = tmp_path / "grow.sql"
    script.write_text(f"create table if not exists grown (filler text);\n{GROW[database]}\n")
    load = ("-c", "1", "-T", "15", "--warmup", "0", "--stall-limit", "4s")
    command = (*DBDYNO, "run", script, "--server", spec, *load)
    with mounted(FULL_SERVER, home, size, *command) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    row = ROWS["the disk of a private server fills during the run"]
    row.is_met_by(process.returncode, f"{err}\n{out}")
    assert out.split()[-1] == "lock"
    kept = open_run("last").record
    assert kept.transactions is not None
    assert kept.transactions.ok > 0
    assert not kept.valid
    assert kept.disk_full
    assert any("the disk of the server's data is full" in one for one in kept.invalid_reasons)
    assert servers_left(home) == []


@mounts
def test_a_home_that_may_only_be_read(server: AnyServer, home: Path, script: Path) -> None:
    run = ("run", script, "--target", url_of(server), "-c", "1", "-t", "3", "--warmup", "0")
    assert dbdyno(*run).returncode in {0, 3}

    def with_it(*arguments: object) -> tuple[int, str]:
        with mounted(READ_ONLY, home, *DBDYNO, *arguments) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out + err

    ROWS["a home that may only be read"].is_met_by(*with_it(*run))
    for reading in (
        ("runs",),
        ("report", "last", "--text"),
        ("explain", "last"),
        ("sql", "select count(*) from runs"),
        ("home",),
        ("history", "one"),
        ("data", "list"),
        ("server", "list"),
        ("study", "list"),
    ):
        code, said = with_it(*reading)
        assert (code, "Traceback" in said) == (0, False), (reading, said)


def test_twenty_starts_at_once(
    postgres_server: Server, mariadb_server: Server, home: Path, script: Path
) -> None:
    """Some start a server of their own, and clear up what others have left meanwhile."""
    places = [
        ("--target", postgres_server.url),
        ("--target", mariadb_server.url),
        ("--server", "postgres,shared_buffers=16MB"),
        ("--server", "mariadb,innodb_buffer_pool_size=16M,innodb_log_file_size=16M"),
    ]
    once = ("-c", "1", "-t", "1", "--warmup", "0")
    starts = [begin("run", script, *places[turn % 4], *once) for turn in range(20)]
    row = ROWS["20 starts at once in one home"]
    for start in starts:
        with start:
            out, err = start.communicate(timeout=10 * PATIENCE_S)
        row.is_met_by(start.returncode, out + err)
    assert [run.status for run in list_runs()] == ["done"] * 20
    assert servers_left(home) == []
    assert [path.name for path in home.glob("private/*")] == ["lock"]


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Set the wall clock that the programs of this test see; without effect on any other."""
    library, shared = tmp_path / "steps.so", tmp_path / "step"
    source = Path(__file__).with_name("steps.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    shared.write_bytes(struct.pack("q", 0))
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("CLOCK_STEP", str(shared))

    def step(by: timedelta) -> None:
        with shared.open("r+b") as file:
            file.write(struct.pack("q", int(by.total_seconds() * 1e9)))

    return step


@pytest.mark.parametrize("hours", [-2, 2])
def test_the_clock_is_set(
    server: AnyServer, home: Path, script: Path, steps: Callable[[timedelta], None], hours: int
) -> None:
    by = timedelta(hours=hours)
    command = ("run", script, "--target", url_of(server), "-c", "2", "-T", "3", "--warmup", "0")
    with begin(*command) as process:
        wait_for("measure", process)
        steps(by)
        out, err = process.communicate(timeout=PATIENCE_S)
    ROWS["the clock is set"].is_met_by(process.returncode, out)
    run = open_run("last")
    assert run.record.throughput_tps is not None
    assert 2.9 < run.record.duration_s < 3.5
    assert run.columns("intervals")["interval"].tolist()[:3] == [0, 1, 2]
    ended = datetime.fromtimestamp((run.folder / "run.json").stat().st_mtime).astimezone()
    assert abs(ended - datetime.fromisoformat(run.record.started_at)) < timedelta(minutes=5)
    assert "Traceback" not in err


@pytest.mark.parametrize("hours", [-2, 2])
def test_pauses_are_as_long_when_the_clock_is_set(
    server: AnyServer, home: Path, script: Path, steps: Callable[[timedelta], None], hours: int
) -> None:
    load = ("-c", "2", "-T", "3", "--warmup", "0", "--think", "100ms")
    with begin("run", script, "--target", url_of(server), *load) as process:
        wait_for("measure", process)
        steps(timedelta(hours=hours))
        out, err = process.communicate(timeout=PATIENCE_S)
    ROWS["the clock is set"].is_met_by(process.returncode, f"{err}\n{out}")
    done = open_run("last").columns("intervals")["completed_ok"].tolist()
    # None are left out, and none are waited for until the clock has come back.
    assert all(0 < count <= 2 * 10 + 2 for count in done[:3]), done
