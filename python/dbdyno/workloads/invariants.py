"""What must hold after a run: laws for a few numbers that are read before and after it.

The laws refer to changes, so they also hold on data that has been used. The numbers come from
queries that a workload declares; nothing here connects to a server.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct

UNBOUNDED = 2**62
"""More than there can be: of a worker that was lost, nobody knows what it committed last."""


class Committed(Struct, frozen=True):
    """How many of a script's transactions the server has committed, warm-up included.

    The difference between the two are those whose end was not seen: unfinished, or lost with a
    connection, or with a worker.
    """

    at_least: int
    at_most: int

    @property
    def text(self) -> str:
        """Return the number, or its bounds."""
        if self.at_most >= UNBOUNDED:
            return f"at least {self.at_least}"
        is_known = self.at_least == self.at_most
        return str(self.at_least) if is_known else f"{self.at_least} to {self.at_most}"


class Violation(Struct, frozen=True):
    """A broken law, with the numbers that break it."""

    law: str
    message: str


class LawCheck(Struct, frozen=True):
    """What was found of a law about some numbers."""

    about: tuple[str, ...]
    violation: Violation | None

    @property
    def broken(self) -> str:
        """Return what breaks it; empty if it holds."""
        return self.violation.message if self.violation else ""


Snapshot = dict[str, int]


class Law(Protocol):
    """A condition that must hold for a run."""

    def about(self) -> tuple[str, ...]:
        """Return the names of the numbers that it needs."""

    def broken(
        self, change: Mapping[str, int], committed: Mapping[str, Committed]
    ) -> Violation | None:
        """Return the violation that these changes show, if any."""


class _OfSome(Struct, frozen=True):
    names: tuple[str, ...]

    def about(self) -> tuple[str, ...]:
        """Return the compared numbers."""
        return self.names


class _OfOne(Struct, frozen=True):
    name: str

    def about(self) -> tuple[str, ...]:
        """Return the compared number."""
        return (self.name,)


class SameChange(_OfSome, frozen=True):
    """Some sums must change by the same amount."""

    def broken(
        self, change: Mapping[str, int], _committed: Mapping[str, Committed]
    ) -> Violation | None:
        """Return a violation if the changes differ."""
        if len({change[name] for name in self.names}) == 1:
            return None
        changes = ", ".join(f"{name} by {change[name]:+}" for name in self.names)
        return Violation("same change", f"these must change alike: {changes}")


class Unchanged(_OfSome, frozen=True):
    """Some numbers must not change."""

    def broken(
        self, change: Mapping[str, int], _committed: Mapping[str, Committed]
    ) -> Violation | None:
        """Return a violation for any change."""
        changed = [f"{name} by {change[name]:+}" for name in self.names if change[name]]
        if not changed:
            return None
        return Violation("unchanged", f"these must not change: {', '.join(changed)}")


class NotFewer(_OfOne, frozen=True):
    """A number may grow, but must not shrink."""

    def broken(
        self, change: Mapping[str, int], _committed: Mapping[str, Committed]
    ) -> Violation | None:
        """Return a violation if the number shrank."""
        if change[self.name] >= 0:
            return None
        return Violation("not fewer", f"{self.name} shrank by {-change[self.name]}")


class OnePerTransaction(_OfOne, frozen=True):
    """A number must grow with each committed transaction of a script: by one, or by ``each``."""

    script: str
    each: int = 1

    def broken(
        self, change: Mapping[str, int], committed: Mapping[str, Committed]
    ) -> Violation | None:
        """Return a violation if the growth is outside the bounds of committed transactions."""
        bounds = committed[self.script]
        least, most = bounds.at_least * self.each, bounds.at_most * self.each
        grown = change[self.name]
        if least <= grown <= most and grown % self.each == 0:
            return None
        cause = ": did another program write at the same time?" if grown > most else ""
        each = "" if self.each == 1 else f", each with {self.each}"
        return Violation(
            "one per transaction",
            f"{self.name} grew by {grown}, but {bounds.text} transactions of {self.script} were "
            f"committed{each}{cause}",
        )


class Bounded(_OfOne, frozen=True):
    """A number must change by ``least`` to ``most`` with each committed transaction of a script.

    For transactions that may find nothing to change.
    """

    script: str
    least: int
    most: int

    def broken(
        self, change: Mapping[str, int], committed: Mapping[str, Committed]
    ) -> Violation | None:
        """Return a violation if these transactions cannot have caused the change."""
        bounds = committed[self.script]
        # The minimum must be reached by the certain ones, the maximum may be reached by all.
        least = min(self.least * bounds.at_least, self.least * bounds.at_most)
        most = max(self.most * bounds.at_least, self.most * bounds.at_most)
        if least <= change[self.name] <= most:
            return None
        return Violation(
            "bounded",
            f"{self.name} changed by {change[self.name]:+}, which {bounds.text} transactions of "
            f"{self.script} cannot have done",
        )


class Amount(Struct, frozen=True):
    """What each committed transaction of a script adds to a number: ``least`` to ``most``."""

    script: str
    least: int
    most: int


class SumOfAmounts(_OfOne, frozen=True):
    """A number must change by what the transactions of several scripts add to it.

    Where amounts are between a ``least`` and a ``most``, they differ by multiples of ``step``.
    """

    amounts: tuple[Amount, ...]
    step: int = 1

    def broken(
        self, change: Mapping[str, int], committed: Mapping[str, Committed]
    ) -> Violation | None:
        """Return a violation if the committed transactions cannot have added this up."""
        added = change[self.name]
        bounds = [(one, committed[one.script]) for one in self.amounts]
        least = sum(min(one.least * n.at_least, one.least * n.at_most) for one, n in bounds)
        most = sum(max(one.most * n.at_least, one.most * n.at_most) for one, n in bounds)
        is_certain = all(n.at_least == n.at_most for _, n in bounds)
        if least <= added <= most and not (is_certain and (added - least) % self.step):
            return None
        done = ", ".join(f"{n.text} of {one.script}" for one, n in bounds)
        return Violation(
            "sum of amounts",
            f"{self.name} changed by {added:+}, which the committed transactions cannot have "
            f"done: {done}",
        )


def verify(
    laws: tuple[Law, ...],
    before: Snapshot,
    after: Snapshot,
    committed: Mapping[str, Committed],
) -> list[Violation]:
    """Return the laws that the change from ``before`` to ``after`` breaks."""
    return violations(check_each(laws, before, after, committed))


def check_each(
    laws: tuple[Law, ...],
    before: Snapshot,
    after: Snapshot,
    committed: Mapping[str, Committed] = MappingProxyType({}),
) -> list[LawCheck]:
    """Return what the change from ``before`` to ``after`` shows of each law."""
    change = {name: after[name] - before[name] for name in after}
    return [LawCheck(law.about(), law.broken(change, committed)) for law in laws]


def violations(checks: Iterable[LawCheck]) -> list[Violation]:
    """Return what breaks the laws that are broken."""
    return [check.violation for check in checks if check.violation is not None]
