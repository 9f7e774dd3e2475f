"""The studies that come with dbdyno: each is valid at every size, and can be planned."""

import pytest

from dbdyno.answers.answering import all_answers, questions
from dbdyno.errors import DbdynoError
from dbdyno.run.tools import engine_tools
from dbdyno.study.file import SIZES, catalogue, find_study
from dbdyno.study.machine import read_machine
from dbdyno.study.matrix import points_of, turns_of
from dbdyno.study.plan import plan_study
from dbdyno.study.rates import Rates
from dbdyno.study.spec import read_study

TINY_MAX_S = 180

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", catalogue())
def test_every_study_is_whole_at_every_size(name, size):
    spec = read_study(find_study(name), size)
    points = points_of(spec)
    assert spec.name == name
    assert spec.question.endswith("?")
    assert len(points) > 1
    assert len(turns_of(points, spec.repeats, spec.seed)) == len(points) * spec.repeats
    assert {
        question.answer for question in questions(spec, is_profiled=True)
    } <= all_answers().keys()


@pytest.mark.parametrize("name", catalogue())
def test_every_study_has_runs_to_compare_at_its_smallest(name):
    spec = read_study(find_study(name), "tiny")
    assert spec.repeats >= 2
    assert all(published.rows for published in spec.published)


@pytest.mark.parametrize("name", catalogue())
def test_the_smallest_size_is_planned_within_three_minutes(name):
    planned = plan_study(
        read_study(find_study(name), "tiny"), engine_tools(), read_machine(), Rates()
    )
    assert planned.refusals == []
    assert planned.needs.total_s < TINY_MAX_S


def test_a_study_that_is_not_there_is_named_with_the_nearest(tmp_path):
    with pytest.raises(DbdynoError, match="did you mean pk-oltp"):
        find_study("pk-olpt")
    own = tmp_path / "own.toml"
    own.touch()
    assert find_study(str(own)) == own
