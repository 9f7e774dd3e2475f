"""Where dbdyno keeps what outlives a command, and who may enter it."""

import os
import pwd
import stat

import pytest

from dbdyno.databases.mysql.driver.login import login_of
from dbdyno.errors import DbdynoError
from dbdyno.home import home as where, home_folder
from dbdyno.store.writer import RunWriter
from tests.store import synthetic


@pytest.fixture
def no_home_directory(monkeypatch):
    """As in a container that runs under an arbitrary number."""

    def unknown(number):
        raise KeyError(number)

    for name in ("HOME", "DBDYNO_HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("first", ["a folder", "a run"])
def test_only_its_owner_may_enter_whatever_the_umask(home, mask, first):
    before = os.umask(mask)
    try:
        if first == "a run":
            RunWriter(synthetic.record(), synthetic.plan()).close()
        else:
            home_folder("servers", "one")
    finally:
        os.umask(before)
    made = [home, *(path for path in home.rglob("*") if path.is_dir())]
    assert len(made) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o700}


@pytest.mark.usefixtures("no_home_directory")
def test_an_account_without_a_home_directory_gets_the_variable_to_set(monkeypatch, tmp_path):
    with pytest.raises(DbdynoError) as caught:
        where()
    assert (caught.value.code, caught.value.exit_code) == ("no_home", 1)
    assert "DBDYNO_HOME" in caught.value.hint
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path))
    assert where() == tmp_path


@pytest.mark.parametrize("name", [b"two\nlines", b"\xff"])
def test_a_folder_that_no_record_can_hold_is_refused(monkeypatch, tmp_path, name):
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path / os.fsdecode(name)))
    with pytest.raises(DbdynoError) as caught:
        where()
    assert caught.value.code == "bad_home"
    assert ascii(os.fsdecode(name)).strip("'") in caught.value.message
    caught.value.message.encode()


@pytest.mark.usefixtures("no_home_directory")
def test_an_account_without_a_name_names_its_user_in_the_target():
    assert login_of("mysql://clerk@host/db", {}).user == "clerk"
    with pytest.raises(DbdynoError, match="names no user"):
        login_of("mysql://host/db", {})


def test_a_file_in_the_place_of_the_folder_is_named(monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("DBDYNO_HOME", str(file))
    with pytest.raises(DbdynoError, match=f"{file} is not a folder"):
        home_folder("runs")
