"""The report of an hour at one second with 20 statements: how soon it is written, and opens.

The hour is made up, but written as a run is: frames through the run's writer, then its tables and
its record. The page is opened from its file, in the browser that the tests use; its time ends when
everything is drawn. The best of several counts: what is measured is the work, not the host's noise.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace as with_record
from pathlib import Path

from msgspec.structs import replace
from playwright.sync_api import Browser, sync_playwright

from bench.ceiling import Report
from bench.process import run_to_end
from bench.tool import dbdyno_path
from dbdyno.analysis.summarize import summarize
from dbdyno.errors import DbdynoError
from dbdyno.run.conclude import explained
from dbdyno.run.tools import engine_tools
from dbdyno.store.run import RunFolder
from dbdyno.store.writer import RunWriter
from tests.store import synthetic, watched

NAME = "long report"
SECONDS, WARMUP_S, STATEMENTS = 3600, 5, 20
TIMES = 3
WITHIN_S = {"explain": 5.0, "report": 5.0}
OPENED_WITHIN_S = 1.0
# From the request of the file to the frame in which the page is drawn and its script has run.
OPENED_MS = """() => new Promise((done) => requestAnimationFrame(() => setTimeout(
    () => done(performance.now()))))"""


def measure(report: Report) -> None:
    """Measures each command in a process of its own, and the page in a new tab."""
    with tempfile.TemporaryDirectory(prefix="dbdyno-bench-") as home, _home(home):
        _make_hour(Path(home))
        page = Path(home, "report.html")
        for command, within_s in WITHIN_S.items():
            words = (command, "last", *(("-o", str(page)) if command == "report" else ()))
            taken_s = min(run_to_end([dbdyno_path(), *words]).elapsed_s for _ in range(TIMES))
            report(f"{NAME}: {command}", f"{taken_s:.2f} s", taken_s < within_s)
        with _browser() as browser:
            opened_s = min(_opened_s(browser, page) for _ in range(TIMES))
        text = f"{opened_s:.2f} s, {page.stat().st_size / 1024:,.0f} KiB"
        report(f"{NAME}: opens", text, opened_s < OPENED_WITHIN_S)


def _make_hour(home: Path) -> None:
    shape = synthetic.Shape(seconds=SECONDS, warmup=WARMUP_S, tps=100, statements=STATEMENTS)
    with RunWriter(synthetic.record(), synthetic.plan(), home) as writer:
        writer.write_host({"name": "bench", "cpu": {"model": "any", "cores_online": 2}})
        writer.write_server({"product": "postgres", "version": "18.1", "settings": []})
        writer.append_frames(synthetic.packed(shape))
        writer.append_frames(list(watched.frames(WARMUP_S + SECONDS)))
        run = RunFolder(writer.folder).load(engine_tools().histograms)
        record = replace(summarize(run), status="done", valid=True)
        run = with_record(run, record=record)
        said = explained(run, lambda text: print(text, file=sys.stderr))
        writer.finish(with_record(run, record=said))


@contextmanager
def _home(home: str) -> Iterator[None]:
    before = os.environ.get("DBDYNO_HOME")
    os.environ["DBDYNO_HOME"] = home
    try:
        yield
    finally:
        os.environ.pop("DBDYNO_HOME")
        if before is not None:
            os.environ["DBDYNO_HOME"] = before


@contextmanager
def _browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise DbdynoError("no_browser", "chromium is not on the PATH", "Install it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


def _opened_s(browser: Browser, page: Path) -> float:
    with browser.new_page(viewport={"width": 1440, "height": 900}) as tab:
        tab.goto(page.as_uri())
        milliseconds: float = tab.evaluate(OPENED_MS)
    return milliseconds / 1e3
