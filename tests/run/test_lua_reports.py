"""sysbench scripts with reports of their own, on a private MariaDB."""

import json
from pathlib import Path

import pytest

from dbdyno.cli import main
from tests.engine.mariadb import MariaDB
from tests.support.ended import ENDED, assert_sound

SCRIPT = """
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("select 1") end
"""
CUMULATIVE = """
function sysbench.hooks.report_cumulative(stat)
  local names = {}
  for name in pairs(stat) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do print("whole " .. name .. " " .. stat[name]) end
end
"""
COMMON = {
    "errors",
    "events",
    "latency_pct",
    "other",
    "reads",
    "reconnects",
    "threads_running",
    "time_interval",
    "time_total",
    "writes",
}


@pytest.fixture(scope="module")
def url():
    server = MariaDB()
    try:
        yield f"mysql://loader@localhost/load_test?socket={server.socket_path}"
    finally:
        server.remove()


@pytest.fixture
def run(url: str, home: Path, tmp_path: Path, capfd):
    """Runs a script; returns its record, the output of its reports, and stderr."""
    script = tmp_path / "mine.lua"

    def measure(hooks: str, *options: str) -> tuple[dict, list[str], str]:
        script.write_text(SCRIPT + hooks, encoding="utf-8")
        fixed = ("-c", "2", "--warmup", "0", "--telemetry", "off", "--json", "--target", url)
        assert main(["run", str(script), *fixed, *options]) in ENDED
        captured = capfd.readouterr()
        record = json.loads(captured.out)
        assert_sound(record["invalid_reasons"])
        log = home / "runs" / record["run_id"] / "log.txt"
        return record, log.read_text(encoding="utf-8").splitlines(), captured.err

    return measure


def test_a_report_of_each_interval(run):
    hook = "sysbench.hooks.report_intermediate = sysbench.report_csv"
    record, log, _ = run(hook, "-T", "2", "--", "--report-interval=1")
    reports = [line.split(",") for line in log if line.count(",") == 9]
    assert [report[:2] for report in reports] == [["1", "2"], ["2", "2"]]
    tps, qps = (sum(float(report[place]) for report in reports) for place in (2, 3))
    ends_late = 2  # each client's transaction in progress at the end
    assert 0 < record["transactions"]["ok"] - ends_late <= tps <= record["transactions"]["ok"]
    assert qps >= tps  # statements are counted up to the time of the report


def test_a_report_of_the_whole_run(run):
    record, log, _ = run(CUMULATIVE, "-t", "20")
    whole = {line.split()[1]: float(line.split()[2]) for line in log if line.startswith("whole")}
    assert whole.keys() == COMMON | {f"latency_{which}" for which in ("avg", "max", "min", "sum")}
    assert (whole["events"], whole["reads"], whole["writes"], whole["other"]) == (40, 40, 0, 0)
    assert whole["threads_running"] == 2
    assert whole["latency_max"] * 1e3 == pytest.approx(record["response_ms"]["max"], rel=1e-3)
    assert whole["latency_sum"] == pytest.approx(whole["latency_avg"] * 40)
    assert whole["latency_min"] <= whole["latency_pct"] <= whole["latency_max"]


def test_transactions_that_end_after_the_measured_time_count_in_no_rate(run):
    slow = "function event() con:query('select sleep(2.2)') end" + CUMULATIVE
    record, log, _ = run(slow, "-T", "3")
    whole = {line.split()[1]: float(line.split()[2]) for line in log if line.startswith("whole")}
    assert record["transactions"]["ok"] == 4  # half of them in the grace period
    assert whole["events"] == record["throughput_tps"]["value"] * whole["time_total"] == 2
    assert whole["reads"] == 2
    assert 4 * 2.2 <= whole["latency_sum"] < 4 * 2.8


def test_a_queue_is_reported_if_there_is_a_rate(run):
    names = CUMULATIVE.replace("cumulative", "intermediate")
    _, log, _ = run(names, "-T", "1", "--rate", "50")
    captured = {line.split()[1] for line in log if line.startswith("whole")}
    assert captured == COMMON | {"queue_length", "concurrency"}


def test_no_intervals_no_intermediate_reports(run):
    hooks = """
        function sysbench.hooks.report_intermediate() print("an interval") end
        function sysbench.hooks.report_cumulative() print("the whole") end
    """
    _, log, _ = run(hooks, "-T", "1", "-P", "0")
    assert [line for line in log if line in {"an interval", "the whole"}] == ["the whole"]


def test_objects_of_an_array(run):
    hook = "sysbench.hooks.report_intermediate = sysbench.report_json"
    _, log, _ = run(hook, "-T", "2")
    begin, end = (next(n for n, line in enumerate(log) if line[0] == sign) for sign in "[]")
    reports = json.loads("".join(log[begin : end + 1]))
    assert [report["time"] for report in reports] == [1, 2]


def test_a_failing_hook_is_reported_once_and_ends_nothing(run):
    hook = "function sysbench.hooks.report_intermediate(stat) error('no words') end"
    record, log, captured = run(hook, "-T", "2")
    assert record["transactions"]["ok"] > 0
    assert captured.count("a hook of the script failed: mine.lua:4: no words") == 1
    assert sum("no words" in line for line in log) == 1
