"""Sentences about the client time that no finding accounts for."""

import pytest

from dbdyno.explain.shares import remainder_text
from dbdyno.formatting import THIN_SPACE


@pytest.mark.parametrize(
    ("unexplained", "parts", "ending"),
    [
        (0.24, {"client_or_network": 0.24}, ": on the way between client and server."),
        (
            0.24,
            {"lock": 0.14, "io": 0.1},
            ": 14 % waiting for locks, 10 % reading or writing data.",
        ),
        (0.24, {"lock": 0.14, "io": 0.01}, ": 14 % waiting for locks."),
        (0.04, {"lock": 0.04}, " accounts for it."),
    ],
)
def test_an_unexplained_rest_says_what_it_was(unexplained, parts, ending):
    text = remainder_text(unexplained, parts).replace(THIN_SPACE, " ")
    assert text.endswith(ending)
    assert ("accounts for it:" in text) == (unexplained > 0.1)
