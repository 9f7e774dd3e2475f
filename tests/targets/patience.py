"""Waiting for what a server does a little after it was asked."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 10.0


def eventually(look: Callable[[], T], good: Callable[[T], bool]) -> T:
    """What is seen once it is as it should be; a session publishes its counts after its end."""
    deadline = time.monotonic() + PATIENCE_S
    while not good(seen := look()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.01)
    return seen
