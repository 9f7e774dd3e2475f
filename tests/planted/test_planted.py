"""The planted cause is the top finding; clean runs have none above a note.

CPU time that the hypervisor took is ignored unless it was planted, as it has no cause here. Other
work on the host comes in bursts that distort a few seconds, so one run with another result is
outvoted by two that have the expected one.
"""

from pathlib import Path

import pytest

from tests.planted.causes import Cause
from tests.planted.planting import planted_run
from tests.planted.truth_set import truth_set
from tests.support.rights import network_namespaces

OF_THE_MACHINE = frozenset({"cpu_steal"})
WRONG_MAX = 1
CAUSES = [
    pytest.param(cause, id=cause.name, marks=[network_namespaces] if cause.round_trip_ms else [])
    for cause in truth_set()
]


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_is_named(cause: Cause, tmp_path: Path) -> None:
    right = 0
    wrong: list[str] = []
    while right < (2 if wrong else 1):
        wrong_findings = _wrong_findings(cause, tmp_path / f"{right}-{len(wrong)}")
        if wrong_findings:
            wrong.append(wrong_findings)
        else:
            right += 1
        assert len(wrong) <= WRONG_MAX, "\n".join(wrong)


def _wrong_findings(cause: Cause, workplace: Path) -> str:
    """Return a run's findings if the cause is not the first, or if there is one without a cause."""
    workplace.mkdir()
    record = planted_run(cause, workplace)
    left_aside = OF_THE_MACHINE - cause.expected
    grave = [
        one
        for one in record["findings"]
        if one["severity"] != "note" and one["id"] not in left_aside
    ]
    if grave[0]["id"] in cause.expected if grave else not cause.expected:
        return ""
    findings = [f"{one['id']} ({one['severity']}): {one['summary']}" for one in record["findings"]]
    return f"found: {findings}; not looked: {record['not_looked']}"
