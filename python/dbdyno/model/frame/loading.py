"""The frames of loading data: its progress, and its end."""

from msgspec import Struct


class Progress(Struct, frozen=True, tag="progress", tag_field="kind"):
    """The rows sent so far, by table."""

    table: str
    rows: int
    rows_total: int


class Loaded(Struct, frozen=True, tag="loaded", tag_field="kind"):
    """The load is complete."""

    rows: int
    elapsed_ns: int
