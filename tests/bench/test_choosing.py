"""``--only`` selects the parts of the bench to measure."""

import sys

import pytest

from bench.__main__ import main


def test_a_word_that_is_in_no_name_is_refused_with_those_that_are(monkeypatch):
    """Otherwise the bench would end at once, and every bound would count as kept."""
    monkeypatch.setattr(sys, "argv", ["bench", "--only", "telemetri"])
    with pytest.raises(SystemExit, match="no part has 'telemetri' in its name") as ended:
        main()
    assert "ceiling; recording; " in str(ended.value)
    assert "; telemetry; " in str(ended.value)
