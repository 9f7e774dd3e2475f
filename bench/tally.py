"""Prints a line for each thing that the bench measures, and records whether all bounds are kept."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from dbdyno.errors import DbdynoError

_LABELS: Mapping[bool | None, str] = {True: "ok", False: "MISS", None: "?"}


class Tally:
    """A line for each thing; what could not be measured counts as a missed bound."""

    def __init__(self) -> None:
        self.all_passed = True

    def report(self, name: str, text: str, passed: bool | None) -> None:
        """A result, and whether it keeps its bound; None: undecided, and not counted as kept."""
        self._line(_LABELS[passed], name, text, passed is True)

    def not_measured(self, names: Iterable[str], error: DbdynoError) -> None:
        """What could not be measured, and what would help."""
        for name in names:
            self._line("NONE", name, f"not measured: {error.message} ({error.hint})", False)

    @contextmanager
    def attempt(self, *names: str) -> Iterator[None]:
        """A block that measures these; a DbdynoError in it is printed, and the bench continues."""
        try:
            yield
        except DbdynoError as error:
            self.not_measured(names, error)

    def _line(self, label: str, name: str, text: str, passed: bool) -> None:
        self.all_passed = self.all_passed and passed
        print(f"{label:4} {name:52} {text}", flush=True)
