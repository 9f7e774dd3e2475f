"""A table of small rows with a key, for workloads that access one row at a time.

A row takes 76 bytes, as in the published study. The workload defines the table's name and number of
rows.
"""

import time

from dbdyno.databases.schema import Column, Table
from dbdyno.model.generators import Number, Sequence, Template
from dbdyno.workloads.parameters import Values

INFO = "@" * 32  # a pattern of the loader: this many lower-case letters
MICROSECONDS_TO_2000 = 946_684_800 * 1_000_000  # since 1970; the loader's times begin in 2000


def keyed_table(name: str, key_type: str, rows: int, values: Values) -> Table:
    """Return the table; ``values`` contains its fill factor and whether it is logged."""
    now = time.time_ns() // 1_000 - MICROSECONDS_TO_2000
    return Table(
        name=name,
        columns=(
            Column("id", key_type, Sequence(), not_null=True),
            Column("info", "text", Template(INFO)),
            Column("crt_time", "timestamptz", Number(now), default="now()"),
        ),
        rows=rows,
        primary_key=("id",),
        fillfactor=int(values["fillfactor"]),
        unlogged=bool(values["unlogged"]),
    )
