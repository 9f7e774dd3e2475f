"""Pages about many runs (of a study, a search, a history) in a real browser."""

import re
from html import unescape

import numpy as np
import pytest
from msgspec.structs import replace

from dbdyno.analysis.compare.compare import compare
from dbdyno.analysis.compare.run_series import series_of
from dbdyno.answers.answering import answered
from dbdyno.cli.compared_runs import select_runs
from dbdyno.formatting import plain
from dbdyno.model.comparison import SettingPair
from dbdyno.report.content import Commands, Figure, Sentence, Table, Verdict
from dbdyno.report.pages.comparison import comparison_page
from dbdyno.report.pages.comparison_gates import Gate, apply_gates
from dbdyno.report.pages.history import history_page
from dbdyno.report.pages.search import search_page
from dbdyno.report.pages.study.page import study_page
from dbdyno.report.render_html import render_html
from dbdyno.report.render_text import render_text
from dbdyno.store.listing import find_run
from dbdyno.store.run import RunFolder
from tests.cli import made_up_runs
from tests.report import made_up_search
from tests.report.drawings import misplaced_texts, scale_of_print
from tests.report.test_forms import BLOCKS, FORMS, missing_in
from tests.report.test_study import study, with_failed_turn

WIDTHS = (1440, 768, 390)
SCHEMES = ("light", "dark")


def made_study_page():
    trials = with_failed_turn(study())
    return study_page(trials, answered(trials))


def made_search_page():
    return search_page(made_up_search.search())


def made_history_page():
    """Twelve runs at one level, then twelve at another."""
    luck = np.exp(np.random.default_rng(3).normal(0, 0.02, 24)).tolist()
    levels = [(1000.0, 2000.0)] * 12 + [(800.0, 2600.0)] * 12
    runs = [
        made_up_runs.run(tps=tps * one, wal_bytes=wal)
        for (tps, wal), one in zip(levels, luck, strict=True)
    ]
    return history_page(series_of([RunFolder(find_run(run_id)).conditions for run_id in runs]))


def made_comparison_page():
    """Three pairs, with a difference, a finding and a condition that fails."""
    made_up_runs.pairs(3, wal_bytes=1.3)
    sides = select_runs("tag:variant=a", "tag:variant=b")
    found = compare(sides.before.records, sides.after.records, paired=True)
    hostile = "Different schema: <script>alert(1)</script> is absent in before, a table in after"
    found = replace(
        found,
        unequal=[hostile],
        findings=["only in after, major: <b>a lock</b>."],
        settings=[
            SettingPair(name="work_mem", before="<i>8MB</i>", after="64MB"),
            SettingPair(name="jit", before="off", after="off"),
        ],
        decide_with="dbdyno compare tag:variant=a tag:variant=b",
    )
    gates = apply_gates(found, [Gate(metric="wal_bytes", share=0.03)])
    return comparison_page(found, gates, (3, 3))


def test_a_condition_on_what_one_side_has_not_measured_is_named():
    made_up_runs.pairs(3)
    sides = select_runs("tag:variant=a", "tag:variant=b")
    found = compare(sides.before.records, sides.after.records, paired=True)
    (result,) = apply_gates(found, [Gate(metric="copy_in_rows_per_s", share=0.03)])
    assert result.outcome == "cannot tell"
    assert result.sentence.endswith(
        "does not fail: copy_in_rows_per_s was not measured in runs of both variants."
    )


def test_settings_that_differ_are_shown_and_equal_ones_folded():
    page = render_html(made_comparison_page())
    settings = page[page.index('<section id="settings"') :]
    differing = settings.index("work_mem")
    assert differing < settings.index("<summary>1 equal setting</summary>") < settings.index("jit")
    assert "&lt;i&gt;8MB&lt;/i&gt;" in settings
    text = render_text(made_comparison_page())
    assert re.search(r"work_mem +<i>8MB</i> +64MB", text)


def test_a_comparison_shows_verdict_differences_metrics_and_what_would_decide():
    page = render_html(made_comparison_page())
    for text in (
        "Worse: WAL (+30",
        "&lt;script&gt;alert(1)&lt;/script&gt; is absent in before",
        "Only in after, major: &lt;b&gt;a lock&lt;/b&gt;.",
        "dbdyno compare tag:variant=a tag:variant=b",
        "wal_bytes:worse:3%",
    ):
        assert text in page
    assert "<script>" not in page


def test_a_history_of_too_few_runs_claims_nothing():
    page = render_html(history_page([]))
    assert "Too few runs for a history: 4 comparable ones are needed." in page
    assert "Not decided by the runs" in page
    assert "no change" not in page.lower()


PAGES = {
    "study": made_study_page,
    "search": made_search_page,
    "history": made_history_page,
    "comparison": made_comparison_page,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("made", PAGES.values(), ids=PAGES)
def test_a_block_on_them_is_in_every_form(made, form):
    page = made()
    blocks = [*page.sections[0].blocks, *BLOCKS]
    section = replace(page.sections[0], title="Made up", blocks=blocks)
    shown = FORMS[form](replace(page, sections=[section, *page.sections[1:]]))
    assert missing_in(shown[shown.rindex("Made up") :]) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("made", PAGES.values(), ids=PAGES)
def test_what_is_on_them_is_in_every_form(made, form):
    page = made()
    blocks = [block for one in page.sections for block in one.blocks]
    wanted = [
        page.title,
        *(line.text for line in page.head),
        *(one.text for one in page.top if isinstance(one, Verdict)),
        *(one.title for one in page.sections),
        *(one.text for one in blocks if isinstance(one, Sentence)),
        *(one.summary for one in blocks if isinstance(one, Figure)),
        *(cell for one in blocks if isinstance(one, Table) for row in one.rows for cell in row),
        *(line for one in blocks if isinstance(one, Commands) for line in one.text.splitlines()),
        page.footer,
    ]
    shown = bare(FORMS[form](page))
    assert len(wanted) > 10
    assert [words for words in wanted if bare(words) not in shown] == []


def bare(text):
    """Without what a form adds between the words: line breaks, escapes, marks of code."""
    return re.sub(r"[\\\s`]|</?code>", "", unescape(plain(text)))


pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("made", PAGES.values(), ids=PAGES)
def test_everybody_can_read_them_and_nothing_sticks_out(open_html, axe, made, width, scheme):
    page = open_html(render_html(made()), width, scheme)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert misplaced_texts(page) == []
    page.evaluate(axe)
    violations = page.evaluate("axe.run().then((found) => found.violations)")
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
    assert page.complaints == []


@pytest.mark.parametrize("made", PAGES.values(), ids=PAGES)
def test_they_print_on_white_in_their_own_size_with_all_that_is_folded(open_html, made):
    page = open_html(render_html(made()), scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert misplaced_texts(page) == []
    assert scale_of_print(page.pdf(format="A4")) == pytest.approx(1, abs=0.01)


REACHABLE = "a[href], button, input, summary, [tabindex='0']"


@pytest.mark.parametrize("made", PAGES.values(), ids=PAGES)
def test_keys_alone_reach_and_open_everything(open_html, made):
    """Tab leads through all that can be clicked, each is marked, and Enter unfolds."""
    page = open_html(render_html(made()))
    wanted = page.evaluate(
        """(selector) => [...document.querySelectorAll(selector)]
            .filter((one) => one.checkVisibility({ visibilityProperty: true }))
            .map((one, place) => one.dataset.place = String(place))""",
        REACHABLE,
    )
    reached = []
    for _ in wanted:
        page.keyboard.press("Tab")
        place, outline = page.evaluate(
            """() => [document.activeElement.dataset.place,
                getComputedStyle(document.activeElement).outlineStyle]"""
        )
        assert outline != "none", place
        reached.append(place)
    assert reached == wanted
    for one in page.locator("summary:visible").all():
        one.focus()
        page.keyboard.press("Enter")
    assert page.locator("details:visible:not([open])").count() == 0
    assert page.complaints == []


@pytest.mark.parametrize("made", [PAGES[name] for name in ("study", "search", "history")])
def test_curves_are_drawn(open_html, made):
    page = open_html(render_html(made()))
    heights = page.evaluate(
        """[...document.querySelectorAll("figure")].map((figure) => {
            const pictures = [...figure.querySelectorAll("svg")];
            return Math.max(...pictures.map((svg) => svg.getBBox().height));
        })"""
    )
    assert heights
    assert all(height > 50 for height in heights)
