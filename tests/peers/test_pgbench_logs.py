"""The files of ``-l``, side by side with pgbench's."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.servers.base import Server
from tests.peers.side_by_side import PGBENCH, link, masked, outcome

HARNESS = """
"$PGBENCH" -f select.sql -T 1 -n -l -c 2 -j 2 -M prepared -s 1 "$DATABASE" > results.txt 2>&1 &
P=$!
wait $P
cat "pgbench_log.$P" "pgbench_log.$P.1" > timing.csv
grep -c . timing.csv
grep '^tps = .* (without initial connection time)$' results.txt | cut -d' ' -f3
grep '^number of transactions actually processed:' results.txt | cut -d: -f2
"""


@pytest.fixture(scope="module")
def pgbench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link(tmp_path_factory.mktemp("logs"), "pgbench")


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    (tmp_path / "sleeps.sql").write_text("select pg_sleep(0.001 * random());\n")
    (tmp_path / "fails.sql").write_text(
        "do $$ begin raise exception using errcode = case when random() < 0.5 then '40001' "
        "else '40P01' end; end $$;\n"
    )
    return tmp_path


def logged(program: Path, line: str, server: Server, folder: Path) -> dict[str, list[str]]:
    """The lines of each file, by its name without the process, which is removed."""
    ended = outcome(program, [*line.split(), server.conninfo], folder)
    assert ended.code == 0, ended.err
    found = {}
    for file in sorted(folder.glob("*log*")):
        found[re.sub(r"\.\d+", ".N", file.name, count=1)] = file.read_text().splitlines()
        file.unlink()
    return found


def columns(lines: list[str]) -> Iterator[tuple[str, ...]]:
    for line in lines:
        yield tuple(word if word.isalpha() else "N" for word in line.split(" "))


@pytest.mark.parametrize(
    "line",
    [
        "-n -l -t 8 -c 3 -j 2 -f sleeps.sql",
        "-n -l -t 8 -f sleeps.sql -R 500 --log-prefix=mine_log",
        "-n -l -t 8 -f sleeps.sql -R 5000 -L 0.5 --max-tries=2",
        "-n -l -t 8 -f fails.sql -f sleeps.sql@0",
        "-n -l -t 8 -c 2 -f fails.sql --failures-detailed --max-tries=3",
    ],
)
def test_each_transaction_has_a_line(
    embedded_server: Server, scripts: Path, pgbench: Path, line: str
) -> None:
    theirs, own = (
        logged(program, line, embedded_server, scripts) for program in (PGBENCH, pgbench)
    )
    assert own.keys() == theirs.keys()
    for name, lines in own.items():
        assert len(lines) == len(theirs[name])
        own_words, their_words = ({*columns(of)} for of in (lines, theirs[name]))
        # Chance decides which of the ways of failing is seen.
        assert {len(words) for words in own_words} == {len(words) for words in their_words}
        assert {word for words in own_words ^ their_words for word in words} <= {
            *("N", "skipped", "serialization", "deadlock")
        }
        clients = {words.split()[0] for words in lines}
        assert clients == {words.split()[0] for words in theirs[name]}
        for client in clients:
            numbers = [words.split()[1] for words in lines if words.split()[0] == client]
            assert numbers == [*map(str, range(len(numbers)))]
        assert [masked(words) for words in lines if "failed" in words] == [
            masked(words) for words in theirs[name] if "failed" in words
        ]


def test_a_line_says_when_a_transaction_ended_and_how_long_it_took(
    embedded_server: Server, scripts: Path, pgbench: Path
) -> None:
    (scripts / "sleeps.sql").write_text("select pg_sleep(0.02);\n")
    line = "-n -l -t 5 -f sleeps.sql"
    (lines,) = logged(pgbench, line, embedded_server, scripts).values()
    rows = [[*map(int, words.split())] for words in lines]
    ends_us = [seconds * 1_000_000 + us for *_, seconds, us in rows]
    for (_, _, took_us, *_), before_us, end_us in zip(rows[1:], ends_us, ends_us[1:], strict=False):
        assert took_us >= 20_000
        assert end_us - before_us >= took_us - 1


@pytest.mark.parametrize(
    "line",
    [
        "-n -l -T 2 --aggregate-interval=1 -c 3 -j 2 -f sleeps.sql",
        "-n -l -T 2 --aggregate-interval=1 -R 200 -L 1 -f sleeps.sql --max-tries=2",
    ],
)
def test_each_second_has_a_line(
    embedded_server: Server, scripts: Path, pgbench: Path, line: str
) -> None:
    theirs, own = (
        logged(program, line, embedded_server, scripts) for program in (PGBENCH, pgbench)
    )
    assert own.keys() == theirs.keys()
    for name, lines in own.items():
        rows = [[*map(int, words.split())] for words in lines]
        their_rows = [[*map(int, words.split())] for words in theirs[name]]
        assert {len(row) for row in rows} == {len(row) for row in their_rows} == {15}
        for begin_s, count, total, squares, least, most, *rest in rows[:2]:
            assert rows[0][0] <= begin_s <= rows[0][0] + 1
            assert count * least <= total <= count * most
            assert total**2 <= count * squares * 1.001 + 1
            assert any(rest[:4]) == ("-R" in line)


def test_a_sample_has_so_many_lines(embedded_server: Server, scripts: Path, pgbench: Path) -> None:
    (scripts / "sleeps.sql").write_text("select 1;\n")
    line = "-n -l -t 400 -f sleeps.sql --sampling-rate=0.25"
    (lines,) = logged(pgbench, line, embedded_server, scripts).values()
    # Beyond these bounds is one run in millions.
    assert 50 < len(lines) < 160


def test_a_harness_finds_its_files_and_figures(
    embedded_server: Server, tmp_path: Path, pgbench: Path
) -> None:
    """As harnesses do: in the background, with the logs named by the shell's last process."""
    (tmp_path / "select.sql").write_text("\\set x random(1, :scale)\nselect :x::int;\n")
    ended = subprocess.run(
        ["sh", "-e", "-c", HARNESS],
        cwd=tmp_path,
        env={**os.environ, "PGBENCH": str(pgbench), "DATABASE": embedded_server.conninfo},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, (tmp_path / "results.txt").read_text()
    lines, tps, processed = map(float, ended.stdout.split())
    assert lines == processed > 0
    assert tps == pytest.approx(processed, rel=0.5)
