"""Servers that speak PostgreSQL's protocol and are something else: used, and never mistaken."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbdyno.databases.connecting import open_connection
from dbdyno.databases.identify import identify
from dbdyno.store.run import open_run
from tests.databases.foreign.servers import FOREIGN, running

READ = "\\set id random(1, 10)\nselect v from t where id = :id;\n"
ROWS = 10


@pytest.fixture(scope="module", params=FOREIGN, ids=[one.name for one in FOREIGN])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server with a small table; it is gone when the module's tests are."""
    with running(request.param) as url:
        with open_connection(url) as connection:
            connection.execute("create table t (id int, v int)")
            for number in range(1, ROWS + 1):
                connection.execute(f"insert into t values ({number}, 0)")
        yield url


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "read.sql"
    path.write_text(READ)
    return path


def dbdyno(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dbdyno", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)


def measured(url: str, script: Path, *options: str) -> dict[str, Any]:
    load = ("-c", "2", "-T", "1", "--warmup", "0", "--json")
    ended = dbdyno("run", "-f", script, "--target", url, *load, *options)
    assert ended.returncode == 0, ended.stderr
    record: dict[str, Any] = json.loads(ended.stdout)
    return record


def test_it_is_not_taken_for_postgresql(url: str) -> None:
    with open_connection(url) as connection:
        assert identify("postgresql", connection).name == "unknown"


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_a_script_runs_in_each_mode(url: str, script: Path, mode: str) -> None:
    record = measured(url, script, "-M", mode)
    assert record["transactions"]["ok"] > 0
    assert record["failures"] == []
    assert open_run("last").server["database"] == "unknown"


@pytest.mark.usefixtures("home")
def test_no_workload_is_loaded_where_tables_cannot_be_found(url: str) -> None:
    ended = dbdyno("run", "pk", "--target", url)
    assert ended.returncode == 1
    assert "dbdyno cannot create tables on PostgreSQL" in ended.stderr  # it says so of itself


@pytest.mark.usefixtures("home")
def test_nothing_is_said_in_postgresqls_words(url: str, script: Path, tmp_path: Path) -> None:
    measured(url, script)
    text = dbdyno("report", "last", "--text").stdout
    explained = dbdyno("explain", "last", "--all").stdout
    dbdyno("report", "last", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    doubt = "does not know this database: times and counts hold"
    assert doubt in " ".join(text.split())
    assert doubt in " ".join(shown.split())
    for said in (text, explained, shown):
        assert "select v from t" in said or "could not look" in said  # it is about the run
        assert not re.findall(r"(?i)\w*vacuum\w*|\bHOT\b|\bwal\b|\bcheckpoint\w*", said)
