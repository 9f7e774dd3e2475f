"""Sentences that several rules share."""

import pytest

from dbdyno.explain.sentences import capitalized


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("more clients do not help", "More clients do not help."),
        ("is that all?", "Is that all?"),
        ("work_mem is too small", "work_mem is too small."),
        ("mariadb is 10 % faster", "mariadb is 10 % faster."),
        ("mariadb: no transaction committed.", "mariadb: no transaction committed."),
        ("interleave: no transaction committed.", "Interleave: no transaction committed."),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_it_begins_with_a_name(text, sentence):
    assert capitalized(text) == sentence
