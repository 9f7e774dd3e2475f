"""The study of analysts on real servers: one short run without, and one with an analyst."""

import pytest

from dbdyno.answers.answering import answered
from dbdyno.model.study import levels_of
from dbdyno.run.tools import engine_tools
from dbdyno.store.listing import find_run, read_record
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
scale = 1
clients = 1
time = "3s"
warmup = "0s"
telemetry = "off"
max-disturbance = "100%"
[sizes.tiny.levels]
analysts = ["0", "1"]
engine.mariadb.set.innodb_log_file_size = "128M"
"""


def test_queries_are_counted_beside_new_orders(tmp_path):
    text = find_study("htap").read_text(encoding="utf-8")
    path = tmp_path / "htap.toml"
    path.write_text(text.partition("[sizes.tiny]")[0] + SHORTER, encoding="utf-8")
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN) as writer:
        record = execute(writer, engine_tools(), Watcher(), Rates())
    assert [result.error for result in record.results] == [None] * 4
    for result in record.results:
        run = read_record(find_run(result.run_id))
        assert run.nopm.value > 0
        assert (run.queries_per_hour is None) == (levels_of(result.turn.point)["analysts"] == "0")
    found = answered(trials_of(record, engine_tools().histograms))
    orders = next(answer for question, answer in found if question.answer == "level-cost")
    assert [claim.effect > 0 for claim in orders.claims[1:]] == [True, True]
