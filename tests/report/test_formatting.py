import json
import subprocess
from pathlib import Path

import pytest

from dbdyno import formatting
from dbdyno.formatting import counted, plain
from dbdyno.report.verdict import server_label

CASES = json.loads(Path(__file__).with_name("number_cases.json").read_text(encoding="utf-8"))
FRONTEND = Path(__file__).parents[2] / "frontend"
WRITTEN = {
    "milliseconds": (formatting.milliseconds, "formatValue(value, 'ms')"),
    "tps": (formatting.tps, "formatValue(value, 'tps')"),
    "seconds": (formatting.seconds, "formatSeconds(value)"),
}


@pytest.fixture(scope="module")
def charts_page(browser):
    """A page with the code by which the charts format their numbers."""
    command = [FRONTEND / "node_modules/.bin/esbuild", FRONTEND / "src/format.ts"]
    options = ["--bundle", "--format=iife", "--global-name=format", "--charset=utf8"]
    bundle = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    page = browser.new_page()
    page.add_script_tag(content=bundle.stdout)
    yield page
    page.close()


@pytest.mark.parametrize("kind", WRITTEN)
def test_numbers_are_written_alike_in_text_and_in_charts(charts_page, kind):
    write, in_charts = WRITTEN[kind]
    values, written = zip(*CASES[kind], strict=True)
    assert [plain(write(value)) for value in values] == list(written)
    drawn = charts_page.evaluate(f"values => values.map(value => format.{in_charts})", values)
    assert [plain(text) for text in drawn] == list(written)


def test_nan_is_written_as_missing():
    assert formatting.milliseconds(float("nan")) == formatting.NOTHING


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (123456, "123 456"),
        (99.96, "100"),
        (0.000471, "0.000471"),
        (1e-4, "0.0001"),
        (3.2649e-05, "< 0.0001"),
        (2.96e-17, "< 0.0001"),
        (-5e-07, "> -0.0001"),
    ],
)
def test_three_digits_are_never_written_in_powers_of_ten(value, written):
    assert formatting.significant(value).replace(formatting.THIN_SPACE, " ") == written


def test_counts_of_things():
    assert counted(1, "WAL switch") == "1 WAL switch"
    assert counted(2, "WAL switch") == "2 WAL switches"
    assert counted(2, "note") == "2 notes"


def test_sizes_and_shares():
    assert formatting.size(25276510208) == "23.5\u202fGiB"
    assert formatting.percent(0.000214) == "0.0214\u202f%"
    assert formatting.tps(69_712.4) == "69\u202f712"


@pytest.mark.parametrize(
    ("server", "written"),
    [
        ({}, "postgresql://u@/db?host=/gone"),
        (
            {"kind": "existing", "title": "PostgreSQL", "version": "15.18"},
            "postgresql://u@/db?host=/gone (PostgreSQL 15.18)",
        ),
        (
            {"kind": "private", "title": "PostgreSQL", "version": "15.18 (Debian 15)"},
            "PostgreSQL 15.18, private",
        ),
        ({"kind": "kept", "title": "MariaDB", "version": "11.8"}, "MariaDB 11.8, kept"),
    ],
)
def test_a_server_is_named_by_what_it_is_and_one_that_stays_by_its_address(server, written):
    assert server_label("postgresql://u@/db?host=/gone", server) == written
