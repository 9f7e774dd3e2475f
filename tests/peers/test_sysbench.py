"""sysbench and the link of that name, side by side on one server."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("test", ["cpu", "memory", "threads", "mutex", "fileio"])
def test_other_tests_are_refused(own: Path, test: str) -> None:
    ended = outcome(own, [test, "run"])
    assert ended.code == 1
    assert f"the {test} test uses no database" in ended.out
    assert "run it with sysbench itself" in ended.out
