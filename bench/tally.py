"""Prints a line for each thing that the bench measures, and records whether all bounds are kept."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from dbdyno.errors import DbdynoError

_WORDS: Mapping[bool | None, str] = {True: "ok", False: "MISS", None: "?"}


class Tally:
    """A line for each thing; what could not be measured counts as a missed bound."""

    def __init__(self) -> None:
        self.all_kept = True

    def told(self, name: str, words: str, kept: bool | None) -> None:
        """A result, and whether it keeps its bound; None: undecided, and not counted as kept."""
        self._line(_WORDS[kept], name, words, kept is True)

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

    def _line(self, word: str, name: str, words: str, kept: bool) -> None:
        self.all_kept = self.all_kept and kept
        print(f"{word:4} {name:52} {words}", flush=True)
