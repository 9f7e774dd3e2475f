"""Takes the pictures of the README and the manual: ``python -m docs.screenshots``.

They show runs that are kept with the tests, so that the same pictures come out again, on any host,
until a page looks different.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images"
STORED = ROOT / "tests" / "explain" / "golden"
SHOWN = "hot-rows"
# What is needed to read a page, and not more: pictures are loaded with the README.
REPORT_PX = {"width": 1080, "height": 1110}
RUNS_PX = {"width": 1280, "height": 720}


def main() -> None:
    """Take all pictures, of a home that has the stored runs."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is not on the PATH: install the package chromium")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        ids = _stored_runs(Path(folder, "home", "runs"))
        os.environ["DBDYNO_HOME"] = str(Path(folder, "home"))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="reduce", color_scheme="light")
        report = Path(folder, "report.html")
        subprocess.run([*_dbdyno("report", ids[SHOWN], "-o", str(report))], check=True)
        _take(page, report.as_uri(), REPORT_PX, "report.png")
        with _served() as address:
            _take(page, address, RUNS_PX, "runs.png")
        browser.close()


def _dbdyno(*words: str) -> list[str]:
    return [sys.executable, "-m", "dbdyno", *words]


def _stored_runs(folder: Path) -> dict[str, str]:
    """Copy the runs under the names that they were made with; return these names."""
    ids = {}
    for stored in sorted(STORED.iterdir()):
        record = msgspec.json.decode((stored / "run.json").read_bytes())
        ids[stored.name] = record["run_id"]
        shutil.copytree(stored, folder / record["run_id"])
    return ids


@contextmanager
def _served() -> Iterator[str]:
    """A page that lists the runs; yields its address."""
    command = _dbdyno("serve", "--port", "0", "--read-only")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def _take(page: Page, address: str, size: dict[str, int], name: str) -> None:
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    page.goto(address, wait_until="load")
    page.screenshot(path=PICTURES / name)
    print(PICTURES / name)  # noqa: T201


if __name__ == "__main__":
    main()
