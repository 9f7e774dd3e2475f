"""The page as text."""

import json
import re

import msgspec
import numpy as np
import pytest

from dbdyno.errors import DbdynoError
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.record import FailureRecord
from dbdyno.report import html
from dbdyno.report.html import render_html, safe_json
from dbdyno.report.registry import all_sections
from dbdyno.store.run import open_run
from dbdyno.store.writer import RunWriter
from tests.report.conftest import HOSTILE
from tests.report.pages import section_of
from tests.store import hdr, synthetic


def test_every_section_is_on_the_page(ordinary):
    page = render_html(ordinary, hdr.HISTOGRAMS)
    found = re.findall(r'<section id="([\w-]+)"', page)
    assert found == [section.id for section in all_sections() if section.id != "stages"]


def test_every_figure_has_words_and_a_table(ordinary):
    page = render_html(ordinary, hdr.HISTOGRAMS)
    figures = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    assert len(figures) == 8
    for figure in figures:
        assert re.search(r'class="summary"[^>]*>[^<]{20,}', figure)
        assert re.search(r"<figcaption>[^<]{20,}", figure)
        assert figure.count("<tr>") > 3


def test_doubts_and_reasons_come_before_any_section(ordinary):
    record = msgspec.structs.replace(
        ordinary.record, valid=False, invalid_reasons=["the generator was the bottleneck"]
    )
    page = render_html(msgspec.structs.replace(ordinary, record=record), hdr.HISTOGRAMS)
    top = page[: page.index('<section id="throughput"')]
    assert "Not valid: do not use these results." in top[: top.index('class="numbers"')]
    assert "The generator was the bottleneck." in top
    assert f"Few samples for p99.99: of 22{THIN_SPACE}637" in top


def test_the_head_shows_conditions_and_command(ordinary):
    record = msgspec.structs.replace(ordinary.record, command=["tpcb", "--clients", "8"])
    page = render_html(msgspec.structs.replace(ordinary, record=record), hdr.HISTOGRAMS)
    head = page[: page.index("</header>")]
    assert "8 clients, 2 threads, closed loop, query mode prepared" in head
    assert "<code>dbdyno run tpcb --clients 8</code>" in head


def test_long_scripts_and_modules_are_behind_folds(ordinary):
    module = "-- a line\n" * 700
    lua = {"path": "oltp.lua", "modules": {"oltp_common": module}}
    recording = msgspec.structs.replace(ordinary, plan={**ordinary.plan, "lua": lua})
    page = render_html(recording, hdr.HISTOGRAMS)
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
    page = render_html(hostile, hdr.HISTOGRAMS)
    assert "<img" not in page
    assert page.count("</script>") == page.count("<script")


def test_a_run_that_measured_nothing_still_has_a_page(tmp_path):
    RunWriter(synthetic.record(), synthetic.plan(), tmp_path).close()
    page = render_html(open_run("last", tmp_path).recording(), hdr.HISTOGRAMS)
    assert "Interrupted" in page


def test_a_long_run_stays_a_small_page(ordinary):
    """28 800 intervals of one second."""
    repeated = {
        name: {
            column: repeat(values, offset=name == "intervals" and column == "time_s")
            for column, values in ordinary.tables[name].items()
        }
        for name in ("intervals", "scripts")
    }
    for table in repeated.values():
        table["interval"] = np.arange(len(table["interval"]))
    recording = msgspec.structs.replace(ordinary, tables={**ordinary.tables, **repeated})
    assert len(render_html(recording, hdr.HISTOGRAMS)) < 400_000


def repeat(values, offset):
    times = 28_800 // len(values)
    repeated = np.tile(values, times)
    return repeated + np.repeat(np.arange(times) * len(values), len(values)) if offset else repeated


def test_a_missing_bundle_is_reported_with_the_command_to_build_it(ordinary, monkeypatch, tmp_path):
    monkeypatch.setattr(html, "_BUNDLE", tmp_path / "report.js")
    html.bundle.cache_clear()
    with pytest.raises(DbdynoError, match="make build"):
        render_html(ordinary, hdr.HISTOGRAMS)
    html.bundle.cache_clear()


def test_an_outage_is_marked_on_the_charts_and_listed(ordinary):
    outages = {
        "time_s": np.array([20.0, 50.0]),
        "seconds": np.array([4.0, np.nan]),
        "connections_lost": np.array([8, 3]),
        "message": np.array(["server closed the connection", "refused"], dtype=object),
    }
    recording = msgspec.structs.replace(ordinary, tables={**ordinary.tables, "outages": outages})
    page = render_html(recording, hdr.HISTOGRAMS)
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
        failure_class="lock_timeout", code="1205", count=7, message="too long", took_s=7.5
    )
    section = section_of(ordinary, "failures", tried_again=[again])
    assert "Failed tries that were retried" in section
    assert ">lock timeout<" in section
    assert "7.5" in section


def test_an_interrupted_run_shows_what_was_recorded(tmp_path):
    with RunWriter(synthetic.record(), synthetic.plan(), tmp_path) as writer:
        for frame in synthetic.packed(synthetic.Shape(seconds=12, tps=100, done=False)):
            writer.append_frame(frame)
    page = render_html(open_run("last", tmp_path).recording(), hdr.HISTOGRAMS)
    assert "Interrupted: these are the results of the part that was recorded." in page
    assert re.search(r'class="value">\d\d\.?\d?<small> TPS', page)
    assert 'id="statement-bars"' in page


def test_settings_stand_in_tables_with_their_reasons(ordinary):
    page = render_html(ordinary, hdr.HISTOGRAMS)
    server = page[page.index('<section id="server"') :]
    assert re.search(
        r"max_wal_size</td><td class=\"code\">16GB</td><td>no checkpoint by size", server
    )
    assert re.search(
        r"shared_buffers</td><td class=\"code\">131072 × 8kB, 1\sGiB</td><td>file", server
    )
