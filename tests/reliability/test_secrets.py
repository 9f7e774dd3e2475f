"""Secrets are planted on every road into a run; none arrives in a file, on a screen, in /proc."""

import json
import subprocess
import threading
import time
import urllib.parse
from pathlib import Path

import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.model.run import TABLES
from dbdyno.store.run import open_run
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres
from tests.reliability.conftest import AnyServer
from tests.run.test_end_to_end import DBDYNO, begin
from tests.run.test_interrupts import arguments_of
from tests.support.patience import PATIENCE_S

# The password needs quoting in a URL: neither form may be left. Each road has one of its own.
PASSWORD = "plänted/p@ss"
IN_SETTINGS = "planted-in-settings"
IN_OPTION = "planted-in-option"
SECRETS = (PASSWORD, urllib.parse.quote(PASSWORD, safe=""), IN_SETTINGS, IN_OPTION)
ROADS = ["url", "environment", "file", "service"]
PERIOD = ("-c", "2", "-T", "2", "--warmup", "0")


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest):
    """A server that wants a password, and has others in its settings."""
    if request.param == "postgresql":
        postgres = Postgres(
            local_binaries()[0].folder,
            listen_addresses="127.0.0.1",
            primary_conninfo=f"host=elsewhere password={IN_SETTINGS}",
        )
        postgres.execute(f"create role planted superuser login password '{PASSWORD}'")
        access = "local all all trust\nhost all all all scram-sha-256\n"
        (postgres.data / "pg_hba.conf").write_text(access)
        postgres.execute("select pg_reload_conf()")
        yield postgres
        postgres.remove()
    else:
        mariadb = MariaDB()
        mariadb.execute(f"create user planted@'127.0.0.1' identified by '{PASSWORD}'")
        mariadb.execute("grant all on *.* to planted@'127.0.0.1'")
        yield mariadb
        mariadb.remove()


def take(
    road: str, server: AnyServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, ...]:
    """Put the password on this road, and return the options that lead to the server."""
    quoted = urllib.parse.quote(PASSWORD, safe="")
    file = folder / "secrets"
    if isinstance(server, Postgres):
        url = f"postgresql://planted{{}}@127.0.0.1:{server.port}/postgres"
        if road == "url":
            return ("--target", url.format(f":{quoted}"))
        if road == "environment":
            monkeypatch.setenv("PGPASSWORD", PASSWORD)
        elif road == "file":
            file.write_text(f"127.0.0.1:*:*:planted:{PASSWORD}\n")
            monkeypatch.setenv("PGPASSFILE", str(file))
        else:
            place = f"host=127.0.0.1\nport={server.port}\nuser=planted\ndbname=postgres\n"
            file.write_text(f"[planted]\n{place}password={PASSWORD}\n")
            monkeypatch.setenv("PGSERVICEFILE", str(file))
            return ("--target", "postgresql:///?service=planted")
        file.touch()
        file.chmod(0o600)
        return ("--target", url.format(""))
    url = f"mysql://planted{{}}@127.0.0.1:{server.port}/load_test"
    if road == "url":
        return ("--target", url.format(f":{quoted}"))
    if road == "environment":
        monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    else:
        (folder / ".my.cnf").write_text(f'[client]\npassword="{PASSWORD}"\n')
        (folder / ".my.cnf").chmod(0o600)
        monkeypatch.setenv("HOME", str(folder))
    return ("--target", url.format(""))


def in_processes(home: Path, seconds: float, own: int) -> str:
    """The command lines of dbdyno's processes during this time, except what the user typed.

    A process that was forked has the command line of the one that made it until it runs its own.
    """
    seen: set[str] = set()
    typed = arguments_of(str(own))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        children = Path(f"/proc/{own}/task/{own}/children")
        try:
            seen.update(arguments_of(child) for child in children.read_text().split())
        except OSError:
            break
        time.sleep(0.05)
    return "\n".join(seen - {typed})


def everything_kept(home: Path) -> str:
    """All files of the run folder: texts as they are, tables as their values."""
    run = open_run("last", home)
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    texts = [path.read_bytes().decode("utf-8", "replace") for path in files]
    tables = [f"{run.columns(name)}" for name in TABLES]
    values = [str(column.tolist()) for name in TABLES for column in run.columns(name).values()]
    return "\n".join([*texts, *tables, *values])


def output_of(*arguments: object) -> str:
    command = [*DBDYNO, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert "Traceback" not in ended.stderr
    return ended.stdout + ended.stderr


def assert_none(text: str, where: str) -> None:
    variants = [*SECRETS, *(json.dumps(secret)[1:-1] for secret in SECRETS)]
    found = [secret for secret in variants if secret in text]
    assert not found, f"{found} in {where}"


@pytest.mark.parametrize("road", ROADS)
def test_no_planted_secret_is_anywhere(
    road: str, server: AnyServer, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if road == "service" and isinstance(server, MariaDB):
        road = "lua"
    script = tmp_path / "one.sql"
    script.write_text("select ':password';")
    options: tuple[str, ...] = ("-D", f"password={IN_OPTION}", "-M", "simple")
    target = take("file" if road == "lua" else road, server, tmp_path, monkeypatch)
    if road == "lua":
        script = tmp_path / "one.lua"
        script.write_text(
            "sysbench.cmdline.options = {api_password = {'a secret', ''}}\n"
            "function thread_init() con = sysbench.sql.driver():connect() end\n"
            "function event() con:query('select 1') end\n"
        )
        options = ("--", f"--api-password={IN_OPTION}")
    report = tmp_path / "report.html"
    command = ("run", script, *target, *PERIOD, "--telemetry", "full", "--report", report, *options)
    with begin(*command) as process:
        watched: list[str] = []
        watching = threading.Thread(
            target=lambda: watched.append(in_processes(home, 20, process.pid))
        )
        watching.start()
        out, err = process.communicate(timeout=PATIENCE_S)
        watching.join()
    assert process.returncode in {0, 3}, err
    assert_none(out + err, "the output")
    assert_none(watched[0], "the list of processes")
    assert_none(everything_kept(home), "the run folder")
    assert_none(report.read_text(), "the report")
    for command in (
        ("explain", "last", "--json"),
        ("report", "last", "--json"),
        ("report", "last", "--text"),
        ("runs", "--json"),
        ("home",),
        ("sql", "select * from runs"),
    ):
        assert_none(output_of(*command), f"dbdyno {command[0]}")


def test_what_the_server_quotes_in_errors_is_masked(
    server: AnyServer, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In failures, in its log, and in the last words of a run that cannot work."""
    script, report = tmp_path / "quoting.sql", tmp_path / "report.html"
    script.write_text(
        "select cast(':password' as int);"
        if isinstance(server, Postgres)
        else "signal sqlstate '45000' set message_text = 'not :password';"
    )
    target = take("file", server, tmp_path, monkeypatch)
    options = ("-D", f"password={IN_OPTION}", "-M", "simple", "--report", report)
    said = output_of("run", script, *target, *PERIOD, "--telemetry", "full", *options)
    assert "***" in said
    assert_none(said, "the output")
    assert "***" in everything_kept(home)
    assert_none(everything_kept(home), "the run folder")
    assert_none(report.read_text(), "the report")
    assert_none(output_of("explain", "last"), "dbdyno explain")


@pytest.mark.parametrize("wrong", ["user", "database", "port"])
def test_no_error_message_holds_it(
    wrong: str, server: AnyServer, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = take("url", server, tmp_path, monkeypatch)
    changed = {
        "user": url.replace("planted:", "nobody:"),
        "database": url.rpartition("/")[0] + "/nowhere",
        "port": url.replace(str(server.port), "1"),
    }[wrong]
    said = output_of("run", "tpcb", "--target", changed, *PERIOD)
    assert "error: " in said
    assert_none(said, "the error message")
    assert list((home / "runs").iterdir()) == []
