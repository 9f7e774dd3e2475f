"""Every table of a page as CSV: what a program reads is what the page shows."""

import csv
import io

import pytest

from dbdyno.formatting import plain
from dbdyno.report.content import (
    Facts,
    Figure,
    Folded,
    Number,
    Numbers,
    Page,
    PageSection,
    Table,
    Text,
)
from dbdyno.report.pages.run import run_page
from dbdyno.report.render_csv import csv_of, file_name, render_csv
from dbdyno.store.run import open_run
from tests.explain.make_golden import GOLDEN
from tests.store.hdr import HISTOGRAMS

TABLE = Table(caption="By script", columns=("a", "b"), rows=[("1", "2")])


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def tables_of(blocks):
    for block in blocks:
        match block:
            case Table():
                yield block
            case Figure():
                yield block.table
            case Folded():
                yield from tables_of(block.blocks)


def shown(cell):
    """A cell as a program reads it: no thin spaces within its digits, one line."""
    return plain(cell).replace(" ", "").replace("−", "-").lstrip("'")


@pytest.mark.parametrize("folder", sorted(GOLDEN.glob("*")), ids=lambda one: one.name)
def test_what_is_read_again_equals_the_tables_of_recorded_runs(folder):
    page = run_page(open_run(str(folder)).load(HISTOGRAMS))
    files = render_csv(page)
    found = [read(text) for text in files.values()]
    wanted = [table for section in page.sections for table in tables_of(section.blocks)]
    assert len(wanted) >= 5
    for table in wanted:
        rows = [[shown(cell) for cell in row] for row in (table.columns, *table.rows)]
        assert rows in [[[shown(cell) for cell in row] for row in one] for one in found]
    assert len(found) >= len(wanted)
    assert all(len({len(row) for row in one}) == 1 for one in found)


def test_numbers_are_read_as_numbers_and_texts_begin_no_formula():
    cells = (
        "1\u202f234.5",
        "12\u202f345\u202f678",
        "−1.5",
        "+3",
        "12\u202f%",
        "–",
        "=1+1",
        "@sum",
        "-x",
        "-2+3+cmd|' /C calc'!A0",
        "+1.5 ms",
        "a,b",
        'say "b"',
        "two\nlines",
        "\x1b[2J",
    )
    table = Table(columns=("a",) * len(cells), rows=[cells])
    assert read(csv_of(table))[1] == [
        "1234.5",
        "12345678",
        "-1.5",
        "+3",
        "12 %",
        "–",
        "'=1+1",
        "'@sum",
        "'-x",
        "'-2+3+cmd|' /C calc'!A0",
        "+1.5 ms",
        "a,b",
        'say "b"',
        "two\nlines",
        " [2J",
    ]


def test_each_table_has_a_file_named_after_its_section_and_its_caption():
    section = PageSection(
        id="latency",
        title="Latency",
        blocks=[
            Text(text="no table"),
            TABLE,
            TABLE,
            Facts(pairs=[("name", "1\u202f000")]),
            Folded(title="more", blocks=[TABLE]),
            Figure(id="latency-curve", caption="", summary="", table=TABLE),
        ],
    )
    top = [Numbers(lead=Number(name="Throughput", value="5"), numbers=[], per_transaction=[])]
    files = render_csv(Page(title="", head=[], top=top, sections=[section]))
    assert list(files) == [
        "top-numbers.csv",
        "latency-by-script.csv",
        "latency-by-script-2.csv",
        "latency-facts.csv",
        "latency-by-script-3.csv",
        "latency-curve.csv",
    ]
    assert read(files["latency-facts.csv"]) == [["name", "value"], ["name", "1000"]]
    assert read(files["top-numbers.csv"])[1] == ["Throughput", "5", "", ""]


@pytest.mark.parametrize("title", ["../../etc/passwd", "…", "a" * 500, "CON: <b>"])
def test_no_title_leads_to_another_folder(title):
    assert file_name("s", title).replace("-", "").isalnum()
    assert len(file_name("s", title)) <= 60
