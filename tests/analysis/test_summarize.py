import dataclasses

import msgspec
import numpy as np
import pytest

from dbdyno.analysis.series.distributions import bucket_low_ms, bucket_matrix, coarse_quantile_ms
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.series.totals import duration_s, scripts_rate, throughput
from dbdyno.analysis.summarize import summarize
from dbdyno.model import frame as frames
from dbdyno.model.tables import ScriptBuckets
from dbdyno.store.run import open_run
from dbdyno.store.writer import RunWriter
from tests.store import hdr, synthetic
from tests.store.hdr import HISTOGRAMS
from tests.support.recordings import changed

SHAPE = {"seconds": 24, "warmup": 2, "tps": 300}


def recorded(home, **changes):
    with RunWriter(synthetic.record(), synthetic.plan(), home) as writer:
        for frame in synthetic.packed(synthetic.Shape(**{**SHAPE, **changes})):
            writer.append_frame(frame)
    return open_run(writer.run_id, home).load(HISTOGRAMS)


def test_the_numbers_are_those_of_the_frames(tmp_path):
    all_frames = list(synthetic.generate(synthetic.Shape(**SHAPE)))
    done = all_frames[-1]
    record = summarize(recorded(tmp_path))
    assert record.duration_s == 24
    assert record.transactions.ok == done.counters.ok
    assert record.throughput_tps.value == pytest.approx(done.counters.ok / 24)
    assert record.throughput_tps.low < record.throughput_tps.value < record.throughput_tps.high
    assert record.response_ms.p99 == hdr.quantiles(done.response, [0.99])[0] / 1e6
    assert record.client.cpu_us_per_transaction == done.cpu_us / done.counters.ok
    assert [one.count for one in record.statements] == [done.counters.ok] * 7
    assert record.scripts[0].ok == done.counters.ok
    assert [one.count for one in record.failures] == [done.counters.failed]


def test_mean_and_maximum_are_those_of_the_measured_times(tmp_path):
    all_frames = list(synthetic.generate(synthetic.Shape(**SHAPE)))
    intervals = [one for one in all_frames if isinstance(one, frames.Interval)]
    times = [one.scripts[0].response for one in intervals if one.phase != "warmup"]
    found = summarize(recorded(tmp_path)).response_ms
    assert found.max == pytest.approx(max(one.max_ns for one in times) / 1e6, rel=1e-6)
    mean_ns = sum(one.sum_ns for one in times) / sum(one.count for one in times)
    assert found.mean == pytest.approx(mean_ns / 1e6, rel=1e-6)
    assert found.p9999 <= found.max


def test_that_stages_differ_leaves_no_doubt_about_the_mean(tmp_path):
    recording = recorded(tmp_path)
    intervals = recording.columns["intervals"]
    time_s = intervals["time_s"]
    tripled = (300 + time_s % 3).astype(np.uint64) * np.where(time_s < 12, 1, 3).astype(np.uint64)
    stages = [{"duration_ns": 12_000_000_000, "clients": 8 * n, "rate_tps": None} for n in (1, 3)]
    staged, unstaged = (
        summarize(
            changed(
                recording,
                plan={"stages": planned},
                columns={"intervals": {**intervals, "completed_committed": tripled}},
            )
        )
        for planned in (stages, stages[:1])
    )
    (first, second) = staged.stages
    assert (first.clients, second.clients) == (8, 24)
    assert second.tps == pytest.approx(3 * first.tps, rel=0.01)
    assert first.p50_ms < first.p99_ms
    assert unstaged.stages == []
    assert staged.throughput_tps.value == unstaged.throughput_tps.value
    assert staged.throughput_tps.high < 1.05 * staged.throughput_tps.value
    assert unstaged.throughput_tps.high > 1.2 * unstaged.throughput_tps.value
    assert [one for one in unstaged.doubts if "coarse" in one]
    assert not [one for one in staged.doubts if "coarse" in one]


def with_completed(recording, completed):
    intervals = {
        **recording.columns["intervals"],
        "completed_committed": completed.astype(np.uint64),
    }
    return dataclasses.replace(recording, columns={**recording.columns, "intervals": intervals})


@pytest.mark.parametrize("transactions", [1, 4])
def test_a_handful_of_transactions_has_no_interval_whatever_the_samples_say(tmp_path, transactions):
    recording = recorded(tmp_path)
    last = np.zeros(len(recording.intervals.time_s))
    last[-1] = transactions
    found = summarize(with_completed(recording, last)).throughput_tps
    assert found.value == pytest.approx(transactions / 24)
    assert (found.low, found.high) == (None, None)


def test_samples_that_are_all_equal_leave_one_transaction_unknown(tmp_path):
    recording = recorded(tmp_path)
    equal = np.ones(len(recording.intervals.time_s))
    found = summarize(with_completed(recording, equal)).throughput_tps
    assert found.high - found.value == pytest.approx(1 / 24)
    assert found.value - found.low == pytest.approx(1 / 24)


def test_the_rate_of_a_script_counts_what_it_rolled_back_and_has_an_interval(tmp_path):
    recording = recorded(tmp_path)
    scripts = recording.columns["scripts"]
    none_committed = {**scripts, "committed": np.zeros_like(scripts["committed"])}
    rolled_back = changed(recording, columns={"scripts": none_committed})
    found = scripts_rate(rolled_back, [0], 60.0)
    ok = summarize(recording).scripts[0].ok
    assert found.value == pytest.approx(60 * ok / duration_s(recording))
    assert found.low < found.value < found.high
    # All transactions are of this script, so that its rate varies as the throughput does.
    tps = throughput(recording)
    assert found.high - found.value == pytest.approx(60 * (tps.high - tps.value), rel=0.2)


def test_of_some_scripts_only_what_they_committed_counts(tmp_path):
    recording = recorded(tmp_path)
    scripts = recording.columns["scripts"]
    half = {**scripts, "committed": scripts["ok"] // 2}
    rolled_back = changed(recording, columns={"scripts": half})
    all_of_it, committed = (
        scripts_rate(rolled_back, [0], 1.0, committed=numbers) for numbers in ([], [0])
    )
    assert committed.value == pytest.approx(all_of_it.value / 2, rel=0.05)
    assert committed.low < committed.value < committed.high


def test_a_script_that_hardly_ran_has_no_interval(tmp_path):
    recording = recorded(tmp_path)
    scripts = recording.columns["scripts"]
    ok = np.zeros_like(scripts["ok"])
    ok[-1] = 4
    few = changed(recording, columns={"scripts": {**scripts, "ok": ok}})
    found = scripts_rate(few, [0], 60.0)
    assert (found.value, found.low, found.high) == (pytest.approx(4 * 60 / 24), None, None)


def test_closed_loop_response_is_service(tmp_path):
    record = summarize(recorded(tmp_path))
    assert record.service_ms == record.response_ms


def test_open_loop_response_is_longer(tmp_path):
    record = summarize(recorded(tmp_path, open_loop=True))
    assert record.response_ms.p50 > record.service_ms.p50


def test_an_interrupted_run_has_the_numbers_of_its_whole_windows(tmp_path):
    done = summarize(recorded(tmp_path / "whole"))
    cut = summarize(recorded(tmp_path / "cut", done=False))
    assert cut.duration_s == done.duration_s
    assert cut.transactions.ok == done.transactions.ok
    assert cut.response_ms == done.response_ms
    assert cut.failures == [msgspec.structs.replace(one, took_s=None) for one in done.failures]


def test_a_run_without_an_interval_has_no_percentiles(tmp_path):
    RunWriter(synthetic.record(), synthetic.plan(), tmp_path).close()
    record = summarize(open_run("last", tmp_path).load(HISTOGRAMS))
    assert record.response_ms is None
    assert record.throughput_tps.value == 0


def test_buckets_begin_where_the_contract_says():
    assert (bucket_low_ms(np.arange(17)) * 1e6).tolist() == [*range(16), 16]
    assert (bucket_low_ms(np.array([24, 25, 32])) * 1e6).tolist() == [32, 36, 64]
    values = np.random.default_rng(1).integers(8, 10**10, 1000)
    index = synthetic.bucket_of(values)
    assert (bucket_low_ms(index) * 1e6 <= values).all()
    assert (values < bucket_low_ms(index + 1) * 1e6).all()


def test_several_scripts_are_joined_from_buckets(tmp_path):
    rng = np.random.default_rng(4)
    values = [rng.lognormal(13, 0.5, 4000).astype(int), rng.lognormal(15, 0.3, 1000).astype(int)]
    recording = recorded(tmp_path, seconds=1, warmup=0)
    joined = two_scripts(recording, values)
    exact = np.quantile(np.concatenate(values), [0.5, 0.99], method="inverted_cdf") / 1e6
    found = [timeline(joined).latencies_ms[name][0] for name in ("p50_ms", "p99_ms")]
    assert found == pytest.approx(exact, rel=0.02)
    assert timeline(joined).latencies_ms["max_ms"][0] == max(map(max, values)) / 1e6


def two_scripts(recording, values):
    parts = [synthetic.distribution(one) for one in values]
    packed = [np.frombuffer(one.buckets, dtype=[("i", "<u2"), ("n", "<u4")]) for one in parts]
    buckets = {
        "interval": np.zeros(sum(map(len, packed)), dtype=int),
        "bucket": np.concatenate([one["i"] for one in packed]),
        "count": np.concatenate([one["n"] for one in packed]),
    }
    scripts = {
        "interval": np.zeros(2, dtype=int),
        "max_ms": np.array([one.max_ns / 1e6 for one in parts]),
    }
    return changed(recording, columns={"scripts": scripts, "script_buckets": buckets})


def test_an_interval_in_which_nothing_ended_has_no_quantile():
    empty = ScriptBuckets({name: np.array([], dtype=int) for name in ScriptBuckets.schema})
    assert np.isnan(coarse_quantile_ms(bucket_matrix(empty, 2), 0.5)).all()


def test_quantiles_lie_between_a_buckets_ends():
    index = synthetic.bucket_of(np.array([1000]))[0]
    counts = np.zeros((2, index + 1), dtype=int)
    counts[:, index] = (100, 1)
    assert coarse_quantile_ms(counts, 0.5) * 1e6 == pytest.approx((960 + 1024) / 2)
    assert coarse_quantile_ms(counts, 1.0) * 1e6 == pytest.approx(1024)


def test_no_percentile_is_above_the_maximum(tmp_path):
    values = [np.array([1_000_000]), np.array([1_000_001])]
    joined = two_scripts(recorded(tmp_path, seconds=1, warmup=0), values)
    assert timeline(joined).latencies_ms["p99_ms"][0] <= 1.000001


def test_frames_of_the_generator_obey_the_identities():
    for frame in synthetic.generate(synthetic.Shape(**SHAPE)):
        if isinstance(frame, frames.Interval):
            counters = frame.counters
            assert counters.started == counters.ok + counters.failed + counters.in_flight


def test_an_interval_that_was_cut_short_is_no_sample_of_throughput(tmp_path):
    recording = recorded(tmp_path)
    seconds = recording.intervals.seconds.copy()
    seconds[-1] = 0.02
    intervals = recording.columns["intervals"] | {"seconds": seconds}
    cut = dataclasses.replace(recording, columns={**recording.columns, "intervals": intervals})
    assert len(timeline(cut).tps) == 26
    assert len(timeline(cut).whole_intervals().tps) == 25
    assert len(timeline(cut).measured().tps) == 23
