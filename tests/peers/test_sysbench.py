"""sysbench and the link of that name, side by side on one server."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.peers.sysbench.program import main
from dbdyno.servers.base import Server
from dbdyno.store.listing import RUNS
from tests.peers.side_by_side import Outcome, link, masked, outcome

SIZE = "--tables=2 --table-size=300"


@pytest.fixture(scope="module")
def peer() -> Path:
    found = shutil.which("sysbench")
    assert found, "install sysbench: apt-get install sysbench"
    return Path(found)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link(tmp_path_factory.mktemp("sysbench"), "sysbench")


@pytest.fixture(scope="module")
def login(postgres_server: Server) -> str:
    endpoint = postgres_server.endpoint()
    assert endpoint.address.unix
    folder, _, port = endpoint.address.unix.path.rpartition("/.s.PGSQL.")
    return (
        f"--db-driver=pgsql --pgsql-host={folder} --pgsql-port={port} "
        f"--pgsql-user={endpoint.user} --pgsql-db={endpoint.database}"
    )


def shape(ended: Outcome) -> tuple[int, list[str]]:
    """Without numbers, the version, and rows of a histogram."""
    lines = [re.sub(r"\(using .*\)", "", line) for line in ended.out.splitlines()]
    return ended.code, [masked(line) for line in lines if not re.match(r" +\d+\.\d+ \|", line)]


@pytest.fixture(scope="module")
def tables(peer: Path, own: Path, login: str) -> Iterator[None]:
    """What is prepared by one is cleaned up by the other."""
    prepared = outcome(own, f"oltp_read_write {login} {SIZE} prepare".split())
    assert prepared.code == 0, prepared.out
    yield
    cleaned = outcome(peer, f"oltp_read_write {login} {SIZE} cleanup".split())
    assert cleaned.code == 0, cleaned.out
    assert cleaned.out.splitlines()[-2:] == DROPPED


DROPPED = ["Dropping table 'sbtest1'...", "Dropping table 'sbtest2'..."]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "line",
    [
        "oltp_read_write --threads=2 --time=2 --report-interval=1 --rand-type=uniform run",
        "oltp_point_select --time=2 --rate=50 --report-interval=1 --report-checkpoints=1 "
        "--percentile=99 --histogram run",
        "oltp_point_select --events=50 --time=0 --percentile=0 --rand-seed=5 run",
    ],
)
def test_a_run_has_sysbench_s_output(peer: Path, own: Path, login: str, line: str) -> None:
    words = f"{line} {login} {SIZE}".split()
    theirs, ours = outcome(peer, words), outcome(own, words)
    # The last second of a run has a line or not, as it happens.
    assert ours.code == theirs.code == 0, ours
    without_lines = (
        [text for text in shape(ended)[1] if not text.startswith("[ N s ] thds")]
        for ended in (ours, theirs)
    )
    mine, expected = ({*lines} for lines in without_lines)
    assert mine == expected
    interim = ({masked(t) for t in o.out.splitlines() if "thds" in t} for o in (ours, theirs))
    assert len({*map(frozenset, interim)}) == 1


@pytest.mark.usefixtures("tables")
def test_the_numbers_of_a_report_fit_together(own: Path, login: str, home: Path) -> None:
    words = f"oltp_read_write --threads=2 --events=40 --time=0 {login} {SIZE} run".split()
    ended = outcome(own, words)
    assert ended.code == 0, ended.out
    found = {
        name.strip(): int(number)
        for name, number in re.findall(r"^ +([a-z :]+?): +(\d+)\b", ended.out, re.MULTILINE)
    }
    assert found["total number of events"] == found["transactions"] == 40
    assert found["total"] == found["queries"] == found["read"] + found["write"] + found["other"]
    assert found["read"] >= 40 * 14
    assert len([*(home / RUNS).iterdir()]) == 1


@pytest.mark.parametrize(
    "line",
    [
        "oltp_read_write --threads=x run",
        "oltp_read_write run extra",
        "nosuch run",
        "--version",
        "oltp_read_write help",
        "oltp_read_write --pgsql-host=/nowhere --db-driver=pgsql run",
        "oltp_read_write --bogus=3 --db-driver=pgsql run",
        "oltp_read_write --db-driver=pgsql nosuch",
        "oltp_read_write --db-driver=pgsql",
    ],
)
def test_what_ends_without_a_run_ends_with_the_same_code(peer: Path, own: Path, line: str) -> None:
    theirs, ours = (outcome(program, shlex.split(line)) for program in (peer, own))
    assert ours.code == theirs.code, ours
    assert ours.err.partition("=")[0].strip() == theirs.err.partition("=")[0].strip()


SAID_BY_BOTH = [
    "--percentile=101",
    "--percentile=-1",
    "--percentile=99.9",
    "--percentile=0 --histogram",
    "--threads=0 --percentile=0 --histogram",
    "--threads=0",
    "--threads=",
    "--threads=x",
    "--nosuch=1",
    "--no_such=1",
    "--nosuch",
    "--report-interval=x",
    "--report_interval=1.5",
    "--tx-rate=x",
    "--max_requests=x",
    "--rand-seed=x",
    "--rand-type=nosuch",
    "--verbosity=9",
    "--forced-shutdown=x",
    "--report-checkpoints=3,x",
    "extra",
]


def of_main(words: list[str], capfd: pytest.CaptureFixture[str]) -> Outcome:
    """What our program does in this process."""
    return Outcome(main(words), *capfd.readouterr())


def without_version(ended: Outcome) -> Outcome:
    """Without the version of what runs Lua."""
    return ended._replace(out=re.sub(r"\(using .*\)", "", ended.out))


@pytest.mark.parametrize("wrong", SAID_BY_BOTH)
def test_an_option_that_is_wrong_is_refused_in_sysbench_s_words(
    peer: Path, capfd: pytest.CaptureFixture[str], wrong: str
) -> None:
    words = f"oltp_read_write --db-driver=pgsql --pgsql-host=/nowhere {wrong} run".split()
    ours = of_main(words, capfd)
    assert without_version(ours) == without_version(outcome(peer, words))


@pytest.mark.parametrize(
    "line",
    [
        "--report_interval=2 --forced-shutdown=5 --rate=7 --rand-seed=4",
        "--num-threads=3 --max-time=4 --report-checkpoints=5,3 --forced-shutdown",
        "--time=0 --forced-shutdown=5",
        "--time= --forced-shutdown=off",
    ],
)
def test_what_is_said_before_a_run_is_the_same(
    peer: Path, capfd: pytest.CaptureFixture[str], line: str
) -> None:
    words = f"oltp_read_write --db-driver=pgsql --pgsql-host=/nowhere {line} run".split()
    mine, theirs = (
        without_version(ended) for ended in (of_main(words, capfd), outcome(peer, words))
    )
    assert mine.code == theirs.code == 1
    assert mine.out.partition("FATAL")[0] == theirs.out.partition("FATAL")[0]
    assert mine.err == theirs.err == ""


@pytest.mark.parametrize(
    "script",
    [
        "bulk_insert",
        "oltp_delete",
        "oltp_insert",
        "oltp_point_select",
        "oltp_read_only",
        "oltp_read_write",
        "oltp_update_index",
        "oltp_update_non_index",
        "oltp_write_only",
        "select_random_points",
        "select_random_ranges",
    ],
)
def test_each_script_does_on_mariadb_what_it_does_with_sysbench(
    mariadb_server: Server, peer: Path, capfd: pytest.CaptureFixture[str], script: str
) -> None:
    """What is prepared by one is cleaned up by the other."""
    endpoint = mariadb_server.endpoint()
    assert endpoint.address.unix
    tables = 1 if script.startswith("select_random") else 2
    size = "" if script == "bulk_insert" else f"--tables={tables} --table-size=100"
    begin = (
        f"{script} --mysql-socket={endpoint.address.unix.path} --mysql-user={endpoint.user} "
        f"--mysql-db={endpoint.database} {size} --rand-type=uniform"
    )

    def ours(command: str) -> Outcome:
        return of_main(f"{begin} {command}".split(), capfd)

    def theirs(command: str) -> Outcome:
        return outcome(peer, f"{begin} {command}".split())

    # With two threads, lines of the commands would be mixed.
    threads = "--threads=2" if script == "bulk_insert" else ""
    commands = (f"{threads} prepare", "--threads=2 --events=20 run", f"{threads} cleanup")
    turns = [
        [program(command) for program, command in zip(programs, commands, strict=True)]
        for programs in ((ours, ours, theirs), (theirs, theirs, ours))
    ]
    for mine, expected in zip(*turns, strict=True):
        assert mine.code == 0, mine
        assert shape(mine) == shape(expected)


@pytest.fixture(scope="module")
def mysql_tables(mariadb_server: Server, peer: Path) -> Iterator[str]:
    """The begin of command lines on tables that sysbench has prepared."""
    endpoint = mariadb_server.endpoint()
    assert endpoint.address.unix
    begin = (
        f"oltp_read_only --mysql-socket={endpoint.address.unix.path} "
        f"--mysql-user={endpoint.user} --mysql-db={endpoint.database} {SIZE}"
    )
    prepared = outcome(peer, f"{begin} prepare".split())
    assert prepared.code == 0, prepared.out
    yield begin
    outcome(peer, f"{begin} cleanup".split())


@pytest.mark.parametrize(
    "line",
    [
        "--threads=2 --time=2 --rate=40 --report-interval=1",
        "--time=3 --report-checkpoints=1,2",
        "--events=30 --time=0 --percentile=99",
        "--events=30 --time=0 --percentile=0",
        "--events=30 --time=0 --percentile=50 --histogram",
        "--events=30 --time=0 --skip_trx=on --db-ps-mode=disable",
    ],
)
def test_on_mariadb_the_report_has_sysbench_s_lines_too(
    mysql_tables: str, peer: Path, capfd: pytest.CaptureFixture[str], line: str
) -> None:
    words = f"{mysql_tables} {line} run".split()
    theirs = outcome(peer, words)
    mine = of_main(words, capfd)
    # How many interim reports and checkpoints there are depends on when the last second ends.
    assert mine.code == theirs.code == 0, mine
    assert {*shape(mine)[1]} == {*shape(theirs)[1]}


def test_an_error_of_the_server_ends_a_run_of_both(
    mysql_tables: str, peer: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = f"{mysql_tables} --tables=3 --events=500 --time=0 run".split()
    theirs, mine = outcome(peer, words), of_main(words, capfd)
    assert mine.code == theirs.code == 1
    assert "sbtest3" in mine.out + mine.err
    assert "SQL statistics" not in mine.out + theirs.out


OWN_SCRIPT = """\
sysbench.cmdline.options = {rows = {"how many", 3}, words = {"what", {"a", "b"}}}
function prepare()
   local c = sysbench.sql.driver():connect()
   c:query("create table own (n integer)")
   print("made " .. sysbench.opt.rows .. " of " .. table.concat(sysbench.opt.words, "+"))
end
function thread_init()
   con = sysbench.sql.driver():connect()
end
function event()
   con:query("insert into own values (" .. sysbench.opt.rows .. ")")
end
function cleanup()
   sysbench.sql.driver():connect():query("drop table own")
end
"""


@pytest.fixture
def own_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.lua").write_text(OWN_SCRIPT)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["./own.lua", "own.lua", "own"])
@pytest.mark.usefixtures("own_script")
def test_a_script_of_the_user_is_found_where_sysbench_finds_it(
    peer: Path, login: str, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    for command in ("prepare", "--events=5 run", "cleanup", "help"):
        words = f"{name} {login} --rows=7 {command}".split()
        theirs = outcome(peer, words)
        if command == "prepare":
            outcome(peer, f"{name} {login} cleanup".split())
        elif command == "cleanup":
            outcome(peer, f"{name} {login} prepare".split())
        mine = of_main(words, capfd)
        if command == "help":
            assert mine.out.split()[-7:] == theirs.out.split()[-7:]
        else:
            assert shape(mine) == shape(theirs)


@pytest.mark.parametrize("test", ["cpu", "memory", "threads", "mutex", "fileio"])
def test_other_tests_are_refused(own: Path, test: str) -> None:
    ended = outcome(own, [test, "run"])
    assert ended.code == 1
    assert f"the {test} test uses no database" in ended.out
    assert "run it with sysbench itself" in ended.out
