"""Each part of dbdyno is killed again and again at random moments: nothing of it may be left."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.reliability.killing import IN_NAMESPACES, SERVERS, UNBEGUN
from tests.reliability.matrix import ROOT, ROWS
from tests.support.rights import mounts

KILLS = 7
UNBEGUN_MAX = 2  # a folder is without its guard for less than a tenth of a run
SEED = 7
NAMESPACES = ("unshare", "--ipc", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
# A run may have ended before its part was killed. The exit code -9 is a shell's 137.
SOUND = {0, 3}
# PostgreSQL restarts when a process of it is killed, and on a busy host not before the load's end.
STALLED = "the server closed its connections and accepted no new ones"


def killed(victim: str, database: str) -> dict[str, Any]:
    program = (sys.executable, "-m", "tests.reliability.killing")
    ended = subprocess.run(
        [
            *(*NAMESPACES, "sh", "-c", IN_NAMESPACES, "sh", str(ROOT)),
            *(*program, victim, database, str(KILLS), str(SEED)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout))


@mounts
@pytest.mark.parametrize("database", SERVERS)
@pytest.mark.parametrize("victim", ["parent", "guard", "engine", "telemetry"])
def test_nothing_is_left(victim: str, database: str) -> None:
    row = ROWS[f"{ {'parent': 'dbdyno itself'}.get(victim, f'its {victim}') } is killed"]
    result = killed(victim, database)
    assert len(result["kills"]) == KILLS
    unbegun = [kill["left"].pop(UNBEGUN, []) for kill in result["kills"]]
    assert sum(map(len, unbegun)) <= UNBEGUN_MAX
    for kill in result["kills"]:
        assert kill["left"] == {}
        if kill["exit"] == -9:
            assert row.exits == {137}
        elif kill["exit"] not in SOUND:
            said = " ".join((kill["out"] + kill["log"]).split())
            row.is_met_by(kill["exit"], said)
            assert (victim, kill["exit"]) != ("telemetry", 2) or STALLED in said, said
    assert result["left"] == {}
    assert "running" not in {run["status"] for run in result["runs"]["runs"]}
