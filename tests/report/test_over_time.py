"""What charts over time show beside their curves: events in rows, and what clients waited for."""

import dataclasses
import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from dbdyno.analysis.series.distributions import bucket_low_ms
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.waits.budget import budget
from dbdyno.analysis.waits.wait_bands import bands
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.telemetry import WaitCount
from dbdyno.report.charts.event_lanes import lanes
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_html import render_html
from dbdyno.store.run import open_run
from tests.report.pages import section_of
from tests.store.hdr import HISTOGRAMS
from tests.support.recordings import MadeRun, changed

CHARTS = ("throughput-chart", "failures-chart", "waits-chart", "latency-chart")


def chart(recording, figure):
    page = render_html(run_page(recording))
    begin = page.index(f'<figure id="{figure}"')
    return json.loads(re.search(r'application/json">(.*?)</script>', page[begin:]).group(1))


@pytest.mark.parametrize("figure", CHARTS)
def test_every_chart_over_time_shows_the_events(ordinary, figure):
    found = {lane["label"]: lane["spans"] for lane in chart(ordinary, figure)["lanes"]}
    assert {"checkpoint", "autovacuum"} <= found.keys()
    checkpoints = [span["begin_s"] for span in found["checkpoint"] if not span["strong"]]
    assert checkpoints == [9.0, 34.0]
    syncs = [span for span in found["checkpoint"] if span["strong"]]
    assert [span["end_s"] - span["begin_s"] for span in syncs] == pytest.approx([1.2, 1.2])


@pytest.mark.parametrize("seconds", [10, 4000])
def test_points_are_in_the_middle_of_their_interval_and_within_the_run(seconds):
    found = chart(MadeRun(seconds=seconds).loaded(), "throughput-chart")
    length_s = (seconds + 3) / len(found["x"])
    assert (found["begin_s"], found["end_s"]) == (-3.0, seconds)
    assert found["x"][0] == pytest.approx(-3 + length_s / 2, abs=0.01)
    assert found["end_s"] - found["x"][-1] == pytest.approx(length_s / 2, abs=length_s / 2)


def test_a_run_that_ended_in_the_warm_up_has_no_instant_after_it():
    shown = section_of(MadeRun(seconds=-5, warmup=10, done=False).loaded(), "throughput")
    assert re.findall(r"<text[^>]*>(−?[\d.]+\u202fs)</text>", shown) == ["−10\u202fs"] * 3


def test_each_stage_is_reported_separately():
    """Including one that the run did not reach."""
    ok = [100] * 3 + [1000] * 6 + [3000] * 4
    stages = [(6, 2), (4, 8), (10, 32)]
    made = MadeRun(ok, seconds=10, stages=stages, failed=np.where(np.array(ok) == 3000, 5, 0))
    cells = re.findall(r"<td[^>]*>(.*?)</td>", section_of(made.loaded(), "stages"))
    assert cells[:6] == ["1", "6\u202fs", "2", "–", "1\u202f000", "0"]
    assert cells[8:14] == ["2", "4\u202fs", "8", "–", "3\u202f000", "5"]
    assert cells[20:] == ["–"] * 4


def test_a_load_that_was_to_stay_one_has_no_stages(ordinary):
    assert section_of(ordinary, "stages") == ""


def test_events_are_listed_with_the_details_of_their_source(ordinary):
    text = section_of(ordinary, "events")
    assert "2 checkpoints, 18\u202fs in total" in text
    assert "buffers written 1\u202f803" in text


def test_shaded_spans_are_in_the_order_of_time():
    """A name has room up to where the next begins."""
    made = MadeRun(seconds=10).outage(-1.0, 2.0).outage(8.0, 1.0)
    found = [mark["begin_s"] for mark in chart(made.loaded(), "throughput-chart")["marks"]]
    assert found == [-3.0, -1.0, 8.0]


def test_an_event_between_two_readings_has_no_duration():
    """A WAL switch takes no time: it happened between two readings."""
    made = MadeRun(seconds=60).counters("wal_position", {"segments": [0] * 40 + [2] + [0] * 22})
    text = section_of(made.loaded(), "events")
    assert "2 WAL switches." in text
    assert "within 1\u202fs" in text


@pytest.mark.parametrize(("done", "missing"), [(1500, "none"), (500, "50\u202f%")])
def test_an_event_with_more_throughput_shows_no_loss(done, missing):
    made = MadeRun(np.where(np.arange(-3, 60) == 30, done, 1000))
    made.log(31.0, "autovacuum", "automatic vacuum of t", elapsed_s=1.0, table="t")
    assert re.search(rf"<td[^>]*>{missing}</td>", section_of(made.loaded(), "events"))


def test_samples_without_active_sessions_are_reported_as_such(ordinary):
    """As during an outage, when clients have no server to send to."""
    waits = ordinary.columns["waits"]
    unsampled = waits | {"count": np.zeros_like(waits["count"])}
    empty = dataclasses.replace(ordinary, columns={**ordinary.columns, "waits": unsampled})
    assert "No sampled client was working or waiting." in section_of(empty, "waits")


def test_many_events_are_folded_and_their_rows_bounded(ordinary):
    made = MadeRun(seconds=60)
    for index in range(300):
        made.log(index / 6, "autovacuum", f"automatic vacuum of t{index}", table=f"t{index}")
    log = made.loaded().columns["log_entries"]
    busy = dataclasses.replace(ordinary, columns={**ordinary.columns, "log_entries": log})
    text = section_of(busy, "events")
    assert "Table of the first 200 of 301 events" in text
    assert text.count("<tr>") == 201


def test_events_too_close_to_distinguish_are_merged_in_their_row():
    """Of 4 000 vacuums in an hour, a row shows as many as it has room for."""
    made = MadeRun(seconds=3600)
    for index in range(4000):
        made.log(index * 0.9, "autovacuum", "automatic vacuum of t", elapsed_s=0.1, table="t")
    (lane,) = [lane for lane in lanes(made.loaded()) if lane.label == "autovacuum"]
    assert len(lane.spans) == 1
    assert lane.spans[0].end_s == pytest.approx(3599.1, abs=0.2)


def test_a_run_without_events_has_no_section_for_them():
    quiet = MadeRun(ok=1000, seconds=30).loaded()
    assert lanes(quiet) == []


def test_waits_share_the_axis_of_the_throughput_above(ordinary):
    above, below = (chart(ordinary, name) for name in ("throughput-chart", "waits-chart"))
    assert below["x"] == above["x"]
    assert below["stacked"]


def test_bands_are_average_sessions_by_kind(ordinary):
    """Two samples a second: 5 of 8 clients wait for locks, one commits, one works, one is idle."""
    line = timeline(ordinary)
    found = bands(ordinary).sessions
    inner = (line.time_s >= 1) & (line.time_s < 58)
    assert set(found) == {"lock", "wal", "cpu"}
    for kind, expected in {"lock": 5, "wal": 1, "cpu": 1}.items():
        np.testing.assert_allclose(found[kind][inner], expected)


def test_without_samples_there_is_no_band(ordinary, unwatched):
    assert bands(unwatched).sessions == {}
    assert section_of(unwatched, "waits") == ""
    samples = ordinary.columns["samples"]
    early = samples["time_s"] < 30
    halved = {name: column[early] for name, column in samples.items()}
    recording = dataclasses.replace(ordinary, columns={**ordinary.columns, "samples": halved})
    line = timeline(recording)
    lock = bands(recording).sessions["lock"]
    assert np.isnan(lock[line.time_s >= 30]).all()
    assert not np.isnan(lock[(line.time_s >= 0) & (line.time_s < 29)]).any()


def test_samples_of_the_warm_up_alone_are_reported_as_such(ordinary):
    samples = ordinary.columns["samples"]
    early = samples["time_s"] < 1
    assert early.any()
    warm = {name: column[early] for name, column in samples.items()}
    warm["time_s"] = warm["time_s"] - 2
    recording = dataclasses.replace(ordinary, columns={**ordinary.columns, "samples": warm})
    text = section_of(recording, "waits")
    assert "only before the measured part" in text
    assert "nan" not in text


GOLDEN = Path(__file__).parents[1] / "explain" / "golden"


@pytest.mark.parametrize("folder", sorted(GOLDEN.iterdir()), ids=lambda folder: folder.name)
def test_real_runs_have_a_page_with_their_explanation(folder):
    """Stored without findings, like interrupted runs: the page computes them."""
    recording = open_run(folder).load(HISTOGRAMS)
    assert not recording.record.findings
    for name in ("findings", "throughput", "waits", "telemetry"):
        assert section_of(recording, name), name
    # If nothing succeeded, nothing could have cost or taken time.
    for name in ("costs", "statements"):
        assert bool(section_of(recording, name)) == bool(recording.record.transactions.ok), name


def test_response_times_are_shares_of_all_transactions_and_none_is_beyond_the_longest():
    """An interval with little work has a column as high as the others, but few transactions."""
    run = MadeRun(ok=[900, 100], seconds=2, warmup=0, response_ms=[1.0, 3.0]).loaded()
    counted = {"interval": [0, 1], "bucket": [143, 155], "count": [900, 100]}
    table = {name: np.array(column) for name, column in counted.items()}
    shown = section_of(changed(run, columns={"script_buckets": table}), "heat-map")
    assert f"holds 90{THIN_SPACE}% of the transactions" in shown
    assert f"and 3{THIN_SPACE}ms; the fullest" in shown


def test_a_single_interval_is_no_range():
    run = MadeRun(ok=[900], seconds=1, warmup=0, response_ms=3.0).loaded()
    assert "900 transactions per second in the only measured interval." in section_of(
        run, "throughput"
    )
    assert f"p99 is 3{THIN_SPACE}ms in the only interval that has one; the longest" in section_of(
        run, "latency"
    )


def test_the_longest_transaction_may_have_ended_after_the_measurement(unwatched):
    """It was due in time, and is among the run's response times."""
    longest = msgspec.structs.replace(unwatched.record.response_ms, max=987_654.0)
    shown = section_of(unwatched, "latency", response_ms=longest)
    assert f"the longest transaction took 988{THIN_SPACE}s" in shown


def test_a_page_explains_missing_response_times_while_a_backlog_is_served(unwatched):
    """What became due in the warm-up is not measured, even if it ends long after."""
    sentence = "only transactions that became due in the warm-up"
    assert sentence not in section_of(unwatched, "latency")
    scripts = {name: column.copy() for name, column in unwatched.columns["scripts"].items()}
    early = scripts["interval"] < 8
    scripts["count"][early] = 0
    for name in ("mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms"):
        scripts[name][early] = np.nan
    served = dataclasses.replace(unwatched, columns={**unwatched.columns, "scripts": scripts})
    assert sentence in section_of(served, "latency")


def test_a_heat_map_of_one_bucket_fills_its_axis_and_nothing_beyond():
    """An axis that is wider than the image would show it at the wrong times."""
    run = MadeRun(ok=[900], seconds=1, warmup=0, response_ms=1.0).loaded()
    table = {"interval": np.array([0]), "bucket": np.array([143]), "count": np.array([900])}
    shown = section_of(changed(run, columns={"script_buckets": table}), "heat-map")
    low_ms, high_ms = bucket_low_ms(np.array([143, 144]))
    ticks = [float(tick) for tick in re.findall(rf">([\d.]+){THIN_SPACE}ms</text>", shown)]
    assert len(ticks) >= 4
    assert all(low_ms * 0.999 <= tick <= high_ms * 1.001 for tick in ticks)


# Eight clients of short statements on saturated cores: hardly any sample meets one that is active.
HARDLY_SEEN = (
    WaitCount("client", 0, "asking", "active", "", "", 1),
    WaitCount("client", 0, "asking", "idle", "Client", "ClientRead", 7),
)


def short_statements(**counted):
    run = MadeRun(seconds=10, warmup=0, clients=8)
    for number in range(1, 21):
        run.look(number * 0.5, HARDLY_SEEN)
    if counted:
        run.counters("processes", counted, of="server", at_s=np.arange(1.0, 11.0))
    return run.loaded()


def test_sessions_on_a_cpu_are_as_many_as_the_kernel_counted_in_each_interval():
    busy_us = np.array([2.0, 1.5] * 5) * 1e6
    recording = short_statements(user_us=busy_us, run_queue_us=3e6)
    found = bands(recording)
    assert found.knows_cpu
    np.testing.assert_allclose(found.sessions["cpu"], busy_us / 1e6)
    np.testing.assert_allclose(found.sessions["cpu_queue"], 3)
    np.testing.assert_allclose(sum(found.sessions.values()), 8)
    of_all = budget(recording)
    assert of_all.share("cpu") == pytest.approx(found.sessions["cpu"].mean() / 8)
    assert f"CPU 21.9{THIN_SPACE}%" in section_of(recording, "waits")


def test_what_only_samples_show_is_not_called_cpu_time():
    recording = short_statements()
    found = bands(recording)
    assert not found.knows_cpu
    np.testing.assert_allclose(found.sessions["cpu"], 1)
    text = section_of(recording, "waits")
    assert f"active 12.5{THIN_SPACE}%" in text
    assert "CPU time was not read" in text


def test_an_interval_in_which_the_kernel_was_not_read_is_as_sampled():
    run = MadeRun(seconds=10, warmup=2, clients=8)
    for number in range(-3, 21):
        run.look(number * 0.5, HARDLY_SEEN)
    counted = {"user_us": 2e6, "run_queue_us": 0}
    run.counters("processes", counted, of="server", at_s=np.arange(1.0, 11.0), was_reset=[0])
    found = bands(run.loaded())
    np.testing.assert_allclose(found.sessions["cpu"], [1] * 3 + [2] * 9)


def test_a_response_is_split_into_its_parts_over_time(ordinary):
    found = chart(ordinary, "response-parts-chart")
    assert [one["label"] for one in found["series"]] == ["unseen", "lock", "other", "work"]
    text = section_of(ordinary, "response-parts")
    assert re.search(r"A transaction takes 1\.26.ms on average: other 46", text)
    assert "“UPDATE pgbench_branches" in text
    assert "lock 100" in text


def test_without_session_samples_a_response_has_no_parts(unwatched):
    assert section_of(unwatched, "response-parts") == ""
