import numpy as np
import pytest

from dbdyno.analysis.events.checkpoints import checkpoint_effects
from dbdyno.model.telemetry import IndexFacts, ServerFacts, TableFacts
from tests.support.recordings import MadeRun

PAGES, TPS = 20_000, 1000


def accounts():
    key = IndexFacts(
        name="accounts.key", columns=("aid",), is_unique=True, is_primary=True, bytes=8192 * 5000
    )
    return TableFacts(
        name="accounts",
        rows=1e6,
        bytes=8192 * PAGES,
        pages=PAGES,
        fillfactor=100,
        row_bytes=100,
        columns=("aid", "abalance"),
        indexes=(key,),
    )


def first_changes_a_second(rng, seconds):
    """Pages changed for the first time in each second, under uniform updates."""
    touched = np.zeros(PAGES, dtype=bool)
    for _ in range(seconds):
        before = touched.sum()
        touched[rng.integers(0, PAGES, TPS)] = True
        yield float(touched.sum() - before)


def updating(hot=TPS, **counted):
    """Checkpoints begin at 20 s and 60 s of 100 s; before the first, no page is new."""
    rng = np.random.default_rng(6)
    images = np.concatenate(
        [np.zeros(20), *(list(first_changes_a_second(rng, seconds)) for seconds in (40, 40))]
    )
    run = MadeRun(TPS, seconds=100, warmup=0)
    run.counters("pg_stat_wal", {"wal_fpi": images, "wal_records": 2 * TPS})
    run.counters("wal_position", {"bytes": 300 * TPS + 8000 * images})
    run.counters("pg_stat_user_tables", {"n_tup_upd": TPS, "n_tup_hot_upd": hot}, of="accounts")
    for begin_s in (20.0, 60.0):
        run.log(begin_s, "checkpoint_start").log(begin_s + 30, "checkpoint_end")
    return run


def test_wal_per_transaction_is_reported_before_and_after_each_checkpoint():
    first, second = checkpoint_effects(updating().loaded())
    assert (first.begin_s, first.end_s, second.end_s) == (20, 60, 100)
    assert first.bytes_before == pytest.approx(300)
    assert first.images_before == 0
    assert first.images_after == pytest.approx(2 * (1 - np.exp(-0.5)), rel=0.02)
    assert first.bytes_after == pytest.approx(300 + 8000 * first.images_after)
    assert 0 < second.images_before < second.images_after


def test_the_second_in_which_it_began_is_after_it():
    """Where checkpoints follow each other quickly, that second has most of the page images."""
    run = MadeRun(TPS, seconds=10, warmup=0)
    run.counters("wal_position", {"bytes": np.tile([300.0, 900.0], 5) * TPS})
    for begin_s in (1.5, 3.5, 5.5, 7.5):
        run.log(begin_s, "checkpoint_start").log(begin_s + 0.1, "checkpoint_end")
    for effect in checkpoint_effects(run.loaded())[:-1]:
        assert effect.bytes_before == pytest.approx(300)
        assert effect.bytes_after == pytest.approx(600)


def test_counted_images_agree_with_expected_first_changes():
    run = updating().facts(ServerFacts(tables=(accounts(),)))
    for effect in checkpoint_effects(run.loaded()):
        assert effect.images == pytest.approx(PAGES * (1 - np.exp(-2)), rel=0.02)
        assert effect.first_changes == pytest.approx(effect.images, rel=0.02)


def test_updates_that_are_not_hot_change_index_pages_too():
    run = updating(hot=0).facts(ServerFacts(tables=(accounts(),)))
    (first, _) = checkpoint_effects(run.loaded())
    in_heap, in_index = PAGES * (1 - np.exp(-2)), 5000 * (1 - np.exp(-8))
    assert first.first_changes == pytest.approx(in_heap + in_index, rel=0.01)


def test_values_that_were_not_read_are_not_reported():
    run = MadeRun(TPS, seconds=30, warmup=0).log(10.0, "checkpoint_start")
    (effect,) = checkpoint_effects(run.loaded())
    assert effect.bytes_before is effect.images is effect.first_changes is None
    assert checkpoint_effects(MadeRun().loaded()) == []
