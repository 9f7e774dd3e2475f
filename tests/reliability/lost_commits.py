"""Kills database servers under load, and promotes standbys, again and again; counts lost commits.

``python -m tests.reliability.lost_commits KILLS PROMOTIONS`` prints a table in Markdown, a row for
each mode as soon as it was measured. Several kills follow each other in one run; a promotion is the
end of the server that had standbys, and there is one in each run.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

FIRST_S, APART_S = 1, 6
"""A server must be back before the next event: PostgreSQL takes up to three seconds."""
KILLS_IN_A_RUN = 5
KILLED = {"PostgreSQL": "postgres", "MariaDB": "mariadb"}
LEVELS = ("full", "relaxed", "none")
WAITING = "postgres,standbys=1,synchronous_standby_names=*"
REPLICATED = "mariadb,standbys=1,sync_binlog=1"
PROMOTED = {
    "PostgreSQL, asynchronous": "postgres,standbys=1",
    **{
        f"PostgreSQL, `synchronous_commit={value}`": f"{WAITING},synchronous_commit={value}"
        for value in ("remote_write", "on", "remote_apply", "local", "off")
    },
    "MariaDB, asynchronous": REPLICATED,
    "MariaDB, semi-synchronous": f"{REPLICATED},rpl_semi_sync_master_enabled=ON",
}
HEAD = "| server | event | events | acknowledged | events that lost commits | lost commits | \
longest window | invalid runs |\n|---|---|---|---|---|---|---|---|\n"


@dataclass
class Tally:
    """What the events of one mode lost."""

    failovers: list[dict[str, Any]] = field(default_factory=list)
    invalid_reasons: list[list[str]] = field(default_factory=list)
    """Of each run that is invalid."""

    def row(self, mode: str) -> str:
        """Return the row of the table."""
        losses = [one["lost"] for one in self.failovers if one["lost"]]
        longest_ms = max((one["lost_ms"] or 0 for one in self.failovers), default=0)
        acknowledged = sum(one["acknowledged"] for one in self.failovers)
        event = self.failovers[0]["event"]
        return (
            f"| {mode} | `{event}` | {len(self.failovers)} | {acknowledged} | {len(losses)} | "
            f"{sum(losses)} | {longest_ms:.0f} ms | {len(self.invalid_reasons)} |"
        )


def run(words: Sequence[str], action: str, events: int) -> dict[str, Any]:
    """Return the record of a run with so many events."""
    instants_s = [FIRST_S + APART_S * number for number in range(events)]
    planned = [word for at_s in instants_s for word in ("--event", f"{at_s}s:{action}")]
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "dbdyno", "run", "tpcb", *words, *planned, "-c", "4"),
            *("-T", f"{instants_s[-1] + APART_S}s", "--warmup", "0", "--telemetry", "off"),
            *("--max-failures", "100%", "--max-disturbance", "100%", "--json"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    record = dict(json.loads(ended.stdout))
    assert "failovers" in record, record
    assert len(record["failovers"]) == events
    for one in record["failovers"]:
        assert not one["error"], one
        assert one["lost"] is not None, one
    return record


def tally(words: Sequence[str], action: str, events: int) -> Tally:
    """Count what so many events lost."""
    found = Tally()
    while missing := events - len(found.failovers):
        record = run(words, action, 1 if "promote" in action else min(missing, KILLS_IN_A_RUN))
        found.failovers += record["failovers"]
        if record["invalid_reasons"]:
            found.invalid_reasons.append(record["invalid_reasons"])
    return found


def modes() -> Iterator[tuple[str, Sequence[str], str]]:
    """Generate the name of each mode, its options, and its event."""
    for name, kind in KILLED.items():
        for level in LEVELS:
            yield f"{name}, {level}", ("--server", kind, "--durability", level), "kill-server"
    for name, server in PROMOTED.items():
        yield name, ("--server", server), "promote:1"


def main(kills: str, promotions: str) -> None:
    """Print the table."""
    sys.stdout.write(HEAD)
    for name, words, action in modes():
        found = tally(words, action, int(promotions if "promote" in action else kills))
        sys.stdout.write(found.row(name) + "\n")
        sys.stdout.flush()
        for reasons in found.invalid_reasons:
            sys.stderr.write(f"{name}: invalid: {'; '.join(reasons)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
