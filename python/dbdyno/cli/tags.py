"""Comma-separated assignments, and the tags by which runs are selected."""

from collections.abc import Iterator

from dbdyno.errors import DbdynoError
from dbdyno.run.grammar import assignment

_KIND = "tag"


def tags_of(text: str) -> dict[str, str] | None:
    """Return the tags of ``tag:name=value,…``; None for words that select runs otherwise."""
    kind, colon, rest = text.partition(":")
    return dict(assignments(rest, "tag:variant=a")) if colon and kind == _KIND else None


def assignments(text: str, example: str) -> Iterator[tuple[str, str]]:
    """Yield each assignment of ``name=value,…``."""
    for part in text.split(","):
        try:
            yield assignment(part)
        except ValueError as error:
            message = f'"{part}" has no value: write {example}'
            raise DbdynoError("usage", message, "See dbdyno compare --help.") from error
