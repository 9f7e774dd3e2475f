"""sysbench scripts as users run them, including bad ones, on a private MariaDB."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dbdyno import engine
from dbdyno.cli import main
from dbdyno.cli.output import Exit
from dbdyno.run import measure
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from tests.engine.mariadb import MariaDB
from tests.run.test_runner import Observer
from tests.support.ended import ENDED
from tests.support.engine import Interrupted, tools
from tests.support.patience import PATIENCE_S, wait_until
from tests.support.program import Program
from tests.support.running import run as run_it

HEAD = "function thread_init() con = sysbench.sql.driver():connect() end\n"
CALM = ("--warmup", "0", "--telemetry", "off", "-P", "0", "--think", "5ms")
"""The clients think: otherwise an engine that a fast machine keeps busy is the bottleneck."""
BRIEF = ("-T", "1", *CALM)

LOOP_ENDED_MAX_S = 30
"""Well below the limit for a server that does not answer, so that no loop uses all of it."""

SLEEPING = "select count(*) from information_schema.processlist where info = 'do sleep(99)'"


@pytest.fixture(scope="module")
def url():
    server = MariaDB()
    try:
        server.execute("create database sbtest")
        yield f"mysql://loader@localhost/sbtest?socket={server.socket_path}"
    finally:
        server.remove()


def run(script: Path, text: str, url: str, *more: str) -> int:
    script.write_text(text, encoding="utf-8")
    return main(["run", str(script), "--target", url, "-c", "2", *BRIEF, *more])


@pytest.fixture
def script(home, tmp_path: Path) -> Path:
    return tmp_path / "mine.lua"


def test_output_of_scripts_goes_to_the_log(script, url, home, capfd):
    text = HEAD + "function event() print('loud') con:query('select 1') end"
    assert run(script, text, url, "--json", "-M", "simple") == Exit.OK
    out = capfd.readouterr().out
    record = json.loads(out)
    assert record["statements"][0]["sql"] == "select ?"
    assert record["statements"][0]["count"] > 0
    assert "loud" not in out
    assert "loud" in (home / "runs" / record["run_id"] / "log.txt").read_text(encoding="utf-8")


def test_a_run_whose_scripts_stop_is_measured_as_long_as_it_lasted(script, url, capfd):
    """Each client's last event, which ends it, does not count: sysbench reports 18, too."""
    text = HEAD + "function event() n = (n or 0) + 1 con:query('do sleep(0.02)') return n == 10 end"
    script.write_text(text, encoding="utf-8")
    # Much longer than the scripts last, however busy the machine is.
    arguments = ("run", str(script), "--target", url, "-c", "2", "-T", "10", *CALM, "--json")
    assert main([*arguments]) == Exit.NOT_VALID
    record = json.loads(capfd.readouterr().out)
    counts = record["transactions"]
    assert (counts["ok"], counts["unfinished"]) == (18, 2)
    assert record["throughput_tps"]["value"] > 5
    [reason] = record["invalid_reasons"]
    assert "of the requested 10.0 s: the scripts of all clients had ended" in reason


def test_a_client_that_runs_no_event_keeps_no_other_from_running(script, url, capfd):
    loop = (
        "local ffi = require('ffi') function thread_run(tid) if tid > 0 then return end "
        "while ffi.C.sb_more_events(tid) do con:query('select 1') ffi.C.sb_event_stop(tid) end end "
        "function event() end"
    )
    assert run(script, HEAD + loop, url, "--json") == Exit.OK
    assert json.loads(capfd.readouterr().out)["transactions"]["ok"] > 0


def test_with_a_connection_for_each_event_each_is_set_up(script, url, capfd):
    text = (
        "function thread_init() con = sysbench.sql.driver():connect() "
        "con:query('set @mine = 7') end "
        "function event() local mine = con:query_row('select @mine') "
        "if mine ~= '7' then error('not set up') end end"
    )
    assert run(script, text, url, "--json", "-C") == Exit.OK
    record = json.loads(capfd.readouterr().out)
    assert (record["transactions"]["ok"] > 1, record["transactions"]["failed"]) == (True, 0)


def test_threads_that_may_mean_clients_get_a_hint(script, url, home, capfd):
    script.write_text(HEAD + "function event() con:query('select 1') end", encoding="utf-8")
    assert main(["run", str(script), "--target", url, "--threads=4"]) == Exit.NOTHING_RUN
    output = " ".join(capfd.readouterr().err.split())
    assert "sysbench's --threads is -c 4 here" in output
    assert not (home / "runs").exists()
    both = ("--threads=1", *BRIEF, "--json")
    assert main(["run", str(script), "--target", url, *both, "--", "--threads=2"]) == Exit.OK
    assert json.loads(capfd.readouterr().out)["throughput_tps"]["value"] > 0


def test_data_that_cannot_be_made_leaves_no_run(script, url, home, capfd):
    text = (
        "function prepare() for row = 1, 30 do print('row ' .. row .. '.') end error('no room') end"
        " function event() end"
    )
    assert run(script, text, url, "--replace") == Exit.NOTHING_RUN
    output = capfd.readouterr().err
    assert "prepare of mine.lua failed" in output
    assert "in script mine.lua, line 1: no room" in output
    assert [f"row {row}." in output for row in (10, 11, 30)] == [False, True, True]
    assert list((home / "runs").iterdir()) == []


def test_an_interrupt_while_data_is_made_is_one_and_leaves_no_run(script, url, home):
    prepare = "sysbench.sql.driver():connect():query('select sleep(60)')"
    script.write_text(f"function prepare() {prepare} end function event() end", encoding="utf-8")
    options = RunOptions(target=url, replace=True, telemetry="off")
    with pytest.raises(KeyboardInterrupt):
        run_it([WeightedName(str(script), 1)], options, tools(Interrupted), Observer())
    assert list((home / "runs").iterdir()) == []


def test_an_init_that_fails_leaves_no_run_but_what_it_printed(script, url, home, capfd):
    text = "function init() print('loud') error('no way') end function event() end"
    assert run(script, text, url) == Exit.NOTHING_RUN
    output = capfd.readouterr().err
    assert output.index("loud") < output.index("no way")
    assert list((home / "runs").iterdir()) == []


def test_a_server_that_ends_our_session_before_the_load_leaves_no_run(script, url, home, capfd):
    script.write_text(
        """
        function init()
            local con = sysbench.sql.driver():connect()
            local others = con:query([[select id from information_schema.processlist
                where id <> connection_id() and user = 'loader']])
            for _ = 1, others.nrows do con:query("kill " .. others:fetch_row()[1]) end
        end
        function event() end
        """,
        encoding="utf-8",
    )
    assert main(["run", str(script), "--target", url, "-c", "1", "-T", "1"]) == Exit.NOTHING_RUN
    assert "error: cannot start telemetry: " in capfd.readouterr().err
    assert list((home / "runs").iterdir()) == []


def test_a_done_that_fails_loses_nothing_that_was_measured(script, url, capfd):
    text = HEAD + "function event() con:query('select 1') end function done() error('no end') end"
    assert run(script, text, url, "--json") == Exit.FAILED
    record = json.loads(capfd.readouterr().out)
    assert record["status"] == "failed"
    assert record["transactions"]["ok"] > 0
    assert "done of mine.lua failed" in record["invalid_reasons"][-1]
    assert "no end" in record["invalid_reasons"][-1]


def test_only_a_missing_table_is_what_a_load_would_create(script, url, capfd):
    begin = "function thread_init() {} end function event() end"
    assert run(script, begin.format("error('not so')"), url) == Exit.NOTHING_RUN
    assert "dbdyno load" not in capfd.readouterr().err
    query = "sysbench.sql.driver():connect():query('select * from missing')"
    assert run(script, begin.format(query), url) == Exit.NOTHING_RUN
    assert "hint: dbdyno load creates the tables" in capfd.readouterr().err


def test_a_server_that_dies_ends_the_command(home, tmp_path: Path):
    """A server may take any time to build an index, so no time limit would end the command."""
    script, server = tmp_path / "mine.lua", MariaDB()
    text = "function prepare() sysbench.sql.driver():connect():query('do sleep(99)') end"
    script.write_text(f"{text} function event() end", encoding="utf-8")
    url = f"mysql://loader@localhost/load_test?socket={server.socket_path}"
    command = [sys.executable, "-m", "dbdyno", "load", str(script), "--target", url]
    with Program(command, stderr=subprocess.PIPE, text=True) as load:
        try:
            wait_until(lambda: server.execute(SLEEPING) == [(1,)], "the command's statement")
            server.kill()
            _, output = load.communicate(timeout=PATIENCE_S)
        finally:
            load.kill()
            server.remove()
    assert load.returncode == Exit.NOTHING_RUN
    assert "prepare of mine.lua failed: the connection to the server was lost" in output


def test_clients_that_cannot_begin_leave_no_run_but_what_they_printed(script, url, home, capfd):
    text = "function thread_init() print('loud') error('not so') end function event() end"
    assert run(script, text, url) == Exit.NOTHING_RUN
    output = capfd.readouterr().err
    assert output.index("loud") < output.index("not so")
    assert list((home / "runs").iterdir()) == []


def test_a_script_that_ends_the_engine_is_reported_as_the_cause(script, url, home, capfd):
    assert run(script, "os.exit(3)", url, "--allow-unsafe-lua") == Exit.NOTHING_RUN
    output = " ".join(capfd.readouterr().err.split())
    assert "mine.lua: the engine ended while it was loading (exit code 3)" in output
    assert "does it call os.exit()" in output


def test_a_script_that_loads_for_ever_is_ended(script, url, home, capfd, monkeypatch):
    monkeypatch.setattr(engine, "SURVEY_LIMIT_S", 0.2)
    assert run(script, "while true do end", url) == Exit.NOTHING_RUN
    output = " ".join(capfd.readouterr().err.split())
    assert "mine.lua: it did not come to the end of loading within 0.2 s" in output


def test_a_script_is_loaded_once_before_its_clients_load_it(script, url, home, monkeypatch):
    """Loading a large script takes time, and a run may ask for its own data."""
    looks, survey = [], engine.survey
    monkeypatch.setattr(
        engine, "survey", lambda *arguments: looks.append(arguments) or survey(*arguments)
    )
    assert run(script, HEAD + "function event() con:query('select 1') end", url) == Exit.OK
    assert len(looks) == 1


def test_results_left_unread_and_ignored_errors_harm_nothing(script, url, capfd):
    text = HEAD + (
        "function event() con:query('select 1 union select 2')"
        " if sysbench.rand.uniform(1, 4) == 1 then"
        " con:query(\"signal sqlstate '40001' set mysql_errno = 1213\") end end"
    )
    assert run(script, text, url, "--json") == Exit.OK
    transactions = json.loads(capfd.readouterr().out)["transactions"]
    assert transactions["failed"] == 0
    assert transactions["retried"] > 0


def test_the_reason_for_retried_events_is_reported(script, url, capfd):
    """By the error that caused them, not by one that the script had already handled."""
    text = (
        HEAD + "function sysbench.hooks.sql_error_ignorable(e) return e.sql_errno == 1062 end\n"
        "function event() n = (n or 0) + 1 pcall(con.query, con, 'select * from nowhere')"
        " if n % 2 == 1 then"
        " con:query(\"signal sqlstate '23000' set mysql_errno = 1062, message_text = 'twice'\") end"
        " con:query('select 1') end"
    )
    assert run(script, text, url, "--json") == Exit.OK
    record = json.loads(capfd.readouterr().out)
    (again,) = record["tried_again"]
    assert (again["class"], again["code"]) == ("duplicate_key", "1062")
    assert (again["message"], again["statement"][:6]) == ("twice", "signal")
    assert again["count"] == record["transactions"]["retried"] > 0
    assert again["took_s"] > 0


def test_a_lost_connection_gets_its_session_set_up_again(script, url, capfd):
    text = (
        "function thread_init()"
        " con = sysbench.sql.driver():connect() con:query('set @mine = 7') end"
        " function event() n = (n or 0) + 1 assert(con:query_row('select @mine') == '7')"
        " if n == 5 then pcall(con.query, con, 'kill connection_id()') end end"
    )
    assert run(script, text, url, "--json", "--max-failures", "100%") == Exit.OK
    failures = json.loads(capfd.readouterr().out)["failures"]
    assert [(each["class"], each["count"]) for each in failures] == [("connection", 2)]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("function event(", Exit.NOTHING_RUN, "expected near"),
        ("x = 1", Exit.NOTHING_RUN, "cannot find the event() function in mine.lua"),
        (
            "function thread_init() error('not so') end function event() end",
            Exit.NOTHING_RUN,
            "not so",
        ),
        (
            "function init() error('no way') end function event() end",
            Exit.NOTHING_RUN,
            "no way",
        ),
        (HEAD + "function event() con:query('select nothing') end", Exit.FAILED, "errno = 1054"),
        (HEAD + "function event() error({1}) end", Exit.FAILED, "an error value"),
        (
            HEAD + "function event() local s = con:prepare('select ?')"
            " s:bind_create(sysbench.sql.type.DATE) end",
            Exit.FAILED,
            "Unsupported argument type",
        ),
    ],
)
def test_an_error_in_a_script_is_reported(script, url, text, code, message, capfd):  # noqa: PLR0917
    assert run(script, text, url) == code
    output = capfd.readouterr()
    assert message in output.out + output.err


@pytest.mark.parametrize(
    "text",
    [
        "function event() con:query('select 1') while true do end end",
        "function event() con:query('select 1') end"
        " function sysbench.hooks.report_cumulative() while true do end end",
    ],
)
def test_an_endless_loop_is_ended_and_named(script, url, text, capfd, monkeypatch):
    monkeypatch.setattr(measure, "SILENCE_MIN_S", 1.5)
    monkeypatch.setattr(measure, "SILENCE_INTERVALS", 1)
    assert run(script, HEAD + text, url) == Exit.FAILED
    output = capfd.readouterr()
    assert "mine.lua" in output.out + output.err
    assert "an endless loop?" in output.out + output.err


def test_an_endless_loop_before_the_first_event_is_ended_as_soon(
    script, url, home, capfd, monkeypatch
):
    monkeypatch.setattr(measure, "BEGINNING_MIN_S", 1.5)
    monkeypatch.setattr(measure, "SILENCE_INTERVALS", 1)
    begun_s = time.monotonic()
    text = "function thread_init() while true do end end function event() end"
    assert run(script, text, url) == Exit.NOTHING_RUN
    assert time.monotonic() - begun_s < LOOP_ENDED_MAX_S
    assert "an endless loop?" in capfd.readouterr().err
    assert list((home / "runs").iterdir()) == []


@pytest.mark.parametrize(
    ("deed", "limit"),
    [
        # For as long as it waits for the server, the server's own limits hold.
        ("con:query('do sleep(3)')", "BEGINNING_MIN_S"),
        # Computing for longer than an event may.
        ("local till = os.time() + 4 while os.time() < till do end", "SILENCE_MIN_S"),
    ],
)
def test_a_client_may_take_its_time_to_begin(script, url, monkeypatch, deed, limit):
    monkeypatch.setattr(measure, limit, 1.5)
    monkeypatch.setattr(measure, "SILENCE_INTERVALS", 1)
    text = (
        f"function thread_init() con = sysbench.sql.driver():connect() {deed} end"
        " function event() con:query('select 1') end"
    )
    # Each interval is heard of: those of a busy host may be late by more than a second.
    assert run(script, text, url, "--interval", "200ms") == Exit.OK


def test_options_are_the_scripts_own_and_sysbenchs(script, url, capfd):
    text = HEAD + (
        "sysbench.cmdline.options = {rows = {'How many', 5}}\n"
        "function event() assert(sysbench.opt.rows == 7 and sysbench.opt.threads == 2)"
        " con:query('select 1') end"
    )
    assert run(script, text, url, "--", "--rows=7", "--threads=3", "--verbosity=5") == Exit.OK
    output = capfd.readouterr().err
    assert "-c overrides --threads=3" in output
    assert "--verbosity has no effect here and is ignored" in output
    assert run(script, text, url, "--", "--rwos=7") == Exit.NOTHING_RUN
    assert "invalid option: --rwos" in capfd.readouterr().err


def test_our_own_option_wins_also_where_it_is_the_default(script, url, home, capfd):
    text = HEAD + "function event() con:query('select 1') end"
    given = ("-M", "prepared", "--warmup", "3s", "--json", "-t", "1")
    ignored = ("--db-ps-mode=disable", "--warmup-time=1", "--report-interval=9")
    options = ("--target", url, "-c", "1", "--telemetry", "off", "-P", "0")
    script.write_text(text, encoding="utf-8")
    assert main(["run", str(script), *given, *options, "--", *ignored]) in ENDED
    output = capfd.readouterr()
    for flag, name in (("-M", ignored[0]), ("--warmup", ignored[1]), ("-P", ignored[2])):
        assert f"{flag} overrides {name}" in output.err
    folder = home / "runs" / json.loads(output.out)["run_id"]
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    assert (plan["query_mode"], plan["warmup_ns"]) == ("prepared", 3 * 10**9)


def test_commands_are_done_and_help_needs_no_server(script, url, capfd):
    text = (
        "function prepare()"
        " sysbench.sql.driver():connect():query('create table mine (n int)') end\n"
        "function cleanup() sysbench.sql.driver():connect():query('drop table mine') end\n"
        "function event() end"
    )
    script.write_text(text, encoding="utf-8")
    assert main(["load", str(script), "--target", url]) == Exit.OK
    assert main(["load", str(script), "--target", url]) == Exit.NOTHING_RUN
    assert "already exists" in capfd.readouterr().err
    named = ("--mysql-user=loader", f"--mysql-socket={url.partition('socket=')[2]}")
    assert main(["load", str(script), "--replace", "--", *named]) == Exit.OK
    assert main(["load", str(script)]) == Exit.NOTHING_RUN
    assert "load needs a database that keeps running" in capfd.readouterr().err
    assert main(["script", str(script), "cleanup", "--target", url]) == Exit.OK
    assert main(["script", str(script), "nonsense"]) == Exit.NOTHING_RUN
    assert "has no command 'nonsense'" in capfd.readouterr().err
    assert main(["script", str(script), "cleanup"]) == Exit.NOTHING_RUN
    assert "script needs a database that keeps running" in capfd.readouterr().err
    assert main(["script", str(script), "help"]) == Exit.OK
    assert "mine.lua options:" in capfd.readouterr().out


def test_a_script_may_look_up_where_it_is(script, url, capfd):
    text = "print(sysbench.opt.mysql_user, sysbench.opt.mysql_db, sysbench.opt.mysql_socket[1])"
    script.write_text(f"function prepare() {text} end function event() end", "utf-8")
    assert main(["load", str(script), "--target", url]) == Exit.OK
    output = "\t".join(("loader", "sbtest", url.partition("socket=")[2]))
    assert output in capfd.readouterr().err


def test_a_failing_help_reports_its_place_once(script, capfd):
    script.write_text("function help() error('no words') end function event() end", "utf-8")
    assert main(["script", str(script), "help"]) == Exit.NOTHING_RUN
    assert "error: mine.lua:1: no words" in capfd.readouterr().err
