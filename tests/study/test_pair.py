"""``dbdyno pair`` on real servers: hooks before each run, their result, their failures."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from dbdyno.cli import main
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Address, Endpoint, TcpAddress, UnixSocket
from dbdyno.model.study import Turn
from dbdyno.servers.base import Server
from dbdyno.store.studies import list_studies
from dbdyno.store.summary import list_runs
from dbdyno.study.hook import run_hook

pytestmark = pytest.mark.usefixtures("home", "own_signals")

ROWS = 400_000  # looking at each takes much longer than anything else a busy host delays
SHORT = ("-c", "2", "-T", "1", "--warmup", "0s")
DROP = "psql -qc 'drop index if exists items_n'"
CREATE = "psql -qc 'create index if not exists items_n on items (n)'"


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "lookup.sql"
    path.write_text(f"\\set n random(1, {ROWS})\nselect count(*) from items where n = :n;\n")
    return path


@pytest.fixture
def rare(tmp_path):
    """A load that leaves the host to other tests, where it does not matter how much it does."""
    path = tmp_path / "rare.sql"
    path.write_text("select count(*) from items where id = 1;\n\\sleep 20 ms\n")
    return path


@pytest.fixture
def target(database):
    """A database with a table whose rows are looked up by a column without an index."""
    with closing(database.connect()) as connection:
        connection.execute("create table items (id int primary key, n int, filler char(80))")
        connection.execute(f"insert into items select n, n, '' from generate_series(1, {ROWS}) n")
        connection.execute("analyze items")
    return database.url


def answer(capsys, *arguments):
    capsys.readouterr()
    code = main(["pair", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def of_one_product(capsys, script, url, before, after):
    code, out, err = answer(
        *(capsys, script, "--target", url, *SHORT, "--pairs", "2", "--json"),
        *("--metric", "tps", "--before", before, "--after", after),
    )
    assert code == 0, out + err
    found = json.loads(out)
    assert (found["before"], found["after"], found["paired"]) == ("before", "after", True)
    assert found["metrics"][0]["ratio"] > 4
    assert [line for line in found["unequal"] if "index items_n of items is absent" in line]
    return found


def test_postgresql_the_planted_difference_is_found_with_the_index_and_the_plan(
    capsys, script, target, tmp_path
):
    found = of_one_product(capsys, script, target, DROP, CREATE)
    (plan,) = (line for line in found["unequal"] if line.startswith("Different plan"))
    assert "Seq Scan on items" in plan
    assert "using items_n" in plan
    assert re.fullmatch(r"dbdyno pair --resume \S+-pair-\S+ --pairs \d+|", found["decide_with"])


def test_mariadb_the_planted_difference_is_found_with_the_index_and_the_plan(
    capsys, script, mariadb_server, new_database
):
    database = new_database(mariadb_server)
    with closing(database.connect()) as connection:
        connection.execute("create table items (id int primary key, n int, filler char(80))")
        connection.execute(f"insert into items select seq, seq, '' from seq_1_to_{ROWS}")
        connection.execute("analyze table items")
    found = of_one_product(
        *(capsys, script, database.url),
        "mariadb -e 'alter table items drop index if exists items_n'",
        "mariadb -e 'alter table items add index if not exists items_n (n)'",
    )
    (plan,) = (line for line in found["unequal"] if line.startswith("Different plan"))
    assert "ALL on items" in plan
    assert "using items_n" in plan


def test_a_hook_that_fails_stops_with_its_output_and_the_state_and_can_be_resumed(
    capsys, rare, target, tmp_path
):
    """The cause lies outside of the command: once it is gone, the same pair continues."""
    ready = tmp_path / "ready"
    after = f"test -e {ready} || psql -qc 'select 1 from nosuch'"
    code, out, err = answer(
        *(capsys, rare, "--target", target, *SHORT, "--pairs", "3"),
        *("--before", "true", "--after", after, "--metric", "tps"),
    )
    assert (code, out) == (2, "")
    assert re.search(r"stopped: the hook of pair 1, after, failed with exit code 1: test -e", err)
    assert 'ERROR:  relation "nosuch" does not exist' in err
    assert "apart from what this one did until it failed" in err
    (study,) = list_studies()
    assert f"To continue: dbdyno pair --resume {study.study_id}" in err
    assert study.stopped["code"] == "hook_failed"
    done = len(list_runs())
    assert done < 6

    ready.touch()
    page = tmp_path / "pair.html"
    code, out, err = answer(capsys, "--resume", "last", "--report", page, "--metric", "tps")
    assert code == 0, out + err
    assert out.startswith("after against before")
    assert len(list_runs()) == 6
    assert "after against before" in page.read_text()
    code, _, err = answer(capsys, "--resume", "last")
    assert (code, f"dbdyno pair --resume {study.study_id} --pairs 6" in err) == (1, True)


def test_pairs_are_added_until_the_interval_is_narrow_enough(capsys, rare, target):
    wide = ("--before", "true", "--after", "true", "--metric", "round_trips")
    code, out, err = answer(
        *(capsys, rare, "--target", target, *SHORT, "--pairs", "2", "--json"),
        *(*wide, "--precision", "20%"),
    )
    assert code == 0, out + err
    # Two pairs are too few for an interval that means anything.
    assert json.loads(out)["metrics"][0]["pairs"] == 3
    assert "2 pairs: the interval is unknown, one more pair" in err


def test_on_private_servers_each_run_has_the_data_and_the_hook_its_server(capsys, tmp_path):
    log = tmp_path / "log"
    after = (
        f'echo "$DBDYNO_SIDE $DBDYNO_PAIR $PGHOST" >> {log};'
        "psql -qc 'create index on pgbench_accounts (bid)'"  # without "if": the server is new
    )
    code, out, err = answer(
        *(capsys, "select-only", "-s", "1", *SHORT, "--pairs", "2", "--json"),
        *("--metric", "tps", "--before", "true", "--after", after),
    )
    assert code == 0, out + err
    places = [line.split() for line in log.read_text().splitlines()]
    assert [place[:2] for place in places] == [["after", "1"], ["after", "2"]]
    assert places[0][2] != places[1][2]
    first, *others = json.loads(out)["unequal"]
    assert first.startswith("Different schema: index pgbench_accounts_bid_idx")
    assert not others


TWO_TARGETS = "postgresql://c/d,postgresql://a:tiger@e/f"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("tpcb", "--after", "true"), "--before is missing"),
        (("tpcb", "--before", "true"), "--after is missing"),
        (("tpcb", "--before", "true", "--after", "true", "--pairs", "0"), "must be at least 1"),
        (("tpcb", "--resume", "last"), "load and commands cannot be given again"),
        (("tpcb", "--before", "true", "--after", "true", "--precision", "0%"), "above 0"),
        (("nosuch", "--before", "true", "--after", "true"), "nosuch"),
        (
            ("tpcb", "--before", "true", "--after", "true", "--target", "postgresql://a:b@c/d"),
            "contain a password",
        ),
        (
            ("tpcb", "--before", "true", "--after", "true", "-D", "password=tiger"),
            "contain a password",
        ),
        (
            ("tpcb", "--before", "true", "--after", "true", "--target", TWO_TARGETS),
            "contain a password",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_run(capsys, arguments, problem):
    code, _, err = answer(capsys, *arguments)
    assert code == 1
    assert problem in err
    assert list_studies() == []


def hooked(hook, endpoint):
    server = Server(kind="existing", conninfo="", resolved=endpoint)
    run_hook(hook, Turn(number=4, block=2, point="side=after", seed=1), server, None)


def test_the_environment_of_a_hook_leads_libpq_to_the_server(monkeypatch, tmp_path):
    monkeypatch.setenv("PGSERVICE", "elsewhere")
    address = Address(unix=UnixSocket(path="/tmp/x/.s.PGSQL.5433"))
    endpoint = Endpoint(address=address, user="me", password="secret", database="app")
    hooked(f"env > {tmp_path / 'seen'}", endpoint)
    lines = (tmp_path / "seen").read_text().splitlines()
    seen = dict(line.split("=", 1) for line in lines if "=" in line)
    assert (
        seen.items()
        >= {
            "PGHOST": "/tmp/x",
            "PGPORT": "5433",
            "PGUSER": "me",
            "PGDATABASE": "app",
            "PGPASSWORD": "secret",
            "DBDYNO_SIDE": "after",
            "DBDYNO_PAIR": "2",
        }.items()
    )
    assert "secret" not in seen["DBDYNO_TARGET"]
    assert "PGSERVICE" not in seen


def test_the_option_file_of_a_hook_leads_mariadbs_programs_to_the_server(tmp_path):
    address = Address(tcp=TcpAddress(host="db", port=3307))
    endpoint = Endpoint(
        protocol="mysql", address=address, user="me", password='a"b\\c', database="app"
    )
    hooked(
        f"mariadb --print-defaults > {tmp_path / 'seen'}; my_print_defaults client >> "
        f"{tmp_path / 'seen'}; echo $MYSQL_HOME > {tmp_path / 'folder'}",
        endpoint,
    )
    seen = (tmp_path / "seen").read_text()
    for option in ("--user=me", "--host=db", "--port=3307", "--database=app", 'a"b\\c'):
        assert option in seen
    assert not Path((tmp_path / "folder").read_text().strip()).exists()


def test_the_password_is_masked_in_the_output_of_a_hook_that_fails():
    address = Address(unix=UnixSocket(path="/tmp/x/.s.PGSQL.5433"))
    endpoint = Endpoint(address=address, user="me", password="secret", database="app")
    with pytest.raises(DbdynoError) as caught:
        hooked("echo the password is $PGPASSWORD, as in -p$PGPASSWORD; exit 3", endpoint)
    assert "failed with exit code 3" in caught.value.message
    assert "the password is ***, as in -p***" in caught.value.message
