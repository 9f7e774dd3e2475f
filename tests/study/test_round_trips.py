"""The study of round trips on a real server: one short run of each style, at two lengths."""

import pytest

from dbdyno.answers.answering import answered
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
restore = "each block"
scale = 1
clients = 1
time = "1s"
warmup = "0s"
max-disturbance = "100%"
[sizes.tiny.levels]
delay_ms = ["0", "4"]
"""


def test_fewer_round_trips_are_waited_for_where_they_take_long(tmp_path):
    text = find_study("round-trips").read_text(encoding="utf-8")
    path = tmp_path / "round-trips.toml"
    path.write_text(text.partition("[sizes.tiny]")[0] + SHORTER, encoding="utf-8")
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN) as writer:
        record = execute(writer, engine_tools(), Watcher(), Rates())
    assert [result.error for result in record.results] == [None] * 6
    for result in record.results:
        run = read_record(find_run(result.run_id))
        assert run.network_delay.p50_ms >= run.network_delay.requested_ms
    found = answered(trials_of(record, engine_tools().histograms))
    cost = next(answer for question, answer in found if question.answer == "round-trip-cost")
    counted = [claim.evidence["round_trips"] for claim in cost.claims[1:4]]
    statements, pipelined, procedures = counted
    assert statements > pipelined > procedures >= 1
    points, _ = cost.shown
    assert len(points.rows) == 6
