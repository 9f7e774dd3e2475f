"""Turns readings of cumulative counters into differences. Pure.

What cannot be known is left out: the first reading of a counter has no difference, nor has one
after which its source was reset; nothing is estimated for the time in between. A counter that is
seen for the first time is reported once with a difference of 0, so that one that never changes
differs from one that this server does not have.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dbdyno.model.source import Numbers
from dbdyno.model.telemetry import Counts

RESET = "stats_reset"
Reading = Mapping[str, Numbers]
Increases = list[tuple[str, str, float]]
_Counter = tuple[str, str, float, float | None]
"""The object, the counter's name, its value now and in the reading before."""


class Differences:
    """Follows one source from reading to reading."""

    def __init__(self, source: str, levels: frozenset[str]) -> None:
        self._source = source
        self._level_names = levels
        self._before: Reading | None = None
        self._before_ns = 0
        self._levels: dict[tuple[str, str], float] = {}
        self._names: set[str] = set()
        self._is_broken = False

    def forget(self) -> None:
        """Note that the next reading may be of another server: its difference is unknown."""
        self._is_broken = self._before is not None

    def take(self, at_ns: int, reading: Reading, cost_us: int) -> Counts:
        """Return the differences between this reading and the one before."""
        is_first = self._before is None
        counters = list(self._counters(reading))
        was_reset = self._is_broken or self._was_set_back(reading, counters)
        grown = [
            (of, name, now - past)
            for of, name, now, past in counters
            if past is not None and now != past
        ]
        counts = Counts(
            at_ns=at_ns,
            source=self._source,
            seconds=0.0 if is_first else (at_ns - self._before_ns) / 1e9,
            cost_us=cost_us,
            deltas=self._new(counters) + ([] if was_reset else grown),
            levels=self._changed(reading),
            was_reset=was_reset,
        )
        self._before, self._before_ns, self._is_broken = reading, at_ns, False
        return counts

    def _counters(self, reading: Reading) -> Iterator[_Counter]:
        """Yield each counter of the reading, with its value now and before."""
        before = self._before or {}
        for of, numbers in reading.items():
            past = before.get(of, {})
            for name, value in numbers.items():
                if name not in self._level_names and name != RESET:
                    yield of, name, value, past.get(name)

    def _was_set_back(self, reading: Reading, counters: Iterable[_Counter]) -> bool:
        before = self._before or {}
        moved = any(
            of in before and before[of].get(RESET) != numbers.get(RESET)
            for of, numbers in reading.items()
        )
        shrunk = (past is not None and now < past for _, _, now, past in counters)
        return moved or any(shrunk)

    def _new(self, counters: Iterable[_Counter]) -> Increases:
        """Return the counters that no earlier reading had, each with an object that has it."""
        new = {name: of for of, name, _, _ in counters if name not in self._names}
        self._names |= new.keys()
        return [(of, name, 0.0) for name, of in new.items()]

    def _changed(self, reading: Reading) -> Increases:
        """Return the levels that have changed; the level of an object that has gone is 0."""
        now = {
            (of, name): numbers[name]
            for of, numbers in reading.items()
            for name in self._level_names & numbers.keys()
        }
        gone = dict.fromkeys(self._levels.keys() - now.keys(), 0.0)
        changed = {
            key: value for key, value in (now | gone).items() if self._levels.get(key) != value
        }
        self._levels = now | gone
        return [(*key, changed[key]) for key in sorted(changed)]


def finite_numbers(answer: Mapping[Any, Mapping[str, Any]]) -> tuple[Reading, set[str]]:
    """Return the numbers of a server's answer, and the names of the values that are none.

    NULLs are unknown and left out; a number may be written as text. A row whose object has no name
    is left out, because its counters would be taken for those of another.
    """
    reading: dict[str, dict[str, float]] = {}
    odd = set()
    for of, values in answer.items():
        if not isinstance(of, str):
            odd.add("object")
            continue
        numbers = reading[of] = {}
        for name, value in values.items():
            number = _finite(value)
            if not isinstance(name, str):
                odd.add("name")
            elif number is not None:
                numbers[name] = number
            elif value is not None:
                odd.add(name)
    return reading, odd


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
