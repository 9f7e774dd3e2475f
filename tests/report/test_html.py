"""The page as text."""

import dataclasses
import json
import pkgutil
import re

import msgspec
import numpy as np
import pytest

from dbdyno.analysis.summarize import full_record
from dbdyno.errors import DbdynoError
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.record import FailureRecord
from dbdyno.report import render_html as html, sections
from dbdyno.report.page_order import PAGE_ORDER, all_sections
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_html import render_html, safe_json
from dbdyno.store.run import open_run
from dbdyno.store.writer import RunWriter
from tests.report.conftest import HOSTILE
from tests.report.pages import section_of
from tests.store import synthetic
from tests.store.hdr import HISTOGRAMS
from tests.support.recordings import changed


def test_every_section_is_on_the_page(ordinary):
    page = render_html(run_page(ordinary))
    found = re.findall(r'<section id="([\w-]+)"', page)
    absent = {
        "stages",
        "audit",
        "workers",
        "failovers",
        "servers",
        "standbys",
    }  # of other plans, or workloads with a definition
    assert found == [section.id for section in all_sections() if section.id not in absent]


def test_the_order_of_the_page_has_every_section_once():
    modules = {module.name for module in pkgutil.iter_modules(sections.__path__)}
    assert sorted(PAGE_ORDER) == sorted(name.replace("_", "-") for name in modules)
    assert [section.id for section in all_sections()] == list(PAGE_ORDER)


def test_every_figure_has_words_and_a_table(ordinary):
    page = render_html(run_page(ordinary))
    figures = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    assert len(figures) == 16
    for figure in figures:
        assert re.search(r'class="summary"[^>]*>[^<]{20,}', figure)
        assert re.search(r"<figcaption>[^<]{20,}", figure)
        assert figure.count("<tr>") > 3


def test_doubts_and_reasons_come_before_any_section(ordinary):
    record = msgspec.structs.replace(
        ordinary.record, valid=False, invalid_reasons=["the generator was the bottleneck"]
    )
    page = render_html(run_page(dataclasses.replace(ordinary, record=record)))
    top = page[: page.index('<section id="throughput"')]
    assert "Not valid: do not use these results." in top[: top.index('class="numbers"')]
    assert "The generator was the bottleneck." in top
    assert f"Few samples: p99.99 is uncertain: of 22{THIN_SPACE}637" in top


def test_the_head_shows_conditions_and_command(ordinary):
    record = msgspec.structs.replace(ordinary.record, command=["tpcb", "--clients", "8"])
    page = render_html(run_page(dataclasses.replace(ordinary, record=record)))
    head = page[: page.index("</header>")]
    assert "8 clients, 2 threads, closed loop, query mode prepared" in head
    assert "<code>dbdyno run tpcb --clients 8</code>" in head


def test_long_scripts_and_modules_are_behind_folds(ordinary):
    module = "-- a line\n" * 700
    lua = {"path": "oltp.lua", "modules": {"oltp_common": module}}
    recording = changed(ordinary, plan={"lua": lua})
    page = render_html(run_page(recording))
    plan = page[page.index('<section id="plan"') :]
    assert "<summary>Module oltp_common: 700 lines</summary>" in plan
    assert plan.count("-- a line") == 700
    assert "-- a line" not in re.sub("<details.*?</details>", "", plan, flags=re.DOTALL)


@pytest.mark.parametrize("text", [HOSTILE, "</SCRIPT>", "<!--<script>", "\u2029"])
def test_json_in_a_script_cannot_end_it(text):
    written = safe_json({"label": text})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"label": text}


def test_no_hostile_string_is_left_as_markup(hostile):
    page = render_html(run_page(hostile))
    assert "<img" not in page
    assert page.count("</script>") == page.count("<script")


def test_a_run_that_measured_nothing_still_has_a_page(tmp_path):
    RunWriter(synthetic.record(), synthetic.plan(), tmp_path).close()
    page = render_html(run_page(open_run("last", tmp_path).load(HISTOGRAMS)))
    assert "Interrupted" in page


def test_a_long_run_stays_a_small_page(ordinary):
    """28 800 intervals of one second."""
    repeated = {
        name: {
            column: repeat(values, offset=name == "intervals" and column == "time_s")
            for column, values in ordinary.columns[name].items()
        }
        for name in ("intervals", "scripts")
    }
    for table in repeated.values():
        table["interval"] = np.arange(len(table["interval"]))
    recording = dataclasses.replace(ordinary, columns={**ordinary.columns, **repeated})
    assert len(render_html(run_page(recording))) < 400_000


def repeat(values, offset):
    times = 28_800 // len(values)
    repeated = np.tile(values, times)
    return repeated + np.repeat(np.arange(times) * len(values), len(values)) if offset else repeated


def test_a_missing_bundle_is_reported_with_the_command_to_build_it(ordinary, monkeypatch, tmp_path):
    monkeypatch.setattr(html, "_STATIC", tmp_path)
    html.bundle.cache_clear()
    with pytest.raises(DbdynoError, match="make build"):
        render_html(run_page(ordinary))
    html.bundle.cache_clear()


def test_an_outage_is_marked_on_the_charts_and_listed(ordinary):
    outages = {
        "time_s": np.array([20.0, 50.0]),
        "seconds": np.array([4.0, np.nan]),
        "connections_lost": np.array([8, 3]),
        "message": np.array(["server closed the connection", "refused"], dtype=object),
    }
    recording = dataclasses.replace(ordinary, columns={**ordinary.columns, "outages": outages})
    page = render_html(run_page(recording))
    data = re.search(r'application/json">(.*?)</script>', page).group(1)
    marks = [(one["begin_s"], one["end_s"]) for one in json.loads(data)["marks"]]
    assert marks == [(-3, 0), (20, 24), (50, 60)]
    assert "shaded: warm-up and outage;" in page
    assert "until the end" in page


def test_failures_are_listed_with_the_statement_that_the_first_message_answered(ordinary):
    failure = FailureRecord(
        failure_class="deadlock", code="40P01", count=3, message="deadlock", statement="update t"
    )
    assert 'class="code">update t<' in section_of(ordinary, "failures", failures=[failure])


def test_tries_that_were_made_again_are_listed_with_the_time_they_took(ordinary):
    again = FailureRecord(
        failure_class="lock_timeout",
        code="1205",
        count=7,
        message="too long",
        took_s=7.5,
        by_script={"pay": 2, "order": 5},
    )
    scripts = [*full_record(ordinary).scripts] * 2
    section = section_of(ordinary, "failures", tried_again=[again], scripts=scripts)
    assert "Failed tries that were retried" in section
    assert ">lock timeout<" in section
    assert "7.5" in section
    assert "order 5, pay 2" in section


def test_an_interrupted_run_shows_what_was_recorded(tmp_path):
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        for frame in synthetic.packed(synthetic.Shape(seconds=12, tps=100, done=False)):
            writer.append_frame(frame)
    page = render_html(run_page(open_run("last", tmp_path).load(HISTOGRAMS)))
    assert "Interrupted: these are the results of the part that was recorded." in page
    assert re.search(r'class="value">\d\d\.?\d?<small> TPS', page)
    assert 'id="statement-bars"' in page


def test_settings_stand_in_tables_with_their_reasons(ordinary):
    page = render_html(run_page(ordinary))
    server = page[page.index('<section id="server"') :]
    assert re.search(
        r"max_wal_size</td><td class=\"code\">16GB</td><td>no checkpoint by size", server
    )
    assert re.search(
        r"shared_buffers</td><td class=\"code\">131072 × 8kB, 1\sGiB</td><td>file", server
    )
