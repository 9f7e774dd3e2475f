"""The mark on tables that dbdyno loaded: a comment, so that it stays with the data.

It distinguishes our data from anybody else's, and complete data from an interrupted load.
"""

import msgspec
from msgspec import Struct

PREFIX = "dbdyno "


class Mark(Struct, frozen=True, kw_only=True):
    """The content of the comment."""

    data: str
    scale: int
    loaded: bool


def write_mark(mark: Mark) -> str:
    """Return the comment's text."""
    return PREFIX + msgspec.json.encode(mark).decode()


def read_mark(comment: str) -> Mark | None:
    """Return the mark in a comment; None if the comment is not dbdyno's."""
    if not comment.startswith(PREFIX):
        return None
    try:
        return msgspec.json.decode(comment.removeprefix(PREFIX), type=Mark)
    except msgspec.MsgspecError:
        return None
