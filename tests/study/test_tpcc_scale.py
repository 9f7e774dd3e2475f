"""The study of warehouses and terminals on a real server: two short points without pauses."""

import pytest

from dbdyno.answers.answering import answered
from dbdyno.run.tools import engine_tools
from dbdyno.study.execute import execute
from dbdyno.study.file import find_study
from dbdyno.study.folder import begin_study, trials_of
from dbdyno.study.rates import Rates
from dbdyno.study.spec import AS_WRITTEN, read_study
from tests.study.watcher import Watcher

pytestmark = pytest.mark.usefixtures("home")

SHORTER = """
[sizes.tiny]
repeats = 1
time = "2s"
warmup = "0s"
max-disturbance = "100%"
[sizes.tiny.levels]
scale = [1]
clients = [1, 8]
pacing = ["off"]
"""


def test_new_orders_are_counted_and_what_bounds_them_is_named(tmp_path):
    text = find_study("tpcc-scale").read_text(encoding="utf-8")
    path = tmp_path / "tpcc-scale.toml"
    path.write_text(text.partition("[sizes.tiny]")[0] + SHORTER, encoding="utf-8")
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN) as writer:
        record = execute(writer, engine_tools(), Watcher(), Rates())
    assert [result.error for result in record.results] == [None] * 2
    found = answered(trials_of(record, engine_tools().histograms))
    bound = next(answer for question, answer in found if question.answer == "nopm-bound")
    (best,) = bound.claims
    assert best.effect > 0
    (table,) = bound.shown
    assert [row[0] for row in table.rows] == ["1", "8"]
    # The record of each run says which limits it kept.
    assert all(row[-2] != "–" for row in table.rows)
