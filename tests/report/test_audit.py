"""What a workload demands, and the conditions of its data, in the report and the summary."""

import dataclasses
import json
import re

import msgspec
import pytest

from dbdyno.formatting import plain
from dbdyno.model.record import AuditRecord, CheckRecord, RateRecord
from dbdyno.report.pages.run import render_summary, run_page
from dbdyno.report.render_html import render_html
from dbdyno.report.render_json import render_json
from dbdyno.report.render_markdown import render_markdown
from dbdyno.report.render_text import render_text
from tests.report.conftest import HOSTILE
from tests.support.recordings import MadeRun

FORMS = (render_html, render_text, render_markdown, render_json)


def demand(name, value, ok, **changes):
    made = AuditRecord(
        name=name, unit="share", value=value, low=0.009, high=0.011, count=23_456, ok=ok
    )
    return msgspec.structs.replace(made, **changes)


AUDIT = [
    demand("rolled back", 0.0101, True),
    demand("remote lines", 0.5, False),
    demand("by name", None, None, count=0),
    demand("90th percentile of pay", 7_000.0, False, unit="ms", low=None, high=5_000.0),
]
CHECKS = [
    CheckRecord(id="1", claim="sums agree", ok=True, rows=0, example=None, times=3),
    CheckRecord(
        id="2",
        claim="none is missing",
        ok=False,
        rows=1234,
        example={"d_id": 4, "note": HOSTILE, "o_id": None},
        times=3,
        broken_at_s=61.0,
    ),
]


@pytest.fixture
def run():
    run = MadeRun().loaded()
    record = msgspec.structs.replace(
        run.record,
        audit=AUDIT,
        checks=CHECKS,
        nopm=RateRecord(value=12_600.0, low=12_000.0, high=13_200.0),
        efficiency=0.98,
    )
    return dataclasses.replace(run, record=record)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_shows_demands_and_rows(run, form):
    text = plain(form(run_page(run)))
    for shown in (
        *("rolled back", "0.9 % to 1.1 %", "1.01 %", "too few to tell", "at most 5 s", "not met"),
        *("none is missing", "1 234", "The first row that broke condition 2, 61 s after"),
        "98 % of what the pauses of its clients allow",
        *("NULL", "12 600", "NOPM", "12 000 to 13 200: 95 % interval within this run"),
    ):
        assert shown in text


def test_the_page_escapes_what_comes_from_the_data(run):
    page = render_html(run_page(run))
    assert "onerror=window.broken" in page
    assert "<img src=x" not in page


def test_the_summary_counts(run):
    text = plain(render_summary(run.record, run.plan))
    assert "new orders    12 600 NOPM" in text
    assert "audit         1 of 4 demands met\n" in text
    assert "too few to tell: by name" in text
    assert "not met: remote lines, 90th percentile of pay" in text
    assert "conditions    1 of 2 broken: 2" in text
    held = msgspec.structs.replace(run.record, checks=CHECKS[:1], audit=AUDIT[:1], efficiency=None)
    text = plain(render_summary(held, run.plan))
    assert "unpaced: clients do not pause" in text
    assert "audit         1 of 1 demands met\n" in text
    assert "conditions    1 read, all of them hold" in text


def test_other_workloads_have_no_audit(run):
    without = msgspec.structs.replace(run.record, audit=[], checks=[], nopm=None)
    page = run_page(dataclasses.replace(run, record=without))
    assert "audit" not in [section.id for section in page.sections]
    assert "demands" not in render_summary(without, run.plan)


def test_rows_before_the_load_and_what_scripts_counted_are_shown(run):
    before = msgspec.structs.replace(CHECKS[1], rows_before=1200)
    record = msgspec.structs.replace(run.record, checks=[before], counted={"penalties": 4321})
    text = plain(render_text(run_page(dataclasses.replace(run, record=record))))
    assert "1 234 (1 200 before the load)" in text
    assert re.search(r"penalties +4 321\n", text)


def test_programs_find_them_under_their_names(run):
    record = json.loads(msgspec.json.encode(run.record))
    assert record["nopm"] == {"value": 12_600.0, "low": 12_000.0, "high": 13_200.0}
    first, broken = record["audit"][0], record["checks"][1]
    assert {name: first[name] for name in ("name", "value", "low", "high", "ok")} == {
        **{"name": "rolled back", "value": 0.0101, "low": 0.009, "high": 0.011},
        "ok": True,
    }
    assert (broken["id"], broken["ok"], broken["rows"]) == ("2", False, 1234)
    assert broken["example"]["o_id"] is None
