"""What a command gets from its caller besides options: streams, locale, the bytes of its words."""

import os
import subprocess
import sys

import pytest

from tests.cli import made_up_runs as made_up

DBDYNO = (sys.executable, "-m", "dbdyno")


def ended(arguments, **given) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(arguments, capture_output=True, check=False, **given)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("arguments", "code"), [("runs", 0), ("report no_such_run", 1)])
def test_streams_that_the_caller_has_closed_fail_nothing(home, closed, arguments, code):
    made_up.run()
    done = ended(["sh", "-c", f'"$@" {arguments} {closed}', "sh", *DBDYNO])
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("words", "code"), [("runs", 0), ("report no_such_run", 1)])
def test_messages_that_find_no_room_fail_nothing(home, words, code):
    done = ended(["sh", "-c", f'"$@" {words} 2>/dev/full', "sh", *DBDYNO])
    assert done.returncode == code


def test_a_result_that_finds_no_room_is_an_error(home):
    made_up.run()
    done = ended(["sh", "-c", '"$@" runs >/dev/full', "sh", *DBDYNO])
    assert done.returncode == 1
    expected = (
        "error: cannot write the result: No space left on device\nhint: Free some space there.\n"
    )
    assert done.stderr.decode() == expected


def test_a_reader_that_has_closed_the_pipe_does_not_change_the_verdict(home):
    made_up.pairs(3, wal_bytes=1.3)
    compare = "compare tag:variant=a tag:variant=b --fail-if wal:worse:3% --json"
    piped = ["bash", "-c", f'set -o pipefail; "$@" {compare} | head -c 0', "bash", *DBDYNO]
    assert ended(piped).returncode == 4


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_output_is_utf_8_in_every_locale(home, encoding):
    made_up.run(doubts=["a doubt about ½"])
    locale = {**os.environ, "PYTHONIOENCODING": encoding}
    done = ended([*DBDYNO, "report", "last", "--text"], env=locale)
    assert done.returncode == 0, done.stderr
    assert "a doubt about ½" in done.stdout.decode().lower()


def test_words_are_utf_8_in_every_locale(home, tmp_path):
    made_up.run(tags={"place": "Zürich"})
    locale = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    listed = ended([*DBDYNO, "runs", "tag:place=Zürich".encode()], env=locale)
    assert "place=Zürich" in listed.stdout.decode()
    page = tmp_path / "Zürich.txt"
    refused = ended([*DBDYNO, "run", os.fsencode(page)], env=locale)
    assert f"{page}" in refused.stderr.decode()


@pytest.mark.parametrize("arguments", [[b"a\xff.sql"], [b"select-only", b"--tag", b"a=\xff"]])
def test_words_that_no_record_can_hold_are_refused(home, arguments):
    done = ended([*DBDYNO, "run", *arguments])
    assert done.returncode == 1
    assert b"\\xff" in done.stderr
    assert b" is not UTF-8 text\nhint: " in done.stderr
    assert not home.exists()
