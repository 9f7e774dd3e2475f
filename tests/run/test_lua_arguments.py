"""Arguments after ``--``: read, distinguished, and processed once."""

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Lua
from dbdyno.run.job import read_job
from dbdyno.run.lua.arguments import equip, with_general_arguments
from dbdyno.run.lua.script_commands import for_commands
from dbdyno.run.lua.script_files import modules_for
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.work import Work

WORK = Work(
    workload=None, weight=0, files=(), given={}, variables={}, lua=Lua(path="my.lua", modules={})
)


def equipped(*tokens: str, **options) -> tuple[RunOptions, dict[str, str], list[str]]:
    """Return our options, the arguments that the script gets, and the messages."""
    messages: list[str] = []
    ours, work = equip(RunOptions(script_options=tokens, **options), WORK, messages.append)
    return ours, with_general_arguments(work.lua, ours).arguments, messages


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (("--threads=abc", "--events=10"), "Give a positive integer"),
        (("--threads=0", "--events=10"), "Give a positive integer"),
        (("--num-threads=-2",), "--threads cannot be"),
        (("--events=-1",), "--events cannot be"),
        (("--rand-seed=x",), "--rand-seed cannot be"),
        (("--time=inf",), "Give a number of seconds"),
        (("--time=-5",), "--time cannot be"),
        (("--time=0",), "--time=0 sets no end"),
        (("--time=0.0",), "--time=0 sets no end"),
        (("--warmup-time=-3",), "--warmup-time cannot be"),
        (("--report-interval=1e99",), "--report-interval cannot be"),
        (("--db-ps-mode=off",), "Give auto or disable"),
        (("--=5",), "is not a script option"),
    ],
)
def test_an_option_that_nothing_takes_is_refused_with_an_explanation(tokens, expected):
    with pytest.raises(DbdynoError) as refused:
        equipped(*tokens)
    assert expected in str(refused.value)


def test_an_adopted_option_is_no_longer_passed_to_the_script():
    for_script = ("--tables=4", "--rand-type=uniform")
    given = (*for_script, "--num-threads=6", "--time=20", "--rand-seed=3", "--db-ps-mode=disable")
    who = ("--db-driver=pgsql", "--pgsql-host=far", "--pgsql-password=secret", "--debug=on")
    options, arguments, messages = equipped(*given, *who)
    assert options.script_options == for_script
    assert (options.clients, options.duration_ns, options.seed) == (6, 20 * SECOND_NS, 3)
    assert options.query_mode == "simple"
    assert options.target == "postgresql://sbtest:secret@far/sbtest"
    assert arguments == {
        "tables": "4",
        "rand_type": "uniform",
        "threads": "6",
        "events": "0",
        "time": "20",
        "rate": "0",
        "warmup_time": "3",
        "report_interval": "1",
        "rand_seed": "3",
        "db_ps_mode": "disable",
    }
    assert messages == ["--debug has no effect here and is ignored"]


def test_the_script_gets_the_options_that_its_job_has_by_then(tmp_path):
    """A study's turn has its own seed, and a trial of a search its own rate and length."""
    script = tmp_path / "my.lua"
    script.write_text("function event() end")
    given = RunOptions(script_options=("--tables=4", "--rand-seed=3"))
    job = read_job([WeightedName(str(script), 1)], given, print)
    changed = job.with_options(seed=5, rate_tps=250.0, duration_ns=20 * SECOND_NS)
    arguments = [one.draft.lua.arguments for one in (job, changed)]
    assert [(a["tables"], a["rand_seed"], a["rate"], a["time"]) for a in arguments] == [
        ("4", "3", "0", "30"),
        ("4", "5", "250", "20"),
    ]
    assert changed.seed == 5


def test_events_are_those_of_all_threads_and_end_the_run_instead_of_a_time():
    options, arguments, messages = equipped("--threads=4", "--events=10", "--time=60")
    assert (options.clients, options.transactions, options.duration_ns) == (4, 3, None)
    assert (arguments["time"], arguments["events"]) == ("0", "12")
    assert messages == ["--events overrides --time"]


@pytest.mark.parametrize(
    ("given", "target"),
    [
        (("--mysql-port=3310",), "mysql://sbtest@localhost/sbtest"),
        (("--mysql-port=3310", "--mysql-host=there"), "mysql://sbtest@there:3310/sbtest"),
        (("--pgsql-port=5433",), "postgresql://sbtest@localhost:5433/sbtest"),
    ],
)
def test_mysql_on_localhost_is_the_socket_whatever_the_port(given, target):
    assert equipped(*given)[0].target == target


@pytest.mark.parametrize(
    ("given", "targets"),
    [
        (
            ("--mysql-host=a,b", "--mysql-port=3306,3307"),
            ["sbtest@a:3306", "sbtest@a:3307", "sbtest@b:3306", "sbtest@b:3307"],
        ),
        (("--mysql-socket=/a,/b", "--mysql-host=c"), ["?socket=%2Fa", "?socket=%2Fb"]),
        (("--pgsql-host=a,b", "--pgsql-port=5433"), ["sbtest@a:5433", "sbtest@b:5433"]),
        (("--pgsql-host=/a,b", "--pgsql-port=1,2"), ["sbtest@:1/sbtest?host=%2Fa", "sbtest@b:2"]),
    ],
)
def test_a_list_names_several_servers_in_sysbenchs_order(given, targets):
    options, _, _ = equipped(*given)
    named = [options.target, *options.further_targets]
    assert len(named) == len(targets)
    assert all(part in url for part, url in zip(targets, named, strict=True)), named


def test_ports_of_postgresql_are_one_for_each_host():
    with pytest.raises(DbdynoError, match="names 3 hosts and --pgsql-port 2 ports"):
        equipped("--pgsql-host=a,b,c", "--pgsql-port=1,2")


def test_our_own_target_wins():
    server = "mysql://me@here/db"
    options, _, messages = equipped("--mysql-host=there", target=server)
    assert options.target == server
    assert messages == ["--target overrides --mysql-host"]
    _, _, messages = equipped("--mysql-host=there", "--mysql-user=you", target=server)
    assert messages == ["--target overrides --mysql-host, --mysql-user"]


@pytest.mark.parametrize("tokens", [("--time=60",), ("--time=0",)])
def test_our_own_bound_wins(tokens):
    options, _, messages = equipped(*tokens, transactions=5)
    assert (options.transactions, options.duration_ns) == (5, None)
    assert bool(messages) == (tokens == ("--time=60",))


@pytest.mark.parametrize("token", ["--threads=4", "--num-threads=4"])
def test_a_command_has_one_thread_unless_more_are_given(tmp_path, token):
    script = tmp_path / "my.lua"
    script.write_text("function event() end")
    item, messages = WeightedName(str(script), 1), []
    given = for_commands(RunOptions(script_options=(token,)))
    assert (read_job([item], given, messages.append).clients, messages) == (4, [])
    assert read_job([item], for_commands(RunOptions()), messages.append).clients == 1


def test_a_configuration_file_gives_general_options_that_the_command_line_overrides(tmp_path):
    file = tmp_path / "sysbench.conf"
    file.write_text(
        "# of all runs\nthreads=4\nmysql-host=there\nrand-type=uniform\ntables=9\n[x]\n"
    )
    given = (f"--config-file={file}", "--threads=6", "--time=20")
    options, arguments, messages = equipped(*given)
    assert (options.clients, options.duration_ns, messages) == (6, 20 * SECOND_NS, [])
    assert options.target == "mysql://sbtest@there/sbtest"
    assert options.script_options == ("--rand-type=uniform",)
    assert "tables" not in arguments, "sysbench applies only its general options"
    assert "config_file" not in arguments
    with pytest.raises(DbdynoError, match=r"cannot read --config-file=.*none: No such file"):
        equipped(f"--config-file={tmp_path}/none")


def test_modules_come_from_every_folder_that_sysbench_would_search(tmp_path, monkeypatch):
    script = tmp_path / "scripts/my.lua"
    files = ("cwd", "lib/listed", "far/added", "far/deep/init", "near/run", "near/unmentioned")
    files += ("scripts/a/b/c", "far/a/b/c", "far/x/y/z/init", "far/x/y/other")
    for name in files:
        path = tmp_path / f"{name}.lua"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"return '{name}'")
    script.parent.mkdir(exist_ok=True)
    script.write_text(
        f"""package.path = package.path .. ";{tmp_path}/far/?.lua"
        require('cwd') require("listed") require("added") require("deep")
        require("a.b.c") require 'x.y.z'
        dofile('../near/run.lua')"""
    )
    (tmp_path / "here").mkdir()
    (tmp_path / "cwd.lua").rename(tmp_path / "here/cwd.lua")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("LUA_PATH", f"{tmp_path}/lib/?.lua;;")
    modules = modules_for(script, script.read_text())
    wanted = {"cwd": "cwd", "listed": "lib/listed", "added": "far/added", "deep": "far/deep/init"}
    wanted |= {"run": "near/run", "a.b.c": "scripts/a/b/c", "x.y.z": "far/x/y/z/init"}
    assert {name: modules[name] for name in wanted} == {
        name: f"return '{path}'" for name, path in wanted.items()
    }
    assert not modules.keys() & {"unmentioned", "x.y.other"}
