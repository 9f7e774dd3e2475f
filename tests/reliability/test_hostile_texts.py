"""Names and messages that would steer a terminal, a page, a table or the eye are shown as text."""

import contextlib
import csv
import io
import json
import os
import subprocess
import unicodedata
from pathlib import Path

import pytest

from dbdyno.servers.base import Server
from tests.run.test_end_to_end import DBDYNO, dbdyno
from tests.support.patience import PATIENCE_S

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>&amp;'\"|`*_[a](b)"
STEERING = "\x1b[2J\x1b]0;title\x07\x9b31m\r\x08\x7f"
DIRECTION = "\u202etxet\u202c\u2066x\u2069\u200f"
LINES = "one\ntwo\u2028three\x85four"
FORMULA = "=cmd|' /C calc'!A0,\"x\""
HOSTILE = MARKUP + STEERING + DIRECTION + LINES
# Besides the end of a line, a text of ours contains nothing of these.
ENDS = {"Cc", "Cf", "Zl", "Zp"}


def steers(text: str) -> set[str]:
    """The characters of a text that do more than to be read."""
    return {one for one in text if unicodedata.category(one) in ENDS and one != "\n"}


def steering_lines(output: str) -> list[str]:
    return [line for line in output.split("\n") if steers(line)]


def on_terminal(*arguments: str) -> str:
    """What the command shows on a terminal."""
    ours, its = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        ended = subprocess.Popen([*DBDYNO, *arguments], stdout=its, stderr=subprocess.DEVNULL)
        os.close(its)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal's end
            while part := screen.read(65536):
                shown += part
        assert ended.wait(PATIENCE_S) == 0
    return shown.decode()


@pytest.fixture
def measured(home: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A run whose tag, file name, statements and errors are all hostile."""
    server: Server = request.getfixturevalue(request.param)
    quote = '"' if server.endpoint().protocol == "postgresql" else "`"
    name = HOSTILE.replace(quote, "").replace("\n", " ").replace("\r", "")[:40]
    script = tmp_path / (HOSTILE.replace("/", "").replace("\n", "") + ".sql")
    script.write_text(f"select 1 as {quote}{name}{quote};\n", encoding="utf-8")
    bad = tmp_path / "bad.sql"
    bad.write_text(f"select * from {quote}{name}{quote};\n", encoding="utf-8")
    ended = dbdyno(
        *("run", script, f"{bad}@1", "--target", server.url, "-c", "2", "-T", "1", "--warmup", "0"),
        *(
            "--max-failures",
            "100%",
            "--tag",
            f"why={HOSTILE}",
            "--tag",
            f"sum={FORMULA}",
            "--report",
            tmp_path / "page.html",
        ),
    )
    assert ended.returncode in {0, 3}, ended.stderr
    assert steering_lines(ended.stdout + ended.stderr) == []
    return tmp_path / "page.html"


@pytest.mark.parametrize("measured", ["postgres_server", "mariadb_server"], indirect=True)
def test_they_are_text_everywhere(measured: Path) -> None:
    page = measured.read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert steers(page) == set()
    for command in (
        ("report", "last", "--text"),
        ("explain", "last"),
        ("runs",),
        ("home",),
        ("sql", "select * from runs"),
        ("sql", "select * from failures"),
    ):
        ended = dbdyno(*command)
        assert ended.returncode == 0, ended.stderr
        assert steering_lines(ended.stdout + ended.stderr) == [], command
    # For programs they are what they were.
    columns = "tags->>'why' as why, tags->>'sum' as sum, 'a' || chr(13) as cr"
    query = ("sql", f"select {columns} from runs", "--csv")
    exact = subprocess.run([*DBDYNO, *query], capture_output=True, check=True).stdout.decode()
    assert [*csv.reader(io.StringIO(exact, newline=""))] == [
        ["why", "sum", "cr"],
        [HOSTILE, FORMULA, "a\r"],
    ]
    shown = on_terminal(*query)
    assert "=cmd" in shown
    assert steers(shown.replace("\r\n", "\n")) == set()
    tags = json.loads(dbdyno("runs", "--json").stdout)["runs"][0]["tags"]
    assert tags == {"why": HOSTILE, "sum": FORMULA}
