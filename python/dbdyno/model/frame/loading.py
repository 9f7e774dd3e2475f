"""The frames of a load of data: how far it is, and that it is over."""

from msgspec import Struct


class Progress(Struct, frozen=True, tag="progress", tag_field="kind"):
    """Loading: rows sent so far, by table."""

    table: str
    rows: int
    rows_total: int


class Loaded(Struct, frozen=True, tag="loaded", tag_field="kind"):
    """Loading is over."""

    rows: int
    elapsed_ns: int
