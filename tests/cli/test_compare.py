"""``dbdyno compare`` on made-up runs: which runs it selects, what it reports, what fails."""

import json
import re

import pytest
from junitparser import Failure, JUnitXml, Skipped

from dbdyno.cli import main
from dbdyno.formatting import plain
from dbdyno.store.studies import make_study
from tests.answers import made
from tests.cli import made_up_runs as made_up

pytestmark = pytest.mark.usefixtures("home", "own_signals")


def answer(capsys, *arguments: str):
    code = main(["compare", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def found(capsys, *arguments: str):
    code, out, err = answer(capsys, *arguments, "--json")
    assert code in (0, 4), err
    result = json.loads(out)
    return result, {metric["id"]: metric for metric in result["metrics"]}


A, B = "tag:variant=a", "tag:variant=b"


def test_three_pairs_detect_a_higher_cost_although_throughput_is_undecided(capsys):
    made_up.pairs(3, wal_bytes=1.3)
    result, metrics = found(capsys, A, B)
    assert result["paired"]
    assert metrics["wal_bytes"]["verdict"] == "worse"
    assert metrics["wal_bytes"]["ratio"] == pytest.approx(1.3, rel=0.01)
    assert metrics["throughput_tps"]["verdict"] == "cannot tell"
    assert metrics["throughput_tps"]["repeats"]["more"] > 0


def test_the_text_begins_with_the_verdict(capsys):
    made_up.pairs(3, wal_bytes=1.3)
    code, out, _ = answer(capsys, A, B)
    assert code == 0
    title, _, _, _, headline, *_ = out.splitlines()
    assert title == "variant=b against variant=a (comparison)"
    assert re.match(r"1 of \d+ metrics decided\. Worse: WAL \(\+30 %\)\. Cannot tell: ", headline)
    assert "more pair" in out


def test_unequal_durability_is_reported_before_anything_else(capsys):
    weak = {"kind": "private", "product": "postgres", "version": "18.1", "promise": "none"}
    a, b = made_up.run(), made_up.run(tps=3000.0, server=weak)
    out = answer(capsys, a, b)[1]
    assert out.index("durability") < out.index("Throughput")


def test_two_single_runs_compare_only_costs_and_the_command_decides_the_rest(capsys):
    a, b = made_up.run(), made_up.run(tps=1500.0, wal_bytes=2600.0, command=["tpcb", "-c", "16"])
    result, metrics = found(capsys, "last~1", "last")
    assert result["runs"] == {"before": [min(a, b)], "after": [max(a, b)]}
    assert metrics["wal_bytes"]["verdict"] in ("worse", "better")
    assert metrics["throughput_tps"]["verdict"] == "cannot tell"
    result, _ = found(capsys, a, b)
    assert result["decide_with"].splitlines() == [
        "for pair in $(seq 1 5); do",
        f'  dbdyno run tpcb --clients 8 --tag variant={a} --tag "pair=$pair"',
        f'  dbdyno run tpcb -c 16 --tag variant={b} --tag "pair=$pair"',
        "done",
        f"dbdyno compare tag:variant={a} tag:variant={b}",
    ]


@pytest.mark.parametrize(
    ("form", "begin"),
    [
        ("text", "variant=b against variant=a (comparison)\n"),
        ("markdown", "# variant=b against variant=a\n"),
        ("html", "<!doctype html>\n"),
        ("json", '{\n  "format_version": 1,\n  "name": "comparison",\n'),
    ],
)
def test_the_page_is_printed_in_each_form(capsys, form, begin):
    made_up.pairs(3, wal_bytes=1.3)
    code, out, _ = answer(capsys, A, B, "--format", form)
    assert code == 0
    assert out.startswith(begin)
    assert "WAL" in out
    assert "rose by 30" in plain(" ".join(out.split()))
    assert "The unit is the run." in out


@pytest.mark.parametrize("tags", [{}, {"host": "a,b"}, {"host": "a"}])
def test_the_command_that_decides_between_sets_of_runs_can_be_pasted(capsys, tags):
    """Also when no tag distinguishes them, one has a comma, or both sides share the one's tag."""
    before = [made_up.run(tps=1000.0 + 300 * number, tags=tags) for number in range(3)]
    own = {**tags, "build": "new"} if tags == {"host": "a"} else {}
    after = [made_up.run(tps=1100.0 + 300 * number, tags={**tags, **own}) for number in range(3)]
    result, metrics = found(capsys, ",".join(before), ",".join(after))
    assert metrics["throughput_tps"]["verdict"] == "cannot tell"
    lines = result["decide_with"].splitlines()
    runs = [line for line in lines if "dbdyno run " in line]
    for line, first in zip(runs, (before[0], after[0]), strict=True):
        assert f"--tag variant={first} --tag" in line
    assert lines[-1] == f"dbdyno compare tag:variant={before[0]} tag:variant={after[0]}"


@pytest.mark.parametrize(
    ("tables", "differences"),
    [("1", []), ("4", ["Different data: tables is not set in {a}, 4 in {b}"])],
)
def test_a_parameter_at_its_default_is_no_difference(capsys, tables, differences):
    command = ["oltp_read_only", "--clients", "8"]
    a = made_up.run(workload="oltp_read_only", command=command)
    asking = [*command, "--define", f"tables={tables}"]
    b = made_up.run(workload="oltp_read_only", command=asking)
    result, _ = found(capsys, a, b)
    assert result["unequal"] == [line.format(a=a, b=b) for line in differences]


@pytest.mark.parametrize("file", ["--file=-", "--file=-@3"])
def test_no_command_is_suggested_for_a_script_from_standard_input(capsys, file):
    a, b = made_up.run(command=["--clients", "8", file]), made_up.run(tps=1500.0)
    result, _ = found(capsys, a, b)
    assert result["decide_with"] == ""


@pytest.mark.parametrize("weight", ["", "@3"])
def test_no_command_is_suggested_for_a_script_that_no_longer_exists(capsys, tmp_path, weight):
    script = tmp_path / "order.sql"
    a, b = made_up.run(command=["tpcb@0", f"{script}{weight}"]), made_up.run(tps=1500.0)
    assert found(capsys, a, b)[0]["decide_with"] == ""
    script.write_text("select 1;\n")
    assert str(script) in found(capsys, a, b)[0]["decide_with"]


def test_two_equal_commands_are_decided_by_a_pair_with_what_was_changed_between_them(capsys):
    a, b = (made_up.run(tps=tps, command=["tpcb", "--seed", "4", "-c", "2"]) for tps in (900, 990))
    assert found(capsys, a, b)[0]["decide_with"].splitlines() == [
        "# with the commands that bring the server into the state of each side",
        "dbdyno pair tpcb -c 2 --pairs 5 --before '…' --after '…'",
    ]


def test_each_further_pair_has_a_seed_of_its_own(capsys):
    for clients in ("8", "16"):
        made_up.run(command=["tpcb", "--seed", "4", "--clients", clients])
    result, _ = found(capsys, "last~1", "last")
    runs = [line for line in result["decide_with"].splitlines() if "dbdyno run " in line]
    assert [line.count("--seed") for line in runs] == [1, 1]
    assert all(line.endswith(' --seed "$pair" --tag "pair=$pair"') for line in runs)


def test_a_comparison_that_would_take_hours_is_announced(capsys):
    for duration_s, remarks in ((5.0, 0), (5000.0, 1)):
        a, b = made_up.run(duration_s=duration_s), made_up.run(tps=1500.0, duration_s=duration_s)
        lines = found(capsys, a, b)[0]["decide_with"].splitlines()
        assert [" at least; " in line for line in lines].count(True) == remarks
    assert lines[0].startswith("# 13 h 53 min at least; ")


def test_more_pairs_go_on_where_the_others_ended(capsys):
    made_up.pairs(3)
    result, metrics = found(capsys, A, B)
    more = max(m["repeats"]["more"] for m in metrics.values() if m["repeats"])
    first, change, *_, last = result["decide_with"].splitlines()
    assert first == f"for pair in $(seq 4 {3 + more}); do"
    assert change.strip().startswith("# the two commands are identical")
    assert last == f"dbdyno compare {A} {B}"


def test_without_pairs_both_are_sets(capsys):
    for number in range(8):
        made_up.run(tps=1000.0 + number, tags={"variant": "ab"[number % 2]})
    result, metrics = found(capsys, A, B)
    assert not result["paired"]
    assert metrics["throughput_tps"]["verdict"] == "same"


def test_an_incomplete_pair_is_left_out_and_reported(capsys):
    made_up.pairs(4, wal_bytes=1.3)
    lonely = made_up.run(tags={"variant": "a", "pair": "5"})
    broken = made_up.run(
        tags={"variant": "b", "pair": "5"}, valid=False, invalid_reasons=["the disk was full"]
    )
    result, metrics = found(capsys, A, B)
    assert metrics["wal_bytes"]["pairs"] == 4
    assert f"{broken} is left out: it is not valid: the disk was full" in result["doubts"]
    assert f"{lonely} is left out: the other run of its pair is missing" in result["doubts"]


def test_runs_of_a_study_are_pairs_by_block_and_points_are_named_by_levels(capsys):
    for block in range(3):
        for clients in (4, 8):
            for order, factor in (("old", 1.0), ("new", 1.4)):
                point = f"clients={clients},order={order}"
                made_up.run(
                    tps=1000 * clients * factor + block,
                    tags={"study": "20261121-hot", "point": point, "block": str(block)},
                )
    result, metrics = found(capsys, "hot:clients=8,order=old", "hot:clients=8,order=new")
    assert result["paired"]
    assert metrics["throughput_tps"]["verdict"] == "better"
    assert metrics["throughput_tps"]["ratio"] == pytest.approx(1.4, rel=0.01)
    code, _, err = answer(capsys, "hot:order=old", "hot:order=new")
    assert code == 1
    assert "2 points of 20261121-hot match order=old" in err
    assert "clients=4,order=old; clients=8,order=old" in err


def test_runs_of_a_study_are_decided_by_going_on_with_it(capsys):
    order = made.factor("order", "old", "new")
    study = made.study(made.spec(order, name="hot-rows"), lambda _levels: 1000.0).study
    make_study(study, "", {})
    for block in range(3):
        for level, tps in (("old", 1000.0 + 200 * block), ("new", 1400.0 - 100 * block)):
            tags = {"study": study.study_id, "point": f"order={level}", "block": str(block)}
            made_up.run(tps=tps, tags=tags)
    result, metrics = found(capsys, "made-up:order=old", "made-up:order=new")
    assert metrics["throughput_tps"]["verdict"] == "cannot tell"
    more = max(m["repeats"]["more"] for m in metrics.values() if m["repeats"])
    assert result["decide_with"] == (
        f"dbdyno study resume {study.study_id} --repeats {study.spec.repeats + more}"
    )


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("worse:3%", 4),
        ("worse:40%", 0),
        ("wal:worse:0.1", 4),
        ("tps:worse:3%", 0),
        ("p99:worse:5%", 0),
    ],
)
def test_a_metric_worse_than_the_gate_allows_fails(capsys, condition, code):
    made_up.pairs(3, wal_bytes=1.3)
    assert answer(capsys, A, B, "--fail-if", condition)[0] == code


def test_a_failed_gate_is_reported_in_the_words_of_the_comparison(capsys):
    """No percentage expresses the increase of a metric that was zero before."""
    made_up.pairs(3, wal_bytes=1.3)
    _, out, _ = answer(capsys, A, B, "--fail-if", "wal:worse:3%", "--json")
    result = json.loads(out)
    wal = next(one for one in result["metrics"] if one["id"] == "wal_bytes")
    broken = next(one for one in result["fail_if"] if one["outcome"] == "broken")
    assert broken["words"] == f"--fail-if wal_bytes:worse:3% fails: {wal['words']}"


def test_an_undecided_gate_does_not_fail_and_is_reported(capsys):
    made_up.pairs(3)
    code, out, _ = answer(capsys, A, B, "--fail-if", "tps:worse:3%")
    assert code == 0
    said = "--fail-if throughput_tps:worse:3% does not fail: these runs leave Throughput undecided."
    assert said in " ".join(out.split())


def test_a_gate_is_not_passed_as_the_same(capsys):
    made_up.pairs(5, wal_bytes=1.02)
    assert found(capsys, A, B)[1]["wal_bytes"]["verdict"] == "same"
    assert answer(capsys, A, B, "--fail-if", "wal:worse:1%")[0] == 4


def test_markdown_is_a_table_in_which_other_peoples_words_are_text(capsys):
    for number in range(6):
        variant = ["a", "<b>|*"][number % 2]
        made_up.run(
            tps=1000.0 * (1 + number % 2), tags={"variant": variant, "pair": str(number // 2)}
        )
    out = answer(capsys, A, "tag:variant=<b>|*", "--markdown", "--metric", "tps")[1]
    assert out.splitlines()[0] == "# variant=\\<b\\>\\|\\* against variant=a"
    assert "| --- | --- | ---: | ---: | ---: | ---: |" in out
    assert "| better | Throughput | 1 000 TPS | 2 000 TPS | 2.000 |" in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("last", "last"), "is on both sides"),
        (("nobody", "last"), "No run is named 'nobody'"),
        (("last~7", "last"), "is too far back"),
        (("tag:variant=z", "last"), "no run has tag:variant=z"),
        (("tag:variant", "last"), "has no value: write tag:variant=a"),
        (("hot:clients=4", "last"), "no runs of a study named 'hot'"),
        (("last~1", "last", "--metric", "speed"), "no metric 'speed'"),
        (("last~1", "last", "--metric", "ms"), "is ambiguous: response_mean_ms or"),
        (("last~1", "last", "--fail-if", "slower:3%"), "is not a condition: write worse:3%"),
        (("last~1", "last", "--fail-if", "worse:much"), "is not a share"),
        (("last~1", "last", "--margin", "big"), "is not a share"),
    ],
)
def test_bad_input_names_what_is_wrong_with_exit_code_1(capsys, arguments, expected):
    made_up.run()
    made_up.run()
    code, out, err = answer(capsys, *arguments)
    assert code == 1
    assert expected in err
    assert out == ""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"status": "running"}, "it was interrupted"),
        ({"status": "failed", "valid": False}, "it failed"),
        (
            {"valid": False, "invalid_reasons": ["it ended early"]},
            "it is not valid: it ended early",
        ),
    ],
)
def test_a_run_without_a_variant_tag_is_refused_with_the_reason(capsys, changes, expected):
    good, bad = made_up.run(), made_up.run(**changes)
    code, _, err = answer(capsys, good, bad)
    assert code == 1
    assert f"no run of {bad} can be compared; {bad} is left out: {expected}" in err


def test_each_condition_is_a_test_case(capsys, tmp_path):
    made_up.pairs(3, wal_bytes=1.3)
    path = tmp_path / "compare.xml"
    gates = ("--fail-if", "wal:worse:3%", "--fail-if", "tps:worse:3%")
    assert answer(capsys, A, B, *gates, "--junit", str(path))[0] == 4
    (suite,) = JUnitXml.fromfile(str(path))
    assert suite.name == "variant=b against variant=a"
    cases = {case.name: case for case in suite}
    assert cases.keys() == {"wal_bytes:worse:3%", "throughput_tps:worse:3%"}
    (failed,), (skipped,) = (case.result for case in cases.values())
    assert isinstance(failed, Failure)
    assert "fails: WAL" in failed.message
    assert isinstance(skipped, Skipped)
    assert "undecided" in skipped.message
    assert answer(capsys, A, B, "--fail-if", "wal:worse:50%", "--junit", str(path))[0] == 0
    (suite,) = JUnitXml.fromfile(str(path))
    assert [case.result for case in suite] == [[]]


def test_test_cases_need_a_condition(capsys, tmp_path):
    code, _, err = answer(capsys, "last", "last", "--junit", str(tmp_path / "compare.xml"))
    assert (code, list(tmp_path.glob("*.xml"))) == (1, [])
    assert "--junit needs --fail-if" in err
