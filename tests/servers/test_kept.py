import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from dbdyno.cli import main
from dbdyno.cli.output import Exit
from dbdyno.databases.known import startable
from dbdyno.databases.postgresql.server.binaries import embedded_binaries
from dbdyno.errors import DbdynoError
from dbdyno.servers import kept
from dbdyno.servers.base import Server
from dbdyno.servers.cluster import FOLDERS
from dbdyno.servers.processes import ProcessMark, end, is_running, mark_of
from dbdyno.servers.record import FILE, LOG, ServerRecord, read_record
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL, SMALL_INNODB
from tests.support.patience import PATIENCE_S

STARTER = """
import sys
from dbdyno.servers.kept import start_kept
from dbdyno.servers.spec import ServerSpec
from pathlib import Path
spec = ServerSpec(path=Path(sys.argv[1]), settings={"shared_buffers": "64MB"})
print(start_kept("bench", spec, connections=8).url)
"""

KILLED = """
import os, signal
from dbdyno.servers import kept
from dbdyno.servers.base import Server
from dbdyno.servers.cluster import FOLDERS
kept.{step} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""


def start_killed_at(step: str) -> None:
    script = KILLED.format(step=step) + STARTER
    command = [sys.executable, "-c", script, str(embedded_binaries()[0].folder)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL


def spec(**settings: str) -> ServerSpec:
    return ServerSpec(path=embedded_binaries()[0].folder, settings={**SMALL, **settings})


@pytest.fixture
def _stop_all(home: Path):
    yield
    for line in kept.list_kept():
        kept.stop_kept(line.name)


@pytest.mark.usefixtures("_stop_all")
def test_it_is_listed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    kept.start_kept("bench", spec(), connections=8)
    assert main(["server", "list", "--json"]) == Exit.OK
    (line,) = json.loads(capsys.readouterr().out)["servers"]
    assert line["name"] == "bench"
    assert Path(line["log"]) == kept.log_of_kept("bench")


@pytest.mark.usefixtures("_stop_all")
def test_it_outlives_its_starter_and_is_found_again(home: Path) -> None:
    command = [sys.executable, "-c", STARTER, str(embedded_binaries()[0].folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = kept.list_kept()
    assert (line.name, line.running, line.version) == ("bench", True, "18.6")
    server = kept.find_kept("bench")
    assert server.kind == "kept"
    assert server.is_private
    assert server.url == result.stdout.strip()
    server.stop()  # the end of a command does not stop a kept server
    with kept.find_kept("bench").connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert "ready to accept connections" in kept.log_of_kept("bench").read_text()

    assert server.process_id is not None
    process = mark_of(server.process_id)
    kept.stop_kept("bench")
    assert not is_running(process)
    assert kept.list_kept() == []
    assert not (home / "servers" / "bench").exists()


@pytest.mark.usefixtures("_stop_all")
def test_a_dead_server_is_distinguished_from_a_running_one(home: Path) -> None:
    server = kept.start_kept("bench", spec(), connections=8)
    assert server.process_id is not None
    assert end(mark_of(server.process_id), signal.SIGQUIT, PATIENCE_S)
    assert [line.running for line in kept.list_kept()] == [False]
    with pytest.raises(DbdynoError) as caught:
        kept.find_kept("bench")
    assert caught.value.code == "server_died"
    with pytest.raises(DbdynoError, match="has died") as taken:
        kept.start_kept("bench", spec(), connections=8)
    assert taken.value.code == "name_taken"
    kept.stop_kept("bench")
    assert kept.list_kept() == []


@pytest.mark.usefixtures("_stop_all")
def test_a_copy_of_its_folder_does_not_stop_it(home: Path) -> None:
    server = kept.start_kept("bench", spec(), connections=8)
    folder = kept.log_of_kept("bench").parent
    copy = folder.with_name("copy")
    copy.mkdir()
    shutil.copy(folder / FILE, copy)
    with pytest.raises(DbdynoError, match=f"its server runs in {folder}"):
        kept.stop_kept("copy")
    with server.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    kept.stop_kept("bench")
    kept.stop_kept("copy")
    assert not copy.exists()


@pytest.mark.usefixtures("_stop_all")
def test_two_starters_do_not_collide(home: Path) -> None:
    outcomes: list[str] = []

    def start() -> None:
        try:
            outcomes.append(kept.start_kept("bench", spec(), connections=8).kind)
        except DbdynoError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["kept", "name_taken"]


def test_a_failed_start_leaves_nothing(home: Path) -> None:
    with pytest.raises(DbdynoError, match="no_such_library"):
        kept.start_kept("bench", spec(shared_preload_libraries="no_such_library"), connections=8)
    assert kept.list_kept() == []
    assert not (home / "servers" / "bench").exists()


def test_a_start_cut_short_does_not_hold_the_name(home: Path) -> None:
    (home / "servers" / "bench").mkdir(parents=True)
    assert read_record(home / "servers" / "bench") is None
    kept.start_kept("bench", spec(), connections=8)
    kept.stop_kept("bench")


@pytest.mark.usefixtures("_stop_all")
def test_a_starter_killed_while_it_waits_leaves_a_server_that_can_be_stopped(home: Path) -> None:
    start_killed_at("wait_until_ready")
    record = read_record(home / "servers" / "bench")
    assert record is not None
    assert is_running(record.process)
    kept.stop_kept("bench")
    assert not is_running(record.process)


@pytest.mark.usefixtures("_stop_all")
def test_what_a_killed_start_has_left_is_removed_by_the_next_start_of_any_name(home: Path) -> None:
    start_killed_at("_detach")
    unrelated = home / "servers" / "theirs"
    unrelated.mkdir()  # of nobody knows whom
    assert (home / "servers" / "bench" / "data").is_dir()
    kept.start_kept("other", spec(), connections=8)
    assert not (home / "servers" / "bench").exists()
    assert unrelated.is_dir()


def test_a_server_with_a_record_of_another_format_is_not_removed(home: Path) -> None:
    data = home / "servers" / "bench" / "data"
    data.mkdir(parents=True)
    data.with_name("server.json").write_text('{"of": "a later version"}')
    with pytest.raises(DbdynoError) as caught:
        kept.start_kept("bench", spec(), connections=8)
    assert caught.value.code == "name_taken"
    assert data.exists()


@pytest.mark.parametrize("name", ["", "../bench", ".hidden", "a b"])
def test_names_stay_inside_the_home(home: Path, name: str) -> None:
    with pytest.raises(DbdynoError) as caught:
        kept.start_kept(name, spec(), connections=8)
    assert caught.value.code == "bad_name"


def test_standbys_of_a_kept_server_are_refused_and_not_forgotten(home: Path) -> None:
    with pytest.raises(DbdynoError, match="a kept server has no standbys"):
        kept.start_kept("bench", ServerSpec(standbys=1), connections=8)
    assert not (home / "servers" / "bench").exists()


@pytest.mark.parametrize("name", ["../mine", "..", "", "a b"])
def test_no_name_leads_out_of_the_home(home: Path, name: str) -> None:
    outside = home / "mine"
    outside.mkdir(parents=True)
    (outside / FILE).write_bytes(msgspec.json.encode(record_of(outside, mark_of(os.getpid()))))
    for use in (kept.stop_kept, kept.find_kept, kept.log_of_kept):
        with pytest.raises(DbdynoError) as caught:
            use(name)
        assert caught.value.code == "unknown_server"
    assert (outside / FILE).exists()


def record_of(folder: Path, process: ProcessMark) -> ServerRecord:
    """A record as somebody could write it."""
    return ServerRecord(
        process=process,
        product="postgres",
        version="18",
        stop_signal=signal.SIGTERM,
        conninfo="host=/nowhere",
        folder=str(folder),
        data=str(folder / "data"),
        settings=(),
    )


def test_a_record_that_was_changed_stops_and_removes_nothing_else(
    home: Path, tmp_path: Path
) -> None:
    folder = home / "servers" / "mine"
    folder.mkdir(parents=True)
    made, alike = tmp_path / "dbdyno-a1b2c3d4", tmp_path / "dbdyno-project1"
    for path in (made, alike):
        path.mkdir(mode=0o700)
    alike.chmod(0o755)
    precious = tmp_path / "precious"
    precious.mkdir()
    (folder / FOLDERS).write_text("\0".join(map(str, (made, alike, precious))))
    with subprocess.Popen(["sleep", "600"], cwd=tmp_path) as bystander:
        record = record_of(folder, mark_of(bystander.pid))
        (folder / FILE).write_bytes(msgspec.json.encode(record))
        for use in (kept.stop_kept, kept.find_kept):
            with pytest.raises(
                DbdynoError, match=f"process {bystander.pid}, which works elsewhere"
            ):
                use("mine")
        assert bystander.poll() is None
        bystander.kill()
    kept.stop_kept("mine")
    assert [path.exists() for path in (folder, made, alike, precious)] == [False, False, True, True]


def test_a_link_among_the_kept_servers_is_not_followed(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / FILE).write_bytes(msgspec.json.encode(record_of(elsewhere, mark_of(os.getpid()))))
    (home / "servers").mkdir(parents=True)
    (home / "servers" / "mine").symlink_to(elsewhere)
    with pytest.raises(DbdynoError, match=f"a link to {elsewhere}"):
        kept.stop_kept("mine")
    assert (elsewhere / FILE).exists()


def test_a_log_elsewhere_is_not_shown(home: Path, tmp_path: Path) -> None:
    folder = home / "servers" / "mine"
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes(msgspec.json.encode(record_of(folder, mark_of(os.getpid()))))
    (folder / LOG).symlink_to(tmp_path / "elsewhere.txt")
    with pytest.raises(DbdynoError, match=f"a link to {tmp_path}"):
        kept.log_of_kept("mine")


@pytest.mark.parametrize("is_pipe", [False, True])
def test_a_record_elsewhere_is_not_read(home: Path, tmp_path: Path, is_pipe: bool) -> None:
    """It could be any file of ours, and a pipe would be waited for."""
    folder = home / "servers" / "mine"
    folder.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(msgspec.json.encode(record_of(folder, mark_of(os.getpid()))))
    if is_pipe:
        os.mkfifo(folder / FILE)
    else:
        (folder / FILE).symlink_to(elsewhere)
    why = "is not a file" if is_pipe else f"a link to {elsewhere}"
    for use in (kept.stop_kept, kept.find_kept, kept.log_of_kept, kept.product_of_kept):
        with pytest.raises(DbdynoError, match=why) as caught:
            use("mine")
        assert caught.value.code == "changed_record"
    with pytest.warns(UserWarning, match=why):
        assert kept.list_kept() == []
    with pytest.raises(DbdynoError) as caught:
        kept.start_kept("mine", spec(), connections=8)
    assert caught.value.code == "name_taken"
    assert elsewhere.exists()


@pytest.mark.usefixtures("_stop_all")
@pytest.mark.parametrize("field", ["conninfo", "data", "folder"])
def test_a_record_that_leads_to_another_server_is_refused(
    home: Path, postgres_server: Server, field: str
) -> None:
    """That server would be vacuumed, emptied and restarted like ours."""
    kept.start_kept("mine", spec(), connections=8)
    path = home / "servers" / "mine" / FILE
    record = read_record(path.parent)
    assert record is not None
    wrong = postgres_server.conninfo if field == "conninfo" else "/somewhere/else"
    path.write_bytes(msgspec.json.encode(structs.replace(record, **{field: wrong})))
    with pytest.raises(DbdynoError) as caught:
        kept.find_kept("mine")
    assert caught.value.code == "changed_record"
    with postgres_server.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.usefixtures("_stop_all")
def test_a_kept_mariadb_is_found_and_stopped(home: Path) -> None:
    kept.start_kept("mine", ServerSpec("mariadb", settings=SMALL_INNODB), connections=8, tcp=True)
    with kept.find_kept("mine").connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    kept.stop_kept("mine")
    assert kept.list_kept() == []


@pytest.mark.parametrize("kind", startable())
def test_a_kind_of_server_is_no_name_of_one(home: Path, kind: str) -> None:
    with pytest.raises(DbdynoError) as caught:
        kept.start_kept(kind, spec(), connections=8)
    assert caught.value.hint == f"dbdyno server start NAME --server {kind}"


def test_listing_servers_creates_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home that cannot be written to has no servers, and that is no error."""
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path / "home"))
    assert kept.list_kept() == []
    for act, hint in (
        (kept.find_kept, kept.WHAT_ELSE),
        (kept.stop_kept, kept.FIRST),
        (kept.log_of_kept, kept.FIRST),
    ):
        with pytest.raises(DbdynoError, match="there are: none") as caught:
            act("bench")
        assert caught.value.hint == hint
    assert not (tmp_path / "home").exists()


def test_an_unknown_name_lists_the_known(home: Path) -> None:
    for act in (kept.find_kept, kept.stop_kept, kept.log_of_kept):
        with pytest.raises(DbdynoError) as caught:
            act("bench")
        assert caught.value.code == "unknown_server"


def test_a_recycled_number_is_another_process() -> None:
    me = mark_of(os.getpid())
    assert is_running(me)
    assert not is_running(ProcessMark(me.pid, me.start_ticks - 1, me.boot_id))
    assert not is_running(ProcessMark(me.pid, me.start_ticks, "another boot"))


WATCHED = """
import os, pathlib, signal
from tests.support.watchman import watch
watch(pathlib.Path(os.environ["DBDYNO_HOME"]))
"""
KILLED_TEST = "os.kill(os.getpid(), signal.SIGKILL)"


def test_no_kept_server_outlives_a_test_that_was_killed(home: Path) -> None:
    script = WATCHED + STARTER + KILLED_TEST
    command = [sys.executable, "-c", script, str(embedded_binaries()[0].folder)]
    root = Path(__file__).parents[2]
    ended = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=False)
    # Its output ends when the last process that holds it has ended: the watchman.
    assert ended.returncode == -signal.SIGKILL
    assert kept.list_kept() == []
