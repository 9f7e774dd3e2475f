"""A page in its four forms: what is on it is in all of them."""

import json
import re
import string
import sys
from html import unescape
from types import SimpleNamespace

import msgspec
import pytest
from markupsafe import Markup

from dbdyno.formatting import plain
from dbdyno.report import content, page_order
from dbdyno.report.content import (
    Commands,
    Facts,
    Figure,
    FindingBlock,
    Folded,
    Items,
    Number,
    Numbers,
    Section,
    Sentence,
    Table,
    Text,
    Verdict,
)
from dbdyno.report.pages.run import render_summary, run_page
from dbdyno.report.render_html import render_html
from dbdyno.report.render_json import render_json
from dbdyno.report.render_markdown import render_markdown
from dbdyno.report.render_text import render_text
from dbdyno.store.run import open_run
from tests.explain.make_golden import GOLDEN
from tests.report.conftest import HOSTILE, STEERING
from tests.store.hdr import HISTOGRAMS

FORMS = {
    "html": render_html,
    "text": render_text,
    "markdown": render_markdown,
    "json": render_json,
}
TABLE = Table(caption="caption 1", columns=("column 1", "column 2"), rows=[("cell 1", "cell 2")])
BLOCKS = (
    TABLE,
    Facts(pairs=[("name 3", "value 3")]),
    Text(text="text 4"),
    Text(text="line 5\nline 6", code=True),
    Commands(text="dbdyno 33\n  # remark 34"),
    Items(sentences=["sentence 35"]),
    Items(title="title 7", sentences=["sentence 7"]),
    Numbers(
        lead=Number(name="name 8", value="value 8", unit="unit 8", notes=["note 8"]),
        numbers=[Number(name="name 9", value="value 9")],
        per_transaction=[Number(name="name 10", value="value 10")],
    ),
    Verdict(text="verdict 11", is_good=True, reasons=["reason 12"], doubts=["doubt 13"]),
    Verdict(status="status 14", text="verdict 15", is_good=None, doubts=["doubt 16"]),
    Figure(
        id="figure",
        caption="of the drawing",
        summary="summary 17",
        table=Table(caption="caption 18", columns=("column 19",), rows=[("cell 20",)]),
        svg=(Markup("<svg></svg>"),) * 3,
    ),
    FindingBlock(
        id="claim",
        severity="major",
        title="title 21",
        summary="summary 22",
        bearing="bearing 23",
        advice="advice 24",
        rest=[("heading 25", ["sentence 26"])],
        code=[("title 27", "line 28")],
    ),
    Sentence(text="sentence 29", is_decided=True, doubt="doubt 30"),
    Folded(title="title 31", blocks=[Text(text="text 32")]),
)
WORDS = {
    "caption": (1, 18),
    "column": (1, 2, 19),
    "cell": (1, 2, 20),
    "name": (3, 8, 9, 10),
    "value": (3, 8, 9, 10),
    "text": (4, 32),
    "line": (5, 6, 28),
    "title": (7, 21, 27, 31),
    "dbdyno": (33,),
    "remark": (34,),
    "sentence": (7, 26, 29, 35),
    "unit": (8,),
    "note": (8,),
    "verdict": (11, 15),
    "reason": (12,),
    "doubt": (13, 16, 30),
    "status": (14,),
    "summary": (17, 22),
    "bearing": (23,),
    "advice": (24,),
    "heading": (25,),
}


def missing_in(shown):
    """The words of the made-up blocks that a form does not show."""
    wanted = [f"{word} {number}" for word, numbers in WORDS.items() for number in numbers]
    return [words for words in wanted if words not in shown]


@pytest.fixture
def made_up_section(monkeypatch):
    """A section that is on the page because it is a module, and in the list."""
    section = Section(id="made-up", title="Made up", build=lambda _: BLOCKS)
    module = SimpleNamespace(SECTION=section)
    monkeypatch.setitem(sys.modules, "dbdyno.report.sections.made_up", module)
    monkeypatch.setattr(page_order, "PAGE_ORDER", (*page_order.PAGE_ORDER, "made-up"))


def test_the_made_up_section_has_every_kind_of_block():
    assert {type(block) for block in BLOCKS} == set(content.Block.__args__)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("made_up_section")
def test_a_new_section_is_in_every_form(ordinary, form):
    rendered = FORMS[form](run_page(ordinary))
    shown = rendered[rendered.rindex("Made up") :]
    assert missing_in(shown) == []


@pytest.mark.usefixtures("made_up_section")
def test_a_section_is_in_the_summary_if_it_says_so(ordinary, monkeypatch):
    def summary():
        return render_summary(ordinary.record, ordinary.plan)

    assert "text 4" not in summary()
    section = sys.modules["dbdyno.report.sections.made_up"].SECTION
    in_short = msgspec.structs.replace(section, summary=lambda _: [Text(text="text 4")])
    module = SimpleNamespace(SECTION=in_short)
    monkeypatch.setitem(sys.modules, "dbdyno.report.sections.made_up", module)
    assert "\n\ntext 4\n\n" in summary()


@pytest.mark.parametrize("folder", sorted(GOLDEN.glob("*")), ids=lambda one: one.name)
def test_recorded_runs_have_the_same_sections_and_numbers_in_every_form(folder):
    page = run_page(open_run(str(folder)).load(HISTOGRAMS))
    forms = {
        name: plain(unescape(render(page))).replace("\\", "") for name, render in FORMS.items()
    }
    numbers = next(block for block in page.top if isinstance(block, Numbers))
    tables = [
        block
        for section in page.sections
        for block in section.blocks
        if isinstance(block, Table) and not block.code
    ]
    wanted = [
        page.title,
        page.name,
        *(number.value for number in (numbers.lead, *numbers.per_transaction) if number),
        *(section.title for section in page.sections),
        *(
            block.title
            for section in page.sections
            for block in section.blocks
            if block.kind == "claim"
        ),
        *(cell for table in tables for row in table.rows for cell in row[:1]),
    ]
    assert len(wanted) > 10
    for form, text in forms.items():
        missing = [words for words in wanted if plain(words).replace("\\", "") not in text]
        assert (form, missing) == (form, [])


def test_json_has_every_block_with_its_kind_and_no_drawing(ordinary):
    page = json.loads(render_json(run_page(ordinary)))
    assert page["format_version"] == 1
    kinds = {block["kind"] for section in page["sections"] for block in section["blocks"]}
    assert {"table", "facts", "text", "figure", "claim", "folded"} <= kinds
    figures = [
        block
        for section in page["sections"]
        for block in section["blocks"]
        if block["kind"] == "figure"
    ]
    assert all(figure["svg"] is None and figure["table"]["rows"] for figure in figures)


def test_in_brief_what_is_behind_a_fold_is_left_out():
    section = content.PageSection(id="made-up", title="Made up", blocks=BLOCKS)
    folded = content.PageSection(id="more", title="More", blocks=[BLOCKS[-1]])
    page = content.Page(title="", head=[], top=[], sections=[section, folded], footer="footer")
    shown = render_text(page, is_brief=True)
    folds = {"caption 18", "column 19", "cell 20", "sentence 26", "title 27", "line 28"}
    assert {*missing_in(shown)} == folds | {"heading 25", "title 31", "text 32"}
    assert "More" not in shown
    assert "footer" not in shown


def test_a_command_can_be_pasted_from_a_narrow_screen():
    block = Commands(text="# of a long time; a remark stays one\ndbdyno run tpcb --clients 8")
    page = content.Page(title="", head=[], top=[block])
    assert render_text(page, 24).split("\n\n")[1] == (
        "  # of a long time; a\n  # remark stays one\n  dbdyno run tpcb \\\n      --clients 8\n"
    )


def test_a_long_last_column_is_cut_only_where_it_says_so():
    table = Table(columns=("number", "text"), rows=[("1", "x" * 200)], numeric=frozenset({0}))
    page = content.Page(title="", head=[], top=[table])
    assert "x" * 200 in render_text(page)
    cut = content.Page(title="", head=[], top=[msgspec.structs.replace(table, is_cut=True)])
    assert max(map(len, render_text(cut).splitlines())) == 100


def test_no_hostile_string_is_markup_or_steers_a_terminal(hostile):
    page = run_page(hostile)
    markdown, text = render_markdown(page), render_text(page)
    outside_code = "".join(markdown.split("`")[::2])
    assert "<img" not in outside_code.replace("\\<", "")
    assert "\u2028" not in markdown + text
    assert HOSTILE[:9] in text


def test_code_with_fences_in_it_stays_code():
    page = content.Page(title="", head=[], top=[Text(text="```\n# no heading", code=True)])
    assert "````\n```\n# no heading\n````" in render_markdown(page)


def test_markdown_begins_with_the_answer_and_folds_the_details(ordinary):
    shown = render_markdown(run_page(ordinary))
    unfolded = re.sub(r"<details>.*?(?=\n#|\n---|\Z)", "", shown, flags=re.DOTALL)
    assert re.findall(r"^##? (.*)$", unfolded, re.MULTILINE) == ["tpcb", "What limits throughput"]
    assert shown.index("Throughput: **") < shown.index("## What limits throughput")
    assert "<details><summary>Response time</summary>" in shown
    assert shown.count("<details>") == shown.count("</details>")
    # What is long is behind a fold.
    assert len(unfolded) < len(shown) / 3


@pytest.mark.parametrize("form", FORMS)
def test_no_form_passes_on_what_steers_a_terminal_or_the_direction_of_writing(hostile, form):
    written = FORMS[form](run_page(hostile))
    assert not {*STEERING} & {*written} - {*string.printable}
