"""Makes kernel counters monotonic that fall although they were not reset."""

from collections.abc import Hashable


class MonotonicCounters:
    """Remembers counters by a key of the caller's choice."""

    def __init__(self) -> None:
        self._largest: dict[Hashable, float] = {}
        self._last: dict[Hashable, int] = {}
        self._turns: dict[Hashable, int] = {}

    def held(self, key: Hashable, value: float) -> float:
        """Return the largest value so far, for sums that the kernel sometimes reduces slightly."""
        self._largest[key] = max(value, self._largest.get(key, value))
        return self._largest[key]

    def unwrapped(self, key: Hashable, value: int, modulus: int) -> int:
        """Return the counter as if it did not wrap to 0 at ``modulus``.

        A counter that falls from its lower half was reset, which remains visible.
        """
        last = self._last.get(key, value)
        self._last[key] = value
        if value < last and last >= modulus // 2:
            self._turns[key] = self._turns.get(key, 0) + 1
        return value + self._turns.get(key, 0) * modulus
