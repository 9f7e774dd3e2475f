"""What the bench prints of each thing it measures, and whether all bounds were kept."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from dbdyno.errors import DbdynoError

_WORDS: Mapping[bool | None, str] = {True: "ok", False: "MISS", None: "?"}


class Tally:
    """A line for each thing; what could not be measured is not kept either."""

    def __init__(self) -> None:
        self.all_kept = True

    def told(self, name: str, words: str, kept: bool | None) -> None:
        """A figure and whether it keeps its bound; None: too noisy to tell, so it is not shown."""
        self._line(_WORDS[kept], name, words, kept is True)

    def not_measured(self, names: Iterable[str], error: DbdynoError) -> None:
        """What had to be left out, and what would help."""
        for name in names:
            self._line("NONE", name, f"not measured: {error.message} ({error.hint})", False)

    @contextmanager
    def attempt(self, *names: str) -> Iterator[None]:
        """A block that measures these; an error of ours in it is told, and ends nothing else."""
        try:
            yield
        except DbdynoError as error:
            self.not_measured(names, error)

    def _line(self, word: str, name: str, words: str, kept: bool) -> None:
        self.all_kept = self.all_kept and kept
        print(f"{word:4} {name:52} {words}", flush=True)
