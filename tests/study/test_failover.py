"""The study of crashes and takeovers on real servers: one short run of each point of tiny."""

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
clients = 4
time = "15s"
warmup = "0s"
telemetry = "off"
max-disturbance = "100%"
[sizes.tiny.levels]
server = ["postgres", "postgres-synchronous", "mariadb-synchronous"]
durability = ["full"]
"""


def test_what_was_promised_is_there_after_each_crash_and_takeover(tmp_path):
    """Standbys of MariaDB begin with the data of the study, as their primary does."""
    text = find_study("failover").read_text(encoding="utf-8")
    assert text.count('event = "5s:') == 6
    text = text.replace('event = "5s:', 'event = "1s:')
    path = tmp_path / "failover.toml"
    path.write_text(text.partition("[sizes.tiny]")[0] + SHORTER, encoding="utf-8")
    with begin_study(path, read_study(path, "tiny"), AS_WRITTEN) as writer:
        record = execute(writer, engine_tools(), Watcher(), Rates())
    assert [result.error for result in record.results] == [None] * 3
    for result in record.results:
        (one,) = read_record(find_run(result.run_id)).failovers
        is_takeover = "synchronous" in levels_of(result.turn.point)["server"]
        assert one.event == ("promote:1" if is_takeover else "kill-server")
        assert (one.error, one.lost, one.loss_allowed_ms) == ("", 0, 0)
        assert one.first_commit_ms > 0
    found = answered(trials_of(record, engine_tools().histograms))
    events = next(answer for question, answer in found if question.answer == "failovers")
    assert events.claims[0].sentence.startswith("None of 3 events lost an acknowledged commit")
    assert len(events.shown[0].rows) == 3
