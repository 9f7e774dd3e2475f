"""Waiting in tests: for an event, not for a time.

The limit only bounds the duration of a failing test: a slow, busy host must not come near it.
"""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 60.0
PAUSE_S = 0.02


def eventually(look: Callable[[], T], good: Callable[[T], bool]) -> T:
    """Call ``look`` until its result is good, and return that."""
    deadline = time.monotonic() + PATIENCE_S
    while not good(seen := look()):
        assert time.monotonic() < deadline, f"still so after {PATIENCE_S} s: {seen}"
        time.sleep(PAUSE_S)
    return seen


def wait_until(is_so: Callable[[], object], what: str) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
        time.sleep(PAUSE_S)
