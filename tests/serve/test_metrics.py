"""Metrics of runs that go on, as a scraper reads them."""

import dataclasses
import json
import re
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import msgspec
import pytest

from dbdyno.cli.metrics import metrics_place
from dbdyno.model.run import Run
from dbdyno.serve.metrics import FAMILIES, exposition
from tests.run.test_end_to_end import begin, dbdyno
from tests.serve.test_live import RUN, running
from tests.support.patience import PATIENCE_S, eventually
from tests.support.recordings import MadeRun

SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)+)\} (\S+)')


def samples(text):
    """The samples by name and labels; refuses what is not OpenMetrics."""
    assert text.endswith("# EOF\n")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = {}
    for line in lines:
        name, labels, value = SAMPLE.fullmatch(line).groups()
        found.setdefault(name, {})[labels] = float(value)
    return found


def test_what_is_measured_is_exposed():
    run: Run = MadeRun(seconds=10).loaded()
    found = samples(exposition([run]))
    committed = int(run.intervals.completed_committed.sum())
    (total,) = (
        value
        for labels, value in found["dbdyno_transactions_total"].items()
        if 'outcome="committed"' in labels
    )
    assert total == committed > 0
    assert len(found["dbdyno_run_info"]) == len(found["dbdyno_in_flight"]) == 1


def test_no_name_steers_the_text():
    run = MadeRun(seconds=3).loaded()
    record = msgspec.structs.replace(run.record, workload='a"} 1\nevil 2\\')
    found = samples(exposition([dataclasses.replace(run, record=record)]))
    assert "evil" not in found


def test_totals_of_a_run_only_rise(served, database):
    with running(database, 600) as (_, name):
        first = eventually(
            lambda: samples(served.ask("/metrics").text),
            lambda found: "dbdyno_transactions_per_second" in found,
        )
        second = eventually(
            lambda: samples(served.ask("/metrics").text),
            lambda found: found["dbdyno_transactions_total"] != first["dbdyno_transactions_total"],
        )
    assert all(f'run="{name}"' in labels for labels in first["dbdyno_run_info"])
    for name in ("dbdyno_transactions_total", "dbdyno_generator_cpu_seconds_total"):
        assert all(second[name][labels] >= value for labels, value in first[name].items())


def test_a_run_answers_scrapers_by_itself(home, database):
    words = (*RUN, "-T", "600", "--target", database.conninfo, "--metrics", ":0")
    with begin(*words) as process:
        address = _address(process)
        text = eventually(
            lambda: urlopen(address, timeout=PATIENCE_S).read().decode(),
            lambda text: "dbdyno_response_seconds{" in text,
        )
        assert samples(text)["dbdyno_transactions_total"]
        with pytest.raises(HTTPError, match="404"):
            urlopen(address.replace("/metrics", "/runs"), timeout=PATIENCE_S)
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


def _address(process):
    for line in process.stderr:
        if found := re.search(r"metrics: (http://127\.0\.0\.1:\d+/metrics)", line):
            return found[1]
    raise AssertionError("no address")


def test_an_address_for_metrics_is_checked_before_the_run(home):
    for text in ("9100", ":99999", "a b:1"):
        with pytest.raises(ValueError, match="is no address"):
            metrics_place(text)
    assert metrics_place(":9100") == ("127.0.0.1", 9100)
    ended = dbdyno("run", "tpcb", "--metrics", "nonsense")
    assert ended.returncode == 1
    assert "is no address" in ended.stderr


def test_the_dashboard_asks_for_metrics_that_there_are():
    text = (Path(__file__).parents[2] / "docs" / "grafana-dashboard.json").read_text()
    asked = {
        name
        for panel in json.loads(text)["panels"]
        for target in panel["targets"]
        for name in re.findall(r"dbdyno_\w+", target["expr"])
    }
    endings = {"counter": "_total", "gauge": "", "info": "_info"}
    assert asked <= {family.name + endings[family.kind] for family in FAMILIES}
    assert len(asked) > 5
