"""Line breaks in paragraphs, commands and tables, on a screen and in a pipe."""

import shlex

import pytest
from hypothesis import given, strategies as st

from dbdyno.layout import Columns, Command, Paragraph, laid_out, printable, shortened

COMMAND = """  dbdyno run tpcb --define 'a b'"'"'c d' --tag "pair=$pair" --clients 64 --time 30s"""
ROWS = [
    ("metric", "before", "after"),
    ("95th percentile of response times", "1\u202f000 ms", "2 ms"),
    ("WAL", "188 B", "187 B"),
]


def test_a_paragraph_flows_to_the_narrower_of_screen_and_mail():
    paragraph = Paragraph("  - " + "word " * 40, "    ")
    piped, narrow, wide = (laid_out([paragraph], screen) for screen in (None, 50, 200))
    assert max(map(len, piped.split("\n"))) in range(96, 101)
    assert max(map(len, narrow.split("\n"))) in range(46, 51)
    assert wide == piped
    assert all(line.startswith("    word") for line in narrow.split("\n")[1:])


def test_without_a_flow_a_pipe_folds_nothing_and_a_screen_does():
    text = "word " * 60 + "end"
    assert laid_out([Paragraph(text)], None, flow=None) == text
    assert max(map(len, laid_out([Paragraph(text)], 80, flow=None).split("\n"))) <= 80


def test_a_number_stays_with_its_unit_and_other_lines_are_left_alone():
    text = Paragraph("it took 47\u202f947 ms and no more than that", "")
    assert laid_out([text], 12).split("\n")[1] == "47 947 ms"
    assert laid_out(["as it is " * 20], 40) == "as it is " * 20


def test_a_table_is_as_wide_as_it_is_in_a_pipe():
    assert laid_out([Columns(ROWS, 1)]).split("\n") == [
        "metric                               before  after",
        "95th percentile of response times  1 000 ms   2 ms",
        "WAL                                   188 B  187 B",
    ]


def test_on_a_screen_the_widest_cells_are_folded():
    assert laid_out([Columns(ROWS, 1)], 40).split("\n") == [
        "metric                     before  after",
        "95th percentile of       1 000 ms   2 ms",
        "response times",
        "WAL                         188 B  187 B",
    ]


def test_several_columns_are_folded_a_little_rather_than_one_to_shreds():
    rows = [("what was compared", "a metric", "told"), ("one against another", "so and so", "no")]
    assert laid_out([Columns(rows, 3)], 28).split("\n") == [
        "what was     a metric   told",
        "compared",
        "one against  so and so  no",
        "another",
    ]


def test_a_table_that_cannot_be_folded_is_printed_row_by_row():
    rows = [("name", "a long heading"), ("x" * 30, "y" * 20), ("b", "")]
    assert laid_out([Columns(rows, 2)], 50).split("\n")[:5] == [
        f"name            {'x' * 30}",
        f"a long heading  {'y' * 20}",
        "",
        "name            b",
        "a long heading",
    ]


@pytest.mark.parametrize("screen", [40, 60, 80, None])
def test_a_command_is_the_same_for_the_shell_at_any_screen_width(screen):
    laid = laid_out([Command(COMMAND)], screen)
    assert shlex.split(laid.replace("\\\n", " ")) == shlex.split(COMMAND)
    assert screen is None or max(map(len, laid.split("\n"))) <= screen
    assert laid.startswith("  dbdyno")


def test_no_control_character_steers_the_terminal():
    assert printable("a\x1b[31m  b\n c\u202f0") == "a [31m b c\u202f0"


CELL = st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=30)


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=2, max_size=5), st.integers(40, 80))
def test_no_word_of_a_table_is_lost_on_any_screen(rows, screen):
    """Where a table becomes a list, its headings are repeated for each row."""
    laid = laid_out([Columns(rows, 2)], screen).split()
    for word in (word for row in rows for cell in row for word in cell.split()):
        assert word in laid


@pytest.mark.parametrize(("length", "seen"), [(9, "statement"), (5, "stat…"), (1, "…"), (-3, "…")])
def test_shortened_text_never_exceeds_the_width(length, seen):
    assert shortened("statement", length) == seen
