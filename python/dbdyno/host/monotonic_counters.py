"""Makes counters of the kernel monotonic that fall although nothing was reset."""

from collections.abc import Hashable


class MonotonicCounters:
    """Remembers counters by a key of the caller's choice."""

    def __init__(self) -> None:
        self._largest: dict[Hashable, float] = {}
        self._last: dict[Hashable, int] = {}
        self._turns: dict[Hashable, int] = {}

    def held(self, key: Hashable, value: float) -> float:
        """The largest value so far: for sums that the kernel at times takes a little back."""
        self._largest[key] = max(value, self._largest.get(key, value))
        return self._largest[key]

    def unwrapped(self, key: Hashable, value: int, modulus: int) -> int:
        """The counter as if it had not begun again from 0 at ``modulus``.

        One that falls from its lower half was set back, and is seen to be.
        """
        last = self._last.get(key, value)
        self._last[key] = value
        if value < last and last >= modulus // 2:
            self._turns[key] = self._turns.get(key, 0) + 1
        return value + self._turns.get(key, 0) * modulus
