"""What watching costs a run: CPU time of ``dbdyno serve`` while two browsers show the live page.

The browsers are real ones, and their own time is not counted: they are on another host. Opening
the page is a report made once; the budget is for what watching takes from then on.
"""

import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from bench.ceiling import Report
from bench.home import own_home
from bench.process import Process, started
from bench.tool import dbdyno_path
from dbdyno.servers.base import Server
from dbdyno.store.listing import run_folders

BROWSERS = 2
SECONDS = 60
CORE_AT_MOST = 0.01
_TOKEN = "a-token-for-the-bench"
_PATIENCE_S = 60.0
_LOAD = ("tpcb", "-s", "10", "-c", "8", "--warmup", "2")


def measure(report: Report, server: Server) -> None:
    """Measures a run of the usual kind, from when both browsers show it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        report("page of a run", "chromium is not on the PATH", False)
        return
    with own_home() as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            _measure(report, server, home, browser)
        finally:
            browser.close()


def _measure(report: Report, server: Server, home: Path, browser: Browser) -> None:
    tokens = home / "tokens"
    tokens.write_text(_TOKEN)
    tokens.chmod(0o600)
    port = str(_free_port())
    serve = [dbdyno_path(), "serve", "--port", port, "--token-file", str(tokens)]
    run = [dbdyno_path(), "run", *_LOAD, "--target", server.url, "-T", str(2 * SECONDS)]
    with started(serve) as serving, started(run) as running:
        _wait(lambda: bool(run_folders()) or running.has_ended)
        _wait(lambda: serving.has_ended or _answers(port))
        before_s = serving.cpu_s
        for _ in range(BROWSERS):
            page = browser.new_context().new_page()
            page.goto(f"http://127.0.0.1:{port}/?token={_TOKEN}")
            page.wait_for_url(lambda at: "token=" not in at)
            page.goto(f"http://127.0.0.1:{port}/runs/last")
            page.locator("[data-said]", has_text="live").wait_for()
        share = _share_of_a_core(serving, page.wait_for_timeout)
        opened_s = serving.cpu_s - before_s - share * SECONDS
    text = f"{100 * share:.2f} % of a core, after {opened_s:.1f} s of CPU time to open both"
    report(f"page of a run in {BROWSERS} browsers", text, share < CORE_AT_MOST)


def _share_of_a_core(serving: Process, wait_ms: Callable[[float], None]) -> float:
    before_s, began_at = serving.cpu_s, time.monotonic()
    wait_ms(1000 * SECONDS)  # the browsers' events are handled meanwhile
    return (serving.cpu_s - before_s) / (time.monotonic() - began_at)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _answers(port: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", int(port))).close()
    except OSError:
        return False
    return True


def _wait(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError("nothing to watch")
        time.sleep(0.2)
