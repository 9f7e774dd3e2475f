"""Values that are given with commas between them, and the tags by which runs are meant so."""

from collections.abc import Iterator

from dbdyno.errors import DbdynoError
from dbdyno.run.grammar import assignment

_KIND = "tag"


def tags_of(text: str) -> dict[str, str] | None:
    """The tags of ``tag:name=value,…``; nothing for words that mean runs otherwise."""
    kind, colon, rest = text.partition(":")
    return dict(assignments(rest, "tag:variant=a")) if colon and kind == _KIND else None


def assignments(text: str, example: str) -> Iterator[tuple[str, str]]:
    """Each of ``name=value,…``."""
    for part in text.split(","):
        try:
            yield assignment(part)
        except ValueError as error:
            message = f'"{part}" has no value: write {example}'
            raise DbdynoError("usage", message, "See dbdyno compare --help.") from error
