"""The planted cause is the top finding; clean runs have none above a note."""

from pathlib import Path

import pytest

from tests.planted.causes import Cause
from tests.planted.planting import planted_run
from tests.planted.truth_set import truth_set


@pytest.mark.parametrize("cause", truth_set(), ids=lambda cause: cause.name)
def test_the_cause_is_named(cause: Cause, tmp_path: Path) -> None:
    record = planted_run(cause, tmp_path)
    grave = [one for one in record["findings"] if one["severity"] != "note"]
    told = [f"{one['id']} ({one['severity']}): {one['summary']}" for one in grave]
    if cause.expected:
        assert grave, f"nothing was found; not looked: {record['not_looked']}"
        assert grave[0]["id"] in cause.expected, told
    else:
        assert told == []
