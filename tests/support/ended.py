"""Runs that ended as they should, in tests whose subject is not whether a number is valid.

Where the machine has other work to do the generator is late, and where the server is quick it is
the bottleneck: either makes a number not valid, and says nothing of what such a test is about.
Any other reason fails the test, and is in its message.
"""

import json
from collections.abc import Sequence
from subprocess import CompletedProcess
from typing import Any

from dbdyno.cli.output import Exit

ENDED = frozenset({Exit.OK, Exit.NOT_VALID})
OF_THE_MACHINE = "the generator was "


def assert_sound(invalid_reasons: Sequence[str]) -> None:
    """Nothing is wrong with a run, but what its machine may do to any."""
    wrong = [reason for reason in invalid_reasons if not reason.startswith(OF_THE_MACHINE)]
    assert not wrong, wrong


def record_of(ended: CompletedProcess[str]) -> dict[str, Any]:
    """What a run told with ``--json``, which it does once it has ended."""
    told = f"exit code {ended.returncode}\n{ended.stderr}\n{ended.stdout}"
    assert ended.returncode in ENDED, told
    record = json.loads(ended.stdout)
    assert_sound(record["invalid_reasons"])
    return dict(record)
