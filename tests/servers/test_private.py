import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dbdyno.databases.postgresql.server.binaries import embedded_binaries, local_binaries
from dbdyno.errors import DbdynoError
from dbdyno.home import home_folder
from dbdyno.servers import cluster, private, privileges, server_folders
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.servers.private import start_private
from dbdyno.servers.processes import ProcessMark, is_running, mark_of
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL
from tests.support.patience import eventually, wait_until
from tests.support.rights import another_account, mounts

# Stands in for dbdyno: starts a private server, prints where it is, and waits to be killed.
OWNER = """
import json, sys
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
server = start_private(ServerSpec(settings=json.loads(sys.argv[1])), connections=1)
print(server.process_id, server.data_directory.parent, flush=True)
sys.stdin.read()
"""

# Mounts a small disk that only this process sees, and starts a server there.
FULL = """
mount -t tmpfs -o $2 tmpfs "$1" &&
DBDYNO_HOME="$1/home" "$3" -m dbdyno run select-only --json
"""


def spec(**settings: str) -> ServerSpec:
    return ServerSpec(path=embedded_binaries()[0].folder, settings={**SMALL, **settings})


def local_spec() -> ServerSpec:
    """Programs that any account can run: a virtual environment may be in a private folder."""
    return ServerSpec(path=local_binaries()[0].folder, settings=SMALL)


def wait_until_gone(process: ProcessMark, folder: Path) -> None:
    """Waits until the guard has cleaned up on its own."""
    wait_until(lambda: not is_running(process) and not folder.exists(), "the guard's clearing up")


def test_a_private_server_answers_and_leaves_nothing(home: Path) -> None:
    with start_private(spec(), connections=8) as server:
        assert server.is_private
        assert server.process_id is not None
        process = mark_of(server.process_id)
        assert server.data_directory is not None
        assert (server.data_directory / "PG_VERSION").read_text() == "18\n"
        with server.connect() as connection:
            name = connection.execute("select current_setting('application_name')").fetchone()
            assert name == ("dbdyno",)
    assert not is_running(process)
    assert [path.name for path in (home / "private").iterdir()] == ["lock"]


def test_it_is_its_owners_alone(embedded_server: Server) -> None:
    assert embedded_server.data_directory is not None
    folder = embedded_server.data_directory.parent
    private = [folder.parent.parent, folder.parent, folder, embedded_server.data_directory]
    assert [path.stat().st_mode & 0o777 for path in private] == [0o700] * 4
    assert (folder / "password").stat().st_mode & 0o777 == 0o600
    socket = embedded_server.endpoint().address.unix
    assert socket
    assert Path(socket.path).stat().st_mode & 0o777 == 0o700
    with embedded_server.connect() as connection:
        listening = connection.execute("select current_setting('listen_addresses')").fetchone()
        assert listening == ("",)


def test_tcp_is_loopback_with_a_password(home: Path) -> None:
    with start_private(spec(), connections=8, tcp=True) as server:
        endpoint = server.endpoint()
        assert endpoint.address.tcp
        assert endpoint.address.tcp.host == "127.0.0.1"
        assert endpoint.password
        assert endpoint.password not in server.url
        assert endpoint.password not in repr(server)
        wrong = server.url.replace("postgres@", "postgres:wrong@")
        with pytest.raises(DbdynoError) as caught:
            use_existing(wrong)
        assert caught.value.code == "wrong_password"
        assert "wrong@" not in str(caught.value)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_dies_with_dbdyno(home: Path, number: signal.Signals) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, json.dumps(SMALL)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert owner.stdout is not None
    assert owner.stdin is not None
    pid, _, folder = owner.stdout.readline().strip().partition(" ")
    process = mark_of(int(pid))
    owner.send_signal(number)
    owner.wait()
    owner.stdin.close()
    owner.stdout.close()
    wait_until_gone(process, Path(folder))


def test_dbdyno_may_die_while_the_server_is_being_made(home: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, json.dumps(SMALL)], stdin=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: list(home.glob("private/*/data/base")), "initdb's first files")
    finally:
        owner.kill()
        owner.communicate()
    eventually(lambda: processes_about(str(home)), lambda left: left == [])
    assert [path.name for path in (home / "private").iterdir()] == ["lock"]


def processes_about(text: str) -> list[str]:
    titles = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            titles.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it has just ended
    return [title for title in titles if text in title]


def test_a_ctrl_c_in_the_terminal_is_not_for_it(postgres_server: Server) -> None:
    assert postgres_server.process_id is not None
    assert os.getpgid(postgres_server.process_id) != os.getpgid(0)


def test_a_failed_start_gives_the_servers_own_reason(home: Path) -> None:
    with pytest.raises(DbdynoError, match=r"did not start: .*no_such_library") as caught:
        start_private(spec(shared_preload_libraries="no_such_library"), connections=8)
    assert caught.value.code == "server_failed"
    assert [path.name for path in (home / "private").iterdir()] == ["lock"]


def test_an_installer_whose_child_dies_is_quoted_with_its_earlier_output(
    home: Path, tmp_path: Path
) -> None:
    for program in local_binaries()[0].folder.iterdir():
        (tmp_path / program.name).symlink_to(program)
    installer = tmp_path / "initdb"
    installer.unlink()
    installer.write_text("#!/bin/sh\necho cannot create a file\necho removing data\nexit 1\n")
    installer.chmod(0o755)
    with pytest.raises(DbdynoError, match="did not start: cannot create a file; removing data"):
        start_private(ServerSpec(path=tmp_path, settings=SMALL), connections=8)


def test_nothing_is_made_for_an_unknown_setting(home: Path) -> None:
    with pytest.raises(DbdynoError, match="no setting 'fsink'"):
        start_private(spec(fsink="off"), connections=8)
    assert list((home / "private").iterdir()) == []


def test_settings_reach_the_server(home: Path) -> None:
    with start_private(spec(full_page_writes="off"), connections=200) as server:
        query = "select setting from pg_settings where name = any(%s) order by name"
        with server.connect() as connection:
            names = ["full_page_writes", "max_connections"]
            values = connection.execute(query, [names]).fetchall()
        assert values == [("off",), ("220",)]
        assert "full_page_writes" in [setting.name for setting in server.settings]


def test_a_long_home_gets_a_short_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path / ("long" * 20)))
    with start_private(spec(), connections=8) as server:
        socket = server.endpoint().address.unix
        assert socket
        place = Path(socket.path).parent
        assert place.parent == Path("/tmp")
        assert place.stat().st_mode & 0o777 == 0o700
    assert not place.exists()


def test_remains_of_a_crash_are_removed(home: Path) -> None:
    leftover = home_folder("private", "leftover")
    (leftover / "lock").touch()
    with start_private(spec(), connections=8) as server:
        assert not leftover.exists()
        with start_private(spec(), connections=8) as second:
            assert second.data_directory != server.data_directory
            with server.connect() as connection:
                assert connection.execute("select 1").fetchone() == (1,)


def test_a_server_whose_lock_cannot_be_tried_is_not_taken_for_dead(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = home / "private" / "left"
    left.mkdir(parents=True)
    (left / "lock").touch()

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr(private.fcntl, "flock", refuse)
        private._clear_up(home / "private")
    assert left.exists()
    private._clear_up(home / "private")
    assert not left.exists()


def test_a_home_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path / "file"))
    with pytest.raises(DbdynoError) as caught:
        start_private(spec(), connections=8)
    assert caught.value.code == "home_unwritable"
    assert "DBDYNO_HOME" in caught.value.hint


def use_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a host without user namespaces."""
    monkeypatch.setattr(cluster, "server_identity", privileges.ordinary_account)


def assert_runs_as_account(server: Server) -> None:
    account = privileges.ordinary_account().account
    assert account
    assert server.process_id is not None
    assert Path(f"/proc/{server.process_id}").owner() == account
    with server.connect() as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@another_account
def test_without_namespaces_an_account_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    use_account(monkeypatch)
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o755)
        monkeypatch.setenv("DBDYNO_HOME", f"{open_to_all}/home")
        with start_private(local_spec(), connections=8) as server:
            assert_runs_as_account(server)
            assert server.data_directory is not None
            assert server.data_directory.is_relative_to(open_to_all)
            assert server.data_directory.parent.stat().st_mode & 0o777 == 0o700


@another_account
def test_a_home_behind_a_closed_door_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_account(monkeypatch)
    tmp_path.chmod(0o700)
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path / "home"))
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o755)
        monkeypatch.setattr(server_folders, "OPEN_TO_ALL", Path(open_to_all))
        with start_private(local_spec(), connections=8) as server:
            assert_runs_as_account(server)
            assert server.data_directory is not None
            assert server.data_directory.is_relative_to(open_to_all)
    assert tmp_path.stat().st_mode & 0o777 == 0o700


@another_account
@pytest.mark.parametrize("home", ["new/home", "closed/home"])
def test_an_account_passes_through_whatever_the_umask(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    use_account(monkeypatch)
    with tempfile.TemporaryDirectory() as open_to_all:
        Path(open_to_all).chmod(0o755)
        Path(open_to_all, "closed").mkdir(mode=0o700)
        monkeypatch.setattr(server_folders, "OPEN_TO_ALL", Path(open_to_all))
        monkeypatch.setenv("DBDYNO_HOME", f"{open_to_all}/{home}")
        before = os.umask(0o077)
        try:
            with start_private(local_spec(), connections=8) as server:
                assert_runs_as_account(server)
        finally:
            os.umask(before)


@another_account
def test_an_account_gets_nothing_to_which_a_link_in_its_folder_leads(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.touch()
    (folder / "link").symlink_to(outside)
    account = privileges.ordinary_account()
    account.take_over(folder)
    assert folder.owner() == account.account
    assert outside.owner() == "root"


@mounts
@pytest.mark.parametrize(
    ("room", "expected"),
    [("size=12k", "did not start, and had no room for its reasons: "), ("nr_inodes=8", "no space")],
)
def test_a_disk_without_space_for_a_server_is_reported(
    tmp_path: Path, room: str, expected: str
) -> None:
    started = subprocess.run(
        ["unshare", "--mount", "sh", "-c", FULL, "sh", tmp_path, room, sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    assert started.returncode == 1
    assert json.loads(started.stdout)["error"]["code"] == "disk_full", started.stderr
    assert expected in json.loads(started.stdout)["error"]["message"]
