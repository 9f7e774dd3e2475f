"""Runs listed, filtered and removed, by name, tag and age. Nothing here was measured."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from dbdyno.cli import main
from dbdyno.model import plan as plans
from dbdyno.store.listing import find_run
from dbdyno.store.summary import list_runs
from dbdyno.store.writer import RunWriter
from tests.cli import made_up_runs as made_up
from tests.run.test_end_to_end import dbdyno
from tests.store import synthetic

pytestmark = pytest.mark.usefixtures("home", "own_signals")


def answer(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["runs", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def listed(capsys, *arguments: str) -> set[str]:
    return {run["run_id"] for run in json.loads(answer(capsys, *arguments, "--json")[1])["runs"]}


def began(days_ago: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days_ago)).isoformat()


def test_words_narrow_the_list_by_name_and_by_tag(capsys):
    tpcb = made_up.run(workload="tpcb", tags={"index": "none"})
    app = made_up.run(workload="app", tags={"index": "none"})
    other = made_up.run(workload="app", tags={"index": "extra", "pair": "1"})
    assert listed(capsys) == {tpcb, app, other}
    assert listed(capsys, "app") == {app, other}
    assert listed(capsys, "app", "tag:index=none") == {app}
    assert listed(capsys, "tag:index=extra,pair=1") == {other}
    of_study = made_up.run(workload="app", tags={"study": "20261120-214205-mini-51d2"})
    assert listed(capsys, "mini") == listed(capsys, "mini", "app") == {of_study}
    code, out, err = answer(capsys, "nothing-like-it")
    assert (code, out) == (0, "")
    assert "No runs with nothing-like-it in " in err
    assert "dbdyno runs lists all." in err


def lines(capsys, *arguments: str) -> list[list[str]]:
    """The cells of the list, the headings first."""
    return [re.split(r"  +", line) for line in answer(capsys, *arguments)[1].splitlines()]


def test_the_list_has_the_conditions_of_the_runs(capsys):
    scaled = replace(synthetic.plan(), variables={"scale": 50})
    closed = made_up.run(plan=scaled)
    opened = made_up.run(
        valid=False,
        plan=replace(
            synthetic.plan(),
            arrivals=plans.Arrivals(open=plans.OpenArrivals(law="poisson")),
            stages=[plans.Stage(duration_ns=10**9, rate_tps=400.0)],
        ),
    )
    columns = "status,clients,threads,scale,rate,mode,durability,wal"
    head, *conditions = lines(capsys, "--columns", columns)
    assert head == [
        *("run", "status", "clients", "threads", "scale", "rate", "mode", "durability", "WAL/txn")
    ]
    # Runs of the same second are in no particular order.
    assert sorted(conditions) == sorted(
        [
            [opened, "not valid", "8", "2", "400", "prepared", "full", "1.95 KiB"],
            [closed, "valid", "8", "2", "50", "prepared", "full", "1.95 KiB"],
        ]
    )
    assert [opened, "tpcb --clients 8"] in lines(capsys, "--columns", "command")
    long = made_up.run(command=["tpcb", *["--set", "work_mem=4MB"] * 30])
    for columns, end in (("command", "tpcb --clients 8"), ("command,tps", "000")):
        _, out, _ = answer(capsys, "--columns", columns)
        (short,) = (line for line in out.splitlines() if line.startswith(opened))
        assert short.startswith(f"{opened}  {' ' * (len(long) - len(opened))}tpcb --clients 8")
        assert short.endswith(end)
    code, _, err = answer(capsys, "--columns", "tps,walnut")
    assert (code, "Columns are status, tps, " in err) == (1, True)


def test_filters_narrow_the_list(capsys):
    valid = made_up.run(started_at=began(1))
    wrong = made_up.run(started_at=began(3), valid=False)
    other = made_up.run(started_at=began(5), workload="other")
    trial = made_up.run(started_at=began(4), tags={"search": "20261120-214205-search-51d2"})
    assert listed(capsys, "--status", "not-valid") == {wrong}
    assert listed(capsys, "--since", "2d") == {valid}
    assert listed(capsys, "--workload", "other", "--since", "9") == {other}
    assert listed(capsys, "--made-for", "search") == {trial}
    assert listed(capsys, "--made-for", "nothing") == {valid, wrong, other}
    assert "No runs like that in " in answer(capsys, "--status", "failed")[2]


def test_runs_made_for_one_result_are_one_line_until_asked_for(capsys):
    study = {"study": "20261120-214205-mini-51d2", "point": "p"}
    of_study = {made_up.run(tags=study) for _ in range(3)}
    own = made_up.run()
    search = made_up.run(tags={"search": "20261120-214206-tpcb-77aa"})
    _, out, err = answer(capsys)
    assert {line.split()[0] for line in out.splitlines()[1:]} == {search, own, study["study"]}
    assert (out.count("study: 3"), out.count("not valid")) == (1, 0)
    assert f"dbdyno runs {study['study']}" in err
    for words in (["mini"], ["--made-for", "study"]):
        assert {line[0] for line in lines(capsys, *words)[1:]} == of_study
    assert {line[0] for line in lines(capsys, "--all")[1:]} == {*of_study, own, search}
    assert listed(capsys) == {*of_study, own, search}


def test_a_line_of_a_study_says_how_many_of_its_runs_are_not_valid(capsys):
    study = {"study": "20261120-214205-mini-51d2", "point": "p"}
    for changes in ({}, {"valid": False}, {"status": "failed", "valid": False}):
        made_up.run(tags=study, **changes)
    _, out, _ = answer(capsys)
    assert "study: 3, 2 not valid" in out


def test_runs_are_removed_by_name_and_by_tag(capsys):
    named, wrong, too, kept = (
        made_up.run(tags=tags) for tags in ({}, {"v": "wrong"}, {"v": "wrong"}, {"v": "right"})
    )
    assert answer(capsys, "rm", named, "tag:v=wrong")[1].count("removed ") == 3
    assert listed(capsys) == {kept}
    assert {named, wrong, too}.isdisjoint(listed(capsys))


def test_age_removes_old_runs_but_not_those_of_studies(capsys):
    old = made_up.run(started_at=began(100))
    young = made_up.run(started_at=began(1))
    of_study = made_up.run(started_at=began(100), tags={"study": "s", "point": "p", "block": "1"})
    assert old in answer(capsys, "rm", "--older", "90d")[1]
    assert listed(capsys) == {young, of_study}
    assert "No run is that old" in answer(capsys, "rm", "--older", "90")[2]
    assert of_study in answer(capsys, "rm", "tag:study=s", "--older", "90")[1]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "no runs given"),
        (["last", "nosuch"], "No run is named 'nosuch'"),
        (["last", "tag:v=nosuch"], "no run has tag:v=nosuch"),
        (["tag:v"], '"v" has no value'),
    ],
)
def test_a_slip_of_the_pen_removes_nothing(capsys, names, expected):
    made_up.run()
    code, out, err = answer(capsys, "rm", *names)
    assert (code, out) == (1, "")
    assert expected in err
    assert len(list_runs()) == 1


def test_a_run_that_cannot_be_read_is_reported_in_one_line():
    kept, damaged = made_up.run(), made_up.run()
    path = find_run(damaged) / "run.json"
    path.write_text("{")
    ended = dbdyno("runs")
    assert kept in ended.stdout
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"warning: {damaged} is left out: ")


def test_tags_are_given_and_taken_away(home, capsys):
    name = made_up.run(tags={"index": "none", "study": "s", "block": "1"})
    tags = answer(capsys, "tag", name, "reviewed=yes", "note=", "--without", "index")
    assert tags == (0, f"{name}: study=s block=1 reviewed=yes note=\n", "")
    for words in (["study=x"], ["--without", "block"], ["no-value"], []):
        code, _, err = answer(capsys, "tag", name, *words)
        assert (code, err[:6]) == (1, "error:")
    assert list_runs()[0].tags == {"study": "s", "block": "1", "reviewed": "yes", "note": ""}


def test_a_run_that_goes_on_keeps_its_tags(capsys):
    with RunWriter(synthetic.record(status="running"), synthetic.plan()) as writer:
        code, _, err = answer(capsys, "tag", writer.run_id, "a=b")
    assert code == 1
    assert "still running" in err
