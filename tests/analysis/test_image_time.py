"""The client time that goes with page images, found where it was planted."""

import numpy as np
import pytest

from dbdyno.analysis.events.wal import image_time
from tests.support.recordings import MadeRun, changed

CLIENTS, SECONDS = 8, 60
A_TRANSACTION_S, AN_IMAGE_S = 0.004, 0.008


def run_of(images_a_transaction, *, noise=0.0, seed=1):
    """Each transaction takes 4 ms of client time, and 8 ms more for each image."""
    images = np.concatenate([np.zeros(3), images_a_transaction])
    scatter = np.random.default_rng(seed).normal(1, noise, len(images))
    ok = np.round(CLIENTS / (A_TRANSACTION_S + images * AN_IMAGE_S) * scatter)
    run = MadeRun(ok=ok, seconds=SECONDS, clients=CLIENTS)
    return run.counters("pg_stat_wal", written(ok, ok * images))


def written(transactions, images):
    """The counters of the WAL: five records a transaction."""
    records = transactions * 5
    return {"wal_bytes": records * 100, "wal_records": records, "wal_fpi": images}


def decaying(period=20):
    """First touches of pages, decaying after a checkpoint every ``period`` seconds."""
    return np.exp(-(np.arange(SECONDS) % period) / 5)


def test_the_share_is_found():
    images = decaying()
    ok = CLIENTS / (A_TRANSACTION_S + images * AN_IMAGE_S)
    expected = float((ok * images).sum()) * AN_IMAGE_S / (CLIENTS * SECONDS)
    found = image_time(run_of(images).loaded())
    assert found.share == pytest.approx(expected, rel=0.01)


def test_the_interval_holds_the_share_under_noise():
    images = decaying()
    expected = image_time(run_of(images).loaded()).share
    held = [
        found.low <= expected <= found.high
        for seed in range(40)
        if (found := image_time(run_of(images, noise=0.1, seed=seed).loaded()))
    ]
    assert len(held) == 40
    assert sum(held) >= 34


def test_images_without_effect_are_rarely_taken_for_one():
    ok = np.random.default_rng(3).normal(1000, 100, (40, SECONDS + 3))
    alarms = 0
    for one in ok:
        run = MadeRun(ok=np.round(one), seconds=SECONDS, clients=CLIENTS)
        images = np.concatenate([np.zeros(3), decaying()]) * one
        run.counters("pg_stat_wal", written(one, images))
        alarms += image_time(run.loaded()).low > 0
    assert alarms <= 4


def test_counters_that_are_published_late_are_not_taken_for_an_effect():
    """Once half of the client time seemed to be that of images, whatever they took."""
    ok = np.random.default_rng(5).normal(1000, 100, (40, SECONDS + 3))
    fading = np.concatenate([np.zeros(3), 0.5 + decaying(SECONDS)])
    alarms = 0
    for one in ok:
        run = MadeRun(ok=np.round(one), seconds=SECONDS, clients=CLIENTS)
        late = np.concatenate([one[:1], one[:-1]])
        found = image_time(run.counters("pg_stat_wal", written(late, late * fading)).loaded())
        alarms += found is not None and found.low > 0
    assert alarms <= 4


def test_counters_that_are_constant_or_missing_yield_no_estimate():
    assert image_time(MadeRun().loaded()) is None
    assert image_time(run_of(np.zeros(SECONDS)).loaded()) is None


def test_images_in_proportion_to_transactions_cannot_be_told_from_them():
    """Soon after a checkpoint: the images per transaction have hardly begun to fade."""
    images = 1 - np.arange(SECONDS) / 3000
    assert image_time(run_of(images).loaded()) is not None
    shares = [image_time(run_of(images, noise=0.1, seed=seed).loaded()) for seed in range(40)]
    assert shares == [None] * 40


def test_an_open_loop_yields_no_estimate():
    recording = run_of(decaying()).loaded()
    at_a_rate = changed(recording, plan={"arrivals": {"open": {"law": "poisson"}}})
    assert image_time(at_a_rate) is None


def test_stages_yield_no_estimate():
    """Half of the clients are idle at first, just after a checkpoint: they wait for no image."""
    ok = np.repeat([1000.0, 2000.0], [3 + SECONDS // 2, SECONDS // 2])
    run = MadeRun(ok, seconds=SECONDS, clients=CLIENTS, stages=[(30, CLIENTS // 2), (30, CLIENTS)])
    images = np.concatenate([np.zeros(3), np.exp(-np.arange(SECONDS) / 20)]) * ok
    run.counters("pg_stat_wal", written(ok, images))
    assert image_time(run.loaded()) is None
