"""Waiting in tests: for what is to happen, not for a time.

The patience bounds only how long a test takes that fails: a slow machine with other work to do
must not come near it.
"""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 60.0
PAUSE_S = 0.02


def eventually(look: Callable[[], T], good: Callable[[T], bool]) -> T:
    """What is seen once it is as it should be."""
    deadline = time.monotonic() + PATIENCE_S
    while not good(seen := look()):
        assert time.monotonic() < deadline, f"still so after {PATIENCE_S} s: {seen}"
        time.sleep(PAUSE_S)
    return seen


def wait_until(is_so: Callable[[], object], what: str) -> None:
    """Until something is so, of which nothing is to be seen but that."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
        time.sleep(PAUSE_S)
