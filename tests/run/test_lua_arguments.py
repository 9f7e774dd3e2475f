"""Arguments after ``--``: read, distinguished, and processed once."""

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Lua
from dbdyno.run.grammar import WeightedName
from dbdyno.run.lua.arguments import equip
from dbdyno.run.lua.script_commands import ask
from dbdyno.run.options import SECOND_NS, RunOptions
from dbdyno.run.work import Work

WORK = Work(
    workload=None, weight=0, files=(), given={}, variables={}, lua=Lua(path="my.lua", modules={})
)


def equipped(*tokens: str, **options) -> tuple[RunOptions, Work, list[str]]:
    said: list[str] = []
    return *equip(RunOptions(script_options=tokens, **options), WORK, said.append), said


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
def test_what_none_of_them_takes_is_refused_in_words(tokens, expected):
    with pytest.raises(DbdynoError) as refused:
        equipped(*tokens)
    assert expected in str(refused.value)


def test_what_is_dealt_with_is_an_option_of_ours_and_no_more_the_scripts():
    theirs = ("--tables=4", "--rand-type=uniform")
    given = (*theirs, "--num-threads=6", "--time=20", "--rand-seed=3", "--db-ps-mode=disable")
    who = ("--db-driver=pgsql", "--pgsql-host=far", "--pgsql-password=secret", "--debug=on")
    options, work, said = equipped(*given, *who)
    assert options.script_options == theirs
    assert (options.clients, options.duration_ns, options.seed) == (6, 20 * SECOND_NS, 3)
    assert options.query_mode == "simple"
    assert options.target == "postgresql://sbtest:secret@far/sbtest"
    assert work.lua.arguments == {
        "tables": "4",
        "rand_type": "uniform",
        "threads": "6",
        "time": "20",
        "rate": "0",
        "warmup_time": "3",
        "report_interval": "1",
        "rand_seed": "3",
        "db_ps_mode": "disable",
    }
    assert said == ["--debug has no effect here and is ignored"]


def test_to_equip_again_changes_and_says_nothing():
    given = ("--tables=4", "--threads=2", "--events=7", "--db-driver=mysql", "--rand-seed=3")
    once, work, _ = equipped(*given)
    said: list[str] = []
    assert equip(once, WORK, said.append) == (once, work)
    assert said == []


def test_events_are_those_of_all_threads_and_end_the_run_instead_of_a_time():
    options, work, said = equipped("--threads=4", "--events=10", "--time=60")
    assert (options.clients, options.transactions, options.duration_ns) == (4, 3, None)
    assert work.lua.arguments["time"] == "0"
    assert said == ["--events overrides --time"]


def test_our_own_target_wins():
    server = "mysql://me@here/db"
    options, _, said = equipped("--mysql-host=there", target=server)
    assert options.target == server
    assert said == ["--target overrides --mysql-host"]
    _, _, said = equipped("--mysql-host=there", "--mysql-user=you", target=server)
    assert said == ["--target overrides --mysql-host, --mysql-user"]


@pytest.mark.parametrize("tokens", [("--time=60",), ("--time=0",)])
def test_our_own_bound_wins(tokens):
    options, _, said = equipped(*tokens, transactions=5)
    assert (options.transactions, options.duration_ns) == (5, None)
    assert bool(said) == (tokens == ("--time=60",))


@pytest.mark.parametrize("token", ["--threads=4", "--num-threads=4"])
def test_a_command_has_one_thread_unless_more_are_given(tmp_path, token):
    script = tmp_path / "my.lua"
    script.write_text("function event() end")
    item, said = WeightedName(str(script), 1), []
    asked = ask(item, RunOptions(script_options=(token,)), said.append)
    assert (asked.options.clients, said) == (4, [])
    assert ask(item, RunOptions(), said.append).options.clients == 1
