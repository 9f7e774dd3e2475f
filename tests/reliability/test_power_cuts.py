"""What survives a power cut is what the durability level promises; 20 cuts are made by hand.

``unshare --mount python -m tests.reliability.power_cuts SERVER DURABILITY 20 SEED``:
docs/failover.md has the results.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.reliability.power_cuts import SETTINGS
from tests.support.rights import mounts

CUTS = 2


def audit(server: str, durability: str) -> dict[str, Any]:
    program = ("-m", "tests.reliability.power_cuts", server, durability)
    command = ["unshare", "--mount", sys.executable, *program]
    ended = subprocess.run(
        [*command, str(CUTS), "3"], capture_output=True, text=True, check=False, timeout=600
    )
    assert ended.returncode == 0, ended.stderr
    found = dict(json.loads(ended.stdout))
    assert found["cuts"] == CUTS
    return found


@mounts
@pytest.mark.parametrize("server", SETTINGS)
def test_full_durability_loses_nothing(home, server):
    found = audit(server, "full")
    assert found["acknowledged"] > 0
    assert (found["lost"], found["not_recovered"]) == ([0] * CUTS, [])
    assert found["violations"] == []  # nor does the load


@mounts
@pytest.mark.parametrize("server", SETTINGS)
def test_what_no_durability_loses_is_found(home, server):
    """Otherwise a cut would lose nothing, and the test above would show nothing."""
    found = audit(server, "none")
    assert sum(found["lost"]) or found["not_recovered"]
