"""How far a run kept to an objective: counted again from the transactions themselves."""

import numpy as np
import pytest

from dbdyno.analysis.objective import Objective, windows
from dbdyno.store import RunWriter, open_run
from tests.store import hdr, synthetic

UNDONE = ("skipped", "waiting", "in_flight", "unfinished")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    shape = synthetic.Shape(seconds=20, warmup=2, tps=400, open_loop=True)
    with RunWriter(synthetic.record(), synthetic.plan(), home) as writer:
        for frame in synthetic.packed(shape):
            writer.append_frame(frame)
        return open_run(writer.run_id, home).recording()


def exact_share_above(recording, limit_ms):
    totals = recording.tables["totals"]
    of_all = totals["kind"] == "script_response"
    low, high, count = hdr.HISTOGRAMS.bar_columns(
        hdr.HISTOGRAMS.merge(totals["histogram"][of_all].tolist())
    )
    return count[(low + high) / 2 > limit_ms * 1e6].sum() / count.sum()


@pytest.mark.parametrize("limit_ms", [0.3, 0.9, 1.7, 5.3])
def test_the_slow_ones_of_all_windows_are_those_of_the_run(recording, limit_ms):
    found = windows(recording, hdr.HISTOGRAMS, Objective(measure="p99", limit=limit_ms))
    counts = recording.engine["done"]["counters"]
    not_done = sum(
        counts[name] for name in ("failed", "skipped", "waiting", "in_flight", "unfinished")
    )
    slow = exact_share_above(recording, limit_ms) * counts["ok"]
    assert found.bad.sum() == pytest.approx(slow + not_done, rel=0.01, abs=2)
    assert found.total.sum() == counts["ok"] + not_done
    assert (found.bad <= found.total).all()


def test_failures_are_of_what_ended(recording):
    found = windows(recording, hdr.HISTOGRAMS, Objective(measure="failures", limit=0.01))
    counts = recording.engine["done"]["counters"]
    assert found.bad.sum() == counts["failed"] > 0
    assert found.total.sum() == counts["failed"] + counts["ok"]


def test_means_of_windows_make_the_mean_of_the_run(recording):
    found = windows(recording, hdr.HISTOGRAMS, Objective(measure="mean", limit=1.0))
    scripts = recording.tables["scripts"]
    phase = recording.tables["intervals"]["phase"][scripts["interval"]]
    of_run = np.average(
        scripts["mean_ms"][phase != "warmup"], weights=scripts["count"][phase != "warmup"]
    )
    done = (
        found.total
        - windows(recording, hdr.HISTOGRAMS, Objective(measure="failures", limit=0.01)).bad
    )
    assert np.average(found.mean_ms, weights=done[: len(found.mean_ms)]) == pytest.approx(
        of_run, rel=0.01
    )


@pytest.mark.parametrize(
    ("objective", "words", "share"),
    [
        (Objective(measure="p99", limit=10), "p99 < 10\u202fms", 0.01),
        (Objective(measure="p999", limit=1500), "p99.9 < 1.5\u202fs", 0.001),
        (Objective(measure="failures", limit=0.02), "failures < 2\u202f%", 0.02),
    ],
)
def test_an_objective_in_words_and_as_a_share(objective, words, share):
    assert objective.words == words
    assert objective.share_allowed == pytest.approx(share)
