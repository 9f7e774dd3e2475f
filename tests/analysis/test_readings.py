import gc
import time
import weakref

import numpy as np
import pytest

from dbdyno.analysis.series.readings import Span, growth, lack_of, level, objects, total, was_read
from dbdyno.model.counters import Counter
from tests.support.recordings import MadeRun, changed

TABLES = "pg_stat_user_tables"


@pytest.fixture
def recording():
    return (
        MadeRun(seconds=10, warmup=2)
        .counters(TABLES, {"n_tup_upd": 100}, of="accounts")
        .counters(TABLES, {"n_tup_upd": np.arange(12), "n_tup_ins": 1}, of="history")
        .levels("sizes", {"bytes": [10, 10, 20]}, of="accounts", at_s=[0, 5, 10])
        .levels("sizes", {"bytes": [1, 2]}, of="history", at_s=[5, 10])
        .lack("pg_stat_io", "the server is older than 16")
        .read("pg_stat_wal")
        .loaded()
    )


def test_counters_that_were_never_read_are_not_zero(recording):
    assert growth(recording, Counter("pg_stat_io", "reads")) is None
    assert total(recording, Counter("pg_stat_io", "reads")) is None
    assert level(recording, Counter("pg_stat_io", "reads")) is None
    assert not was_read(recording, "pg_stat_io")
    assert lack_of(recording, "pg_stat_io") == "the server is older than 16"
    assert lack_of(recording, TABLES) is None


def test_counters_that_were_read_and_did_not_grow_are_zero(recording):
    assert total(recording, Counter("pg_stat_wal", "wal_fpi")) == 0
    assert len(growth(recording, Counter("pg_stat_wal", "wal_fpi")).delta) == 12


def test_a_counter_that_the_source_does_not_have_is_not_zero():
    """The first reading of a source shows which counters it has."""
    made = MadeRun(seconds=10, warmup=0).counters("io", {"writes": 5.0}, of="heap")
    assert total(made.loaded(), Counter("io", "fsyncs")) == 0
    recording = made.loaded()
    begin_s = recording.samples.time_s.min()
    for name in ("reads", "writes"):
        zero = {"time_s": begin_s, "source": "io", "object": "heap", "name": name, "delta": 0.0}
        counters = recording.columns["counters"]
        counters.update({key: np.append(counters[key], value) for key, value in zero.items()})
    assert total(recording, Counter("io", "fsyncs")) is None
    assert total(recording, Counter("io", "reads")) == 0
    assert total(recording, Counter("io", "reads"), of="index") == 0
    assert total(recording, Counter("io", "writes")) == 50


def test_objects_are_summed_or_taken_one_by_one(recording):
    assert objects(recording, TABLES) == ["accounts", "history"]
    of_one = growth(recording, Counter(TABLES, "n_tup_upd"), of="history")
    assert of_one.delta.tolist() == list(range(12))
    of_all = growth(recording, Counter(TABLES, "n_tup_upd"))
    assert of_all.delta.tolist() == [100 + n for n in range(12)]
    assert of_all.time_s.tolist() == list(range(-1, 11))
    assert of_all.seconds.tolist() == [1.0] * 12


def test_a_reading_counts_by_its_part_in_the_span(recording):
    assert total(recording, Counter(TABLES, "n_tup_upd"), of="accounts") == 1000
    assert (
        total(recording, Counter(TABLES, "n_tup_upd"), of="accounts", span=Span(0.5, 4.25)) == 375
    )
    assert total(recording, Counter(TABLES, "n_tup_upd"), of="accounts", span=Span(20, 30)) is None


def test_readings_across_a_counter_reset_are_ignored():
    made = MadeRun(seconds=10, warmup=0).counters("wal", {"bytes": 5.0}, was_reset=[3])
    grown = growth(made.loaded(), Counter("wal", "bytes"))
    assert grown.time_s.tolist() == [1, 2, 3, 5, 6, 7, 8, 9, 10]
    assert grown.delta.sum() == 45


def test_levels_hold_until_they_change_and_add_up_over_objects(recording):
    of_one = level(recording, Counter("sizes", "bytes"), of="accounts")
    assert (of_one.time_s.tolist(), of_one.value.tolist()) == ([0, 5, 10], [10, 10, 20])
    assert level(recording, Counter("sizes", "bytes")).value.tolist() == [10, 11, 22]
    assert level(recording, Counter("sizes", "rows")) is None


def test_a_long_run_is_read_in_seconds_and_not_kept_beyond_its_life():
    made = MadeRun(seconds=2, warmup=0)
    recording = made.loaded()
    keys = [
        (f"source {n}", f"object {m}", f"name {k}")
        for n in range(8)
        for m in range(5)
        for k in range(5)
    ]
    sources, names_of, names = (
        np.resize(np.array(part, dtype=object), 10**6) for part in zip(*keys, strict=True)
    )
    times = np.repeat(np.arange(10**6 // len(keys), dtype=float), len(keys))
    many = {"time_s": times, "source": sources, "object": names_of, "name": names, "delta": times}
    recording = changed(recording, columns={"counters": many})
    gc.collect()  # garbage from other tests must not be freed together with this test's
    begun = time.process_time()
    assert objects(recording, "source 3") == [f"object {m}" for m in range(5)]
    assert time.process_time() - begun < 5
    alive = weakref.ref(recording)
    del recording
    gc.collect()
    assert alive() is None
