import dataclasses

import msgspec
import pytest

from dbdyno.analysis.summarize import summarize
from dbdyno.model.record import Finding, UnevaluatedRule
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_html import render_html
from dbdyno.store.run import open_run
from dbdyno.store.writer import RunWriter
from tests.report import explained
from tests.store import synthetic
from tests.store.hdr import HISTOGRAMS
from tests.support.patience import PATIENCE_S
from tests.support.profiles import profile

STEERING = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202etxt.exe\u2066\u200f"
"""Commands to a terminal, and marks that turn the direction of writing."""
HOSTILE = f"</script><img src=x onerror=window.broken=1>'\"&amp;{{{{7*7}}}}\u2028{STEERING}"
HOST = {
    "name": "vm",
    "cpu": {"model": "AMD EPYC", "cores_online": 2},
    "memory": {"total_bytes": 2**34},
}
SERVER = {
    "version": "PostgreSQL 15.18",
    "durability": {"fsync": "on"},
    "chosen": [{"name": "max_wal_size", "value": "16GB", "reason": "no checkpoint by size"}],
    "settings": [{"name": "shared_buffers", "value": "131072", "unit": "8kB", "source": "file"}],
}


def recorded(home, shape, host=HOST, server=SERVER, **changes):
    with RunWriter(synthetic.record(), synthetic.plan(shape.script), home) as writer:
        writer.write_host(host)
        writer.write_server(server)
        for frame in synthetic.packed(shape):
            writer.append_frame(frame)
        recording = open_run(writer.run_id, home).load(HISTOGRAMS)
    known = {"run_id": "20261120-214203-tpcb-3f2a", "status": "done", "valid": True} | changes
    record = msgspec.structs.replace(summarize(recording), **known)
    return dataclasses.replace(recording, record=record)


@pytest.fixture(scope="session")
def unwatched(tmp_path_factory):
    """A run without telemetry, like one of an older version."""
    return recorded(tmp_path_factory.mktemp("home"), synthetic.Shape(open_loop=True, tps=400))


@pytest.fixture(scope="session")
def ordinary(unwatched):
    """A run with telemetry and findings."""
    record = msgspec.structs.replace(
        unwatched.record,
        costs=explained.COSTS,
        server_profile=profile(explained.FUNCTIONS),
        findings=explained.FINDINGS,
        not_looked=explained.NOT_LOOKED,
        unexplained=0.14,
        telemetry={
            "level": "basic",
            "cpu_us": 210_000,
            "server_cpu_us": 150_000,
            "samples": 120,
            "waits_hz": 2.0,
            "seconds": 63.0,
        },
    )
    tables = {**unwatched.columns, **explained.seen()}
    return dataclasses.replace(unwatched, record=record, columns=tables)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    shape = synthetic.Shape(
        seconds=12, tps=100, script=HOSTILE, sql=(HOSTILE,) * 7, deadlock_message=HOSTILE
    )
    settings = [dict.fromkeys(("name", "value", "unit", "source"), HOSTILE)]
    return recorded(
        tmp_path_factory.mktemp("home"),
        shape,
        host={HOSTILE: HOSTILE},
        server={"version": HOSTILE, "settings": settings},
        workload=HOSTILE,
        target=HOSTILE,
        tags={HOSTILE: HOSTILE},
        valid=False,
        invalid_reasons=[HOSTILE],
        doubts=[HOSTILE],
        findings=[hostile_finding()],
        not_looked=[UnevaluatedRule(id="rule", title=HOSTILE, reason=HOSTILE)],
        costs=[explained.cost("wal_bytes", HOSTILE, HOSTILE, "server", value=1.0, script=HOSTILE)],
    )


def hostile_finding():
    coded = f"`{HOSTILE}`"
    return Finding(
        id="rule",
        title=HOSTILE,
        severity="major",
        summary=coded,
        evidence={HOSTILE: HOSTILE, "scripts": {HOSTILE: HOSTILE}},
        seen=[HOSTILE],
        why=coded,
        advice=[coded, HOSTILE],
        gain=HOSTILE,
        refute=coded,
        wrong_when=HOSTILE,
    )


@pytest.fixture
def open_html(browser, tmp_path):
    """Opens a page from a file, offline, and collects its console messages and errors."""
    contexts = []

    def open_it(html, width=1280, scheme="light", *, scripts=True):
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            java_script_enabled=scripts,
        )
        context.set_default_timeout(PATIENCE_S * 1000)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                page.complaints.append(request.url)
                if not request.url.startswith(("file:", "data:"))
                else None
            ),
        )
        page.goto(path.as_uri())
        return page

    yield open_it
    for context in contexts:
        context.close()


@pytest.fixture
def open_page(open_html):
    """Opens a run's report."""

    def open_it(recording, width=1280, scheme="light"):
        return open_html(render_html(run_page(recording)), width, scheme)

    return open_it
