"""The list of workloads shows what they declare; the help of commands that take one leads there."""

import json
from typing import get_args

import pytest

from dbdyno.cli import main
from dbdyno.workloads.base import Question
from dbdyno.workloads.registry import all_workloads


def show(capsys, *arguments):
    code = main(["workloads", *arguments])
    return code, *capsys.readouterr()


def test_each_workload_has_a_line(capsys):
    code, out, err = show(capsys)
    lines = [line.split(maxsplit=1) for line in out.splitlines() if line.startswith("  ")]
    summaries = {name: summary.strip() for name, summary in lines}
    assert code == 0
    assert summaries == {one.name: one.summary for one in all_workloads().values()}
    assert "dbdyno workloads NAME" in err


def test_workloads_stand_below_the_question_that_they_answer(capsys):
    _, out, _ = show(capsys)
    parts = [part.splitlines() for part in out.rstrip().split("\n\n")]
    listed = {question: {row.split()[0] for row in rows} for question, *rows in parts}
    assert list(listed) == list(get_args(Question))
    for one in all_workloads().values():
        assert one.name in listed[one.question]
    _, out, _ = show(capsys, "--json")
    questions = {one["name"]: one["question"] for one in json.loads(out)["workloads"]}
    assert questions == {one.name: one.question for one in all_workloads().values()}


@pytest.mark.parametrize("name", all_workloads())
def test_one_workload_lists_its_parameters_with_their_values(capsys, name):
    _, out, _ = show(capsys, name)
    for one in all_workloads()[name].parameters:
        line = next(line for line in out.splitlines() if line.startswith(f"{one.name} "))
        for text in (one.default_text, one.range, one.description):
            assert text in line


def test_as_data(capsys):
    _, out, _ = show(capsys, "pk", "--json")
    (workload,) = json.loads(out)["workloads"]
    assert workload["name"] == "pk"
    assert [one["name"] for one in workload["parameters"]] == [
        one.name for one in all_workloads()["pk"].parameters
    ]


def test_one_that_is_not_there_names_the_nearest(capsys):
    code, _, err = show(capsys, "tpcbb")
    assert (code, "did you mean tpcb?" in err) == (1, True)


@pytest.mark.parametrize("command", ["run", "load"])
def test_help_leads_to_the_list(capsys, command):
    main([command, "--help"])
    assert "dbdyno workloads lists" in " ".join(capsys.readouterr().out.split())
