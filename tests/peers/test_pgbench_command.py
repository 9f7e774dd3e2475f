"""What a command line of pgbench asks for, and what is said of one that is wrong. No server."""

import re
import shlex

import pytest

from dbdyno.peers.pgbench.program import main
from tests.peers.side_by_side import PGBENCH, outcome

# Those of PostgreSQL's own tests, and others.
ODD = [
    "-h home -p 5432 -U calvin -d x --bad-option",
    "-f no-such-file",
    "-f ''",
    "-f @3",
    "-f /dev/null@x",
    "-b no-such-builtin",
    "-b s",
    "--builtin=select-only@one",
    "-b select-only@-1",
    "-b select-only@99999999999",
    "-b se@0 -b si@0 -b tpcb@0",
    "-c three",
    "-c 0",
    "-c 99999999999",
    "-c",
    "-Z",
    "-SZ",
    "--client",
    "--client=",
    "--log=3",
    "-j eleven",
    "-s 0",
    "-t zil",
    "-t 1.5",
    "-T ten",
    "-t 1 -T 1",
    "-N -l --aggregate-interval=5 --log-prefix=notused -t 1000 -T 1",
    "-P 1 --progress-timestamp -l --sampling-rate=0.001 -T 10 -t 1000",
    "--define foobla",
    "-D =3",
    "-D a=",
    "-D a-b=3",
    "-F 1",
    "-M no-such-mode",
    "--progress=0",
    "--rate=0.0",
    "-R x",
    "--latency-limit=0.0",
    "--sampling-rate=0",
    "--sampling-rate=2",
    "--aggregate-interval=-3",
    "--progress-timestamp",
    "-I dtg",
    "-S -F 90",
    "--random-seed=one",
    "--max-tries -10",
    "--max-tries 0",
    "--sampling-rate=0.01",
    "-l --sampling-rate=0.1 --aggregate-interval=3",
    "--aggregate-interval=3",
    "--log-prefix=x",
    "-l -T 1 --aggregate-interval=3",
    "-l -T 5 --aggregate-interval=3",
    "a b",
    "a b -S",
    "-i -S",
    "-i -s two",
    "-i a b",
    "-i -I dta",
    "-i -I ''",
    "-i --partition-method=BAD",
    "-i --partitions -1",
    "-i --partition-method=hash",
    "-S " * 129,
    "-b list",
    "--show-script se",
    "--show-script=tpcb",
    "--show-script=simple",
    "--show-script x",
]


@pytest.mark.parametrize("line", ODD, ids=lambda line: line[:50])
def test_what_ends_without_a_run_ends_as_with_pgbench(capsys, line):
    words = shlex.split(line)
    code = main(words)
    captured = capsys.readouterr()
    assert (code, captured.out, captured.err) == outcome(PGBENCH, words)


@pytest.mark.parametrize(
    "text",
    [
        "\\if 1",
        "\\elif 1",
        "\\else",
        "\\endif",
        "\\if 1\n\\else\n\\elif 0\n\\endif",
        "\\if 1\n\\else\n\\else\n\\endif",
        "\\if\n\\endif\n",
        "\\if 0\n\\elif +\n\\endif\n",
        "\\if 0\n\\else BAD\n\\endif\n",
        "\\if 0\n\\endif BAD\n",
        "\\set i least()\n",
        "\\set i hash()\n",
        "\\set i hash(1,2,3)\n",
        "\\set i 100000000000000000000\n",
        "\\set d 1.0E309\n",
        "\\set i 1 +\n",
        "\\set i permute(1)\n",
        "\\set i nosuch(1)\n",
        "\\nosuch 1\n",
        "\\sleep 1 x\n",
        "\\gset\n",
        "select 1 \\gset a b\n",
        "\\sleep too many args\n",
        "\\sleep\n",
        "\\shell\n",
        "\\setshell v\n",
        "\\set\n",
        "\\set i\n",
        "\\set i ;\n",
        "\\set i (1\n",
        "\\set i case true then 1 end\n",
        "",
    ],
)
def test_an_error_in_a_script_is_refused_as_there(capsys, tmp_path, text):
    script = tmp_path / "script.sql"
    script.write_text(text)
    words = ["-n", "-h", "/nowhere", "-f", str(script)]
    theirs = outcome(PGBENCH, words)
    assert main(words) == theirs.code == 1
    assert said(capsys.readouterr().err) == said(theirs.err)


def said(text: str) -> str:
    """What a script is refused for, without its place, which is a line of ours."""
    return re.sub(
        r"^pgbench: error: (condition error in .* command \d+|\S+:\d+): ", "", text
    ).split("\n")[0]


def test_an_ambiguous_option_is_answered_by_those_that_it_may_be(capsys):
    assert main(["--f"]) == 1
    own, theirs = capsys.readouterr().err, outcome(PGBENCH, ["--f"]).err
    assert sorted(own.split()) == sorted(theirs.split())


def test_newer_options_than_the_peer_s_are_read_too(capsys):
    assert main(["--continue-on-error", "-T", "0"]) == 1
    assert "-T/--time must be in range 1..2147483647" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["-?", "--help"])
def test_help_lists_every_option_that_pgbench_has(capsys, word):
    assert main([word]) == 0
    own = capsys.readouterr().out
    theirs = [word for word in outcome(PGBENCH, ["--help"]).out.split() if word.startswith("--")]
    assert len(theirs) > 45
    for option in theirs:
        assert option.split("=")[0] in own


def test_the_version_says_which_pgbench_it_is_like(capsys):
    assert main(["-V"]) == 0
    assert capsys.readouterr().out.startswith("pgbench (PostgreSQL) 18 (dbdyno ")
