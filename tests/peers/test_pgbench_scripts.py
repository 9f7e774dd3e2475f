"""What scripts compute and how their errors end a run, side by side with pgbench."""

import re
from pathlib import Path

import pytest

from dbdyno.peers.pgbench.program import main
from dbdyno.servers.base import Server
from tests.peers.side_by_side import PGBENCH, Outcome, outcome
from tests.support.ended import OF_THE_MACHINE

GIVEN = [
    *("-n", "-t", "1", "-D", "word=bla", "-D", "yes=on", "-D", "no=of", "-D", "none=null"),
    *("-D", "least=-9223372036854775808", "-D", "most=9223372036854775807", "-D", "half=-0.5"),
]
EXPRESSIONS = """
1 + 2 * 3 - -4
(1 + 2) * 3
7 / 2
-7 / 2
-7 % 3
7 % -3
7.0 / 2
1e3
.5
5432.12
1 << 4 | 3 # 1
~5 & 12
-64 >> 3
:least
:most
-(:least + 1)
:least % -1
:half * 4
:half + 1
abs(-4)
abs(-4.5)
int(7.5)
int(-7.9)
double(3)
sqrt(2.0)
pi()
exp(1)
ln(10)
pow(2, 10)
pow(-2, -3)
power(10, 30)
pow(2, 0.5)
mod(-9, 4)
greatest(1, 2.5, -3)
least(4, 2, 8)
1.0 / 0
hash(10, 7)
hash_fnv1a(10, 7)
hash_murmur2(:least, :most)
permute(3, 10, 5)
permute(13, 10, 5) = permute(3, 10, 5)
permute(9223372036854775800, :most, 99)
true
not :yes
:no
:none
:none is null
:none = 1
null + 1
null or true
null and false
1 = 1.0
1 <> 2 and 2 != 3
3 >= 3 or 1 / 0 = 1
false and 1 / 0 = 1
case when 1 > 2 then 4 else 0 end
case when 2 > 1 then 5 end
case when 1 > 2 then 5 end
case when null then 1 when 0.5 then 2 else 3 end
1 is not null
true is true
(2 > 1) is not false
:client_id
:scale
:random_seed
debug(2) + 1
""".strip().splitlines()


def ours(
    server: Server, script: Path, *words: str, capfd: pytest.CaptureFixture[str]
) -> tuple[Outcome, Outcome]:
    """What we and what pgbench makes of a script."""
    line = [*GIVEN, *words, "-f", str(script), server.conninfo]
    return Outcome(main(line), *capfd.readouterr()), outcome(PGBENCH, line)


def debugged(ended: Outcome) -> list[str]:
    return re.findall(r"debug\(.*", ended.err)


def test_expressions_have_pgbench_s_results(
    embedded_server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "expressions.sql"
    script.write_text("".join(f"\\set v debug({text})\n" for text in EXPRESSIONS))
    mine, theirs = ours(embedded_server, script, "--random-seed=7", capfd=capfd)
    assert mine.code == theirs.code == 0, mine.err
    assert len(debugged(theirs)) == len(EXPRESSIONS) + 1
    assert debugged(mine) == debugged(theirs)


def test_results_of_queries_and_branches_are_pgbench_s(
    embedded_server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "branches.sql"
    script.write_text(
        "select 1 as a, 2 as b \\gset\n\\set v debug(:a + :b)\n"
        "select 3 as a \\gset x_\n\\set v debug(:x_a)\n"
        "select 4 as c \\; select 5 as d \\aset\n\\set v debug(:c * :d)\n"
        "select 8 as e union select 9 order by 1 \\aset\n\\set v debug(:e)\n"
        "\\if :a > 5\n\\set v debug(10)\n\\elif :b = 2\n\\set v debug(11)\n\\else\n"
        "\\set v debug(12)\n\\endif\n"
        "\\if :none\n\\set v debug(13)\n\\else\n\\if 1\n\\set v debug(14)\n\\endif\n\\endif\n"
        "\\setshell s echo 15\n\\set v debug(:s)\n\\sleep 1 us\n"
    )
    mine, theirs = ours(embedded_server, script, capfd=capfd)
    assert mine.code == theirs.code == 0, mine.err
    assert debugged(mine) == debugged(theirs)
    assert len(debugged(theirs)) == 7


ERRORS = {
    "syntax": ("select 1 + ;", ()),
    "prepared": ("select 1 + ;", ("-M", "prepared")),
    "one client of four": ("select 1 / (:client_id - 2);", ("-c", "4", "-t", "5")),
    "division": ("\\set v 1 / 0", ()),
    "range": ("\\set v random(5, 3)", ()),
    "gaussian": ("\\set v random_gaussian(0, 10, 1.0)", ()),
    "zipfian": ("\\set v random_zipfian(0, 10, 1)", ()),
    "word": ("\\set v :word + 1", ()),
    "boolean": ("\\set v not 0.0", ()),
    "overflow": ("\\set v 2 * (1 << 62)", ()),
    "too large": ("\\set v int(1E32)", ()),
    "permute": ("\\set v permute(0, 0)", ()),
    "shell": ("\\shell no-such-command", ()),
    "setshell": ("\\setshell v echo -n one", ()),
    "no row": ("select where false \\gset", ()),
    "two rows": ("select 1 as a union select 2 \\gset", ()),
    "undefined": ("select 1 as a where false \\aset\n\\set v :a", ()),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_ends_a_run_with_pgbench_s_code_and_count(
    embedded_server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    text, words = ERRORS[name]
    script = tmp_path / "error.sql"
    script.write_text(f"{text}\n")
    mine, theirs = ours(embedded_server, script, *words, capfd=capfd)
    assert mine.code == theirs.code == 2
    processed = re.compile(r"number of transactions actually processed: .*")
    assert processed.findall(mine.out) == processed.findall(theirs.out) != []
    last = "pgbench: error: Run was aborted; the above results are incomplete.\n"
    assert mine.err.endswith(last)
    assert theirs.err.endswith(last)
    if "set" in text or "\\" in text:
        assert errors(mine) == errors(theirs)


def errors(ended: Outcome) -> list[str]:
    """What the program says, without what is of the host."""
    lines = (line.partition("pgbench: error: ")[2] for line in ended.err.splitlines())
    return [line for line in lines if line and not line.startswith(OF_THE_MACHINE)]


def test_exit_on_abort_ends_the_run_of_all_clients_without_a_summary(
    embedded_server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "error.sql"
    script.write_text("\\sleep 10 ms\nselect 1 / (:client_id - 2);\n")
    words = ("-c", "4", "-T", "600", "--exit-on-abort")
    words_given = [word for word in GIVEN if word not in ("-t", "1")]
    line = [*words_given, *words, "-f", str(script), embedded_server.conninfo]
    mine, theirs = Outcome(main(line), *capfd.readouterr()), outcome(PGBENCH, line)
    assert mine.code == theirs.code == 2
    assert mine.err.splitlines()[-1] == theirs.err.splitlines()[-1]
    assert "processed" not in mine.out + theirs.out
