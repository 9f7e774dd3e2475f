"""Checks runs in tests whose subject is not whether a run is valid.

On a busy host the load generator is late, or other programs take the CPU; with a fast server the
load generator is the bottleneck. Each makes a run invalid, which does not matter for such a test.
Any other reason fails the test, and is in its message.
"""

import json
from collections.abc import Sequence
from subprocess import CompletedProcess
from typing import Any

from dbdyno.cli.output import Exit

ENDED = frozenset({Exit.OK, Exit.NOT_VALID})
OF_THE_MACHINE = ("the generator was ", "the host was disturbed: ")


def assert_sound(invalid_reasons: Sequence[str]) -> None:
    """Assert that only the host's load made the run invalid, if anything did."""
    wrong = [reason for reason in invalid_reasons if not reason.startswith(OF_THE_MACHINE)]
    assert not wrong, wrong


def record_of(ended: CompletedProcess[str]) -> dict[str, Any]:
    """Return what a run printed with ``--json``, once it has ended."""
    output = f"exit code {ended.returncode}\n{ended.stderr}\n{ended.stdout}"
    assert ended.returncode in ENDED, output
    record = json.loads(ended.stdout)
    assert_sound(record["invalid_reasons"])
    return dict(record)
