"""Telemetry is stored beside the engine's data, in whatever order it arrives."""

import threading

import msgspec
import numpy as np
import pytest

from dbdyno.model.tables import rows
from dbdyno.model.telemetry import BlockCount, Counts, WaitCount, Waits
from dbdyno.store.frames_file import FrameAppender, read_frames
from dbdyno.store.query import sql
from dbdyno.store.run import open_run
from dbdyno.store.writer import RunWriter
from tests.store import synthetic, watched
from tests.store.hdr import HISTOGRAMS

TABLES = ("samples", "counters", "levels", "waits", "blocking", "log_entries", "lacks")


@pytest.fixture
def written(tmp_path):
    """The writer of a running folder; measurement began at 7 s of the engine's clock."""
    shape = synthetic.Shape(seconds=12, warmup=2, tps=200)
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        for frame in [*synthetic.packed(shape), *watched.frames(3)]:
            writer.append_frame(frame)
        yield writer


def test_tables_are_the_same_before_and_after_conversion(tmp_path, written):
    raw = open_run("last", tmp_path).load(HISTOGRAMS)
    synthetic.finish(written, synthetic.record(status="done"))
    final = open_run("last", tmp_path).load(HISTOGRAMS)
    for name in TABLES:
        assert len(raw.columns[name]["time_s"]) > 0
        for column, values in raw.columns[name].items():
            np.testing.assert_array_equal(values, final.columns[name][column], err_msg=name)
    assert final.as_recorded.engine["telemetry"]["waits_hz"] == 2.0
    assert final.as_recorded.engine["telemetry"]["server_cpu_us"] is None


def test_the_rows_of_each_frame(tmp_path):
    seen = WaitCount("client", 3, "asking", "active", "Lock", "tuple", 12)
    blocked = BlockCount(
        *("client", 3, "foreign", -1, "client", 4, "active", "", "tuple", "X", "t", "(0,1)", 2, 3),
        None,
    )
    stored = [
        Counts(8 * 10**9, "disk", 1.0, 1500, [("vda", "reads", 3)], [("", "free", 7.5)], True),
        Waits(9 * 10**9, 0.5, 2500, [seen], [blocked], 1.5),
        Waits(10 * 10**9, 1.0, 500, [], []),
    ]
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        for frame in synthetic.packed(synthetic.Shape(seconds=1, warmup=2, done=False)):
            writer.append_frame(frame)
        for frame in stored:
            writer.append_frame(msgspec.msgpack.encode(frame))
    tables = open_run("last", tmp_path).load(HISTOGRAMS).columns
    assert rows(*tables["samples"].values()) == [
        (1.0, "disk", 1.0, 1.5, True),
        (2.0, "waits", 0.5, 2.5, False),
        (2.0, "locks", 1.5, 0.0, False),
        (3.0, "waits", 1.0, 0.5, False),
    ]
    assert rows(*tables["counters"].values()) == [(1.0, "disk", "vda", "reads", 3.0)]
    assert rows(*tables["levels"].values()) == [(1.0, "disk", "", "free", 7.5)]
    assert rows(*tables["waits"].values()) == [(2.0, *msgspec.structs.astuple(seen))]
    ((*columns, waited_s),) = rows(*tables["blocking"].values())
    assert columns == [2.0, *msgspec.structs.astuple(blocked)[:-1]]
    assert np.isnan(waited_s)


def test_facts_are_kept(tmp_path, written):
    written.write_facts({"before": {"extensions": ["x"]}})
    written.write_facts({"before": {"extensions": ["x"]}, "after": {}})
    assert open_run("last", tmp_path).facts == {
        "before": {"extensions": ["x"]},
        "after": {},
    }


def test_a_folder_from_before_there_was_telemetry_still_opens(tmp_path, written):
    synthetic.finish(written, synthetic.record(status="done"))
    for name in TABLES:
        (written.folder / f"{name}.parquet").unlink()
    recording = open_run("last", tmp_path).load(HISTOGRAMS)
    assert {len(recording.columns[name]["time_s"]) for name in TABLES} == {0}
    assert recording.samples.was_reset.dtype == bool
    assert recording.before is None
    assert sql("select count(*) from waits", tmp_path).fetchall() == [(0,)]


def test_sql_sees_running_and_finished_runs(tmp_path, written):
    query = "select who, sum(count) from waits where wait_type = 'Lock' group by who"
    running = sql(query, tmp_path).fetchall()
    synthetic.finish(written, synthetic.record(status="done"))
    assert sql(query, tmp_path).fetchall() == running
    assert running[0][0] == "client"


def test_frames_of_several_threads_stay_whole(tmp_path):
    path = tmp_path / "frames.bin"
    appender = FrameAppender(path)
    frames = list(watched.frames(2))

    def append() -> None:
        for frame in frames:
            appender.append([frame])

    threads = [threading.Thread(target=append) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    appender.close()
    assert len(list(read_frames(path))) == 4 * len(frames)
