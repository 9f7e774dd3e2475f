"""The mark on tables that dbdyno loaded: a comment, so that it travels with the data.

It tells our data from anybody else's, and finished data from data whose loading was cut short.
"""

import msgspec
from msgspec import Struct

PREFIX = "dbdyno "


class Mark(Struct, frozen=True, kw_only=True):
    """What the comment says."""

    data: str
    scale: int
    loaded: bool


def write_mark(mark: Mark) -> str:
    """The comment's text."""
    return PREFIX + msgspec.json.encode(mark).decode()


def read_mark(comment: str) -> Mark | None:
    """The mark in a comment; None when the comment is not ours."""
    if not comment.startswith(PREFIX):
        return None
    try:
        return msgspec.json.decode(comment.removeprefix(PREFIX), type=Mark)
    except msgspec.MsgspecError:
        return None
