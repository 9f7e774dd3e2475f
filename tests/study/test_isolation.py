"""The study of isolation levels on both kinds of server: one short run of each point."""

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
clients = 8
time = "1s"
warmup = "0s"
telemetry = "off"
max-disturbance = "100%"
[sizes.tiny.levels]
hot_customers = ["5"]
engine.mariadb.set.innodb_log_file_size = "128M"
"""


def test_each_level_is_in_force_and_what_it_lets_through_is_counted(tmp_path):
    text = find_study("isolation").read_text(encoding="utf-8")
    path = tmp_path / "isolation.toml"
    level = "[factor.levels.10]\ndefine.hot_customers = 10\n"
    assert level in text
    text = text.replace(level, "[factor.levels.5]\ndefine.hot_customers = 5\n")
    path.write_text(text.partition("[sizes.tiny]")[0] + SHORTER, encoding="utf-8")
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN) as writer:
        record = execute(writer, engine_tools(), Watcher(), Rates())
    assert [result.error for result in record.results] == [None] * 6
    for result in record.results:
        run, levels = read_record(find_run(result.run_id)), levels_of(result.turn.point)
        assert run.isolation.level == levels["isolation"]
        if levels["isolation"] == "serializable":
            assert [check.rows for check in run.checks] == [0, 0]
    trials = trials_of(record, engine_tools().histograms)
    found = {question.answer: answer for question, answer in answered(trials)}
    assert [answer.missing for answer in found.values()] == [""] * len(found)
    assert len(found["level-cost"].claims) == 1 + 4
    assert len(found["refusals"].claims) == len(found["let-through"].claims) == 6
    # With PostgreSQL's serializable level, eight clients on five customers always meet.
    refused = dict(zip(["rc", "rr", "s"], found["refusals"].claims[:3], strict=True))
    assert refused["s"].effect > 0
