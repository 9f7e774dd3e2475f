"""Metrics of runs that go on, as a scraper reads them."""

import dataclasses
import json
import re
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import msgspec
import promql_parser
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from dbdyno.cli.metrics import MetricsOf, metrics_place
from dbdyno.model.run import Run
from dbdyno.run.observer import Observer
from dbdyno.serve.metrics import exposition
from tests.run.test_end_to_end import begin, dbdyno
from tests.serve.test_live import FEW, RUN, running
from tests.store.hdr import HISTOGRAMS
from tests.support.patience import PATIENCE_S, eventually
from tests.support.recordings import MadeRun

ROOT = Path(__file__).parents[2]


def samples(text):
    """The samples by name and labels; refuses what is not OpenMetrics."""
    found = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            found.setdefault(one.name, {})[frozenset(one.labels.items())] = one.value
    return found


def test_what_is_measured_is_exposed():
    run: Run = MadeRun(seconds=10).loaded()
    found = samples(exposition([run]))
    committed = int(run.intervals.completed_committed.sum())
    (total,) = (
        value
        for labels, value in found["dbdyno_transactions_total"].items()
        if ("outcome", "committed") in labels
    )
    assert total == committed > 0
    assert len(found["dbdyno_run_info"]) == len(found["dbdyno_in_flight"]) == 1


def test_no_name_steers_the_text():
    run = MadeRun(seconds=3).loaded()
    record = msgspec.structs.replace(run.record, workload='a"} 1\nevil 2\\')
    found = samples(exposition([dataclasses.replace(run, record=record)]))
    assert "evil" not in found
    (labels,) = found["dbdyno_run_info"]
    assert ("workload", record.workload) in labels


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
    assert all(("run", name) in labels for labels in first["dbdyno_run_info"])
    for name in ("dbdyno_transactions_total", "dbdyno_generator_cpu_seconds_total"):
        assert all(second[name][labels] >= value for labels, value in first[name].items())


def test_a_run_answers_scrapers_by_itself(home, database):
    words = (*RUN, *FEW, "-T", "600", "--target", database.conninfo, "--metrics", ":0")
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


def test_they_are_answered_over_ipv6_too():
    observer, said = Observer(), []
    observer.say = said.append
    with MetricsOf(metrics_place("[::1]:0"), observer, HISTOGRAMS):
        address = said[0].removeprefix("metrics: ")
        assert address.startswith("http://[::1]:")
        assert urlopen(address, timeout=PATIENCE_S).read().endswith(b"# EOF\n")


def selectors(node):
    """The vector selectors of a parsed query, and the labels by which it groups."""
    match node:
        case promql_parser.VectorSelector():
            yield node
        case promql_parser.MatrixSelector():
            yield node.vector_selector
        case promql_parser.Call():
            for one in node.args:
                yield from selectors(one)
        case promql_parser.AggregateExpr():
            yield from selectors(node.expr)
        case _:
            raise AssertionError(f"a kind of query that this test does not know: {node}")


def has_samples(selector, found):
    """Whether there is a sample whose labels are as the selector wants them."""
    wanted = [(one.name, re.compile(one.value)) for one in selector.matchers.matchers]
    return any(
        all(pattern.fullmatch(dict(labels).get(name, "")) for name, pattern in wanted)
        for labels in found.get(selector.name, {})
    )


def test_the_dashboard_asks_for_what_a_run_gives(served, database):
    dashboard = json.loads((ROOT / "docs" / "grafana-dashboard.json").read_text())
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    queries = [
        target["expr"].replace('"$run"', '".*"').replace("$__rate_interval", "1m")
        for target in targets
    ]
    asked = [one for query in queries for one in selectors(promql_parser.parse(query))]
    assert len(asked) == len(targets) > 5
    with running(database, 600):
        found = eventually(
            lambda: samples(served.ask("/metrics").text),
            lambda found: all(has_samples(selector, found) for selector in asked),
        )
    for target, selector in zip(targets, asked, strict=True):
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            assert all(label in dict(labels) for labels in found[selector.name]), label
    (variable,) = [one for one in dashboard["templating"]["list"] if one["type"] == "query"]
    metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]).groups()
    assert all(label in dict(labels) for labels in found[metric])
