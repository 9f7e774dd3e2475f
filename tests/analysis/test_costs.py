import numpy as np
import pytest

from dbdyno.analysis.costs.costs import cost, costs
from tests.support.recordings import MadeRun

SECONDS, WARMUP = 60, 3
READ_S = np.arange(-WARMUP, SECONDS + 1) + 0.4


def noisy(mean, rng, spread=0.1, size=SECONDS + WARMUP):
    return mean * (1 + spread * rng.standard_normal(size))


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def by_id(found, script=""):
    return {record.id: record for record in found if record.script == script}


def test_costs_are_what_was_spent_by_what_was_committed(rng):
    ok = noisy(1000, rng).round()
    found = costs(
        MadeRun(ok, failed=50, engine={"cpu_us": 12 * ok, "round_trips": 7 * ok})
        .counters("processes", {"user_us": 100 * ok, "system_us": 50 * ok}, of="server")
        .counters("processes", {"user_us": 1e9}, of="engine")
        .counters(
            "pg_stat_database", {"blks_hit": 20 * ok, "tup_updated": 3 * ok, "tup_inserted": ok}
        )
        .loaded()
    )
    assert {record.id: pytest.approx(record.value) for record in found} == {
        "server_cpu_us": 150,
        "buffers_hit": 20,
        "buffers_read": 0,
        "rows_scanned": 0,
        "rows_written": 4,
        "voluntary_switches": 0,
        "involuntary_switches": 0,
        "engine_cpu_us": 12,
        "round_trips": 7,
    }
    assert by_id(found)["engine_cpu_us"].side == "client"
    assert cost(found, "server_cpu_us") == pytest.approx(150)
    assert cost(found, "wal_bytes") is None


def test_without_telemetry_there_are_only_the_engines_own_costs():
    assert [record.id for record in costs(MadeRun(engine={"cpu_us": 5}).loaded())] == [
        "engine_cpu_us"
    ]


def test_readings_between_the_intervals_ends_give_the_same_cost(rng):
    ok = noisy(1000, rng).round()
    spent = np.interp(READ_S, np.arange(-WARMUP, SECONDS + 1), np.append(0, np.cumsum(30 * ok)))
    made = MadeRun(ok).counters(
        "processes", {"user_us": np.diff(spent, prepend=0)}, of="server", at_s=READ_S
    )
    found = by_id(costs(made.loaded()))["server_cpu_us"]
    assert found.value == pytest.approx(30, rel=0.005)
    assert found.low < 30 < found.high
    assert found.high - found.low < 1


def test_counters_that_are_published_late_do_not_lean_the_cost(rng):
    """Half a second late on average; the reading after the end has everything held back."""
    ok = noisy(1000, rng).round()
    published_s = np.minimum(READ_S - 0.5, SECONDS)
    published_s[-1] = SECONDS
    spent = np.interp(
        published_s, np.arange(-WARMUP, SECONDS + 1), np.append(0, np.cumsum(20 * ok))
    )
    deltas = {"blks_hit": np.diff(spent, prepend=0)}
    made = MadeRun(ok).counters("pg_stat_database", deltas, at_s=READ_S)
    assert cost(costs(made.loaded()), "buffers_hit") == pytest.approx(20, rel=0.005)


def test_lags_that_differ_at_both_ends_are_within_the_interval():
    """Sessions that began together have just published their counters when the first sum begins."""
    published_s = READ_S - np.where(READ_S < 1, 0.0, 0.7)
    spent = 20_000 * (published_s + WARMUP)
    made = MadeRun(1000, engine={"round_trips": 7000})
    made.counters("pg_stat_database", {"blks_hit": np.diff(spent, prepend=0)}, at_s=READ_S)
    found = by_id(costs(made.loaded()))
    assert found["buffers_hit"].value < 19.95
    assert found["buffers_hit"].low < 20 < found["buffers_hit"].high < 20.5
    assert found["round_trips"].low == found["round_trips"].high == 7


def test_seconds_over_which_counters_were_set_back_are_left_out():
    made = MadeRun(1000).counters("wal_position", {"bytes": 500_000}, was_reset=[20, 21])
    assert cost(costs(made.loaded()), "wal_bytes") == pytest.approx(500)


def test_wal_is_split_into_records_and_images_by_the_images_mean_size(rng):
    """Images fall from 2 to 0 per transaction after each of two checkpoints."""
    ok = noisy(1000, rng)
    images = ok * 2 * np.exp(-(np.arange(SECONDS + WARMUP) % 30) / 5)
    records = 4 * ok
    written = 100 * records + 7000 * images
    made = (
        MadeRun(ok.round())
        .counters("pg_stat_wal", {"wal_records": records, "wal_fpi": images, "wal_bytes": written})
        .counters("wal_position", {"bytes": written})
    )
    found = by_id(costs(made.loaded()))
    assert found["wal_record_bytes"].value == pytest.approx(400, rel=0.01)
    assert found["wal_full_page_bytes"].title == "WAL of full-page images (estimated)"
    together = found["wal_record_bytes"].value + found["wal_full_page_bytes"].value
    assert together == pytest.approx(found["wal_bytes"].value)


@pytest.mark.parametrize(
    "image_counts", [{}, {"wal_fpi_bytes": 1.2e6}], ids=["estimated", "counted"]
)
def test_images_are_never_more_than_the_wal_of_a_run_that_is_as_short_as_counters_are_late(
    image_counts,
):
    """Half of what is counted was written in the warm-up, which is full of images."""
    made = MadeRun(1000, seconds=2)
    counted = {"wal_bytes": 1.5e6, "wal_fpi": 150, "wal_records": 6000, **image_counts}
    made.counters("pg_stat_wal", counted).counters("wal_position", {"bytes": 1e6})
    found = by_id(costs(made.loaded()))
    images, records = found["wal_full_page_bytes"].value, found["wal_record_bytes"].value
    of_image = image_counts.get("wal_fpi_bytes", 150 * 8192)
    assert images == pytest.approx(1000 * of_image / 1.5e6)
    assert images + records == pytest.approx(found["wal_bytes"].value) == pytest.approx(1000)


def test_images_of_a_short_run_are_not_too_few_because_counters_are_late():
    """A third of the work had not been published at the last reading under load."""
    made = MadeRun(1000, seconds=3)
    counted = {"wal_bytes": 6e6, "wal_fpi": 720, "wal_fpi_bytes": 5.7e6, "wal_records": 2000}
    made.counters("pg_stat_wal", counted).counters("wal_position", {"bytes": 9e6})
    found = by_id(costs(made.loaded()))
    assert found["full_page_images"].value == pytest.approx(1.08)
    assert found["wal_full_page_bytes"].value == pytest.approx(8550)
    assert found["wal_record_bytes"].value == pytest.approx(450)


def test_a_segment_that_was_left_half_empty_is_no_image():
    made = MadeRun(1000).counters("wal_position", {"bytes": 3e6})
    counted = {"wal_bytes": 1e6, "wal_fpi": 100, "wal_fpi_bytes": 8e5, "wal_records": 2000}
    found = by_id(costs(made.counters("pg_stat_wal", counted).loaded()))
    assert found["wal_full_page_bytes"].value == pytest.approx(800)


def test_without_images_the_wal_is_of_records_alone():
    images = np.zeros(21)
    images[0] = 5  # in the warm-up
    counted = {"wal_bytes": 1e6, "wal_records": 2000, "wal_fpi": images}
    made = MadeRun(1000, warmup=1, seconds=20).counters("pg_stat_wal", counted)
    found = by_id(costs(made.loaded()))
    assert found["wal_full_page_bytes"].value == 0
    assert found["wal_record_bytes"].value == pytest.approx(1000)


def test_images_whose_bytes_the_server_counts_are_not_estimated():
    counted = {"wal_bytes": 9e6, "wal_fpi": 1000, "wal_fpi_bytes": 6e6, "wal_records": 5000}
    found = by_id(costs(MadeRun(1000).counters("pg_stat_wal", counted).loaded()))
    assert found["wal_full_page_bytes"].value == pytest.approx(6000)
    assert found["wal_full_page_bytes"].title == "WAL of full-page images"


def test_buffers_written_are_counted_where_the_version_counts_them():
    old = MadeRun(1000).counters("pg_stat_bgwriter", {"buffers_clean": 100, "buffers_backend": 200})
    old = old.counters("pg_stat_checkpointer", {"buffers_written": 700})
    new = MadeRun(1000).counters("pg_stat_io", {"writes": 50}, of="client backend/relation/normal")
    new = new.counters("pg_stat_io", {"writes": 9000}, of="client backend/wal/normal")
    in_bytes = MadeRun(1000).counters(
        "pg_stat_io", {"writes": 50, "write_bytes": 3 * 8192e3}, of="checkpointer/relation/normal"
    )
    values = [cost(costs(made.loaded()), "buffers_written") for made in (old, new, in_bytes)]
    assert values == pytest.approx([1, 0.05, 3])


def test_fsyncs_of_wal_and_files_are_added():
    made = MadeRun(1000).counters("pg_stat_wal", {"wal_sync": 400})
    assert cost(costs(made.loaded()), "fsyncs") == pytest.approx(0.4)
    made = MadeRun(1000).counters("pg_stat_wal", {"wal_sync": 400})
    made = made.counters("pg_stat_io", {"fsyncs": 100}, of="checkpointer/relation/normal")
    assert cost(costs(made.loaded()), "fsyncs") == pytest.approx(0.5)
    assert cost(costs(MadeRun(1000).loaded()), "fsyncs") is None


def mixed(swing):
    share = 0.5 + swing * np.sin(np.arange(SECONDS + WARMUP) / 4)
    ended = 1000 + 200 * np.sin(np.arange(SECONDS + WARMUP) / 7)
    return np.stack([ended * share, ended * (1 - share)], axis=1).round()


def read_at(times, series):
    grid = np.arange(-WARMUP, SECONDS + 1)
    return np.diff(np.interp(times, grid, np.append(0, np.cumsum(series))), prepend=0)


def two_scripts(rng, swing):
    ended = mixed(swing)
    cpu = ended @ np.array([50.0, 200.0]) + 10_000 + 1000 * rng.standard_normal(len(ended))
    made = MadeRun(ended, scripts={"read": "SELECT 1;", "write": "SELECT 2;"})
    return made.counters("processes", {"user_us": read_at(READ_S, cpu)}, of="server", at_s=READ_S)


@pytest.mark.parametrize("readings", [1, 4, 5])
def test_a_cost_that_was_read_a_few_times_has_no_interval(rng, readings):
    """All seconds of one reading share its value, which does not show how well it is known."""
    made = MadeRun(noisy(1000, rng).round(), seconds=SECONDS, warmup=WARMUP)
    at_s = np.linspace(0, SECONDS, readings + 1)[1:]
    found = costs(made.counters("processes", {"user_us": 1e6}, of="server", at_s=at_s).loaded())
    assert (by_id(found)["server_cpu_us"].low is None) == (readings < 5)


def test_the_costs_of_scripts_are_separated_when_their_mix_varied(rng):
    found = costs(two_scripts(rng, 0.3).loaded())
    read, write = (by_id(found, name)["server_cpu_us"] for name in ("read", "write"))
    assert read.low < 50 < read.high
    assert write.low < 200 < write.high
    assert write.value == pytest.approx(200, rel=0.1)


def test_the_costs_of_scripts_are_not_separated_when_their_mix_hardly_varied(rng):
    found = costs(two_scripts(rng, 0.002).loaded())
    assert not by_id(found, "read")
    assert "server_cpu_us" in by_id(found)


def test_statements_that_the_server_counts_give_their_scripts_costs():
    made = MadeRun(np.full((63, 2), 500), scripts={"read": "…", "write": "…"})
    for script, sql in enumerate(("SELECT 1;", "UPDATE t;", "INSERT …;")):
        made.statement(sql, script=min(script, 1))
    for statement, written in enumerate((0, 250_000, 150_000)):
        deltas = {"wal_bytes": written, "shared_blks_hit": 2000}
        made.counters("pg_stat_statements", deltas, of=f"statement {statement}")
    made.counters("pg_stat_database", {"blks_hit": 6000}).counters("wal_position", {"bytes": 5e5})
    found = costs(made.loaded())
    assert by_id(found, "write")["wal_bytes"].value == pytest.approx(800)
    assert by_id(found, "read")["wal_bytes"].value == 0
    assert by_id(found, "read")["buffers_hit"].value == pytest.approx(4)
    assert found[-1].script
    assert not found[0].script


def fixed_work(*, warmup=0, was_reset=(), published=1.0):
    """3300 transactions in 3.3 s; the host is read for the last time after that.

    Each of them uses 100 µs, 500 bytes of WAL and 20 buffers, those at the beginning a little more.
    """
    made = MadeRun(
        [1000] * warmup + [1000, 1000, 1000, 300],
        seconds=4,
        warmup=warmup,
        engine={"round_trips": [7000] * warmup + [8000, 7000, 7000, 1100]},
    )
    at_s, share = np.array([0.5, 1.5, 2.5, 3.4]), np.array([0.2, 0.3, 0.25, 0.25])
    cpu = {"cpu_us": 330_000 * share}
    made.counters("processes", cpu, of="server", at_s=at_s, was_reset=was_reset)
    made.counters("wal_position", {"bytes": 1_650_000 * share}, at_s=at_s)
    counted = {"blks_hit": 66_000 * share, "xact_commit": published * 3300 * share}
    recording = made.counters("pg_stat_database", counted, at_s=at_s).loaded()
    recording.intervals.seconds[-1] = 0.3
    return recording


def windows(recording):
    return {record.id: record.window for record in costs(recording)}


def test_without_a_warmup_costs_are_those_of_the_whole_load():
    found = by_id(costs(fixed_work()))
    wanted = {"server_cpu_us": 100, "wal_bytes": 500, "buffers_hit": 20, "round_trips": 7}
    assert {name: found[name].value for name in wanted} == pytest.approx(wanted)
    assert {record.window for record in found.values()} == {"load"}


def test_after_a_warmup_costs_are_those_of_the_measured_intervals():
    assert set(windows(fixed_work(warmup=1)).values()) == {"measured"}


def test_a_cost_whose_counters_were_set_back_under_load_is_that_of_the_measured_intervals():
    found = windows(fixed_work(was_reset=[0]))
    assert (found["server_cpu_us"], found["buffers_hit"]) == ("measured", "load")


def test_what_sessions_that_go_on_have_not_published_is_not_missed():
    """The sessions of a pooler do not end with the load; WAL and CPU time are current anyway."""
    recording = fixed_work(published=0.9)
    found = windows(recording)
    assert "buffers_hit" not in found or found["buffers_hit"] == "measured"
    assert {found["server_cpu_us"], found["wal_bytes"], found["round_trips"]} == {"load"}


def test_a_cost_of_the_whole_load_has_the_interval_of_its_seconds(rng):
    ok = noisy(1000, rng, size=SECONDS).round()
    made = MadeRun(ok, seconds=SECONDS, warmup=0)
    spent = 100 * ok + 3000 * rng.standard_normal(SECONDS)
    found = costs(made.counters("processes", {"cpu_us": spent}, of="server").loaded())
    of_server = by_id(found)["server_cpu_us"]
    assert of_server.window == "load"
    assert of_server.low < 100 < of_server.high < 103


def test_images_of_the_whole_load_have_the_mean_size_that_its_seconds_show(rng):
    ok = noisy(1000, rng, size=SECONDS)
    images, records = ok * 2 * np.exp(-(np.arange(SECONDS) % 30) / 5), 4 * ok
    written = 100 * records + 7000 * images
    made = MadeRun(ok.round(), seconds=SECONDS, warmup=0)
    made.counters("pg_stat_wal", {"wal_records": records, "wal_fpi": images, "wal_bytes": written})
    found = by_id(costs(made.counters("wal_position", {"bytes": written}).loaded()))
    assert found["wal_full_page_bytes"].window == "load"
    assert found["wal_record_bytes"].value == pytest.approx(400, rel=0.01)


def test_folders_that_have_cpu_time_in_ticks_alone():
    ticks = {"user_us": 1e5, "system_us": 5e4}
    older = MadeRun(1000).counters("processes", ticks, of="server")
    newer = MadeRun(1000).counters("processes", {"cpu_us": 1.6e5, **ticks}, of="server")
    found = [cost(costs(made.loaded()), "server_cpu_us") for made in (older, newer)]
    assert found == pytest.approx([150, 160])
