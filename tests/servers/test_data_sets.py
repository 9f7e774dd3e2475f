"""Stored data: a later server has exactly what was there, and nothing half-made remains."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import structs

from dbdyno.databases.postgresql.server import warming
from dbdyno.databases.postgresql.server.binaries import embedded_binaries, local_binaries
from dbdyno.errors import DbdynoError
from dbdyno.home import home_folder
from dbdyno.servers import cluster, data_sets, privileges
from dbdyno.servers.copying import copy_trees
from dbdyno.servers.data_sets import (
    About,
    find_data_set,
    in_use,
    keep_data,
    list_data_sets,
    remove_data_set,
)
from dbdyno.servers.page_cache import drop_files, pages_cached
from dbdyno.servers.placement import Placement
from dbdyno.servers.private import PrivateServer, start_private
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL, SMALL_INNODB
from tests.support.patience import eventually
from tests.support.rights import another_account, control_groups

ABOUT = About(workload="numbers", parameters={"rows": 1000}, load={"rows": 1000})

# Stores a data set, but stands still in the middle of it.
SLOW_KEEPER = """
import sys, time
from dbdyno.servers import cluster, data_sets, privileges
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
data_sets.write_private = lambda *_: (print("in the middle", flush=True), time.sleep(60))
server = start_private(ServerSpec(settings={"shared_buffers": "64MB"}), connections=1)
data_sets.keep_data(server, "half", data_sets.About(workload="numbers"))
"""


class Kind(NamedTuple):
    """A server, and SQL that creates a table of a thousand rows with an index besides its key."""

    spec: ServerSpec
    numbers: str
    fact: str


POSTGRES = Kind(
    ServerSpec(settings=SMALL), "generate_series(1, 1000)", "select current_setting('jit')"
)
MARIADB = Kind(ServerSpec("mariadb", settings=SMALL_INNODB), "seq_1_to_1000", "select @@autocommit")
KINDS = pytest.mark.parametrize("kind", [POSTGRES, MARIADB], ids=["postgres", "mariadb"])


def fill(server: PrivateServer, kind: Kind) -> None:
    with server.connect() as connection:
        connection.execute("create table numbers (id int primary key, half int)")
        connection.execute("create index halves on numbers (half)")
        insert = f"insert into numbers select seq.seq, seq.seq div 2 from {kind.numbers} seq"
        if kind is POSTGRES:
            insert = insert.replace("seq.seq div 2", "seq / 2").replace("seq.seq", "seq")
        connection.execute(insert)


def total(server: PrivateServer) -> int:
    with server.connect() as connection:
        return int(connection.execute("select sum(half) from numbers").fetchone()[0])


@KINDS
def test_a_later_server_has_what_was_kept(home: Path, kind: Kind) -> None:
    with start_private(kind.spec, connections=8) as server:
        fill(server, kind)
        data = keep_data(server, "numbers", ABOUT)
    assert list_data_sets() == [data]
    assert data.about == ABOUT
    assert data.bytes > 1_000_000
    for _ in range(2):  # the first copy is not the set itself
        with start_private(kind.spec, connections=8, data=data) as server:
            assert total(server) == 250_000
            with server.connect() as connection:
                connection.execute("delete from numbers")
    assert [path.name for path in (home / "private").iterdir()] == ["lock"]
    assert data.folder.stat().st_mode & 0o777 == 0o700
    assert data.folder.parent.stat().st_mode & 0o777 == 0o700


@KINDS
def test_the_password_of_kept_data_is_that_of_the_next_server(home: Path, kind: Kind) -> None:
    with start_private(kind.spec, connections=8, tcp=True) as server:
        fill(server, kind)
        data = keep_data(server, "numbers", ABOUT)
    with start_private(kind.spec, connections=8, tcp=True, data=data) as server:
        assert server.endpoint().password
        assert total(server) == 250_000
    assert data.password() not in repr(data)


@KINDS
def test_a_restart_keeps_data_and_takes_settings(home: Path, kind: Kind) -> None:
    setting, value = ("jit", "off") if kind is POSTGRES else ("autocommit", "OFF")
    with start_private(kind.spec, connections=8) as server:
        fill(server, kind)
        again = server.restarted({setting: value})
        assert again.process_id != server.process_id
        assert total(again) == 250_000
        assert again.settings[-1].name == setting
        with again.connect() as connection:
            connection.execute("set autocommit = default") if kind is MARIADB else None
            assert connection.execute(kind.fact).fetchone()[0] in ("off", 0)
        assert again.log_path is not None
        assert "ready" in again.log_path.read_text()


def test_a_refused_setting_leaves_the_server_to_be_started_as_it_was(home: Path) -> None:
    with start_private(POSTGRES.spec, connections=8) as server:
        server.shut_down()
        with pytest.raises(DbdynoError, match="no setting 'jitt'"):
            server.started_again({"jitt": "off"})
        with server.started_again().connect() as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_a_server_that_crashed_is_not_kept(home: Path) -> None:
    with start_private(POSTGRES.spec, connections=8) as server:
        assert server.process_id is not None
        os.kill(server.process_id, signal.SIGQUIT)
        with pytest.raises(DbdynoError, match="did not shut down cleanly"):
            keep_data(server, "numbers", ABOUT)
    assert list_data_sets() == []


def test_another_version_or_shape_is_refused(home: Path) -> None:
    with start_private(POSTGRES.spec, connections=8) as server:
        data = keep_data(server, "numbers", ABOUT)
    other = next(b for b in [*embedded_binaries(), *local_binaries()] if b.version != data.version)
    with pytest.raises(DbdynoError) as caught:
        start_private(ServerSpec(path=other.folder, settings=SMALL), connections=8, data=data)
    assert caught.value.code == "data_set_mismatch"
    assert "dbdyno data prune numbers" in caught.value.hint


def test_files_of_another_page_size_are_refused(home: Path) -> None:
    large = MARIADB.spec.with_settings({"innodb_page_size": "32k"})
    with start_private(large, connections=8) as server:
        with server.connect() as connection:
            assert connection.execute("select @@innodb_page_size").fetchone() == (32768,)
        data = keep_data(server, "large", ABOUT)
    assert data.settings == {"innodb_page_size": "32k"}
    with pytest.raises(DbdynoError, match="with innodb_page_size=32k: a server with the defaults"):
        start_private(MARIADB.spec, connections=8, data=data)


@KINDS
def test_the_wal_is_in_a_separate_folder_on_request(home: Path, tmp_path: Path, kind: Kind) -> None:
    tables, log = tmp_path / "tables", tmp_path / "log"
    tables.mkdir()
    log.mkdir()
    placement = Placement(data_folder=tables, wal_folder=log)
    with start_private(kind.spec, connections=8, placement=placement) as server:
        fill(server, kind)
        assert list(log.glob("*/*"))
        assert server.data_directory is not None
        assert server.data_directory.parent == tables
        data = keep_data(server, "numbers", ABOUT)
    with start_private(kind.spec, connections=8, data=data, placement=placement) as server:
        assert total(server) == 250_000
        assert list(log.glob("*/*"))
    with start_private(kind.spec, connections=8, data=data) as server:
        assert total(server) == 250_000
    assert list(tables.iterdir()) == list(log.iterdir()) == []


@KINDS
def test_data_that_was_kept_whole_is_given_to_a_server_with_its_log_apart(
    home: Path, tmp_path: Path, kind: Kind
) -> None:
    with start_private(kind.spec, connections=8) as server:
        fill(server, kind)
        data = keep_data(server, "numbers", ABOUT)
    apart = Placement(wal_folder=tmp_path)
    with start_private(kind.spec, connections=8, data=data, placement=apart) as server:
        assert total(server) == 250_000
        assert list(tmp_path.glob("*/*"))


def test_killed_in_the_middle_leaves_no_half_set(home: Path) -> None:
    keeper = subprocess.Popen([sys.executable, "-c", SLOW_KEEPER], stdout=subprocess.PIPE)
    assert keeper.stdout is not None
    assert keeper.stdout.readline() == b"in the middle\n"
    keeper.kill()
    keeper.communicate()
    assert list_data_sets() == []
    with pytest.raises(DbdynoError, match="no data set has the key 'half'"):
        remove_data_set("half")
    assert [path.name for path in home_folder("data").iterdir()] == ["lock"]
    eventually(
        lambda: [path.name for path in (home / "private").iterdir()], lambda left: left == ["lock"]
    )


def test_a_set_in_use_is_not_removed(home: Path) -> None:
    with start_private(POSTGRES.spec, connections=8) as server:
        data = keep_data(server, "numbers", ABOUT)
    with in_use(data), pytest.raises(DbdynoError, match="is in use"):
        remove_data_set("numbers")
    assert remove_data_set("numbers") == data.bytes
    assert find_data_set("numbers") is None
    with pytest.raises(DbdynoError, match="no data set has the key"):
        start_private(POSTGRES.spec, connections=8, data=data)
    assert [path.name for path in (home / "private").iterdir()] == ["lock"]


def test_a_full_disk_is_reported_before_anything_is_copied(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_private(POSTGRES.spec, connections=8) as server:
        data = keep_data(server, "numbers", ABOUT)
    monkeypatch.setattr("dbdyno.servers.copying.tree_bytes", lambda _: 10**18)
    with pytest.raises(DbdynoError, match=r"needs 1000000000\.00 GB") as caught:
        start_private(POSTGRES.spec, connections=8, data=data)
    assert caught.value.code == "disk_full"
    assert [path.name for path in (home / "private").iterdir()] == ["lock"]


@KINDS
def test_caches_are_warm_or_cold_as_requested(home: Path, kind: Kind) -> None:
    with start_private(kind.spec, connections=8) as server:
        fill(server, kind)
        with server.connect() as connection:
            note = server.warm(connection, ["numbers"])
        assert note.startswith(f"read {3 if kind is POSTGRES else 2} tables and indexes")
        cold, note = server.cooled()
        assert note.startswith("restarted the server and dropped its ")
        assert total(cold) == 250_000


@pytest.mark.parametrize("prewarms", [True, False])
def test_partitions_are_read_and_not_what_has_no_file(
    home: Path, monkeypatch: pytest.MonkeyPatch, prewarms: bool
) -> None:
    if not prewarms:
        monkeypatch.setattr(warming, "_can_prewarm", lambda _: False)
    with start_private(POSTGRES.spec, connections=8) as server, server.connect() as connection:
        connection.execute("create table parts (id int primary key) partition by range (id)")
        connection.execute("create table low partition of parts for values from (0) to (500)")
        connection.execute("create table high partition of parts for values from (500) to (1000)")
        connection.execute("insert into parts select generate_series(0, 999)")
        note = server.warm(connection, ["parts"])
    assert note.startswith("read 4 tables and indexes (0.1 MB) into the ")
    assert note.endswith("with pg_prewarm") == prewarms


@control_groups
def test_a_copy_counts_for_the_server_that_reads_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_private(POSTGRES.spec, connections=8) as server:
        fill(server, POSTGRES)
        data = keep_data(server, "numbers", ABOUT)
    dropped: list[tuple[Path, ...]] = []
    monkeypatch.setattr("dbdyno.servers.private.drop_files", lambda *paths: dropped.append(paths))
    limited = Placement(server_memory_bytes=1 << 30)
    with start_private(POSTGRES.spec, connections=8, data=data, placement=limited) as server:
        assert dropped == [(server.cluster.data, server.cluster.wal_place)]


@another_account
def test_an_account_that_runs_servers_can_read_its_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "server_identity", privileges.ordinary_account)
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o755)
        monkeypatch.setenv("DBDYNO_HOME", f"{open_to_all}/home")
        with start_private(POSTGRES.spec, connections=8) as server:
            fill(server, POSTGRES)
            data = keep_data(server, "numbers", ABOUT)
        with start_private(POSTGRES.spec, connections=8, data=data) as server:
            assert total(server) == 250_000
            assert server.data_directory is not None
            assert server.data_directory.owner() != "root"


def test_folders_elsewhere_go_with_what_a_crash_left_behind(home: Path, tmp_path: Path) -> None:
    place, others = tmp_path / "two\nlines", tmp_path / "others"
    place.mkdir()
    own = Path(tempfile.mkdtemp(prefix=cluster.PREFIX, dir=place))
    named_alike = place / "dbdyno-12345678"  # but open to others, as no folder of ours
    for folder in (named_alike, others):
        folder.mkdir(mode=0o755)
    leftover = home_folder("private", "leftover")
    told = (leftover, own, named_alike, others)
    (leftover / cluster.FOLDERS).write_text(cluster.END.join(map(str, told)))
    with start_private(POSTGRES.spec, connections=1):
        assert not leftover.exists()
        assert not own.exists()
        assert named_alike.exists()
        assert others.exists()


def test_holes_stay_holes_and_room_stays_set_aside(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "sparse").touch()
    os.truncate(old / "sparse", 50_000_000)
    with (old / "reserved").open("wb") as file:
        file.write(b"begin")
        os.posix_fallocate(file.fileno(), 0, 5_000_000)
    copy_trees([(old, new)], "a copy")
    assert (new / "sparse").stat().st_size == 50_000_000
    assert (new / "sparse").stat().st_blocks == 0
    assert (new / "reserved").read_bytes() == (old / "reserved").read_bytes()
    assert (new / "reserved").stat().st_blocks >= (old / "reserved").stat().st_blocks


def test_a_copy_on_another_file_system_is_the_same(tmp_path: Path) -> None:
    contents = os.urandom(3_000_000)
    (tmp_path / "full").write_bytes(contents)
    with (tmp_path / "sparse").open("wb") as file:
        file.seek(50_000_000)
        file.write(b"end")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        new = Path(elsewhere)
        assert new.stat().st_dev != tmp_path.stat().st_dev
        copy_trees([(tmp_path, new)], "a copy")
        assert (new / "full").read_bytes() == contents
        assert (new / "sparse").read_bytes() == bytes(50_000_000) + b"end"
        assert (new / "sparse").stat().st_blocks * 512 < 1_000_000


def test_dropped_files_are_no_longer_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(3_000_000))
    assert pages_cached(path)
    assert drop_files(tmp_path) == "dropped its 1 files (3.0 MB) from the page cache"
    assert not pages_cached(path)


def test_keys_stay_in_their_folder(home: Path) -> None:
    with pytest.raises(DbdynoError, match="is not a valid data set key"):
        find_data_set("../private")


@pytest.mark.parametrize("part", ["", "about.json", "password", "data", "wal"])
def test_no_link_out_of_a_set_is_followed(home: Path, tmp_path: Path, part: str) -> None:
    """A set may come from somebody else: a server would read and write where its links lead."""
    with start_private(POSTGRES.spec, connections=8) as server:
        place = keep_data(server, "numbers", ABOUT).folder / part
    elsewhere = tmp_path / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    for use in (find_data_set, remove_data_set):
        with pytest.raises(DbdynoError, match=f"a link to {elsewhere}"):
            use("numbers")
    with pytest.warns(UserWarning, match=f"a link to {elsewhere}"):
        assert list_data_sets() == []
    assert elsewhere.exists()


def test_no_link_out_of_the_data_is_copied(home: Path, tmp_path: Path) -> None:
    with start_private(POSTGRES.spec, connections=8) as server:
        data = keep_data(server, "numbers", ABOUT)
    precious = tmp_path / "precious"
    precious.write_text("as it was")
    (data.folder / "data" / "postgresql.auto.conf").unlink()
    (data.folder / "data" / "postgresql.auto.conf").symlink_to(precious)
    with pytest.raises(DbdynoError, match=f"a link to {precious}"):
        start_private(POSTGRES.spec, connections=8, data=data)
    assert precious.read_text() == "as it was"


def test_data_sets_unused_for_long_are_known(home: Path) -> None:
    with start_private(POSTGRES.spec, connections=8) as server:
        data = keep_data(server, "numbers", ABOUT)
    long_ago = structs.replace(data, used_at="2020-01-01T00:00:00+00:00")
    assert not data_sets.is_unused_for(data, 60)
    assert data_sets.is_unused_for(long_ago, 60)
