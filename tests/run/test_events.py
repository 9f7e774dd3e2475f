"""Planned events under load: what happens, what it cost, and what was lost, on real servers."""

import json
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.model.record import FailoverRecord
from dbdyno.run.conclude import broken_promises
from dbdyno.run.events.planned import planned_event
from dbdyno.run.options.words import arguments_of, options_from
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import parse_spec
from tests.run.test_interrupts import servers_left
from tests.support.ended import ENDED, record_of
from tests.support.patience import wait_until

SERVERS = ["postgres", "mariadb"]
ACCEPTED = ("--max-disturbance", "100%", "--max-failures", "100%", "--telemetry", "off")


def dbdyno(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dbdyno", "run", *map(str, words), "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def failovers_of(ended: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ended.stdout)["failovers"]
    return found


@pytest.mark.parametrize(
    "text",
    ["30s:kill-server", "500ms:restart", "1s:promote:1", "1m:cut:2s", "0s:exec:echo a:b 'c d'"],
)
def test_an_event_is_written_as_it_was_read(text):
    assert str(planned_event(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "restart",
        "30s",
        "30s:stop",
        "soon:restart",
        "1s:cut",
        "1s:cut:0",
        "1s:exec: ",
        "1s:restart:2s",
        "1s:promote",
        "1s:promote:0",
    ],
)
def test_what_is_no_event_is_refused(text):
    with pytest.raises(ValueError, match=r"is not|lasts|first standby"):
        planned_event(text)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-T", "5", "--event", "5s:restart"], "the run measures for 5s only"),
        (["-t", "5", "--event", "1s:restart"], "-t and --event cannot be used together"),
        (
            ["--target", "postgresql://h/d", "--event", "1s:kill-server"],
            "is only for a new private server",
        ),
        (["--workers", "local*2", "--network-delay", "1ms"], "--workers and --network-delay"),
        (["--event", "1s:promote:1"], "promotes standby 1, and the server has 0"),
        (["--server", "postgres,standbys=many"], "standbys=many is no number"),
        (["--server", "mysql,standbys=1"], "starts no standbys of MySQL"),
    ],
)
def test_what_cannot_happen_is_refused(home, words, reason):
    ended = dbdyno("tpcb", *words)
    assert ended.returncode == 1
    assert reason in json.loads(ended.stdout)["error"]["message"]


@pytest.mark.parametrize("server", SERVERS)
def test_a_killed_server_loses_no_commit_at_full_durability(home, server):
    ended = dbdyno(
        *("tpcb", "--server", server, "--durability", "full", "-c", "4", "-T", "12"),
        *("--warmup", "0", "--interval", "100ms", "--event", "3s:kill-server", *ACCEPTED),
    )
    record = record_of(ended)
    (one,) = record["failovers"]
    assert one["event"] == "kill-server"
    assert one["at_s"] >= 3
    assert one["error"] == ""
    assert 0 < one["first_error_ms"] < one["first_commit_ms"]
    assert one["level_tps"] > 0
    assert one["acknowledged"] > 0
    assert one["lost"] == one["loss_allowed_ms"] == 0
    assert one["failed_by_class"] == {"connection": sum(f["count"] for f in record["failures"])}
    assert record["invariants_read"]  # on the server that was started again
    (outage,) = (finding for finding in record["findings"] if finding["id"] == "outage")
    assert "Planned: kill-server at 3" in outage["summary"]


@pytest.mark.parametrize("product", SERVERS)
def test_a_command_is_judged_as_a_crash_only_if_the_same_server_answers(home, tmp_path, product):
    """One address, which moves from a primary to its standby, as that of a pooler does."""
    (script := tmp_path / "writes.sql").write_text("insert into counted values (:client_id);\n")
    settings = ",sync_binlog=1" if product == "mariadb" else ""
    spec = parse_spec(f"{product},standbys=1{settings}")
    with (
        start_private(spec, connections=30) as primary,
        TemporaryDirectory(prefix="dbdyno-test-", dir="/tmp") as folder,
    ):
        (standby,) = primary.standbys
        with primary.connect() as connection:
            connection.execute("create table counted (client integer)")
        primary.wait_for_standbys(lambda _: None)
        begun, ended = Path(folder, "begun"), Path(folder, "ended")
        socket, successor = (Path(one.endpoint().address.unix.path) for one in (primary, standby))
        address = Path(folder, socket.name)
        address.symlink_to(socket)

        def take_over() -> None:
            wait_until(begun.exists, "the command's begin")
            primary.kill()
            standby.promote()
            address.unlink()
            address.symlink_to(successor)
            ended.touch()

        beside = threading.Thread(target=take_over)
        beside.start()
        command = f"touch {begun}; until test -e {ended}; do sleep 0.1; done"
        target = primary.url.replace(str(socket.parent), folder)
        run = dbdyno(
            *(script, "--target", target, "-c", "2", "-T", "10", "--warmup", "0", *ACCEPTED),
            *("--event", "1s:exec:true", "--event", f"3s:exec:{command}"),
        )
        begun.touch()  # if the run was refused
        beside.join()
    record = record_of(run)
    assert record["server"]["promise"] == "full"
    harmless, takeover = record["failovers"]
    assert (harmless["error"], takeover["error"]) == ("", "")
    assert (harmless["lost"], harmless["loss_allowed_ms"]) == (0, 0)
    assert takeover["lost"] is not None
    assert takeover["first_error_ms"] < takeover["first_commit_ms"]
    assert takeover["loss_allowed_ms"] is None
    assert not any("acknowledged commit" in reason for reason in record["invalid_reasons"])


def test_the_weakest_setting_decides_and_names_its_window(home):
    """A standby needs a binary log, which by default is not flushed at each commit."""
    ended = dbdyno(
        *("tpcb", "--server", "mariadb,standbys=1,innodb_flush_log_at_timeout=7", "-c", "2"),
        *("-T", "3", "--warmup", "0", "--event", "1s:kill-server", "--max-disturbance", "100%"),
    )
    record = record_of(ended)
    (one,) = record["failovers"]
    assert record["server"]["promise"] == "relaxed"
    assert one["loss_allowed_ms"] == 8000
    assert not any("promise not known" in text for text in record["doubts"])


def test_unlogged_tables_promise_nothing(home):
    """PostgreSQL empties them after a crash, whatever its settings are."""
    ended = dbdyno(
        *("tpcb", "--server", "postgres", "-D", "unlogged=on", "-c", "2", "-T", "3"),
        *("--warmup", "0", "--event", "1s:kill-server", *ACCEPTED),
    )
    server = json.loads(ended.stdout)["server"]
    assert (server["promise"], server["durability"]["fsync"]) == ("none", "on")
    assert server["durability"]["tables"] == "unlogged"
    assert "tables are unlogged" in ended.stderr
    (one,) = failovers_of(ended)
    assert one["loss_allowed_ms"] is None


def test_each_event_has_its_own_cost(home):
    ended = dbdyno(
        *("tpcb", "--server", "postgres", "-c", "4", "-T", "12", "--warmup", "0"),
        *("--interval", "100ms", "--event", "7s:cut:1s", "--event", "3s:restart", *ACCEPTED),
        *("--event", "11s:exec:echo out of order; exit 3"),
    )
    record = record_of(ended)
    restart, cut, command = record["failovers"]
    assert [restart["event"], cut["event"]] == ["restart", "cut:1s"]
    assert cut["took_ms"] >= 1000
    assert cut["first_commit_ms"] >= 1000
    for one in (restart, cut):
        assert one["failed_by_class"] == {"connection": 4}
        assert one["lost"] == 0
    assert command["error"] == "exit code 3: out of order"
    assert command["took_ms"] is None
    assert any(command["error"] in doubt for doubt in record["doubts"])


@pytest.mark.parametrize(
    ("server", "event"), [("postgres,standbys=1", "promote:1"), ("mariadb", "cut:1s")]
)
def test_agents_that_share_a_load_are_led_as_one(home, server, event):
    ended = dbdyno(
        *("tpcb", "--server", server, "-c", "4", "-T", "10", "--warmup", "0", *ACCEPTED),
        *("--workers", "local*2", "--event", f"3s:{event}"),
    )
    record = record_of(ended)
    (one,) = record["failovers"]
    assert one["error"] == ""
    assert 0 < one["first_error_ms"] < one["first_commit_ms"]
    assert one["failed_by_class"] == {"connection": 4}  # a transaction of each client, of both
    assert record["invariants_read"]  # on the server that has the load in the end
    assert [worker["lost_at_s"] for worker in record["workers"]] == [None, None]


def test_a_command_knows_its_server_and_does_not_outlive_the_run(home, tmp_path):
    """Nor is what it has started, and left behind with its output, waited for."""
    pid = tmp_path / "pid"
    ended = dbdyno(
        *("tpcb", "--server", "postgres", "-c", "1", "-T", "6", "--warmup", "0", *ACCEPTED),
        *("--event", '1s:exec:sleep 30 & test -n "$DBDYNO_TARGET" && psql -c "select 1"'),
        *("--event", f"3s:exec:echo $$ > {pid}; sleep 600"),
    )
    left_behind, endless = record_of(ended)["failovers"]
    assert left_behind["error"] == ""
    assert endless["error"] == "it had not ended when the run did"
    wait_until(lambda: not is_there(int(pid.read_text())), "its processes' end")


def is_there(group: int) -> bool:
    """Whether a group of processes has a process that is not yet reaped."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("server", "waits"),
    [
        ("postgres", ""),
        ("postgres", ",synchronous_standby_names=*"),
        ("postgres", ",synchronous_standby_names=*,synchronous_commit=remote_write"),
        ("postgres", ",synchronous_standby_names=*,synchronous_commit=remote_apply"),
        ("mariadb", ""),
        ("mariadb", ",rpl_semi_sync_master_enabled=ON"),
    ],
)
def test_the_load_follows_to_the_standby_that_takes_over(home, server, waits):
    durability = [] if "synchronous_commit" in waits else ["--durability", "full"]
    ended = dbdyno(
        *("tpcb", "--server", f"{server},standbys=1{waits}", *durability, "-c", "4"),
        *("-T", "8", "--warmup", "0", "--event", "3s:promote:1", *ACCEPTED),
    )
    record = record_of(ended)
    (one,) = record["failovers"]
    assert one["error"] == ""
    assert one["failed_by_class"] == {"connection": 4}
    assert 0 < one["first_error_ms"] < one["first_commit_ms"]
    assert one["lost"] is not None
    assert one["loss_allowed_ms"] == (0 if waits else None)
    if waits:
        assert one["lost"] == 0
    assert record["invariants_read"]  # on the standby
    assert servers_left(home) == []


@pytest.mark.parametrize(
    ("waits", "allowed_ms"),
    [
        ("", None),
        (",synchronous_standby_names=*,synchronous_commit=local", None),
        (",synchronous_standby_names=*,synchronous_commit=remote_write", 0),
        (",synchronous_standby_names=*", 0),
    ],
)
def test_a_takeover_loses_what_the_standby_had_not_received_unless_commits_wait(
    home, waits, allowed_ms
):
    """A standby whose connection breaks again and again connects only after some seconds."""
    break_it = 'psql -qAtc "select pg_terminate_backend(pid) from pg_stat_replication"'
    ended = dbdyno(
        *("tpcb", "--server", f"postgres,standbys=1{waits}", "-c", "4", "-T", "7"),
        *("--warmup", "0", "--event", f"2s:exec:for i in 1 2 3 4; do {break_it}; sleep 0.2; done"),
        *("--event", "4s:promote:1", *ACCEPTED),
    )
    broken, takeover = record_of(ended)["failovers"]
    assert (broken["error"], takeover["error"]) == ("", "")
    assert takeover["loss_allowed_ms"] == allowed_ms
    assert broken["lost"] == 0, "nobody has noticed it"
    assert (takeover["lost"] == 0) == (allowed_ms == 0)


@pytest.mark.parametrize("server", SERVERS)
def test_whether_a_commit_was_on_its_way_decides_what_is_unknown(home, tmp_path, server):
    sleep = {"postgres": "select pg_sleep(60);", "mariadb": "select sleep(60);"}[server]
    scripts = {"alone": sleep, "block": f"begin; {sleep} commit;"}
    unknown = {}
    for name, text in scripts.items():
        (path := tmp_path / f"{name}.sql").write_text(text.replace("; ", ";\n"))
        ended = dbdyno(
            *(path, "--server", server, "-c", "3", "-T", "3", "--warmup", "0", *ACCEPTED),
            *("--event", "1s:kill-server"),
        )
        (one,) = failovers_of(ended)
        assert one["failed_by_class"] == {"connection": 3}
        unknown[name] = one["unknown"]
    assert unknown == {"alone": 3, "block": 0}


def test_a_commit_on_its_way_is_unknown_whichever_connection_of_the_client_breaks(home, tmp_path):
    """All are closed then. Clients have one to a standby, too, if there is something to read."""
    (write := tmp_path / "write.sql").write_text("select pg_sleep(60);")
    (read := tmp_path / "read.sql").write_text("select 1;")
    those = "backend_type = 'client backend' and application_name = 'dbdyno'"
    end = f"select pg_terminate_backend(pid) from pg_stat_activity where {those}"
    with start_private(parse_spec("postgres,standbys=1"), connections=30) as primary:
        (standby,) = primary.standbys
        ended = dbdyno(
            *(f"{write}@1", f"{read}@9@read", "--target", primary.url, "--further-target"),
            *(standby.url, "-c", "3", "-T", "4", "--warmup", "0", "--seed", "1", *ACCEPTED),
            *("--event", f"2s:exec:psql {shlex.quote(standby.url)} -c {shlex.quote(end)}"),
        )
    (one,) = failovers_of(ended)
    assert (one["error"], one["first_error_ms"]) == ("", None)
    assert one["failed_by_class"] == {"connection": 3}
    assert one["unknown"] == 3


def test_commits_that_were_only_promised_are_found_missing(home):
    """The last page of WAL of asynchronous commits is in the memory of the server that is killed.

    It may have been full at one kill, but not at both. What is missing of the load, too, is no
    fault of its scripts: the run is valid.
    """
    ended = dbdyno(
        *("tpcb", "--server", "postgres", "--durability", "relaxed", "-c", "1", "--rate", "20"),
        *("-T", "16", "--warmup", "0", "--event", "2s:kill-server", "--event", "10s:kill-server"),
        *ACCEPTED,
    )
    assert ended.returncode in ENDED, ended.stderr
    record = json.loads(ended.stdout)
    failovers = record["failovers"]
    lost_ms = [one["lost_ms"] for one in failovers if one["lost"]]
    assert lost_ms
    assert min(lost_ms) > 0
    assert all(one["lost"] < one["acknowledged"] for one in failovers)
    assert {one["loss_allowed_ms"] for one in failovers} == {3 * 200 + 400}
    # A WAL writer that gets no CPU is later than three delays and a moment.
    too_late = [reason for reason in record["invalid_reasons"] if "acknowledged commit" in reason]
    assert len(too_late) == sum(one > 1000 for one in lost_ms), too_late


@pytest.mark.parametrize(
    ("event", "allowed_ms", "limit"),
    [
        ("restart", 0.0, "durability full promises"),
        ("restart", 1000.0, "durability full promises"),
        ("restart", None, ""),
        ("promote:1", 0.0, "a commit waits until the standby has received it"),
        ("promote:1", None, ""),
    ],
)
def test_a_loss_is_judged_by_what_the_settings_allow(event, allowed_ms, limit):
    for lost_ms in (None, 900.0, 1100.0):
        failover = FailoverRecord(
            event=event, at_s=1, lost=2, lost_ms=lost_ms, loss_allowed_ms=allowed_ms
        )
        reasons = broken_promises("full", [failover])
        is_broken = None not in (lost_ms, allowed_ms) and lost_ms > allowed_ms
        assert len(reasons) == is_broken
        assert all(limit in reason for reason in reasons)


@pytest.mark.parametrize("promise", ["relaxed", "none", None])
def test_what_is_no_crash_is_judged_at_any_durability(promise):
    cut = FailoverRecord(event="cut:2s", at_s=1, lost=2, lost_ms=5.0, loss_allowed_ms=0.0)
    (reason,) = broken_promises(promise, [cut])
    assert reason.endswith("only a crash may lose commits")


def test_a_command_needs_no_private_server_and_leaves_no_table(home, postgres_server, tmp_path):
    (script := tmp_path / "one.sql").write_text("select 1;")
    ended = dbdyno(
        *(script, "--target", postgres_server.url, "-c", "1", "-T", "2", "--warmup", "0"),
        *("--event", f"1s:exec:touch {tmp_path / 'done'}", *ACCEPTED),
    )
    (one,) = record_of(ended)["failovers"]
    assert (tmp_path / "done").exists()
    assert (one["first_error_ms"], one["lost"], one["failed_by_class"]) == (None, 0, {})
    with postgres_server.connect() as connection:
        query = "select count(*) from pg_tables where tablename like 'dbdyno_witness%'"
        assert connection.execute(query).fetchone() == (0,)


def test_a_user_who_may_create_no_table_is_told(home, postgres_server, tmp_path):
    (script := tmp_path / "one.sql").write_text("select 1;")
    with postgres_server.connect() as connection:
        connection.execute("create role witless login")
        connection.execute("revoke create on schema public from public")
    url = postgres_server.url.replace("postgres@", "witless@")
    ended = dbdyno(script, "--target", url, "-T", "2", "--event", "1s:exec:true", *ACCEPTED)
    with postgres_server.connect() as connection:
        connection.execute("drop role witless")
    assert ended.returncode == 1
    assert "the table of the witness, which --event needs" in ended.stdout


def test_events_are_words_of_a_study_and_of_the_command_that_repeats_a_run():
    options = options_from({"event": ["3s:restart", "5s:cut:1s"]})
    assert arguments_of([], options)[:4] == ["--event", "3s:restart", "--event", "5s:cut:1s"]
    with pytest.raises(DbdynoError, match="is not an event"):
        options_from({"event": "3s:stop"})
