"""The lock that keeps studies apart, in a folder that all users share."""

import os
import pwd
import tempfile
from pathlib import Path

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.study.folder import NAME, machine_held
from tests.support.rights import another_account


@pytest.fixture
def place(monkeypatch):
    """A folder for temporary files; not below pytest's, which is closed to other accounts."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@another_account
def test_another_users_lock_holds_whatever_the_umask_was(place):
    before = os.umask(0o077)
    try:
        with machine_held("the-first"):
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
            with pytest.raises(DbdynoError, match="the study the-first ") as caught:
                machine_held("the-second").__enter__()
            assert caught.value.code == "study_running"
        with machine_held("the-second"):
            pass
    finally:
        os.seteuid(0)
        os.umask(before)


@another_account
@pytest.mark.parametrize("planted", ["a link", "a pipe", "a closed file"])
def test_a_file_planted_in_place_of_the_lock_is_reported(place, planted):
    if planted == "a link":
        (place / NAME).symlink_to(place / "elsewhere")
    elif planted == "a pipe":
        os.mkfifo(place / NAME, 0o644)
    else:
        (place / NAME).touch(0o600)
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        if planted == "a pipe":
            with machine_held("ours"):
                pass
        else:
            with pytest.raises(DbdynoError, match=NAME) as caught:
                machine_held("ours").__enter__()
            assert caught.value.code == "unusable_lock"
    finally:
        os.seteuid(0)
    assert not (place / "elsewhere").exists()
